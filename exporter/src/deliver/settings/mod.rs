//! The `OTEL_EXPORTER_OTLP_*` variables, general and per signal.
//!
//! Sources: OpenTelemetry specification, "OpenTelemetry Protocol Exporter" and "Environment
//! Variable Specification". `OTEL_EXPORTER_OTLP_PROFILES_*` follows the pattern of the other
//! signals; the specification does not list it yet. Where a signal has a variable of its own it
//! replaces the general one as a whole, headers included.

mod endpoint;
mod error;
mod headers;
mod layer;
mod reader;
mod tls;
mod values;

pub use self::{
    error::SettingError,
    values::{Compression, HistogramAggregation, Protocol},
};

use self::{
    layer::{Layer, destination},
    reader::{Given, Reader},
};
use crate::deliver::signal::Signal;
use evenkeel_otlp::temporality::TemporalityPreference;
use http::{HeaderMap, Uri};
use rustls::ClientConfig;
use std::{fmt, sync::Arc, time::Duration};

/// The specification's default for the time one request may take.
const DEFAULT_TIMEOUT: Duration = Duration::from_secs(10);

/// Where and how one signal is sent.
#[derive(Clone)]
#[non_exhaustive]
pub struct Destination {
    /// The URL: for OTLP/HTTP that of the request, for gRPC that of the server.
    pub endpoint: Uri,
    /// The transport.
    pub protocol: Protocol,
    /// Headers (metadata in gRPC) sent with each request; values are marked sensitive.
    pub headers: HeaderMap,
    /// Compression of request bodies.
    pub compression: Compression,
    /// How long one request may take, connecting included.
    pub timeout: Duration,
    /// TLS, when the endpoint is `https` or a certificate was named.
    pub tls: Option<Arc<ClientConfig>>,
}

/// Names of headers only, and whether there is TLS: the rest may be secret.
impl fmt::Debug for Destination {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            endpoint,
            protocol,
            headers,
            compression,
            timeout,
            tls,
        } = self;
        formatter
            .debug_struct("Destination")
            .field("endpoint", endpoint)
            .field("protocol", protocol)
            .field("headers", &headers.keys().collect::<Vec<_>>())
            .field("compression", compression)
            .field("timeout", timeout)
            .field("tls", &tls.is_some())
            .finish()
    }
}

/// Everything that the standard variables say about delivery.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Settings {
    /// `OTEL_SDK_DISABLED`: nothing is to be exported. The caller obeys it.
    pub disabled: bool,
    /// Where profiles go.
    pub profiles: Destination,
    /// Where metrics go.
    pub metrics: Destination,
    /// `OTEL_EXPORTER_OTLP_METRICS_TEMPORALITY_PREFERENCE`.
    pub temporality: TemporalityPreference,
    /// `OTEL_EXPORTER_OTLP_METRICS_DEFAULT_HISTOGRAM_AGGREGATION`.
    pub histogram_aggregation: HistogramAggregation,
    /// `OTEL_METRIC_EXPORT_INTERVAL`; unset, the window is the interval.
    pub export_interval: Option<Duration>,
    /// `OTEL_METRIC_EXPORT_TIMEOUT`, if set: it caps the timeout of metrics requests.
    pub export_timeout: Option<Duration>,
    /// `EVENKEEL_REPEAT_RESOURCE`, on unless turned off: samples of profiles carry what names their resource.
    pub repeat_resource: bool,
}

impl Settings {
    /// Reads the variables of this process.
    ///
    /// # Errors
    /// Every bad variable.
    pub fn from_environment() -> Result<Self, Vec<SettingError>> {
        Self::from_variables(&|name| {
            // Not UTF-8 becomes a value that its parser refuses, rather than one that is ignored.
            std::env::var_os(name).map(|value| value.to_string_lossy().into_owned())
        })
    }

    /// Reads variables from anywhere; an empty one counts as unset.
    ///
    /// Certificate files are read, and TLS is set up, here.
    ///
    /// # Errors
    /// Every bad variable, each once.
    pub fn from_variables(get: &dyn Fn(&str) -> Option<String>) -> Result<Self, Vec<SettingError>> {
        let mut reader = Reader::new(get);
        let general = Layer::read(&mut reader, "");
        let profiles = Layer::read(&mut reader, "PROFILES_");
        let metrics = Layer::read(&mut reader, "METRICS_");
        let profiles = destination(&mut reader, &general, &profiles, Signal::Profiles);
        let metrics = destination(&mut reader, &general, &metrics, Signal::Metrics);

        let temporality = reader.parse(
            "OTEL_EXPORTER_OTLP_METRICS_TEMPORALITY_PREFERENCE",
            values::TEMPORALITY_PREFERENCES,
            values::temporality_preference,
        );
        let histogram_aggregation = reader.parse(
            "OTEL_EXPORTER_OTLP_METRICS_DEFAULT_HISTOGRAM_AGGREGATION",
            HistogramAggregation::ALLOWED,
            HistogramAggregation::parse,
        );
        let mut duration = |name| reader.parse(name, values::MILLISECONDS, values::milliseconds);
        let export_interval = duration("OTEL_METRIC_EXPORT_INTERVAL");
        let export_timeout = duration("OTEL_METRIC_EXPORT_TIMEOUT").map(|given| given.value);
        let disabled = reader.parse("OTEL_SDK_DISABLED", values::BOOLEAN, values::boolean);
        let repeat_resource =
            reader.parse("EVENKEEL_REPEAT_RESOURCE", values::BOOLEAN, values::boolean);

        let errors = reader.into_errors();
        match (profiles, metrics) {
            (Some(profiles), Some(mut metrics)) if errors.is_empty() => {
                if let Some(limit) = export_timeout {
                    metrics.timeout = metrics.timeout.min(limit);
                }
                Ok(Self {
                    disabled: value_or_default(disabled),
                    profiles,
                    metrics,
                    temporality: value_or_default(temporality),
                    histogram_aggregation: value_or_default(histogram_aggregation),
                    export_interval: export_interval.map(|given| given.value),
                    export_timeout,
                    repeat_resource: repeat_resource.is_none_or(|given| given.value),
                })
            }
            _ => Err(errors),
        }
    }

    /// Where a signal goes.
    pub fn destination(&self, signal: Signal) -> &Destination {
        match signal {
            Signal::Profiles => &self.profiles,
            Signal::Metrics | Signal::AgentMetrics => &self.metrics,
        }
    }

    /// Settings that are allowed and probably not meant, one sentence each.
    pub fn advice(&self) -> Vec<String> {
        let mut advice: Vec<String> = Vec::new();
        for destination in [&self.profiles, &self.metrics] {
            let usual = |protocol: Protocol| {
                destination.endpoint.port_u16() == Some(protocol.default_port())
            };
            let other = match destination.protocol {
                Protocol::Grpc => Protocol::HttpProtobuf,
                Protocol::HttpProtobuf => Protocol::Grpc,
            };
            if usual(other) {
                advice.push(format!(
                    "The endpoint {} has the usual port of {}, but the protocol is {}; see OTEL_EXPORTER_OTLP_PROTOCOL.",
                    destination.endpoint,
                    other.name(),
                    destination.protocol.name(),
                ));
            }
        }
        advice
    }
}

fn value_or_default<T: Default>(given: Option<Given<T>>) -> T {
    given.map(|given| given.value).unwrap_or_default()
}

#[cfg(test)]
mod tests;

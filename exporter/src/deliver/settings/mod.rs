//! The `OTEL_EXPORTER_OTLP_*` variables, general and per signal.
//!
//! Sources: OpenTelemetry specification, "OpenTelemetry Protocol Exporter" and "Environment
//! Variable Specification". `OTEL_EXPORTER_OTLP_PROFILES_*` follows the pattern of the other
//! signals; the specification does not list it yet. Where a signal has a variable of its own it
//! replaces the general one as a whole, headers included.

mod endpoint;
mod error;
mod headers;
mod reader;
mod tls;
mod values;

pub use self::{
    error::SettingError,
    values::{Compression, HistogramAggregation, Protocol, TemporalityPreference},
};

use self::{
    reader::{Given, Reader},
    tls::TlsFiles,
};
use crate::deliver::signal::Signal;
use http::{HeaderMap, Uri, uri::Scheme};
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
            TemporalityPreference::ALLOWED,
            TemporalityPreference::parse,
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

/// The variables of one prefix, as far as they can be judged alone.
struct Layer {
    endpoint: Option<Given<String>>,
    protocol: Option<Protocol>,
    headers: Option<Given<String>>,
    compression: Option<Compression>,
    timeout: Option<Duration>,
    insecure: Option<bool>,
    files: TlsFiles,
}

impl Layer {
    /// Reads `OTEL_EXPORTER_OTLP_{infix}*`.
    fn read(reader: &mut Reader<'_>, infix: &str) -> Self {
        let name = |option: &str| format!("OTEL_EXPORTER_OTLP_{infix}{option}");
        Self {
            endpoint: reader.text(&name("ENDPOINT")),
            protocol: reader
                .parse(&name("PROTOCOL"), Protocol::ALLOWED, Protocol::parse)
                .map(|given| given.value),
            headers: reader.text(&name("HEADERS")),
            compression: reader
                .parse(
                    &name("COMPRESSION"),
                    Compression::ALLOWED,
                    Compression::parse,
                )
                .map(|given| given.value),
            timeout: reader
                .parse(&name("TIMEOUT"), values::MILLISECONDS, values::milliseconds)
                .map(|given| given.value),
            insecure: reader
                .parse(&name("INSECURE"), values::BOOLEAN, values::boolean)
                .map(|given| given.value),
            files: TlsFiles {
                certificate: reader.text(&name("CERTIFICATE")),
                client_key: reader.text(&name("CLIENT_KEY")),
                client_certificate: reader.text(&name("CLIENT_CERTIFICATE")),
            },
        }
    }
}

/// Lays a signal's variables over the general ones; `None` when that gave an error.
fn destination(
    reader: &mut Reader<'_>,
    general: &Layer,
    own: &Layer,
    signal: Signal,
) -> Option<Destination> {
    let protocol = own.protocol.or(general.protocol).unwrap_or_default();
    let insecure = own.insecure.or(general.insecure).unwrap_or(false);
    let endpoint = endpoint::resolve(
        own.endpoint.as_ref().or(general.endpoint.as_ref()),
        own.endpoint.is_none(),
        protocol,
        insecure,
        signal,
    );
    let endpoint = endpoint.map_err(|error| reader.error(error)).ok();

    let headers = match own.headers.as_ref().or(general.headers.as_ref()) {
        None => Some(HeaderMap::new()),
        Some(given) => headers::parse(&given.value, protocol)
            .map_err(|problems| {
                for problem in problems {
                    reader.error(SettingError::new(
                        &given.variable,
                        None,
                        problem,
                        headers::ALLOWED,
                    ));
                }
            })
            .ok(),
    };

    let files = TlsFiles {
        certificate: own
            .files
            .certificate
            .clone()
            .or(general.files.certificate.clone()),
        client_key: own
            .files
            .client_key
            .clone()
            .or(general.files.client_key.clone()),
        client_certificate: own
            .files
            .client_certificate
            .clone()
            .or(general.files.client_certificate.clone()),
    };
    let secure = endpoint
        .as_ref()
        .is_some_and(|uri| uri.scheme() == Some(&Scheme::HTTPS));
    let tls = if secure || !files.is_empty() {
        match files.load() {
            Ok(config) => Some(Some(config)),
            Err(errors) => {
                errors.into_iter().for_each(|error| reader.error(error));
                None
            }
        }
    } else {
        Some(None)
    };

    Some(Destination {
        endpoint: endpoint?,
        protocol,
        headers: headers?,
        compression: own.compression.or(general.compression).unwrap_or_default(),
        timeout: own.timeout.or(general.timeout).unwrap_or(DEFAULT_TIMEOUT),
        tls: tls?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashMap;

    fn read(variables: &[(&str, &str)]) -> Result<Settings, Vec<SettingError>> {
        let map: HashMap<_, _> = variables.iter().copied().collect();
        Settings::from_variables(&|name| map.get(name).map(|value| (*value).to_owned()))
    }

    /// Without variables: the Collector of this host by OTLP/HTTP, compressed, ten seconds.
    #[test]
    fn defaults() {
        let settings = read(&[("OTEL_EXPORTER_OTLP_ENDPOINT", "  ")]).unwrap();
        assert!(!settings.disabled);
        for (destination, path) in [
            (
                &settings.profiles,
                "http://localhost:4318/v1development/profiles",
            ),
            (&settings.metrics, "http://localhost:4318/v1/metrics"),
        ] {
            assert_eq!(destination.endpoint, path);
            assert_eq!(destination.protocol, Protocol::HttpProtobuf);
            assert_eq!(destination.compression, Compression::Gzip);
            assert_eq!(destination.timeout, Duration::from_secs(10));
            assert!(destination.tls.is_none() && destination.headers.is_empty());
        }
        assert_eq!(settings.temporality, TemporalityPreference::Cumulative);
        assert_eq!(
            settings.histogram_aggregation,
            HistogramAggregation::Exponential
        );
        assert_eq!(settings.export_interval, None);
    }

    /// A signal's variable replaces the general one, and only for that signal.
    #[test]
    fn per_signal() {
        let settings = read(&[
            ("OTEL_EXPORTER_OTLP_ENDPOINT", "http://general:4318"),
            ("OTEL_EXPORTER_OTLP_HEADERS", "a=1,b=2"),
            ("OTEL_EXPORTER_OTLP_TIMEOUT", "2000"),
            ("OTEL_EXPORTER_OTLP_COMPRESSION", "none"),
            ("OTEL_EXPORTER_OTLP_PROFILES_ENDPOINT", "profiles:4040"),
            ("OTEL_EXPORTER_OTLP_PROFILES_PROTOCOL", "GRPC"),
            ("OTEL_EXPORTER_OTLP_PROFILES_INSECURE", "true"),
            ("OTEL_EXPORTER_OTLP_PROFILES_HEADERS", "c=3"),
            ("OTEL_EXPORTER_OTLP_METRICS_COMPRESSION", "gzip"),
            ("OTEL_EXPORTER_OTLP_METRICS_TEMPORALITY_PREFERENCE", "delta"),
            (
                "OTEL_EXPORTER_OTLP_METRICS_DEFAULT_HISTOGRAM_AGGREGATION",
                "explicit_bucket_histogram",
            ),
            ("OTEL_METRIC_EXPORT_INTERVAL", "5000"),
            ("OTEL_METRIC_EXPORT_TIMEOUT", "1500"),
            ("OTEL_SDK_DISABLED", "True"),
        ])
        .unwrap();
        assert!(settings.disabled);
        assert_eq!(settings.profiles.endpoint, "http://profiles:4040/");
        assert_eq!(settings.profiles.protocol, Protocol::Grpc);
        assert_eq!(settings.profiles.compression, Compression::None);
        assert_eq!(settings.profiles.timeout, Duration::from_secs(2));
        assert_eq!(settings.profiles.headers.len(), 1);
        assert_eq!(settings.metrics.endpoint, "http://general:4318/v1/metrics");
        assert_eq!(settings.metrics.compression, Compression::Gzip);
        assert_eq!(settings.metrics.timeout, Duration::from_millis(1500));
        assert_eq!(settings.metrics.headers.len(), 2);
        assert_eq!(settings.temporality, TemporalityPreference::Delta);
        assert_eq!(
            settings.histogram_aggregation,
            HistogramAggregation::ExplicitBucket
        );
        assert_eq!(settings.export_interval, Some(Duration::from_secs(5)));
    }

    /// All bad variables come back at once, each once, and a header's value in none of them.
    #[test]
    fn all_errors_at_once() {
        let errors = read(&[
            ("OTEL_EXPORTER_OTLP_ENDPOINT", "localhost:4318"),
            ("OTEL_EXPORTER_OTLP_PROTOCOL", "http/json"),
            ("OTEL_EXPORTER_OTLP_HEADERS", "authorization Bearer s3cret"),
            ("OTEL_EXPORTER_OTLP_COMPRESSION", "zstd"),
            ("OTEL_EXPORTER_OTLP_TIMEOUT", "10s"),
            ("OTEL_EXPORTER_OTLP_METRICS_TIMEOUT", "0"),
            ("OTEL_EXPORTER_OTLP_INSECURE", "1"),
            ("OTEL_EXPORTER_OTLP_CERTIFICATE", "no/such/file.pem"),
            ("OTEL_EXPORTER_OTLP_METRICS_CLIENT_KEY", "."),
            ("OTEL_EXPORTER_OTLP_METRICS_TEMPORALITY_PREFERENCE", "both"),
            (
                "OTEL_EXPORTER_OTLP_METRICS_DEFAULT_HISTOGRAM_AGGREGATION",
                "sketch",
            ),
            ("OTEL_METRIC_EXPORT_INTERVAL", "-1"),
            ("OTEL_METRIC_EXPORT_TIMEOUT", "3600001"),
            ("OTEL_SDK_DISABLED", "yes"),
        ])
        .unwrap_err();
        let mut named: Vec<_> = errors.iter().map(|error| error.variable.as_str()).collect();
        named.sort_unstable();
        assert_eq!(
            named,
            [
                "OTEL_EXPORTER_OTLP_CERTIFICATE",
                "OTEL_EXPORTER_OTLP_COMPRESSION",
                "OTEL_EXPORTER_OTLP_ENDPOINT",
                "OTEL_EXPORTER_OTLP_HEADERS",
                "OTEL_EXPORTER_OTLP_INSECURE",
                // Not a regular file, and without its certificate.
                "OTEL_EXPORTER_OTLP_METRICS_CLIENT_KEY",
                "OTEL_EXPORTER_OTLP_METRICS_CLIENT_KEY",
                "OTEL_EXPORTER_OTLP_METRICS_DEFAULT_HISTOGRAM_AGGREGATION",
                "OTEL_EXPORTER_OTLP_METRICS_TEMPORALITY_PREFERENCE",
                "OTEL_EXPORTER_OTLP_METRICS_TIMEOUT",
                "OTEL_EXPORTER_OTLP_PROTOCOL",
                "OTEL_EXPORTER_OTLP_TIMEOUT",
                "OTEL_METRIC_EXPORT_INTERVAL",
                "OTEL_METRIC_EXPORT_TIMEOUT",
                "OTEL_SDK_DISABLED",
            ]
        );
        for error in &errors {
            let text = error.to_string();
            assert!(!text.contains("s3cret"), "{text}");
            assert!(text.contains("(allowed: "), "{text}");
        }
    }

    /// What is printed for debugging holds the names of headers and not their values.
    #[test]
    fn debug_hides_secrets() {
        let settings = read(&[("OTEL_EXPORTER_OTLP_HEADERS", "authorization=s3cret")]).unwrap();
        let text = format!("{settings:?}");
        assert!(
            text.contains("authorization") && !text.contains("s3cret"),
            "{text}"
        );
    }

    /// The gRPC port with the HTTP protocol is allowed and gets a sentence.
    #[test]
    fn advice() {
        let settings = read(&[("OTEL_EXPORTER_OTLP_ENDPOINT", "http://c:4317")]).unwrap();
        assert_eq!(settings.advice().len(), 2);
        assert!(read(&[]).unwrap().advice().is_empty());
    }
}

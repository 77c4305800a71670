//! The agent's metrics about itself.
//!
//! Code anywhere in the agent counts through the [`metrics`] facade, by the names of
//! `evenkeel_semconv`. `metrics-exporter-opentelemetry` bridges the facade to the OpenTelemetry
//! SDK, whose exporter here is a conversion to the OTLP message and no more: sending is that of
//! [`crate::deliver`], so that TLS, retries, bounds and accounts are the same for all that leaves
//! the agent. `opentelemetry-otlp` would bring a second client without the certificate variables
//! and with retries of its own.
//!
//! The facade knows neither units nor up-down counters. Units and descriptions come from the
//! registry by views; what must be read at the moment of collection ([`observe`]) is registered
//! with the SDK itself.

mod exporter;
mod observe;
mod own_resource;
mod process;
mod views;

pub use self::own_resource::OwnResource;

use self::exporter::SinkExporter;
use crate::deliver::{Accounts, Export, HistogramAggregation, Outbox, Settings, Signal};
use bytes::Bytes;
use evenkeel_otlp::{
    model::{Resource, Value},
    temporality::TemporalityPreference,
};
use metrics_exporter_opentelemetry::Recorder;
use opentelemetry::KeyValue;
use opentelemetry_proto::tonic::collector::metrics::v1::ExportMetricsServiceRequest;
use opentelemetry_sdk::metrics::{PeriodicReader, SdkMeterProvider, Temporality};
use prost::Message;
use std::{
    sync::atomic::{AtomicU64, Ordering},
    time::Duration,
};

/// The scope of the agent's metrics about itself.
const SCOPE: &str = "evenkeel/agent";

/// How the agent's metrics are made.
#[derive(Clone, Copy, Debug)]
pub struct TelemetryOptions {
    /// Time between two exports.
    pub interval: Duration,
    /// Cumulative or delta.
    pub temporality: TemporalityPreference,
    /// How distributions are sent.
    pub histogram_aggregation: HistogramAggregation,
}

impl TelemetryOptions {
    /// What the standard variables say; `window` is the interval unless they set one.
    pub fn new(settings: &Settings, window: Duration) -> Self {
        Self {
            interval: settings.export_interval.unwrap_or(window),
            temporality: settings.temporality,
            histogram_aggregation: settings.histogram_aggregation,
        }
    }
}

/// Why the agent's metrics could not start.
#[derive(Debug, thiserror::Error)]
pub enum TelemetryError {
    /// A process has one recorder.
    #[error("the agent's metrics were started before")]
    AlreadyStarted,
}

/// Collects the agent's metrics until it is dropped, and once more then.
#[derive(Debug)]
pub struct Telemetry {
    provider: SdkMeterProvider,
    resource: OwnResource,
}

impl Telemetry {
    /// The handle by which the resource is changed when more is known of the host.
    pub fn own_resource(&self) -> OwnResource {
        self.resource.clone()
    }

    /// Collects and exports at once.
    pub fn flush(&self) {
        if let Err(error) = self.provider.force_flush() {
            tracing::debug!(%error, "The agent's metrics were not flushed.");
        }
    }
}

impl Drop for Telemetry {
    fn drop(&mut self) {
        if let Err(error) = self.provider.shutdown() {
            tracing::debug!(%error, "The agent's metrics were not shut down.");
        }
    }
}

/// Starts to collect what the `metrics` facade is told, and gives each export to `sink`, which
/// must not block. `accounts` are those of delivery, read at each collection.
///
/// End it before delivery is stopped, so that its last export is among what is flushed.
///
/// # Errors
/// When it was started before in this process.
pub fn start(
    resource: &Resource,
    options: TelemetryOptions,
    accounts: impl Fn() -> Accounts + Send + Sync + 'static,
    sink: impl Fn(ExportMetricsServiceRequest) + Send + Sync + 'static,
) -> Result<Telemetry, TelemetryError> {
    let (telemetry, recorder) = build(resource, options, accounts, sink);
    metrics::set_global_recorder(recorder).map_err(|_| TelemetryError::AlreadyStarted)?;
    Ok(telemetry)
}

/// A sink that gives the exports to delivery, as [`Signal::AgentMetrics`].
pub fn sink_to(outbox: Outbox) -> impl Fn(ExportMetricsServiceRequest) + Send + Sync + 'static {
    let sequence = AtomicU64::new(0);
    move |request| {
        outbox.push(Export {
            signal: Signal::AgentMetrics,
            window: sequence.fetch_add(1, Ordering::Relaxed),
            requests: vec![Bytes::from(request.encode_to_vec())],
        });
    }
}

fn build(
    resource: &Resource,
    options: TelemetryOptions,
    accounts: impl Fn() -> Accounts + Send + Sync + 'static,
    sink: impl Fn(ExportMetricsServiceRequest) + Send + Sync + 'static,
) -> (Telemetry, Recorder) {
    let temporality = match options.temporality {
        TemporalityPreference::Cumulative => Temporality::Cumulative,
        TemporalityPreference::Delta => Temporality::Delta,
        TemporalityPreference::LowMemory => Temporality::LowMemory,
    };
    let own = OwnResource::default();
    let current = own.clone();
    let sink = move |mut request: ExportMetricsServiceRequest| {
        current.put_on(&mut request);
        sink(request);
    };
    let reader = PeriodicReader::builder(SinkExporter::new(temporality, sink))
        .with_interval(options.interval)
        .build();
    let (provider, recorder) = Recorder::builder(SCOPE)
        .with_instrumentation_scope(|scope| {
            scope
                .with_version(env!("CARGO_PKG_VERSION"))
                .with_schema_url(evenkeel_semconv::SCHEMA_URL)
        })
        .with_meter_provider(|provider| {
            provider
                .with_resource(sdk_resource(resource))
                .with_reader(reader)
                .with_view(views::from_registry(options.histogram_aggregation))
        })
        .build();
    observe::register(&recorder, accounts);
    let telemetry = Telemetry {
        provider,
        resource: own,
    };
    (telemetry, recorder)
}

/// The SDK's form of a resource. Nothing is added by the SDK's own detectors: the agent knows
/// better what it is.
fn sdk_resource(resource: &Resource) -> opentelemetry_sdk::Resource {
    let attributes = resource.attributes.iter().map(|attribute| {
        let key = attribute.key.clone();
        match &attribute.value {
            Value::String(text) => KeyValue::new(key, text.to_string()),
            Value::Int(number) => KeyValue::new(key, *number),
            Value::Bool(flag) => KeyValue::new(key, *flag),
        }
    });
    opentelemetry_sdk::Resource::builder_empty()
        .with_schema_url(attributes, evenkeel_semconv::UPSTREAM_SCHEMA_URL)
        .build()
}

#[cfg(test)]
mod tests;

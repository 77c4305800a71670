//! The SDK's exporter: it converts and hands over.

use opentelemetry_proto::tonic::collector::metrics::v1::ExportMetricsServiceRequest;
use opentelemetry_sdk::{
    error::{OTelSdkError, OTelSdkResult},
    metrics::{Temporality, data::ResourceMetrics, exporter::PushMetricExporter},
};
use std::{
    sync::atomic::{AtomicBool, Ordering},
    time::Duration,
};

/// Gives every collection to a closure, as the OTLP message.
pub(super) struct SinkExporter<S> {
    temporality: Temporality,
    sink: S,
    shut_down: AtomicBool,
}

impl<S> SinkExporter<S> {
    pub(super) fn new(temporality: Temporality, sink: S) -> Self {
        Self {
            temporality,
            sink,
            shut_down: AtomicBool::new(false),
        }
    }
}

impl<S> PushMetricExporter for SinkExporter<S>
where
    S: Fn(ExportMetricsServiceRequest) + Send + Sync + 'static,
{
    async fn export(&self, metrics: &ResourceMetrics) -> OTelSdkResult {
        if self.shut_down.load(Ordering::Relaxed) {
            return Err(OTelSdkError::AlreadyShutdown);
        }
        let request = ExportMetricsServiceRequest::from(metrics);
        let empty = request.resource_metrics.iter().all(|resource| {
            resource
                .scope_metrics
                .iter()
                .all(|scope| scope.metrics.is_empty())
        });
        if !empty {
            (self.sink)(request);
        }
        Ok(())
    }

    fn force_flush(&self) -> OTelSdkResult {
        Ok(())
    }

    fn shutdown_with_timeout(&self, _timeout: Duration) -> OTelSdkResult {
        self.shut_down.store(true, Ordering::Relaxed);
        Ok(())
    }

    fn temporality(&self) -> Temporality {
        self.temporality
    }
}

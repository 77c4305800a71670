//! The resource of the agent's own metrics, which can become known in part after the start. The SDK
//! takes one at the start and no other.

use std::sync::{Arc, Mutex, PoisonError};

use evenkeel_otlp::model::Resource;
use opentelemetry_proto::tonic::{
    collector::metrics::v1::ExportMetricsServiceRequest, resource::v1,
};

use super::sdk_resource;

/// A handle by which the resource is changed; clones change the same one.
#[derive(Clone, Debug, Default)]
pub struct OwnResource(Arc<Mutex<Option<v1::Resource>>>);

impl OwnResource {
    /// All exports from now on have this resource.
    pub fn set(&self, resource: &Resource) {
        let converted = v1::Resource::from(&sdk_resource(resource));
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Some(converted);
    }

    pub(super) fn put_on(&self, request: &mut ExportMetricsServiceRequest) {
        let resource = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(resource) = &*resource {
            for metrics in &mut request.resource_metrics {
                metrics.resource = Some(resource.clone());
            }
        }
    }
}

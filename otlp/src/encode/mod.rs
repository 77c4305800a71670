//! Windows to OTLP requests.
//!
//! Profiles take the shape that the common backends read alike: one value per sample and no
//! timestamps, samples of one identity merged, a period type always set, attributes of resources
//! and scopes inline, `service.name` on the resource and on every sample. Requests are split so
//! that each stays below the limits of common receivers, each with a dictionary of its own.

mod attributes;
mod dictionary;
mod explicit_bounds;
mod limits;
mod metrics;
mod part;
mod pprof_size;
mod profiles;
mod size;

pub use self::{
    explicit_bounds::{COUNT_BOUNDS, DURATION_BOUNDS, RATIO_BOUNDS, explicit_bounds},
    limits::Limits,
    metrics::{EncodedMetrics, encode_metrics},
    profiles::{EncodedProfiles, encode_profiles},
};
use evenkeel_semconv::attribute;

use crate::{histogram::MAX_BUCKETS, temporality::TemporalityPreference};

/// Name of the instrumentation scope of all that we send.
pub const SCOPE_NAME: &str = "evenkeel";

/// How windows become requests.
#[derive(Clone, Debug)]
pub struct Settings {
    /// Version of the instrumentation scope: the release that measured.
    pub scope_version: String,
    /// Bounds of each request.
    pub limits: Limits,
    /// What distributions are sent as.
    pub histograms: HistogramForm,
    /// What the points of the windows are: [`crate::temporality::DeltaStage`] makes them so.
    pub temporality: TemporalityPreference,
    /// Attributes of a resource that its profile samples carry as well, unless they have their own.
    pub repeated: &'static [&'static str],
}

/// What a resource is called by. Behind Collector 0.161 and later, Pyroscope and Parca see the attributes of
/// samples only; as all samples of a resource have the same ones, repeating them makes no series more.
pub const NAMING_ATTRIBUTES: &[&str] = &[
    attribute::SERVICE_NAME,
    attribute::CLOUD_PROVIDER,
    attribute::CLOUD_REGION,
    attribute::HOST_TYPE,
    attribute::HOST_NAME,
    attribute::K8S_NAMESPACE_NAME,
    attribute::K8S_DEPLOYMENT_NAME,
    attribute::K8S_POD_NAME,
    attribute::CONTAINER_ID,
];

/// The one of these that both need to tell services apart.
const SERVICE: &[&str] = &[attribute::SERVICE_NAME];

impl Settings {
    /// Cumulative exponential histograms within the default limits, samples that repeat `service.name`.
    pub fn new(scope_version: impl Into<String>) -> Self {
        Self {
            scope_version: scope_version.into(),
            limits: Limits::default(),
            histograms: HistogramForm::default(),
            temporality: TemporalityPreference::default(),
            repeated: SERVICE,
        }
    }
}

/// What distributions are sent as (`OTEL_EXPORTER_OTLP_METRICS_DEFAULT_HISTOGRAM_AGGREGATION`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HistogramForm {
    /// `base2_exponential_bucket_histogram`.
    Exponential {
        /// Resolution is halved until no more buckets than this are left; two always are.
        max_buckets: usize,
    },
    /// `explicit_bucket_histogram`, with the bounds of [`explicit_bounds`].
    Explicit,
}

impl Default for HistogramForm {
    /// Exponential at the resolution that was recorded: receivers that want less can merge
    /// buckets, but none can split them.
    fn default() -> Self {
        Self::Exponential {
            max_buckets: MAX_BUCKETS,
        }
    }
}

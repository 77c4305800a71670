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
}

impl Settings {
    /// Cumulative exponential histograms within the default limits.
    pub fn new(scope_version: impl Into<String>) -> Self {
        Self {
            scope_version: scope_version.into(),
            limits: Limits::default(),
            histograms: HistogramForm::default(),
            temporality: TemporalityPreference::default(),
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

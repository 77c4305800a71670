//! The enumerated, boolean and duration values of the variables.

use std::time::Duration;

use evenkeel_otlp::temporality::TemporalityPreference;

/// The OTLP transport.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Protocol {
    /// OTLP/gRPC.
    Grpc,
    /// OTLP/HTTP with binary protobuf, the specification's default.
    #[default]
    HttpProtobuf,
}

impl Protocol {
    pub(super) const ALLOWED: &'static str = "grpc, http/protobuf";

    pub(super) fn parse(text: &str) -> Result<Self, String> {
        match text.to_ascii_lowercase().as_str() {
            "grpc" => Ok(Self::Grpc),
            "http/protobuf" => Ok(Self::HttpProtobuf),
            "http/json" => Err("OTLP in JSON is not supported".to_owned()),
            _ => Err("not an OTLP protocol".to_owned()),
        }
    }

    /// The port by convention (OTLP specification).
    pub(super) const fn default_port(self) -> u16 {
        match self {
            Self::Grpc => 4317,
            Self::HttpProtobuf => 4318,
        }
    }

    /// The value as the variable spells it.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Grpc => "grpc",
            Self::HttpProtobuf => "http/protobuf",
        }
    }
}

/// How request bodies are compressed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Compression {
    /// gzip: our default, since profiles shrink to about a fifth.
    #[default]
    Gzip,
    /// Not at all.
    None,
}

impl Compression {
    pub(super) const ALLOWED: &'static str = "gzip, none";

    pub(super) fn parse(text: &str) -> Result<Self, String> {
        match text.to_ascii_lowercase().as_str() {
            "gzip" => Ok(Self::Gzip),
            "none" => Ok(Self::None),
            _ => Err("not a supported compression".to_owned()),
        }
    }
}

pub(super) const TEMPORALITY_PREFERENCES: &str = "cumulative, delta, lowmemory";

pub(super) fn temporality_preference(text: &str) -> Result<TemporalityPreference, String> {
    match text.to_ascii_lowercase().as_str() {
        "cumulative" => Ok(TemporalityPreference::Cumulative),
        "delta" => Ok(TemporalityPreference::Delta),
        "lowmemory" => Ok(TemporalityPreference::LowMemory),
        _ => Err("not a temporality preference".to_owned()),
    }
}

/// How distributions are sent (`OTEL_EXPORTER_OTLP_METRICS_DEFAULT_HISTOGRAM_AGGREGATION`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum HistogramAggregation {
    /// Base-2 exponential: our default, as it is the scale on which the kernel programs count.
    #[default]
    Exponential,
    /// Fixed bounds.
    ExplicitBucket,
}

impl HistogramAggregation {
    pub(super) const ALLOWED: &'static str =
        "base2_exponential_bucket_histogram, explicit_bucket_histogram";

    pub(super) fn parse(text: &str) -> Result<Self, String> {
        match text.to_ascii_lowercase().as_str() {
            "base2_exponential_bucket_histogram" => Ok(Self::Exponential),
            "explicit_bucket_histogram" => Ok(Self::ExplicitBucket),
            _ => Err("not a histogram aggregation".to_owned()),
        }
    }
}

pub(super) const BOOLEAN: &str = "true, false";

pub(super) fn boolean(text: &str) -> Result<bool, String> {
    match text.to_ascii_lowercase().as_str() {
        "true" => Ok(true),
        "false" => Ok(false),
        _ => Err("not a boolean".to_owned()),
    }
}

/// An hour: a longer wait than that for an answer is a mistake in the unit.
const LONGEST_MS: u64 = 3_600_000;
pub(super) const MILLISECONDS: &str = "milliseconds as a whole number from 1 to 3600000";

pub(super) fn milliseconds(text: &str) -> Result<Duration, String> {
    match text.parse::<u64>() {
        Ok(number @ 1..=LONGEST_MS) => Ok(Duration::from_millis(number)),
        Ok(_) => Err("out of range".to_owned()),
        Err(_) => Err("not a whole number".to_owned()),
    }
}

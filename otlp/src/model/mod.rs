//! A window as the capturing half hands it over: plain values, no protobuf, no interning.
//!
//! The encoder turns it into OTLP; nothing outside this crate builds protobuf messages by hand.

mod attribute;
mod metric;
mod profile;

pub use self::{
    attribute::{Attribute, Resource, Value},
    metric::{Metric, MetricGroup, Point, PointValue},
    profile::{
        BuildIds, Frame, FrameType, Function, Line, Mapping, Profile, ProfileGroup, ProfileKind,
        Sample, ValueType,
    },
};

/// The time that a window covers, half open: `[start, start + duration)`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Span {
    /// Start in nanoseconds since the Unix epoch (UTC).
    pub start_unix_nanos: u64,
    /// Length in nanoseconds; never zero.
    pub duration_nanos: u64,
}

/// Everything that was measured between two instants.
///
/// Profiles are a delta over the window; metric points carry their own start times, as they are
/// cumulative unless the temporality stage changed them.
#[derive(Clone, Debug)]
pub struct Window {
    /// What the window covers.
    pub span: Span,
    /// One group per owner (container or, without one, service).
    pub profiles: Vec<ProfileGroup>,
    /// One group per resource; usually only the host's.
    pub metrics: Vec<MetricGroup>,
}

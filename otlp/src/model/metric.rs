//! Metric points.

use std::sync::Arc;

use evenkeel_semconv::MetricDescriptor;

use super::{Attribute, Resource};
use crate::histogram::ExponentialHistogram;

/// The metrics of one resource.
#[derive(Clone, Debug)]
pub struct MetricGroup {
    /// What they are about.
    pub resource: Arc<Resource>,
    /// Each name at most once.
    pub metrics: Vec<Metric>,
}

/// One metric and its points.
#[derive(Clone, Debug)]
pub struct Metric {
    /// Name, unit and instrument, from the registry.
    pub descriptor: &'static MetricDescriptor,
    /// One point per set of attributes; never empty.
    pub points: Vec<Point>,
}

/// One point of a series, always cumulative here.
#[derive(Clone, Debug)]
pub struct Point {
    /// Attributes, sorted by key, keys unique.
    pub attributes: Vec<Attribute>,
    /// When the stream began (Unix nanoseconds): the probe's attach time for what we count, boot
    /// for what the kernel counts since boot. Gauges ignore it.
    pub start_unix_nanos: u64,
    /// The value at the window's end.
    pub value: PointValue,
}

/// The value of a point.
#[derive(Clone, Debug, PartialEq)]
pub enum PointValue {
    /// A count.
    Int(i64),
    /// A sum of seconds, a ratio.
    Double(f64),
    /// A distribution.
    Histogram(ExponentialHistogram),
}

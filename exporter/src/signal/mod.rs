//! What is measured. One module a signal; the kernel's half is in `kernel/`.

pub mod host;
mod kind;
pub mod run_queue;
pub mod status;
pub mod stolen;

use evenkeel_otlp::model::{Attribute, Metric, Point, PointValue};
use evenkeel_semconv::MetricDescriptor;

pub use self::kind::{Signal, UnknownSignal};

const NANOS: f64 = 1e9;

/// A point with sorted attributes.
fn point(
    mut attributes: Vec<Attribute>,
    start_unix_nanos: u64,
    value: impl Into<PointValue>,
) -> Point {
    attributes.sort();
    Point {
        attributes,
        start_unix_nanos,
        value: value.into(),
    }
}

/// A count as a point's value.
fn int(count: u64) -> PointValue {
    PointValue::Int(i64::try_from(count).unwrap_or(i64::MAX))
}

/// A metric, unless there are no points: what was not measured is absent.
fn metric(descriptor: &'static MetricDescriptor, points: Vec<Point>) -> Option<Metric> {
    (!points.is_empty()).then_some(Metric { descriptor, points })
}

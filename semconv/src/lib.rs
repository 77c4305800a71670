//! Every name that Evenkeel emits: the registry and the constants made from it.
#![forbid(unsafe_code)]

/// A metric as the registry defines it.
#[derive(Debug, PartialEq, Eq)]
pub struct MetricDescriptor {
    /// Name, dots and lower case.
    pub name: &'static str,
    /// UCUM unit.
    pub unit: &'static str,
    /// What it is for, one sentence.
    pub description: &'static str,
    /// How its points are to be read.
    pub instrument: Instrument,
}

/// The kind of a metric.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Instrument {
    /// Sum that only grows.
    Counter,
    /// Sum that grows and shrinks.
    UpDownCounter,
    /// Last value.
    Gauge,
    /// Distribution.
    Histogram,
}

//! Every name that Evenkeel emits: the registry and the constants made from it.
//!
//! The source is the registry of weaver files in `registry/`. `semconv-generate` (feature
//! `generate`) checks it and writes the modules [`attribute`] and [`metric`]; they are committed,
//! so that a build needs neither the generator nor a network.
#![forbid(unsafe_code)]

pub mod conformity;
#[cfg(feature = "generate")]
pub mod generate;
#[rustfmt::skip]
mod generated;

pub use self::generated::{SCHEMA_URL, UPSTREAM_SCHEMA_URL, attribute, metric};

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
    /// The type of its numbers; the values of a histogram are always doubles.
    pub number: Number,
    /// Attributes that its points may carry, sorted by name.
    pub attributes: &'static [MetricAttribute],
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

/// The type of a metric's numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Number {
    /// 64-bit integers.
    Int,
    /// 64-bit floating point numbers.
    Double,
}

/// An attribute of a metric's points.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct MetricAttribute {
    /// Name of the attribute.
    pub name: &'static str,
    /// Whether each point has it.
    pub requirement: Requirement,
}

/// Whether an attribute must be there (semantic conventions, "attribute requirement levels").
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Requirement {
    /// On each point.
    Required,
    /// On each point that meets the condition that the registry states in words.
    ConditionallyRequired,
    /// On each point unless there is a reason.
    Recommended,
    /// Only when the user asks for it.
    OptIn,
}

/// An attribute as the registry defines it.
#[derive(Debug, PartialEq, Eq)]
pub struct AttributeDescriptor {
    /// Name, dots and lower case.
    pub name: &'static str,
    /// What it says, one sentence.
    pub description: &'static str,
    /// The type of its value.
    pub kind: AttributeKind,
}

/// The type of an attribute's value.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum AttributeKind {
    /// Text.
    String,
    /// One of these texts.
    Enum(&'static [&'static str]),
    /// A 64-bit integer.
    Int,
    /// A 64-bit floating point number.
    Double,
    /// True or false.
    Boolean,
}

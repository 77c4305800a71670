//! The registry's files as they are written: the part of weaver's `definition/2` that we use.
//!
//! Unknown keys are errors, so a misspelt key never passes for an absent one.

use std::fmt;

use serde::Deserialize;

/// The only file format that is read.
pub(super) const FILE_FORMAT: &str = "definition/2";

/// `manifest.yaml`.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Manifest {
    pub(super) schema_url: String,
    pub(super) description: String,
    pub(super) stability: Stability,
    pub(super) dependencies: Vec<Dependency>,
}

/// A registry that ours imports from.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Dependency {
    pub(super) schema_url: String,
    pub(super) registry_path: String,
}

/// Any of the other files.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Document {
    pub(super) file_format: String,
    #[serde(default)]
    pub(super) attributes: Vec<Attribute>,
    #[serde(default)]
    pub(super) metrics: Vec<Metric>,
    #[serde(default)]
    pub(super) attribute_groups: Vec<Group>,
    #[serde(default)]
    pub(super) imports: Imports,
}

/// Names taken from the dependency.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Imports {
    #[serde(default)]
    pub(super) metrics: Vec<String>,
    #[serde(default)]
    pub(super) entities: Vec<String>,
}

/// An attribute of ours.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Attribute {
    pub(super) key: String,
    #[serde(rename = "type")]
    pub(super) kind: AttributeType,
    pub(super) stability: Stability,
    pub(super) brief: String,
    #[serde(default)]
    pub(super) note: String,
    #[serde(default)]
    pub(super) examples: Vec<Example>,
    #[serde(default)]
    pub(super) annotations: AttributeAnnotations,
}

/// A type: a word, or a list of members.
#[derive(Debug, Deserialize)]
#[serde(untagged)]
pub(super) enum AttributeType {
    Primitive(Primitive),
    Enumeration(Enumeration),
}

/// The types that a value may have here; arrays and templates are left out, as backends drop them.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "snake_case")]
pub(super) enum Primitive {
    String,
    Int,
    Double,
    Boolean,
}

/// The members of an enumeration.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Enumeration {
    pub(super) members: Vec<Member>,
}

/// One value of an enumeration.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Member {
    pub(super) id: String,
    pub(super) value: String,
    pub(super) brief: String,
    pub(super) stability: Stability,
}

/// An example value.
#[derive(Debug, Deserialize)]
#[serde(untagged)]
pub(super) enum Example {
    Boolean(bool),
    Int(i64),
    Double(f64),
    String(String),
}

impl fmt::Display for Example {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Boolean(flag) => flag.fmt(formatter),
            Self::Int(number) => number.fmt(formatter),
            Self::Double(number) => number.fmt(formatter),
            Self::String(text) => text.fmt(formatter),
        }
    }
}

/// Our annotations on an attribute.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct AttributeAnnotations {
    /// Bound on distinct values; needed on text attributes of metrics.
    #[serde(rename = "evenkeel.max_cardinality")]
    pub(super) max_cardinality: Option<u32>,
}

/// A metric of ours.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Metric {
    pub(super) name: String,
    pub(super) instrument: Instrument,
    pub(super) unit: String,
    pub(super) stability: Stability,
    pub(super) brief: String,
    #[serde(default)]
    pub(super) note: String,
    pub(super) requirement_level: SignalLevel,
    #[serde(default)]
    pub(super) attributes: Vec<Reference>,
    pub(super) entity_associations: Vec<String>,
    pub(super) annotations: MetricAnnotations,
}

/// The kind of a metric, least specific name first.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "lowercase")]
pub(super) enum Instrument {
    Counter,
    UpDownCounter,
    Gauge,
    Histogram,
}

/// Whether a metric is sent unless switched off.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "snake_case")]
pub(super) enum SignalLevel {
    Recommended,
    OptIn,
}

/// Annotations on a metric.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct MetricAnnotations {
    pub(super) code_generation: CodeGeneration,
    /// The name that it would have upstream.
    #[serde(rename = "evenkeel.upstream")]
    pub(super) upstream: Option<String>,
}

/// OpenTelemetry's annotation for generators.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct CodeGeneration {
    pub(super) metric_value_type: Number,
}

/// The type of a metric's numbers.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "snake_case")]
pub(super) enum Number {
    Int,
    Double,
}

/// An attribute where it is used.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Reference {
    #[serde(rename = "ref")]
    pub(super) name: String,
    #[serde(default)]
    pub(super) requirement_level: Level,
    #[serde(default)]
    pub(super) annotations: ReferenceAnnotations,
}

/// Our annotations on the use of an attribute.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct ReferenceAnnotations {
    /// The values of an upstream enumeration that we send. The offline copy of the upstream
    /// registry does not list members, and no list of ours should hold values that we never send.
    #[serde(rename = "evenkeel.values", default)]
    pub(super) values: Vec<String>,
    /// The type as which we send an upstream attribute whose examples do not show it.
    #[serde(rename = "evenkeel.type")]
    pub(super) primitive: Option<Primitive>,
    /// As on attributes of ours, for upstream ones.
    #[serde(rename = "evenkeel.max_cardinality")]
    pub(super) max_cardinality: Option<u32>,
}

/// Whether an attribute must be there.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "snake_case")]
pub(super) enum Level {
    Required,
    #[default]
    Recommended,
    OptIn,
    ConditionallyRequired(String),
}

/// A group of attributes that is used together.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Group {
    pub(super) id: String,
    #[expect(
        dead_code,
        reason = "weaver wants the key; every group of ours has the same value"
    )]
    pub(super) visibility: Visibility,
    pub(super) stability: Stability,
    pub(super) brief: String,
    #[serde(default)]
    pub(super) annotations: GroupAnnotations,
    pub(super) attributes: Vec<Reference>,
}

/// Only public groups are used.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "snake_case")]
pub(super) enum Visibility {
    Public,
}

/// Our annotations on a group.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct GroupAnnotations {
    /// Where the attributes of the group are put.
    #[serde(rename = "evenkeel.level")]
    pub(super) level: Option<Placement>,
}

/// Where attributes are put.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "snake_case")]
pub(super) enum Placement {
    Resource,
}

/// How firm a definition is, least firm first.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq, PartialOrd, Ord)]
#[serde(rename_all = "snake_case")]
pub(super) enum Stability {
    Development,
    Alpha,
    Beta,
    ReleaseCandidate,
    Stable,
}

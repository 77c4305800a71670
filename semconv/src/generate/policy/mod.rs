//! The rules that names, units and shapes must keep: the naming rules of the OpenTelemetry
//! semantic conventions (`docs/general/naming.md`, `docs/general/metrics.md`, and the policies
//! that its registry is checked with), and a few of our own.

mod metric;
mod name;
#[cfg(test)]
mod tests;

use std::fmt;

pub(super) use self::name::constant;
use super::registry::Registry;

/// A rule of the registry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rule {
    /// Every key, unit and annotation stands where it has a meaning.
    Annotation,
    /// Text attributes of metrics say how many values they can have.
    Cardinality,
    /// Two names never become one Rust constant.
    ConstantCollision,
    /// One upstream registry, not older than the copy that imports are checked against.
    Dependency,
    /// Nothing that upstream has deprecated is used.
    Deprecated,
    /// A name is defined once, an attribute used once in a list.
    Duplicate,
    /// `.duration` is a histogram in seconds.
    DurationShape,
    /// Metrics are about entities that are imported.
    EntityAssociation,
    /// Members of an enumeration have unique identifiers and values.
    Enumeration,
    /// Text and number attributes have examples.
    Examples,
    /// Names are lower case, dotted, under our own root.
    NameFormat,
    /// No name is the namespace of another.
    NamespaceCollision,
    /// Briefs are sentences.
    BriefPeriod,
    /// Resources carry texts only.
    ResourceText,
    /// Sizes, lengths, counts, limits and usages are up-down counters.
    SizeShape,
    /// Nothing is firmer than the attributes it needs.
    Stability,
    /// `.status` is an up-down counter of ones and zeros.
    StatusShape,
    /// `.time` is a counter in seconds.
    TimeShape,
    /// Units are UCUM, annotations in the singular.
    Unit,
    /// A name that is used is defined.
    UnresolvedReference,
    /// A name that is defined is used.
    Unused,
    /// `.utilization` is a share.
    UtilizationShape,
}

impl fmt::Display for Rule {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Self::Annotation => "annotation",
            Self::BriefPeriod => "brief-period",
            Self::Cardinality => "cardinality",
            Self::ConstantCollision => "constant-collision",
            Self::Dependency => "dependency",
            Self::Deprecated => "deprecated",
            Self::Duplicate => "duplicate",
            Self::DurationShape => "duration-shape",
            Self::EntityAssociation => "entity-association",
            Self::Enumeration => "enumeration",
            Self::Examples => "examples",
            Self::NameFormat => "name-format",
            Self::NamespaceCollision => "namespace-collision",
            Self::ResourceText => "resource-text",
            Self::SizeShape => "size-shape",
            Self::Stability => "stability",
            Self::StatusShape => "status-shape",
            Self::TimeShape => "time-shape",
            Self::Unit => "unit",
            Self::UnresolvedReference => "unresolved-reference",
            Self::Unused => "unused",
            Self::UtilizationShape => "utilization-shape",
        })
    }
}

/// A rule that is broken.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// Which rule.
    pub rule: Rule,
    /// The name that breaks it.
    pub subject: String,
    /// What is wrong with it.
    pub message: String,
}

impl Finding {
    pub(super) fn new(rule: Rule, subject: &str, message: String) -> Self {
        Self {
            rule,
            subject: subject.to_owned(),
            message,
        }
    }
}

impl fmt::Display for Finding {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            formatter,
            "[{}] {}: {}",
            self.rule, self.subject, self.message
        )
    }
}

/// Every rule that the registry breaks.
pub(super) fn check(registry: &Registry) -> Vec<Finding> {
    let mut findings = Vec::new();
    name::check(registry, &mut findings);
    metric::check(registry, &mut findings);
    findings
}

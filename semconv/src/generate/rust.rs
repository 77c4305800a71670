//! The Rust constants.
//!
//! The generated modules are kept from `rustfmt`, so that what is generated does not depend on
//! its version.

use std::fmt::Write as _;

use super::{
    document::{Instrument, Level, Number, Primitive},
    policy::constant,
    registry::{Attribute, Kind, Registry, ResolvedMetric},
};

const NOTICE: &str = "Generated from the registry by `semconv-generate`: do not edit.";

/// `generated/mod.rs`.
pub(super) fn module(registry: &Registry) -> String {
    format!(
        "//! {NOTICE}

pub mod attribute;
pub mod metric;

/// Schema of the names that this registry defines.
pub const SCHEMA_URL: &str = {:?};

/// Schema of the names that come from OpenTelemetry.
pub const UPSTREAM_SCHEMA_URL: &str = {:?};
",
        registry.manifest.schema_url, registry.upstream_schema_url
    )
}

/// `generated/attribute.rs`.
pub(super) fn attributes(registry: &Registry) -> String {
    let mut sorted: Vec<_> = registry.attributes.iter().collect();
    sorted.sort_by(|left, right| left.name.cmp(&right.name));

    let mut text = format!(
        "//! Attribute names. {NOTICE}

use crate::{{AttributeDescriptor, AttributeKind}};
"
    );
    for attribute in &sorted {
        let _ = write!(
            text,
            "\n/// {}\npub const {}: &str = {:?};\n",
            comment(&attribute.brief),
            constant(&attribute.name),
            attribute.name
        );
    }
    text.push_str("\n/// Every attribute, sorted by name.\n");
    text.push_str("pub static ALL: &[AttributeDescriptor] = &[\n");
    for attribute in &sorted {
        let _ = write!(
            text,
            "    AttributeDescriptor {{
        name: {},
        description: {:?},
        kind: AttributeKind::{},
    }},
",
            constant(&attribute.name),
            attribute.brief,
            kind(attribute)
        );
    }
    text.push_str("];\n\n/// Attribute values.\npub mod value {");
    let mut separator = "\n";
    for attribute in sorted {
        let Kind::Enumeration(members) = &attribute.kind else {
            continue;
        };
        let _ = write!(
            text,
            "{separator}    /// Values of `{}`.\n    pub mod {} {{\n",
            attribute.name,
            constant(&attribute.name).to_lowercase()
        );
        for member in members {
            let brief = if member.brief.is_empty() {
                format!("`{}`.", member.value)
            } else {
                comment(&member.brief)
            };
            let _ = write!(
                text,
                "        /// {brief}\n        pub const {}: &str = {:?};\n",
                member.id.to_uppercase(),
                member.value
            );
        }
        text.push_str("    }");
        separator = "\n\n";
    }
    text.push_str("\n}\n");
    text
}

/// `generated/metric.rs`.
pub(super) fn metrics(registry: &Registry) -> String {
    let mut sorted: Vec<_> = registry.metrics.iter().collect();
    sorted.sort_by(|left, right| left.name.cmp(&right.name));

    let mut text = format!(
        "//! Metrics. {NOTICE}

use super::attribute;
use crate::{{Instrument, MetricAttribute, MetricDescriptor, Number, Requirement}};
"
    );
    for metric in &sorted {
        descriptor(metric, &mut text);
    }
    text.push_str("\n/// Every metric, sorted by name.\n");
    text.push_str("pub static ALL: &[&MetricDescriptor] = &[\n");
    for metric in sorted {
        let _ = writeln!(text, "    &{},", constant(&metric.name));
    }
    text.push_str("];\n");
    text
}

fn descriptor(metric: &ResolvedMetric, text: &mut String) {
    let instrument = match metric.instrument {
        Instrument::Counter => "Counter",
        Instrument::UpDownCounter => "UpDownCounter",
        Instrument::Gauge => "Gauge",
        Instrument::Histogram => "Histogram",
    };
    let number = match metric.number {
        Number::Int => "Int",
        Number::Double => "Double",
    };
    let _ = write!(
        text,
        "
/// {} {instrument} in `{}`.
pub static {}: MetricDescriptor = MetricDescriptor {{
    name: {:?},
    unit: {:?},
    description: {:?},
    instrument: Instrument::{instrument},
    number: Number::{number},
    attributes: &[",
        comment(&metric.brief),
        metric.unit,
        constant(&metric.name),
        metric.name,
        metric.unit,
        metric.brief,
    );
    for (name, level) in &metric.attributes {
        let requirement = match level {
            Level::Required => "Required",
            Level::ConditionallyRequired(_) => "ConditionallyRequired",
            Level::Recommended => "Recommended",
            Level::OptIn => "OptIn",
        };
        let _ = write!(
            text,
            "
        MetricAttribute {{
            name: attribute::{},
            requirement: Requirement::{requirement},
        }},",
            constant(name)
        );
    }
    if !metric.attributes.is_empty() {
        text.push_str("\n    ");
    }
    text.push_str("],\n};\n");
}

fn kind(attribute: &Attribute) -> String {
    match &attribute.kind {
        Kind::Primitive(Primitive::String) => "String".to_owned(),
        Kind::Primitive(Primitive::Int) => "Int".to_owned(),
        Kind::Primitive(Primitive::Double) => "Double".to_owned(),
        Kind::Primitive(Primitive::Boolean) => "Boolean".to_owned(),
        Kind::Enumeration(members) => {
            let values: Vec<_> = members.iter().map(|member| member.value.as_str()).collect();
            format!("Enum(&{values:?})")
        }
    }
}

/// Text in a doc comment: brackets would be read as links to items.
fn comment(text: &str) -> String {
    text.replace('[', "\\[").replace(']', "\\]")
}

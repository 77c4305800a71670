//! Rules about units, shapes and the attributes of metrics.

use std::collections::BTreeSet;

use super::{Finding, Rule};
use crate::generate::{
    document::{Instrument, Level, Number, Primitive},
    registry::{Kind, Registry, ResolvedMetric},
};

/// The UCUM units that we send: seconds, bytes, hertz, ratios. Other quantities are counts of
/// something, whose name stands in braces.
const UNITS: &[&str] = &["s", "By", "Hz", "1"];

pub(super) fn check(registry: &Registry, findings: &mut Vec<Finding>) {
    for metric in &registry.metrics {
        if !metric.imported {
            unit(metric, findings);
            shape(metric, findings);
            entities(metric, registry, findings);
        }
        attributes(metric, registry, findings);
    }
}

/// `{task}`: one word or more with underscores, in the singular.
fn is_annotation(unit: &str) -> bool {
    unit.strip_prefix('{')
        .and_then(|rest| rest.strip_suffix('}'))
        .is_some_and(|word| {
            !word.is_empty()
            && word.chars().all(|character| character.is_ascii_lowercase() || character == '_')
            // `process` and `status` are singular.
            && (!word.ends_with('s') || word.ends_with("ss") || word.ends_with("us"))
        })
}

fn unit(metric: &ResolvedMetric, findings: &mut Vec<Finding>) {
    if !UNITS.contains(&metric.unit.as_str()) && !is_annotation(&metric.unit) {
        findings.push(Finding::new(
            Rule::Unit,
            &metric.name,
            format!(
                "`{}` is neither one of {UNITS:?} nor a singular word in braces",
                metric.unit
            ),
        ));
    }
}

fn shape(metric: &ResolvedMetric, findings: &mut Vec<Finding>) {
    let last = metric.name.rsplit('.').next().unwrap_or_default();
    let is = |instrument, unit: &str| metric.instrument == instrument && metric.unit == unit;
    let broken = match last {
        "duration" if !is(Instrument::Histogram, "s") => {
            Some((Rule::DurationShape, "`.duration` is a histogram in `s`"))
        }
        "time" if !is(Instrument::Counter, "s") => {
            Some((Rule::TimeShape, "`.time` is a counter in `s`"))
        }
        "status" if !is(Instrument::UpDownCounter, "1") => {
            Some((Rule::StatusShape, "`.status` is an updowncounter in `1`"))
        }
        "utilization"
            if metric.unit != "1"
                || !matches!(metric.instrument, Instrument::Gauge | Instrument::Histogram) =>
        {
            Some((
                Rule::UtilizationShape,
                "`.utilization` is a gauge or histogram in `1`",
            ))
        }
        // A length or size that is sampled may also be a distribution.
        "count" | "length" | "limit" | "size" | "usage"
            if !matches!(
                metric.instrument,
                Instrument::UpDownCounter | Instrument::Histogram
            ) =>
        {
            Some((
                Rule::SizeShape,
                "`.count`, `.length`, `.limit`, `.size` and `.usage` are updowncounters",
            ))
        }
        "counts" => Some((Rule::SizeShape, "`.count` is never plural")),
        _ => None,
    };
    if let Some((rule, message)) = broken {
        findings.push(Finding::new(rule, &metric.name, message.to_owned()));
    }
    if metric.instrument == Instrument::Histogram && metric.number == Number::Int {
        findings.push(Finding::new(
            Rule::Annotation,
            &metric.name,
            "the values of histograms are doubles".to_owned(),
        ));
    }
}

fn entities(metric: &ResolvedMetric, registry: &Registry, findings: &mut Vec<Finding>) {
    for entity in &metric.entities {
        if !registry.imported_entities.contains(entity) {
            findings.push(Finding::new(
                Rule::EntityAssociation,
                &metric.name,
                format!("the entity `{entity}` is not imported"),
            ));
        }
    }
}

fn attributes(metric: &ResolvedMetric, registry: &Registry, findings: &mut Vec<Finding>) {
    let mut names = BTreeSet::new();
    for (name, level) in &metric.attributes {
        if !names.insert(name) {
            findings.push(Finding::new(
                Rule::Duplicate,
                &metric.name,
                format!("`{name}` stands twice in it"),
            ));
        }
        let Some(attribute) = registry.attribute(name) else {
            continue;
        };
        if matches!(attribute.kind, Kind::Primitive(Primitive::String))
            && attribute.max_cardinality.is_none()
        {
            findings.push(Finding::new(
                Rule::Cardinality,
                &metric.name,
                format!("`{name}` is a text: annotate it with evenkeel.max_cardinality"),
            ));
        }
        if matches!(attribute.kind, Kind::Primitive(Primitive::Double)) {
            findings.push(Finding::new(
                Rule::Cardinality,
                &metric.name,
                format!("`{name}` is a number with fractions, which has no bound on its values"),
            ));
        }
        if !metric.imported && metric.stability > attribute.stability && *level != Level::OptIn {
            findings.push(Finding::new(
                Rule::Stability,
                &metric.name,
                format!("it is firmer than its attribute `{name}`"),
            ));
        }
    }
}

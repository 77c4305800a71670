//! `docs/semconv.md`: one table of metrics, one of attributes.

use std::fmt::Write as _;

use super::{
    document::{Dependency, Instrument, Level, Primitive, SignalLevel, Stability},
    registry::{Attribute, Kind, Registry, ResolvedMetric},
};

/// The document.
pub(super) fn document(registry: &Registry) -> String {
    let manifest = &registry.manifest;
    let mut text = format!(
        "<!-- Generated from semconv/registry by `semconv-generate`: do not edit. -->

# Metrics and attributes

{}

- Schema: `{}` ({})
",
        manifest.description,
        manifest.schema_url,
        stability(manifest.stability)
    );
    for Dependency {
        schema_url,
        registry_path,
    } in &manifest.dependencies
    {
        let _ = writeln!(text, "- Imports from: `{schema_url}` (`{registry_path}`)");
    }
    text.push_str(
        "
The registry in `semconv/registry` is the source; it can be read by OpenTelemetry weaver. To change
a name, edit it there and run

    cargo run -q -p evenkeel-semconv --features generate --bin semconv-generate

which checks the rules of the registry and rewrites this file and the Rust constants. With
`-- --check` it changes nothing and exits with 1 when a committed file is not current.

Names that start with `evenkeel.` are ours; the others are OpenTelemetry's.

## Metrics

| Metric | Instrument | Unit | Attributes | Entity | Description |
|---|---|---|---|---|---|
",
    );
    let mut metrics: Vec<_> = registry.metrics.iter().collect();
    metrics.sort_by(|left, right| left.name.cmp(&right.name));
    for found in metrics {
        metric(found, &mut text);
    }
    text.push_str(
        "
Attributes without a remark are required; *when possible* stands for recommended ones, *on request*
for those that are sent only when asked for.

## Attributes

| Attribute | Type or values | Used in | Most values | Description |
|---|---|---|---|---|
",
    );
    let mut attributes: Vec<_> = registry.attributes.iter().collect();
    attributes.sort_by(|left, right| left.name.cmp(&right.name));
    for found in attributes {
        attribute(found, registry, &mut text);
    }
    text.push_str("\n## Groups\n\n");
    for group in &registry.groups {
        let _ = writeln!(text, "- `{}`: {}", group.id, group.brief);
    }
    text
}

fn metric(metric: &ResolvedMetric, text: &mut String) {
    let instrument = match metric.instrument {
        Instrument::Counter => "counter",
        Instrument::UpDownCounter => "updowncounter",
        Instrument::Gauge => "gauge",
        Instrument::Histogram => "histogram",
    };
    let attributes: Vec<_> = metric
        .attributes
        .iter()
        .map(|(name, level)| match level {
            Level::Required => format!("`{name}`"),
            Level::Recommended => format!("`{name}` *when possible*"),
            Level::OptIn => format!("`{name}` *on request*"),
            Level::ConditionallyRequired(condition) => {
                format!(
                    "`{name}` *{}*",
                    condition.trim_end_matches('.').to_lowercase()
                )
            }
        })
        .collect();
    let mut description = sentences(&metric.brief, &metric.note);
    if metric.level == SignalLevel::OptIn {
        description.push_str(" Only on request.");
    }
    if let Some(form) = &metric.upstream_form {
        let _ = write!(description, " Proposed upstream as `{form}`.");
    }
    let _ = writeln!(
        text,
        "| `{}` | {instrument} | `{}` | {} | {} | {} |",
        metric.name,
        metric.unit,
        attributes.join(", "),
        metric.entities.join(", "),
        cell(&description)
    );
}

fn attribute(attribute: &Attribute, registry: &Registry, text: &mut String) {
    let kind = match &attribute.kind {
        Kind::Primitive(Primitive::String) => "string".to_owned(),
        Kind::Primitive(Primitive::Int) => "int".to_owned(),
        Kind::Primitive(Primitive::Double) => "double".to_owned(),
        Kind::Primitive(Primitive::Boolean) => "boolean".to_owned(),
        Kind::Enumeration(members) => members
            .iter()
            .map(|member| match member.brief.as_str() {
                "" => format!("`{}`", member.value),
                brief => format!("`{}`: {brief}", member.value),
            })
            .collect::<Vec<_>>()
            .join("<br>"),
    };
    let in_metrics = registry.metrics.iter().any(|metric| {
        metric
            .attributes
            .iter()
            .any(|(name, _)| *name == attribute.name)
    });
    let mut places: Vec<_> = registry
        .groups
        .iter()
        .filter(|group| {
            group
                .attributes
                .iter()
                .any(|used| used.name == attribute.name)
        })
        .map(|group| group.id.trim_start_matches("evenkeel."))
        .collect();
    if in_metrics && !places.contains(&"point") {
        places.push("point");
    }
    let mut description = sentences(&attribute.brief, &attribute.note);
    let examples: Vec<_> = attribute
        .examples
        .iter()
        .map(|text| format!("`{text}`"))
        .collect();
    // Both values of a boolean are known.
    if !examples.is_empty() && !matches!(attribute.kind, Kind::Primitive(Primitive::Boolean)) {
        let _ = write!(description, " For example {}.", examples.join(", "));
    }
    let most = attribute
        .max_cardinality
        .map(|most| most.to_string())
        .unwrap_or_default();
    let _ = writeln!(
        text,
        "| `{}` | {} | {} | {most} | {} |",
        attribute.name,
        cell(&kind),
        places.join(", "),
        cell(&description)
    );
}

fn sentences(brief: &str, note: &str) -> String {
    [brief, note].join(" ").trim().to_owned()
}

/// Text in a cell of a table.
fn cell(text: &str) -> String {
    text.replace('|', "\\|").replace('\n', " ")
}

fn stability(stability: Stability) -> &'static str {
    match stability {
        Stability::Development => "development",
        Stability::Alpha => "alpha",
        Stability::Beta => "beta",
        Stability::ReleaseCandidate => "release candidate",
        Stability::Stable => "stable",
    }
}

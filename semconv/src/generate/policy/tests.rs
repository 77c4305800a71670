//! One small bad registry per rule.

use std::fs;

use super::*;
use crate::generate::{Error, upstream};

const MANIFEST: &str = "\
schema_url: https://example.org/schemas/0.1.0
description: A registry.
stability: development
dependencies:
  - schema_url: https://opentelemetry.io/schemas/1.44.0
    registry_path: upstream
";

const GOOD: &str = r#"
file_format: definition/2
imports:
  metrics: [system.cpu.time]
  entities: [host]
attributes:
  - key: evenkeel.thing.name
    type: string
    stability: development
    brief: The name of the thing.
    examples: [door]
    annotations: {evenkeel.max_cardinality: 8}
  - key: evenkeel.thing.color
    type:
      members:
        - {id: red, value: red, brief: Red., stability: development}
        - {id: dark_blue, value: dark-blue, brief: Dark blue., stability: development}
    stability: development
    brief: The colour of the thing.
metrics:
  - name: evenkeel.thing.openings
    instrument: counter
    unit: "{opening}"
    stability: development
    brief: Times that a thing was opened.
    requirement_level: recommended
    attributes:
      - ref: evenkeel.thing.name
        requirement_level: required
    entity_associations: [host]
    annotations: {code_generation: {metric_value_type: int}}
attribute_groups:
  - id: evenkeel.all
    visibility: public
    stability: development
    brief: What is not on a metric.
    annotations: {evenkeel.level: resource}
    attributes:
      - ref: evenkeel.thing.color
      - ref: os.type
        annotations: {evenkeel.values: [linux]}
      - ref: cpu.mode
        annotations: {evenkeel.values: [user, idle]}
"#;

/// The findings in `manifest` and `registry`, or the error of reading them.
fn findings_of(manifest: &str, registry: &str) -> Result<Vec<Finding>, Error> {
    let directory = tempfile::tempdir().unwrap();
    fs::write(directory.path().join("manifest.yaml"), manifest).unwrap();
    fs::write(directory.path().join("registry.yaml"), registry).unwrap();
    let (registry, mut findings) = Registry::load(directory.path(), &upstream::tests::small())?;
    findings.extend(check(&registry));
    Ok(findings)
}

/// The findings after one replacement in the good registry, whose text must be there.
#[track_caller]
fn findings(from: &str, to: &str) -> Vec<Finding> {
    assert!(GOOD.contains(from), "{from}");
    findings_of(MANIFEST, &GOOD.replace(from, to)).unwrap()
}

/// That the replacement breaks this rule, for this name, and no other rule.
#[track_caller]
fn breaks(rule: Rule, subject: &str, from: &str, to: &str) {
    let findings = findings(from, to);
    assert!(!findings.is_empty(), "{rule} is not seen");
    for finding in findings {
        assert_eq!(
            (finding.rule, finding.subject.as_str()),
            (rule, subject),
            "{finding}"
        );
    }
}

/// The metric of the good registry under another name, instrument and unit.
fn metric_as(name: &str, instrument: &str, unit: &str) -> Vec<Finding> {
    let text = GOOD
        .replace("evenkeel.thing.openings", name)
        .replace("instrument: counter", &format!("instrument: {instrument}"))
        .replace("\"{opening}\"", &format!("\"{unit}\""))
        .replace("metric_value_type: int", "metric_value_type: double");
    findings_of(MANIFEST, &text).unwrap()
}

/// That a name has only the one shape.
#[track_caller]
fn has_shape(rule: Rule, name: &str, good: (&str, &str), bad: &[(&str, &str)]) {
    assert_eq!(metric_as(name, good.0, good.1), []);
    for (instrument, unit) in bad {
        let rules: Vec<_> = metric_as(name, instrument, unit)
            .into_iter()
            .map(|found| found.rule)
            .collect();
        assert_eq!(rules, [rule], "{name} {instrument} {unit}");
    }
}

/// The registry that the others are made from breaks nothing.
#[test]
fn the_good_registry_is_good() {
    assert_eq!(findings_of(MANIFEST, GOOD).unwrap(), []);
}

#[test]
fn names_are_lower_case_with_dots_and_single_underscores() {
    for name in [
        "evenkeel.Thing.openings",
        "evenkeel.thing__x",
        "evenkeel.thing.x-y",
        "evenkeel..thing",
        "evenkeel.thing_",
        "evenkeel.thing.x y",
    ] {
        breaks(Rule::NameFormat, name, "evenkeel.thing.openings", name);
    }
    assert!(name::is_name("evenkeel.io9.some_thing") && !name::is_name("evenkeel"));
}

#[test]
fn names_have_our_root_and_no_total() {
    breaks(
        Rule::NameFormat,
        "system.openings",
        "evenkeel.thing.openings",
        "system.openings",
    );
    breaks(
        Rule::NameFormat,
        "evenkeel.total",
        "evenkeel.thing.openings",
        "evenkeel.total",
    );
}

/// Also between an attribute and a metric, and between ours and an imported one.
#[test]
fn no_name_is_the_namespace_of_another() {
    breaks(
        Rule::NamespaceCollision,
        "evenkeel.thing.name",
        "evenkeel.thing.openings",
        "evenkeel.thing.name.openings",
    );
    let found = findings("evenkeel.thing.openings", "system.cpu");
    assert!(
        found
            .iter()
            .any(|found| found.rule == Rule::NamespaceCollision
                && found.message.contains("system.cpu.time")),
        "{found:?}"
    );
}

#[test]
fn constants_do_not_collide() {
    let text = GOOD
        .replace(
            "      - ref: os.type",
            "      - ref: evenkeel.thing_color\n      - ref: os.type",
        )
        .replace(
            "metrics:\n  - name",
            "  - key: evenkeel.thing_color
    type: string
    stability: development
    brief: The colour of the thing.
    examples: [red]
metrics:\n  - name",
        );
    let found = findings_of(MANIFEST, &text).unwrap();
    assert_eq!(found.len(), 1, "{found:?}");
    assert_eq!(found[0].rule, Rule::ConstantCollision);
}

#[test]
fn names_are_defined_once() {
    let twice = GOOD.replace("key: evenkeel.thing.color", "key: evenkeel.thing.name");
    let rules: Vec<_> = findings_of(MANIFEST, &twice)
        .unwrap()
        .iter()
        .map(|found| found.rule)
        .collect();
    assert!(rules.contains(&Rule::Duplicate), "{rules:?}");
    breaks(
        Rule::Duplicate,
        "evenkeel.thing.openings",
        "      - ref: evenkeel.thing.name\n",
        "      - ref: evenkeel.thing.name\n      - ref: evenkeel.thing.name\n",
    );
    breaks(
        Rule::Duplicate,
        "evenkeel.all",
        "      - ref: evenkeel.thing.color\n",
        "      - ref: evenkeel.thing.color\n      - ref: evenkeel.thing.color\n",
    );
}

#[test]
fn enumerations_are_sets_of_identifiers_and_values() {
    let subject = "evenkeel.thing.color";
    let breaks = |from: &str, to: &str| breaks(Rule::Enumeration, subject, from, to);
    breaks("{id: dark_blue,", "{id: red,");
    breaks("value: dark-blue", "value: red");
    breaks("{id: dark_blue,", "{id: Dark-blue,");
    breaks("brief: Dark blue.,", "brief: Dark blue,");
    breaks(
        "brief: Red., stability: development",
        "brief: Red., stability: stable",
    );
}

#[test]
fn briefs_end_with_a_period() {
    breaks(
        Rule::BriefPeriod,
        "evenkeel.thing.openings",
        "Times that a thing was opened.",
        "Times that a thing was opened",
    );
    breaks(
        Rule::BriefPeriod,
        "evenkeel.thing.name",
        "The name of the thing.",
        "The name",
    );
    breaks(
        Rule::BriefPeriod,
        "evenkeel.all",
        "What is not on a metric.",
        "Others",
    );
}

#[test]
fn units_are_ucum_or_singular_annotations() {
    for unit in [
        "ms",
        "seconds",
        "{openings}",
        "1{opening}",
        "{}",
        "%",
        "kBy",
    ] {
        breaks(
            Rule::Unit,
            "evenkeel.thing.openings",
            "\"{opening}\"",
            &format!("\"{unit}\""),
        );
    }
    for unit in ["s", "By", "1", "Hz", "{process}", "{context_switch}"] {
        assert_eq!(findings("\"{opening}\"", &format!("\"{unit}\"")), []);
    }
}

#[test]
fn durations_are_histograms_in_seconds() {
    let bad = [("gauge", "s"), ("histogram", "By"), ("counter", "s")];
    has_shape(
        Rule::DurationShape,
        "evenkeel.thing.duration",
        ("histogram", "s"),
        &bad,
    );
}

#[test]
fn times_are_counters_in_seconds() {
    let bad = [("gauge", "s"), ("counter", "1"), ("histogram", "s")];
    has_shape(
        Rule::TimeShape,
        "evenkeel.thing.time",
        ("counter", "s"),
        &bad,
    );
}

#[test]
fn statuses_are_up_down_counters_of_ones() {
    let bad = [("gauge", "1"), ("updowncounter", "{state}")];
    has_shape(
        Rule::StatusShape,
        "evenkeel.thing.status",
        ("updowncounter", "1"),
        &bad,
    );
}

#[test]
fn utilizations_are_shares() {
    let bad = [("gauge", "s"), ("counter", "1")];
    has_shape(
        Rule::UtilizationShape,
        "evenkeel.thing.utilization",
        ("gauge", "1"),
        &bad,
    );
}

#[test]
fn sizes_are_up_down_counters() {
    for last in ["count", "length", "limit", "size", "usage"] {
        let name = format!("evenkeel.thing.{last}");
        let bad = [("gauge", "By"), ("counter", "By")];
        has_shape(Rule::SizeShape, &name, ("updowncounter", "By"), &bad);
    }
    let plural = metric_as("evenkeel.thing.counts", "updowncounter", "By");
    assert_eq!(plural.len(), 1, "{plural:?}");
}

#[test]
fn histograms_are_of_doubles() {
    breaks(
        Rule::Annotation,
        "evenkeel.thing.openings",
        "instrument: counter",
        "instrument: histogram",
    );
}

/// Of ours and of imported metrics alike.
#[test]
fn text_attributes_of_metrics_are_bounded() {
    breaks(
        Rule::Cardinality,
        "evenkeel.thing.openings",
        "    annotations: {evenkeel.max_cardinality: 8}\n",
        "",
    );
    breaks(
        Rule::Cardinality,
        "system.disk.io",
        "[system.cpu.time]",
        "[system.disk.io]",
    );
}

#[test]
fn primitive_attributes_have_examples_of_their_type() {
    breaks(
        Rule::Examples,
        "evenkeel.thing.name",
        "    examples: [door]\n",
        "",
    );
    breaks(
        Rule::Examples,
        "evenkeel.thing.name",
        "examples: [door]",
        "examples: [7]",
    );
}

#[test]
fn resources_carry_texts() {
    breaks(
        Rule::ResourceText,
        "thread.id",
        "      - ref: evenkeel.thing.color\n",
        "      - ref: evenkeel.thing.color\n      - ref: thread.id\n",
    );
}

#[test]
fn nothing_is_firmer_than_its_attributes() {
    let metric = "    unit: \"{opening}\"\n    stability: ";
    breaks(
        Rule::Stability,
        "evenkeel.thing.openings",
        &format!("{metric}development"),
        &format!("{metric}stable"),
    );
    let optional = GOOD
        .replace(&format!("{metric}development"), &format!("{metric}stable"))
        .replace("requirement_level: required", "requirement_level: opt_in");
    assert_eq!(findings_of(MANIFEST, &optional).unwrap(), []);
}

#[test]
fn metrics_are_about_imported_entities() {
    breaks(
        Rule::EntityAssociation,
        "evenkeel.thing.openings",
        "entity_associations: [host]",
        "entity_associations: [house]",
    );
}

#[test]
fn every_use_has_a_definition() {
    breaks(
        Rule::UnresolvedReference,
        "os.kind",
        "      - ref: os.type",
        "      - ref: os.kind\n      - ref: os.type",
    );
    breaks(
        Rule::UnresolvedReference,
        "system.cpu.times",
        "[system.cpu.time]",
        "[system.cpu.time, system.cpu.times]",
    );
}

#[test]
fn every_definition_has_a_use() {
    breaks(
        Rule::Unused,
        "evenkeel.thing.color",
        "      - ref: evenkeel.thing.color\n",
        "",
    );
}

#[test]
fn nothing_deprecated_is_used() {
    breaks(
        Rule::Deprecated,
        "old.name",
        "      - ref: evenkeel.thing.color\n",
        "      - ref: evenkeel.thing.color\n      - ref: old.name\n",
    );
    breaks(
        Rule::Deprecated,
        "old.metric",
        "[system.cpu.time]",
        "[system.cpu.time, old.metric]",
    );
}

/// Without examples upstream the type cannot be told; on our own attributes the definition says.
#[test]
fn values_are_listed_where_only_the_use_can_say() {
    breaks(
        Rule::Annotation,
        "os.type",
        "        annotations: {evenkeel.values: [linux]}\n",
        "",
    );
    breaks(
        Rule::Annotation,
        "evenkeel.thing.color",
        "      - ref: evenkeel.thing.color\n",
        "      - ref: evenkeel.thing.color\n        annotations: {evenkeel.values: [red]}\n",
    );
}

/// A dependency older than the copy that imports are checked against may lack what is imported.
#[test]
fn the_dependency_is_one_and_not_older_than_the_copy() {
    for (from, to) in [
        ("1.44.0", "1.41.9"),
        ("1.44.0", "latest"),
        ("opentelemetry.io", "other.io"),
    ] {
        let found = findings_of(&MANIFEST.replace(from, to), GOOD).unwrap();
        assert_eq!(found.len(), 1, "{found:?}");
        assert_eq!(found[0].rule, Rule::Dependency);
    }
    let (head, _) = MANIFEST.split_once("dependencies").unwrap();
    let found = findings_of(&format!("{head}dependencies: []\n"), GOOD).unwrap();
    assert_eq!(found[0].rule, Rule::Dependency);
}

/// Misspelt, missing and repeated keys, other formats and other types are errors that name the
/// file.
#[test]
fn files_are_read_strictly() {
    for (from, to) in [
        (
            "    brief: The name of the thing.",
            "    breif: The name of the thing.",
        ),
        ("    brief: The name of the thing.\n", ""),
        (
            "    brief: The name of the thing.\n",
            "    brief: One.\n    brief: Two.\n",
        ),
        ("definition/2", "definition/1"),
        ("type: string", "type: text"),
        ("instrument: counter", "instrument: Counter"),
        ("requirement_level: required", "requirement_level: needed"),
        (
            "evenkeel.max_cardinality: 8",
            "evenkeel.max_cardinality: many",
        ),
        ("value: dark-blue", "colour: dark-blue"),
        ("attribute_groups:", "groups:"),
    ] {
        assert!(GOOD.contains(from), "{from}");
        let error = findings_of(MANIFEST, &GOOD.replace(from, to))
            .unwrap_err()
            .to_string();
        assert!(error.contains("registry.yaml: "), "{from}: {error}");
    }
    assert!(findings_of("schema_url: [", GOOD).is_err());
}

/// The name of a rule is its identifier in messages, with hyphens.
#[test]
fn findings_name_the_rule() {
    let finding = Finding::new(Rule::DurationShape, "a.b", "it is not.".to_owned());
    assert_eq!(finding.to_string(), "[duration-shape] a.b: it is not.");
}

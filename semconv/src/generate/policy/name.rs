//! Rules about names, briefs and attributes.

use std::collections::{BTreeMap, BTreeSet};

use super::{Finding, Rule};
use crate::generate::{
    document::{Example, Placement, Primitive},
    registry::{Attribute, Kind, Registry},
};

/// Names of ours start with it: the conventions advise against new names in their namespaces.
const ROOT: &str = "evenkeel.";

pub(super) fn check(registry: &Registry, findings: &mut Vec<Finding>) {
    formats(registry, findings);
    briefs(registry, findings);
    let attributes: Vec<_> = registry
        .attributes
        .iter()
        .map(|attribute| (attribute.name.as_str(), attribute.imported))
        .collect();
    let metrics: Vec<_> = registry
        .metrics
        .iter()
        .map(|metric| (metric.name.as_str(), metric.imported))
        .collect();
    // Attributes and metrics are separate modules of constants, but one space of names to people.
    duplicates(&attributes, findings);
    duplicates(&metrics, findings);
    constants(&attributes, findings);
    constants(&metrics, findings);
    let all: BTreeMap<_, _> = attributes.into_iter().chain(metrics).collect();
    namespaces(&all, findings);
    for attribute in &registry.attributes {
        members(attribute, findings);
        examples(attribute, findings);
    }
    uses(registry, findings);
    groups(registry, findings);
}

/// Lower case, components separated by dots, words in a component by single underscores, a letter
/// first, and at least one dot.
pub(super) fn is_name(name: &str) -> bool {
    name.contains('.')
        && name.starts_with(|first: char| first.is_ascii_lowercase())
        && name.split(['.', '_']).all(|word| {
            let mut characters = word.chars();
            !word.is_empty()
                && characters
                    .all(|character| character.is_ascii_lowercase() || character.is_ascii_digit())
        })
}

fn formats(registry: &Registry, findings: &mut Vec<Finding>) {
    let attributes = registry
        .attributes
        .iter()
        .map(|found| (&found.name, found.imported));
    let metrics = registry
        .metrics
        .iter()
        .map(|found| (&found.name, found.imported));
    let groups = registry.groups.iter().map(|group| (&group.id, false));
    for (name, imported) in attributes.chain(metrics).chain(groups) {
        if imported {
            continue;
        }
        if !is_name(name) {
            findings.push(Finding::new(
                Rule::NameFormat,
                name,
                "names are lower case words joined by dots and single underscores".to_owned(),
            ));
        }
        if !name.starts_with(ROOT) {
            findings.push(Finding::new(
                Rule::NameFormat,
                name,
                format!("names of ours start with `{ROOT}`"),
            ));
        }
        if name.split('.').any(|component| component == "total") {
            findings.push(Finding::new(
                Rule::NameFormat,
                name,
                "`total` is left to the exporters that add it".to_owned(),
            ));
        }
    }
}

fn briefs(registry: &Registry, findings: &mut Vec<Finding>) {
    let attributes = registry
        .attributes
        .iter()
        .map(|found| (&found.name, &found.brief));
    let metrics = registry
        .metrics
        .iter()
        .map(|found| (&found.name, &found.brief));
    let groups = registry
        .groups
        .iter()
        .map(|group| (&group.id, &group.brief));
    for (name, brief) in attributes.chain(metrics).chain(groups) {
        if !brief.ends_with('.') {
            findings.push(Finding::new(
                Rule::BriefPeriod,
                name,
                "the brief does not end with a period".to_owned(),
            ));
        }
    }
}

fn duplicates(names: &[(&str, bool)], findings: &mut Vec<Finding>) {
    let mut seen = BTreeSet::new();
    for (name, _) in names {
        if !seen.insert(*name) {
            findings.push(Finding::new(
                Rule::Duplicate,
                name,
                "it is defined twice".to_owned(),
            ));
        }
    }
}

/// The Rust constant of a name.
pub(in crate::generate) fn constant(name: &str) -> String {
    name.replace('.', "_").to_uppercase()
}

fn constants(names: &[(&str, bool)], findings: &mut Vec<Finding>) {
    let mut seen: BTreeMap<String, &str> = BTreeMap::new();
    for (name, _) in names {
        if let Some(other) = seen.insert(constant(name), name)
            && other != *name
        {
            findings.push(Finding::new(
                Rule::ConstantCollision,
                name,
                format!("it has the same constant as `{other}`"),
            ));
        }
    }
}

/// `a.b` beside `a.b.c`: backends that nest by dots cannot hold both.
fn namespaces(names: &BTreeMap<&str, bool>, findings: &mut Vec<Finding>) {
    for (name, imported) in names {
        let below = format!("{name}.");
        for (other, other_imported) in names.range(below.as_str()..) {
            if !other.starts_with(&below) {
                break;
            }
            // What upstream has put side by side is not ours to change.
            if !(*imported && *other_imported) {
                findings.push(Finding::new(
                    Rule::NamespaceCollision,
                    name,
                    format!("it is the namespace of `{other}`"),
                ));
            }
        }
    }
}

fn examples(attribute: &Attribute, findings: &mut Vec<Finding>) {
    let Kind::Primitive(primitive) = attribute.kind else {
        return;
    };
    // Those of imported attributes are upstream's business.
    if attribute.imported {
        return;
    }
    if attribute.examples.is_empty() {
        findings.push(Finding::new(
            Rule::Examples,
            &attribute.name,
            "give examples of its values".to_owned(),
        ));
    }
    for example in &attribute.examples {
        let fits = match example {
            Example::Boolean(_) => primitive == Primitive::Boolean,
            Example::Int(_) => matches!(primitive, Primitive::Int | Primitive::Double),
            Example::Double(_) => primitive == Primitive::Double,
            Example::String(_) => primitive == Primitive::String,
        };
        if !fits {
            findings.push(Finding::new(
                Rule::Examples,
                &attribute.name,
                format!("the example `{example}` is not of its type"),
            ));
        }
    }
}

fn members(attribute: &Attribute, findings: &mut Vec<Finding>) {
    let Kind::Enumeration(members) = &attribute.kind else {
        return;
    };
    let mut report = |message: String| {
        findings.push(Finding::new(Rule::Enumeration, &attribute.name, message));
    };
    if members.is_empty() {
        report("it has no members".to_owned());
    }
    let mut ids = BTreeSet::new();
    let mut values = BTreeSet::new();
    for member in members {
        if !ids.insert(member.id.as_str()) {
            report(format!("the id `{}` stands twice", member.id));
        }
        if !values.insert(member.value.as_str()) {
            report(format!("the value `{}` stands twice", member.value));
        }
        if member.id.contains('.') || !is_name(&format!("a.{}", member.id)) {
            report(format!(
                "the id `{}` is not lower case with underscores",
                member.id
            ));
        }
        if !attribute.imported && !member.brief.ends_with('.') {
            report(format!(
                "the brief of `{}` does not end with a period",
                member.id
            ));
        }
        if member.stability > attribute.stability {
            report(format!("`{}` is firmer than the attribute", member.id));
        }
    }
}

fn uses(registry: &Registry, findings: &mut Vec<Finding>) {
    let of_metrics = registry
        .metrics
        .iter()
        .flat_map(|metric| &metric.attributes);
    let of_groups = registry.groups.iter().flat_map(|group| &group.attributes);
    let used: BTreeSet<_> = of_metrics
        .map(|(name, _)| name)
        .chain(of_groups.map(|reference| &reference.name))
        .collect();
    for attribute in &registry.attributes {
        if !used.contains(&attribute.name) {
            findings.push(Finding::new(
                Rule::Unused,
                &attribute.name,
                "no metric and no group uses it".to_owned(),
            ));
        }
    }
}

fn groups(registry: &Registry, findings: &mut Vec<Finding>) {
    let mut ids = BTreeSet::new();
    for group in &registry.groups {
        if !ids.insert(group.id.as_str()) {
            findings.push(Finding::new(
                Rule::Duplicate,
                &group.id,
                "it is defined twice".to_owned(),
            ));
        }
        let mut names = BTreeSet::new();
        for reference in &group.attributes {
            if !names.insert(reference.name.as_str()) {
                findings.push(Finding::new(
                    Rule::Duplicate,
                    &group.id,
                    format!("`{}` stands twice in it", reference.name),
                ));
            }
            let Some(attribute) = registry.attribute(&reference.name) else {
                continue;
            };
            if group.stability > attribute.stability {
                findings.push(Finding::new(
                    Rule::Stability,
                    &group.id,
                    format!("it is firmer than `{}`", attribute.name),
                ));
            }
            let is_text = matches!(
                attribute.kind,
                Kind::Enumeration(_) | Kind::Primitive(Primitive::String)
            );
            if group.annotations.level == Some(Placement::Resource) && !is_text {
                findings.push(Finding::new(
                    Rule::ResourceText,
                    &attribute.name,
                    // Measured: Pyroscope refuses the whole request behind Collector 0.161.
                    "backends refuse resources with values other than texts".to_owned(),
                ));
            }
        }
    }
}

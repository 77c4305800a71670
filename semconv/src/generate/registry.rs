//! The registry with every name resolved.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::{Path, PathBuf},
};

use serde::de::DeserializeOwned;

use super::{
    Error,
    document::{
        AttributeType, Document, Example, FILE_FORMAT, Group, Instrument, Level, Manifest, Member,
        Metric, Number, Primitive, Reference, SignalLevel, Stability,
    },
    policy::{Finding, Rule},
    upstream::Upstream,
};

/// The type of an attribute's values.
#[derive(Debug)]
pub(super) enum Kind {
    Primitive(Primitive),
    /// Identifiers for constants, and values.
    Enumeration(Vec<Member>),
}

/// An attribute, ours or imported.
#[derive(Debug)]
pub(super) struct Attribute {
    pub(super) name: String,
    pub(super) brief: String,
    pub(super) note: String,
    pub(super) kind: Kind,
    pub(super) stability: Stability,
    pub(super) max_cardinality: Option<u32>,
    /// Only of attributes of ours.
    pub(super) examples: Vec<Example>,
    pub(super) imported: bool,
}

/// A metric, ours or imported.
#[derive(Debug)]
pub(super) struct ResolvedMetric {
    pub(super) name: String,
    pub(super) brief: String,
    pub(super) note: String,
    pub(super) instrument: Instrument,
    pub(super) unit: String,
    pub(super) number: Number,
    pub(super) stability: Stability,
    pub(super) level: SignalLevel,
    /// Sorted by name.
    pub(super) attributes: Vec<(String, Level)>,
    pub(super) entities: Vec<String>,
    pub(super) upstream_form: Option<String>,
    pub(super) imported: bool,
}

/// All files of a registry.
#[derive(Debug)]
pub(super) struct Registry {
    pub(super) manifest: Manifest,
    pub(super) upstream_schema_url: String,
    /// In the order of the files; duplicates are still in it.
    pub(super) attributes: Vec<Attribute>,
    /// In the order of the files; duplicates are still in it.
    pub(super) metrics: Vec<ResolvedMetric>,
    pub(super) groups: Vec<Group>,
    pub(super) imported_entities: BTreeSet<String>,
}

impl Registry {
    /// Reads `manifest.yaml` and every other `.yaml` file in `directory`, in the order of their
    /// names, and resolves names. What does not resolve is returned as findings.
    pub(super) fn load(
        directory: &Path,
        upstream: &Upstream,
    ) -> Result<(Self, Vec<Finding>), Error> {
        let manifest = parse(&directory.join("manifest.yaml"))?;
        let mut all = Document::default();
        for path in yaml_files(directory)? {
            let document: Document = parse(&path)?;
            if document.file_format != FILE_FORMAT {
                return Err(Error::Parse {
                    path,
                    message: format!(
                        "file_format is `{}`, not `{FILE_FORMAT}`",
                        document.file_format
                    ),
                });
            }
            all.attributes.extend(document.attributes);
            all.metrics.extend(document.metrics);
            all.attribute_groups.extend(document.attribute_groups);
            all.imports.metrics.extend(document.imports.metrics);
            all.imports.entities.extend(document.imports.entities);
        }
        Ok(resolve(manifest, all, upstream))
    }

    /// The attribute of this name.
    pub(super) fn attribute(&self, name: &str) -> Option<&Attribute> {
        self.attributes
            .iter()
            .find(|attribute| attribute.name == name)
    }
}

fn yaml_files(directory: &Path) -> Result<Vec<PathBuf>, Error> {
    let failed = |source| Error::Read {
        path: directory.to_owned(),
        source,
    };
    let mut paths = Vec::new();
    for entry in fs::read_dir(directory).map_err(failed)? {
        let path = entry.map_err(failed)?.path();
        let is_yaml = path
            .extension()
            .is_some_and(|extension| extension == "yaml");
        if is_yaml && path.file_name().is_some_and(|name| name != "manifest.yaml") {
            paths.push(path);
        }
    }
    paths.sort();
    Ok(paths)
}

fn parse<T: DeserializeOwned>(path: &Path) -> Result<T, Error> {
    let text = fs::read_to_string(path).map_err(|source| Error::Read {
        path: path.to_owned(),
        source,
    })?;
    serde_saphyr::from_str(&text).map_err(|error| Error::Parse {
        path: path.to_owned(),
        message: error.to_string(),
    })
}

/// What the places that use an upstream attribute say about it.
#[derive(Default)]
struct Use {
    primitive: Option<Primitive>,
    values: Vec<String>,
    max_cardinality: Option<u32>,
}

fn resolve(manifest: Manifest, all: Document, upstream: &Upstream) -> (Registry, Vec<Finding>) {
    let mut findings = Vec::new();
    let upstream_schema_url = dependency(&manifest, upstream, &mut findings);

    let imported_metrics: Vec<_> = all
        .imports
        .metrics
        .iter()
        .filter_map(|name| imported_metric(name, upstream, &mut findings))
        .collect();
    let mut attributes: Vec<_> = all.attributes.into_iter().map(own_attribute).collect();
    let own: BTreeSet<_> = attributes
        .iter()
        .map(|attribute| attribute.name.clone())
        .collect();

    let mut uses: BTreeMap<String, Use> = BTreeMap::new();
    let references = all.metrics.iter().flat_map(|metric| &metric.attributes);
    for reference in references.chain(
        all.attribute_groups
            .iter()
            .flat_map(|group| &group.attributes),
    ) {
        note_use(reference, &own, &mut uses, &mut findings);
    }
    for (name, _) in imported_metrics
        .iter()
        .flat_map(|metric| &metric.attributes)
    {
        uses.entry(name.clone()).or_default();
    }
    for (name, place) in uses {
        attributes.extend(imported_attribute(&name, place, upstream, &mut findings));
    }

    let metrics = all
        .metrics
        .into_iter()
        .map(own_metric)
        .chain(imported_metrics)
        .collect();
    let registry = Registry {
        manifest,
        upstream_schema_url,
        attributes,
        metrics,
        groups: all.attribute_groups,
        imported_entities: all.imports.entities.into_iter().collect(),
    };
    (registry, findings)
}

/// The schema of the one dependency. The offline copy may be older, never newer, than it.
fn dependency(manifest: &Manifest, upstream: &Upstream, findings: &mut Vec<Finding>) -> String {
    let [dependency] = manifest.dependencies.as_slice() else {
        findings.push(Finding::new(
            Rule::Dependency,
            "manifest.yaml",
            "exactly one dependency is expected".to_owned(),
        ));
        return String::new();
    };
    let wanted = version(&dependency.schema_url);
    if wanted.is_none() || wanted < version(&upstream.schema_url) {
        findings.push(Finding::new(
            Rule::Dependency,
            &dependency.schema_url,
            format!(
                "the copy that imports are checked against is newer: {}",
                upstream.schema_url
            ),
        ));
    }
    dependency.schema_url.clone()
}

/// The version that ends an OpenTelemetry schema URL.
fn version(schema_url: &str) -> Option<[u32; 3]> {
    let text = schema_url.strip_prefix("https://opentelemetry.io/schemas/")?;
    let parts: Vec<u32> = text
        .split('.')
        .map(str::parse)
        .collect::<Result<_, _>>()
        .ok()?;
    parts.try_into().ok()
}

fn note_use(
    reference: &Reference,
    own: &BTreeSet<String>,
    uses: &mut BTreeMap<String, Use>,
    findings: &mut Vec<Finding>,
) {
    let annotations = &reference.annotations;
    if own.contains(&reference.name) {
        if !annotations.values.is_empty() || annotations.max_cardinality.is_some() {
            findings.push(Finding::new(
                Rule::Annotation,
                &reference.name,
                "values and cardinality of our own attributes belong to their definition"
                    .to_owned(),
            ));
        }
        return;
    }
    let place = uses.entry(reference.name.clone()).or_default();
    if !annotations.values.is_empty() {
        if !place.values.is_empty() {
            findings.push(Finding::new(
                Rule::Annotation,
                &reference.name,
                "evenkeel.values stands in two places".to_owned(),
            ));
        }
        place.values.clone_from(&annotations.values);
    }
    place.primitive = place.primitive.or(annotations.primitive);
    place.max_cardinality = place.max_cardinality.max(annotations.max_cardinality);
}

fn own_attribute(attribute: super::document::Attribute) -> Attribute {
    Attribute {
        name: attribute.key,
        brief: attribute.brief,
        note: attribute.note,
        kind: match attribute.kind {
            AttributeType::Primitive(primitive) => Kind::Primitive(primitive),
            AttributeType::Enumeration(enumeration) => Kind::Enumeration(enumeration.members),
        },
        stability: attribute.stability,
        max_cardinality: attribute.annotations.max_cardinality,
        examples: attribute.examples,
        imported: false,
    }
}

fn imported_attribute(
    name: &str,
    place: Use,
    upstream: &Upstream,
    findings: &mut Vec<Finding>,
) -> Option<Attribute> {
    let Some(found) = upstream.attributes.get(name) else {
        findings.push(Finding::new(
            Rule::UnresolvedReference,
            name,
            "neither this registry nor the upstream one defines this attribute".to_owned(),
        ));
        return None;
    };
    if found.deprecated {
        findings.push(Finding::new(
            Rule::Deprecated,
            name,
            "this attribute is deprecated upstream".to_owned(),
        ));
    }
    let kind = if place.values.is_empty() {
        let Some(primitive) = found.primitive.or(place.primitive) else {
            findings.push(Finding::new(
                Rule::Annotation,
                name,
                "upstream examples do not show its type: list the values we send \
                 in evenkeel.values or state evenkeel.type"
                    .to_owned(),
            ));
            return None;
        };
        Kind::Primitive(primitive)
    } else {
        let members = place.values.into_iter().map(|value| Member {
            id: value.replace(['.', '-'], "_"),
            brief: String::new(),
            stability: found.stability,
            value,
        });
        Kind::Enumeration(members.collect())
    };
    Some(Attribute {
        name: name.to_owned(),
        brief: found.brief.clone(),
        note: String::new(),
        kind,
        stability: found.stability,
        max_cardinality: place.max_cardinality,
        examples: Vec::new(),
        imported: true,
    })
}

fn own_metric(metric: Metric) -> ResolvedMetric {
    let attributes = metric
        .attributes
        .into_iter()
        .map(|reference| (reference.name, reference.requirement_level));
    ResolvedMetric {
        name: metric.name,
        brief: metric.brief,
        note: metric.note,
        instrument: metric.instrument,
        unit: metric.unit,
        number: metric.annotations.code_generation.metric_value_type,
        stability: metric.stability,
        level: metric.requirement_level,
        attributes: sorted(attributes.collect()),
        entities: metric.entity_associations,
        upstream_form: metric.annotations.upstream,
        imported: false,
    }
}

fn imported_metric(
    name: &str,
    upstream: &Upstream,
    findings: &mut Vec<Finding>,
) -> Option<ResolvedMetric> {
    let Some(found) = upstream.metrics.get(name) else {
        findings.push(Finding::new(
            Rule::UnresolvedReference,
            name,
            "the upstream registry does not define this metric".to_owned(),
        ));
        return None;
    };
    if found.deprecated {
        findings.push(Finding::new(
            Rule::Deprecated,
            name,
            "this metric is deprecated upstream".to_owned(),
        ));
    }
    Some(ResolvedMetric {
        name: name.to_owned(),
        brief: found.brief.clone(),
        note: String::new(),
        instrument: found.instrument,
        unit: found.unit.clone(),
        // The copy does not carry the type; upstream uses doubles for seconds and ratios.
        number: if matches!(found.unit.as_str(), "s" | "1") {
            Number::Double
        } else {
            Number::Int
        },
        stability: found.stability,
        level: SignalLevel::Recommended,
        attributes: sorted(found.attributes.clone()),
        entities: Vec::new(),
        upstream_form: None,
        imported: true,
    })
}

fn sorted(mut attributes: Vec<(String, Level)>) -> Vec<(String, Level)> {
    attributes.sort_by(|left, right| left.0.cmp(&right.0));
    attributes
}

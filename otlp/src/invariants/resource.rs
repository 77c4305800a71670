//! Resources, scopes and lists of attributes.

use std::collections::HashSet;

use evenkeel_semconv::{
    attribute,
    conformity::{self, Value, Violation as RegistryViolation},
};
use opentelemetry_proto::tonic::{
    common::v1::{InstrumentationScope, KeyValue, any_value},
    resource::v1::Resource,
};

use super::{Findings, Origin, Rule};
use crate::view::{Attributes, Dictionary, ValueRef};

/// What a list of attributes belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Owner {
    /// May carry names that a user or a container brought.
    Resource,
    /// Carries names of the registry only.
    Telemetry,
}

/// A value as the registry's checker takes it.
pub(super) fn registry_value(value: ValueRef<'_>) -> Value<'_> {
    match value {
        ValueRef::String(text) => Value::String(text),
        ValueRef::Int(number) => Value::Int(number),
        ValueRef::Bool(flag) => Value::Boolean(flag),
        ValueRef::Double(number) => Value::Double(number),
        ValueRef::Bytes(_) => Value::Other,
    }
}

/// Keys unique and not empty, names and values as registered.
pub(super) fn attributes(findings: &mut Findings, at: &str, owner: Owner, list: Attributes<'_>) {
    let mut keys = HashSet::new();
    for (key, value) in list.iter() {
        findings.require(!key.is_empty(), Rule::UniqueKeys, at, "an empty key");
        findings.require(keys.insert(key), Rule::UniqueKeys, at, key);
        match conformity::attribute(key, registry_value(value)) {
            Err(RegistryViolation::UnknownAttribute(_)) if owner == Owner::Resource => {}
            Err(violation) => findings.add(Rule::Registry, at, violation),
            Ok(_) => {}
        }
    }
}

/// A resource and its schema URL.
pub(super) fn resource(
    findings: &mut Findings,
    at: &str,
    resource: Option<&Resource>,
    schema_url: &str,
    dictionary: Dictionary<'_>,
    origin: Origin,
) {
    findings.require(!schema_url.is_empty(), Rule::SchemaUrl, at, "none");
    let Some(resource) = resource else {
        findings.add(Rule::ResourceAndScope, at, "no resource");
        return;
    };
    inline(findings, at, &resource.attributes, origin);
    let list = Attributes::key_values(&resource.attributes, dictionary);
    attributes(findings, at, Owner::Resource, list);
    for (key, value) in list.iter() {
        let text = matches!(value, ValueRef::String(_));
        findings.require(text, Rule::TextOnResource, at, key);
    }
    let service = list.text(attribute::SERVICE_NAME).unwrap_or_default();
    findings.require(!service.is_empty(), Rule::ServiceName, at, "none");
}

/// A scope and its schema URL.
pub(super) fn scope(
    findings: &mut Findings,
    at: &str,
    scope: Option<&InstrumentationScope>,
    schema_url: &str,
    dictionary: Dictionary<'_>,
    origin: Origin,
) {
    findings.require(!schema_url.is_empty(), Rule::SchemaUrl, at, "none");
    let Some(scope) = scope else {
        findings.add(Rule::ResourceAndScope, at, "no scope");
        return;
    };
    findings.require(
        !scope.name.is_empty(),
        Rule::ResourceAndScope,
        at,
        "no name",
    );
    inline(findings, at, &scope.attributes, origin);
    let list = Attributes::key_values(&scope.attributes, dictionary);
    attributes(findings, at, Owner::Telemetry, list);
}

/// Values are set, and nothing is a reference where it must not be.
pub(super) fn inline(findings: &mut Findings, at: &str, list: &[KeyValue], origin: Origin) {
    for pair in list {
        let value = pair.value.as_ref().and_then(|value| value.value.as_ref());
        let name = &pair.key;
        findings.require(
            value.is_some(),
            Rule::InlineAttributes,
            at,
            format!("`{name}` unset"),
        );
        let reference = pair.key_strindex != 0
            || matches!(value, Some(any_value::Value::StringValueStrindex(_)));
        if origin == Origin::Evenkeel && reference {
            findings.add(Rule::InlineAttributes, at, format!("`{name}` by reference"));
        }
        if pair.key_strindex != 0 && !pair.key.is_empty() {
            findings.add(
                Rule::InlineAttributes,
                at,
                format!("`{name}` with two keys"),
            );
        }
    }
}

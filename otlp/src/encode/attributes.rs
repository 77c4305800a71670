//! Attributes as they stand inline on resources, scopes and points.

use opentelemetry_proto::tonic::{
    common::v1::{AnyValue, InstrumentationScope, KeyValue, any_value},
    resource::v1::Resource as ResourceMessage,
};

use super::SCOPE_NAME;
use crate::model::{Attribute, Resource, Value};

pub(super) fn any_value(value: &Value) -> AnyValue {
    AnyValue {
        value: Some(match value {
            Value::String(text) => any_value::Value::StringValue(text.as_ref().to_owned()),
            Value::Int(number) => any_value::Value::IntValue(*number),
            Value::Bool(flag) => any_value::Value::BoolValue(*flag),
        }),
    }
}

/// Keys and values in full: neither Pyroscope nor Parca resolves references into the dictionary.
pub(super) fn key_values(attributes: &[Attribute]) -> Vec<KeyValue> {
    attributes
        .iter()
        .map(|attribute| KeyValue {
            key: attribute.key.clone().into_owned(),
            value: Some(any_value(&attribute.value)),
            key_strindex: 0,
        })
        .collect()
}

pub(super) fn resource(resource: &Resource) -> ResourceMessage {
    ResourceMessage {
        attributes: key_values(&resource.attributes),
        ..ResourceMessage::default()
    }
}

pub(super) fn scope(version: &str) -> InstrumentationScope {
    InstrumentationScope {
        name: SCOPE_NAME.to_owned(),
        version: version.to_owned(),
        ..InstrumentationScope::default()
    }
}

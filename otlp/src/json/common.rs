//! Resources, scopes and attributes.

use opentelemetry_proto::tonic::{
    common::v1::{
        AnyValue, ArrayValue, EntityRef, InstrumentationScope, KeyValue, KeyValueList,
        any_value::Value,
    },
    resource::v1::Resource,
};

use super::{JsonError, object::Object};

pub(super) fn resource(object: Object<'_>) -> Result<Resource, JsonError> {
    Ok(Resource {
        attributes: object.messages("attributes", key_value)?,
        dropped_attributes_count: object.integer("droppedAttributesCount")?,
        entity_refs: object.messages("entityRefs", |object| {
            Ok(EntityRef {
                schema_url: object.string("schemaUrl")?,
                r#type: object.string("type")?,
                id_keys: object.strings("idKeys")?,
                description_keys: object.strings("descriptionKeys")?,
            })
        })?,
    })
}

pub(super) fn scope(object: Object<'_>) -> Result<InstrumentationScope, JsonError> {
    Ok(InstrumentationScope {
        name: object.string("name")?,
        version: object.string("version")?,
        attributes: object.messages("attributes", key_value)?,
        dropped_attributes_count: object.integer("droppedAttributesCount")?,
    })
}

pub(super) fn key_value(object: Object<'_>) -> Result<KeyValue, JsonError> {
    Ok(KeyValue {
        key: object.string("key")?,
        value: object.message("value", any_value)?,
        key_strindex: object.integer("keyStrindex")?,
    })
}

/// Its depth is bounded by the JSON parser's, 128.
pub(super) fn any_value(object: Object<'_>) -> Result<AnyValue, JsonError> {
    let value = if object.get("stringValue").is_some() {
        Some(Value::StringValue(object.string("stringValue")?))
    } else if object.get("stringValueStrindex").is_some() {
        Some(Value::StringValueStrindex(
            object.integer("stringValueStrindex")?,
        ))
    } else if object.get("boolValue").is_some() {
        Some(Value::BoolValue(object.bool("boolValue")?))
    } else if object.get("intValue").is_some() {
        Some(Value::IntValue(object.integer("intValue")?))
    } else if let Some(number) = object.optional_float("doubleValue")? {
        Some(Value::DoubleValue(number))
    } else if object.get("bytesValue").is_some() {
        Some(Value::BytesValue(object.bytes("bytesValue")?))
    } else if let Some(values) =
        object.message("arrayValue", |object| object.messages("values", any_value))?
    {
        Some(Value::ArrayValue(ArrayValue { values }))
    } else {
        object
            .message("kvlistValue", |object| object.messages("values", key_value))?
            .map(|values| Value::KvlistValue(KeyValueList { values }))
    };
    Ok(AnyValue { value })
}

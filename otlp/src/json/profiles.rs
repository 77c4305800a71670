//! Profiles requests.

use opentelemetry_proto::tonic::{
    collector::profiles::v1development::ExportProfilesServiceRequest,
    profiles::v1development::{
        Function, KeyValueAndUnit, Line, Link, Location, Mapping, Profile, ProfilesDictionary,
        ResourceProfiles, Sample, ScopeProfiles, Stack, ValueType,
    },
};

use super::{
    JsonError,
    common::{any_value, resource, scope},
    object::Object,
};

pub(super) fn request(object: Object<'_>) -> Result<ExportProfilesServiceRequest, JsonError> {
    Ok(ExportProfilesServiceRequest {
        resource_profiles: object.messages("resourceProfiles", |object| {
            Ok(ResourceProfiles {
                resource: object.message("resource", resource)?,
                scope_profiles: object.messages("scopeProfiles", |object| {
                    Ok(ScopeProfiles {
                        scope: object.message("scope", scope)?,
                        profiles: object.messages("profiles", profile)?,
                        schema_url: object.string("schemaUrl")?,
                    })
                })?,
                schema_url: object.string("schemaUrl")?,
            })
        })?,
        dictionary: object.message("dictionary", dictionary)?,
    })
}

fn profile(object: Object<'_>) -> Result<Profile, JsonError> {
    Ok(Profile {
        sample_type: object.message("sampleType", value_type)?,
        samples: object.messages("samples", sample)?,
        time_unix_nano: object.integer("timeUnixNano")?,
        duration_nano: object.integer("durationNano")?,
        period_type: object.message("periodType", value_type)?,
        period: object.integer("period")?,
        profile_id: object.id("profileId")?,
        dropped_attributes_count: object.integer("droppedAttributesCount")?,
        original_payload_format: object.string("originalPayloadFormat")?,
        original_payload: object.bytes("originalPayload")?,
        attribute_indices: object.integers("attributeIndices")?,
    })
}

fn value_type(object: Object<'_>) -> Result<ValueType, JsonError> {
    Ok(ValueType {
        type_strindex: object.integer("typeStrindex")?,
        unit_strindex: object.integer("unitStrindex")?,
    })
}

fn sample(object: Object<'_>) -> Result<Sample, JsonError> {
    Ok(Sample {
        stack_index: object.integer("stackIndex")?,
        attribute_indices: object.integers("attributeIndices")?,
        link_index: object.integer("linkIndex")?,
        values: object.integers("values")?,
        timestamps_unix_nano: object.integers("timestampsUnixNano")?,
    })
}

fn dictionary(object: Object<'_>) -> Result<ProfilesDictionary, JsonError> {
    Ok(ProfilesDictionary {
        mapping_table: object.messages("mappingTable", |object| {
            Ok(Mapping {
                memory_start: object.integer("memoryStart")?,
                memory_limit: object.integer("memoryLimit")?,
                file_offset: object.integer("fileOffset")?,
                filename_strindex: object.integer("filenameStrindex")?,
                attribute_indices: object.integers("attributeIndices")?,
            })
        })?,
        location_table: object.messages("locationTable", |object| {
            Ok(Location {
                mapping_index: object.integer("mappingIndex")?,
                address: object.integer("address")?,
                lines: object.messages("lines", |object| {
                    Ok(Line {
                        function_index: object.integer("functionIndex")?,
                        line: object.integer("line")?,
                        column: object.integer("column")?,
                    })
                })?,
                attribute_indices: object.integers("attributeIndices")?,
            })
        })?,
        function_table: object.messages("functionTable", |object| {
            Ok(Function {
                name_strindex: object.integer("nameStrindex")?,
                system_name_strindex: object.integer("systemNameStrindex")?,
                filename_strindex: object.integer("filenameStrindex")?,
                start_line: object.integer("startLine")?,
            })
        })?,
        link_table: object.messages("linkTable", |object| {
            Ok(Link {
                trace_id: object.id("traceId")?,
                span_id: object.id("spanId")?,
            })
        })?,
        string_table: object.strings("stringTable")?,
        attribute_table: object.messages("attributeTable", |object| {
            Ok(KeyValueAndUnit {
                key_strindex: object.integer("keyStrindex")?,
                value: object
                    .message("value", any_value)?
                    .filter(|v| v.value.is_some()),
                unit_strindex: object.integer("unitStrindex")?,
            })
        })?,
        stack_table: object.messages("stackTable", |object| {
            Ok(Stack {
                location_indices: object.integers("locationIndices")?,
            })
        })?,
    })
}

//! OTLP/JSON, as a Collector's file exporter writes it, to the protobuf types.
//!
//! The serde support of `opentelemetry-proto` does not read OTLP/JSON profiles: it demands fields
//! that are left out when they are default and numbers where the mapping has strings. This decoder
//! follows the specification ("JSON Protobuf Encoding"): 64-bit integers as strings or numbers,
//! enumerations as integers, trace, span and profile ids in hex, other bytes in base64, absent
//! fields are default, unknown fields are ignored. A field of the wrong type is an error.

mod common;
mod metrics;
mod object;
mod profiles;

use opentelemetry_proto::tonic::collector::{
    metrics::v1::ExportMetricsServiceRequest, profiles::v1development::ExportProfilesServiceRequest,
};
use serde_json::Value;

use self::object::Object;

/// Why a text is not OTLP/JSON.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum JsonError {
    /// It is not JSON.
    #[error("not JSON")]
    Syntax(#[from] serde_json::Error),
    /// It is neither profiles nor metrics.
    #[error("neither resourceProfiles nor resourceMetrics at the top")]
    OtherSignal,
    /// A field has another type.
    #[error("`{field}` is not {expected}")]
    Type {
        /// Name of the field.
        field: &'static str,
        /// What it should be.
        expected: &'static str,
    },
}

/// A request of either signal.
#[derive(Clone, Debug, PartialEq)]
pub enum Request {
    /// Profiles. References in attributes of resources and scopes are kept: the views resolve them.
    Profiles(ExportProfilesServiceRequest),
    /// Metrics.
    Metrics(ExportMetricsServiceRequest),
}

/// Decodes one request.
///
/// # Errors
///
/// [`JsonError`] when the text is no JSON, another signal, or a field is of the wrong type.
pub fn decode(text: &[u8]) -> Result<Request, JsonError> {
    let value: Value = serde_json::from_slice(text)?;
    let top = Object::new(&value, "request")?;
    if top.has("resourceProfiles") {
        Ok(Request::Profiles(profiles::request(top)?))
    } else if top.has("resourceMetrics") {
        Ok(Request::Metrics(metrics::request(top)?))
    } else {
        Err(JsonError::OtherSignal)
    }
}

#[cfg(test)]
mod tests {
    use opentelemetry_proto::tonic::{
        common::v1::any_value::Value as AnyValue,
        metrics::v1::{metric::Data, number_data_point},
    };

    use super::*;

    fn profiles(text: &str) -> ExportProfilesServiceRequest {
        match decode(text.as_bytes()).unwrap() {
            Request::Profiles(request) => request,
            Request::Metrics(request) => panic!("{request:?}"),
        }
    }

    fn metrics(text: &str) -> ExportMetricsServiceRequest {
        match decode(text.as_bytes()).unwrap() {
            Request::Metrics(request) => request,
            Request::Profiles(request) => panic!("{request:?}"),
        }
    }

    fn error(text: &str) -> String {
        decode(text.as_bytes()).unwrap_err().to_string()
    }

    /// 64-bit integers are read from strings and numbers, ids from hex, other bytes from base64;
    /// absent and `null` fields are default, unknown ones are ignored.
    #[test]
    fn profiles_follow_the_mapping() {
        let request = profiles(
            r#"{"resourceProfiles": [{"resource": null, "later": {"x": [1]}, "scopeProfiles": [{"profiles": [{
                "timeUnixNano": "18446744073709551615", "durationNano": 10000000000, "period": 1e3,
                "profileId": "000102030405060708090a0b0c0d0e0f", "originalPayload": "AQI=",
                "samples": [{"stackIndex": 1, "values": ["-5", 6], "timestampsUnixNano": ["7"]}]
            }]}]}], "dictionary": {"linkTable": [{}, {"traceId": "00112233445566778899AABBCCDDEEFF",
                "spanId": "0011223344556677"}], "stringTable": ["", "x"]}}"#,
        );
        let group = &request.resource_profiles[0];
        assert_eq!(group.resource, None);
        let profile = &group.scope_profiles[0].profiles[0];
        assert_eq!(profile.time_unix_nano, u64::MAX);
        assert_eq!(
            (profile.duration_nano, profile.period),
            (10_000_000_000, 1_000)
        );
        assert_eq!(profile.profile_id, (0..16).collect::<Vec<u8>>());
        assert_eq!(profile.original_payload, [1, 2]);
        assert_eq!(profile.samples[0].values, [-5, 6]);
        assert_eq!(profile.samples[0].timestamps_unix_nano, [7]);
        let tables = request.dictionary.unwrap();
        assert_eq!(tables.link_table[1].span_id.len(), 8);
        assert_eq!(tables.link_table[1].trace_id[10], 0xaa);
        assert_eq!(tables.string_table, ["", "x"]);
        assert!(tables.stack_table.is_empty());
    }

    /// Every type of attribute value is read, nested ones too.
    #[test]
    fn attribute_values() {
        let request = metrics(
            r#"{"resourceMetrics": [{"resource": {"attributes": [
                {"key": "a", "value": {"stringValue": ""}}, {"key": "b", "value": {"intValue": "-9"}},
                {"key": "c", "value": {"boolValue": false}}, {"key": "d", "value": {"doubleValue": "NaN"}},
                {"key": "e", "value": {"bytesValue": "/w=="}}, {"key": "f", "value": {}},
                {"key": "g", "value": {"arrayValue": {"values": [{"intValue": 1}]}}},
                {"key": "h", "value": {"kvlistValue": {"values": [{"key": "i", "value": {}}]}}},
                {"keyStrindex": 4, "value": {"stringValueStrindex": 5}}
            ]}}]}"#,
        );
        let list = &request.resource_metrics[0]
            .resource
            .as_ref()
            .unwrap()
            .attributes;
        let value = |i: usize| list[i].value.as_ref().and_then(|v| v.value.clone());
        assert_eq!(value(0), Some(AnyValue::StringValue(String::new())));
        assert_eq!(value(1), Some(AnyValue::IntValue(-9)));
        assert_eq!(value(2), Some(AnyValue::BoolValue(false)));
        assert!(matches!(value(3), Some(AnyValue::DoubleValue(x)) if x.is_nan()));
        assert_eq!(value(4), Some(AnyValue::BytesValue(vec![255])));
        assert_eq!(value(5), None);
        assert!(matches!(value(6), Some(AnyValue::ArrayValue(a)) if a.values.len() == 1));
        assert!(matches!(value(7), Some(AnyValue::KvlistValue(l)) if l.values.len() == 1));
        assert_eq!(value(8), Some(AnyValue::StringValueStrindex(5)));
        assert_eq!(list[8].key_strindex, 4);
    }

    /// Points keep their type, and temporality is read as number or name.
    #[test]
    fn metrics_follow_the_mapping() {
        let request = metrics(
            r#"{"resourceMetrics": [{"scopeMetrics": [{"metrics": [
                {"name": "a", "sum": {"aggregationTemporality": 2, "isMonotonic": true,
                    "dataPoints": [{"asInt": "3"}, {"asDouble": 0.5}, {"asDouble": "-Infinity"}]}},
                {"name": "b", "exponentialHistogram": {"aggregationTemporality": "AGGREGATION_TEMPORALITY_DELTA",
                    "dataPoints": [{"count": "2", "scale": -1, "zeroCount": 1, "sum": 4,
                        "positive": {"offset": -3, "bucketCounts": ["1"]}}]}},
                {"name": "c", "summary": {"dataPoints": []}}
            ]}]}]}"#,
        );
        let list = &request.resource_metrics[0].scope_metrics[0].metrics;
        let Some(Data::Sum(sum)) = &list[0].data else {
            panic!("{list:?}")
        };
        assert_eq!((sum.aggregation_temporality, sum.is_monotonic), (2, true));
        let value = number_data_point::Value::AsInt(3);
        assert_eq!(sum.data_points[0].value, Some(value));
        let value = number_data_point::Value::AsDouble(f64::NEG_INFINITY);
        assert_eq!(sum.data_points[2].value, Some(value));
        let Some(Data::ExponentialHistogram(histogram)) = &list[1].data else {
            panic!("{list:?}")
        };
        assert_eq!(histogram.aggregation_temporality, 1);
        let point = &histogram.data_points[0];
        assert_eq!((point.count, point.scale, point.zero_count), (2, -1, 1));
        assert_eq!(point.positive.as_ref().unwrap().offset, -3);
        assert_eq!(list[2].data, None);
    }

    /// What is no request, or a field of the wrong type, is an error that names it.
    #[test]
    fn wrong_types_are_named() {
        assert_eq!(error("{"), "not JSON");
        assert_eq!(error("[]"), "`request` is not an object");
        let other = "neither resourceProfiles nor resourceMetrics at the top";
        assert_eq!(error(r#"{"resourceSpans": []}"#), other);
        let profile = |fields: &str| {
            error(&format!(
                r#"{{"resourceProfiles": [{{"scopeProfiles": [{{"profiles": [{{{fields}}}]}}]}}]}}"#
            ))
        };
        let integer = "is not an integer of its size";
        assert_eq!(
            profile(r#""timeUnixNano": "-1""#),
            format!("`timeUnixNano` {integer}")
        );
        assert_eq!(profile(r#""period": 1.5"#), format!("`period` {integer}"));
        assert_eq!(profile(r#""period": 1e300"#), format!("`period` {integer}"));
        assert_eq!(
            profile(r#""samples": [{"stackIndex": 4294967296}]"#),
            format!("`stackIndex` {integer}")
        );
        assert_eq!(profile(r#""samples": 5"#), "`samples` is not a list");
        assert_eq!(profile(r#""samples": [5]"#), "`samples` is not an object");
        assert_eq!(
            profile(r#""originalPayload": "?""#),
            "`originalPayload` is not base64"
        );
        assert_eq!(
            profile(r#""originalPayloadFormat": 5"#),
            "`originalPayloadFormat` is not a string"
        );
        let deep = format!("{}{}", "[".repeat(500), "]".repeat(500));
        assert_eq!(error(&deep), "not JSON");
    }
}

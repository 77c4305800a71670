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

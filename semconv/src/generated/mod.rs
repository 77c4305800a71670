//! Generated from the registry by `semconv-generate`: do not edit.

pub mod attribute;
pub mod metric;

/// Schema of the names that this registry defines.
pub const SCHEMA_URL: &str = "https://evenkeel.dev/schemas/0.1.0";

/// Schema of the names that come from OpenTelemetry.
pub const UPSTREAM_SCHEMA_URL: &str = "https://opentelemetry.io/schemas/1.44.0";

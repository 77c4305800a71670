//! The settings as a whole.

use super::*;
use std::collections::HashMap;

fn read(variables: &[(&str, &str)]) -> Result<Settings, Vec<SettingError>> {
    let map: HashMap<_, _> = variables.iter().copied().collect();
    Settings::from_variables(&|name| map.get(name).map(|value| (*value).to_owned()))
}

/// Without variables: the Collector of this host by OTLP/HTTP, compressed, ten seconds.
#[test]
fn defaults() {
    let settings = read(&[("OTEL_EXPORTER_OTLP_ENDPOINT", "  ")]).unwrap();
    assert!(!settings.disabled);
    for (destination, path) in [
        (
            &settings.profiles,
            "http://localhost:4318/v1development/profiles",
        ),
        (&settings.metrics, "http://localhost:4318/v1/metrics"),
    ] {
        assert_eq!(destination.endpoint, path);
        assert_eq!(destination.protocol, Protocol::HttpProtobuf);
        assert_eq!(destination.compression, Compression::Gzip);
        assert_eq!(destination.timeout, Duration::from_secs(10));
        assert!(destination.tls.is_none() && destination.headers.is_empty());
    }
    assert_eq!(settings.temporality, TemporalityPreference::Cumulative);
    assert_eq!(
        settings.histogram_aggregation,
        HistogramAggregation::Exponential
    );
    assert_eq!(settings.export_interval, None);
}

/// A signal's variable replaces the general one, and only for that signal.
#[test]
fn per_signal() {
    let settings = read(&[
        ("OTEL_EXPORTER_OTLP_ENDPOINT", "http://general:4318"),
        ("OTEL_EXPORTER_OTLP_HEADERS", "a=1,b=2"),
        ("OTEL_EXPORTER_OTLP_TIMEOUT", "2000"),
        ("OTEL_EXPORTER_OTLP_COMPRESSION", "none"),
        ("OTEL_EXPORTER_OTLP_PROFILES_ENDPOINT", "profiles:4040"),
        ("OTEL_EXPORTER_OTLP_PROFILES_PROTOCOL", "GRPC"),
        ("OTEL_EXPORTER_OTLP_PROFILES_INSECURE", "true"),
        ("OTEL_EXPORTER_OTLP_PROFILES_HEADERS", "c=3"),
        ("OTEL_EXPORTER_OTLP_METRICS_COMPRESSION", "gzip"),
        ("OTEL_EXPORTER_OTLP_METRICS_TEMPORALITY_PREFERENCE", "delta"),
        (
            "OTEL_EXPORTER_OTLP_METRICS_DEFAULT_HISTOGRAM_AGGREGATION",
            "explicit_bucket_histogram",
        ),
        ("OTEL_METRIC_EXPORT_INTERVAL", "5000"),
        ("OTEL_METRIC_EXPORT_TIMEOUT", "1500"),
        ("OTEL_SDK_DISABLED", "True"),
        ("EVENKEEL_REPEAT_RESOURCE", "false"),
    ])
    .unwrap();
    assert!(settings.disabled && !settings.repeat_resource);
    assert_eq!(settings.profiles.endpoint, "http://profiles:4040/");
    assert_eq!(settings.profiles.protocol, Protocol::Grpc);
    assert_eq!(settings.profiles.compression, Compression::None);
    assert_eq!(settings.profiles.timeout, Duration::from_secs(2));
    assert_eq!(settings.profiles.headers.len(), 1);
    assert_eq!(settings.metrics.endpoint, "http://general:4318/v1/metrics");
    assert_eq!(settings.metrics.compression, Compression::Gzip);
    assert_eq!(settings.metrics.timeout, Duration::from_millis(1500));
    assert_eq!(settings.metrics.headers.len(), 2);
    assert_eq!(settings.temporality, TemporalityPreference::Delta);
    assert_eq!(
        settings.histogram_aggregation,
        HistogramAggregation::ExplicitBucket
    );
    assert_eq!(settings.export_interval, Some(Duration::from_secs(5)));
}

/// All bad variables come back at once, each once, and a header's value in none of them.
#[test]
fn all_errors_at_once() {
    let errors = read(&[
        ("OTEL_EXPORTER_OTLP_ENDPOINT", "ftp://localhost"),
        ("OTEL_EXPORTER_OTLP_PROTOCOL", "http/json"),
        ("OTEL_EXPORTER_OTLP_HEADERS", "authorization Bearer s3cret"),
        ("OTEL_EXPORTER_OTLP_COMPRESSION", "zstd"),
        ("OTEL_EXPORTER_OTLP_TIMEOUT", "10s"),
        ("OTEL_EXPORTER_OTLP_METRICS_TIMEOUT", "0"),
        ("OTEL_EXPORTER_OTLP_INSECURE", "1"),
        ("OTEL_EXPORTER_OTLP_CERTIFICATE", "no/such/file.pem"),
        ("OTEL_EXPORTER_OTLP_METRICS_CLIENT_KEY", "."),
        ("OTEL_EXPORTER_OTLP_METRICS_TEMPORALITY_PREFERENCE", "both"),
        (
            "OTEL_EXPORTER_OTLP_METRICS_DEFAULT_HISTOGRAM_AGGREGATION",
            "sketch",
        ),
        ("OTEL_METRIC_EXPORT_INTERVAL", "-1"),
        ("OTEL_METRIC_EXPORT_TIMEOUT", "3600001"),
        ("OTEL_SDK_DISABLED", "yes"),
        ("EVENKEEL_REPEAT_RESOURCE", "some"),
    ])
    .unwrap_err();
    let mut named: Vec<_> = errors.iter().map(|error| error.variable.as_str()).collect();
    named.sort_unstable();
    assert_eq!(
        named,
        [
            "EVENKEEL_REPEAT_RESOURCE",
            "OTEL_EXPORTER_OTLP_CERTIFICATE",
            "OTEL_EXPORTER_OTLP_COMPRESSION",
            "OTEL_EXPORTER_OTLP_ENDPOINT",
            "OTEL_EXPORTER_OTLP_HEADERS",
            "OTEL_EXPORTER_OTLP_INSECURE",
            // Not a regular file, and without its certificate.
            "OTEL_EXPORTER_OTLP_METRICS_CLIENT_KEY",
            "OTEL_EXPORTER_OTLP_METRICS_CLIENT_KEY",
            "OTEL_EXPORTER_OTLP_METRICS_DEFAULT_HISTOGRAM_AGGREGATION",
            "OTEL_EXPORTER_OTLP_METRICS_TEMPORALITY_PREFERENCE",
            "OTEL_EXPORTER_OTLP_METRICS_TIMEOUT",
            "OTEL_EXPORTER_OTLP_PROTOCOL",
            "OTEL_EXPORTER_OTLP_TIMEOUT",
            "OTEL_METRIC_EXPORT_INTERVAL",
            "OTEL_METRIC_EXPORT_TIMEOUT",
            "OTEL_SDK_DISABLED",
        ]
    );
    for error in &errors {
        let text = error.to_string();
        assert!(!text.contains("s3cret"), "{text}");
        assert!(text.contains("(allowed: "), "{text}");
    }
}

/// A misspelt protocol is one error: the endpoint may be right for the one that was meant.
#[test]
fn bad_protocol_alone() {
    let errors = read(&[
        ("OTEL_EXPORTER_OTLP_ENDPOINT", "collector:4317"),
        ("OTEL_EXPORTER_OTLP_PROTOCOL", "grcp"),
    ])
    .unwrap_err();
    assert_eq!(errors.len(), 1);
    assert_eq!(
        errors[0].to_string(),
        "OTEL_EXPORTER_OTLP_PROTOCOL=\"grcp\": not an OTLP protocol (allowed: grpc, http/protobuf)"
    );
}

/// What is printed for debugging holds the names of headers and not their values.
#[test]
fn debug_hides_secrets() {
    let settings = read(&[("OTEL_EXPORTER_OTLP_HEADERS", "authorization=s3cret")]).unwrap();
    let text = format!("{settings:?}");
    assert!(
        text.contains("authorization") && !text.contains("s3cret"),
        "{text}"
    );
}

/// The gRPC port with the HTTP protocol is allowed and gets a sentence.
#[test]
fn advice() {
    let settings = read(&[("OTEL_EXPORTER_OTLP_ENDPOINT", "http://c:4317")]).unwrap();
    assert_eq!(settings.advice().len(), 2);
    assert!(read(&[]).unwrap().advice().is_empty());
}

//! End-to-end tests on the real kernel and a real OpenTelemetry Collector.

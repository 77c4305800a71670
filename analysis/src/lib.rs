//! Reads OTLP and says what it means: reports, flame graphs, comparison.
#![forbid(unsafe_code)]

//! Windows to OTLP and back: encoding, exponential histograms, invariants, the recording file.
#![forbid(unsafe_code)]

pub mod histogram;
pub mod model;
pub mod scale_table;

//! Windows to OTLP and back: encoding, exponential histograms, invariants, the recording file.
#![forbid(unsafe_code)]

pub mod histogram;
pub mod model;
mod names;
pub mod scale_table;
pub mod view;

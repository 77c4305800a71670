//! Windows to OTLP and back: encoding, exponential histograms, invariants, the recording file.
#![forbid(unsafe_code)]

pub mod encode;
pub mod histogram;
pub mod invariants;
pub mod json;
pub mod model;
pub mod recording;
pub mod scale_table;
pub mod temporality;
#[cfg(test)]
mod testing;
pub mod view;

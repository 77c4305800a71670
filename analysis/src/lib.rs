//! Reads OTLP and says what it means: reports, flame graphs, comparison.
//!
//! [`summary`] turns OTLP requests into one [`summary::Summary`]: profiles by name, metrics over
//! the whole recording, who was recorded and what was lost. [`report`] shows it. Nothing here
//! knows a kernel: OTLP is the only input.
#![forbid(unsafe_code)]

#[cfg(test)]
mod fixture;
pub mod report;
pub mod summary;

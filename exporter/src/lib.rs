//! The capturing half of Evenkeel.

pub mod deliver;
pub mod telemetry;

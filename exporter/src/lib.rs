//! The capturing half of Evenkeel.

pub mod capture;
pub mod cli;
pub mod deliver;
#[doc(hidden)]
pub mod fuzzing;
pub mod identity;
pub mod kernel;
pub mod profile;
pub mod settings;
pub mod signal;
pub mod symbol;
pub mod telemetry;
pub mod unwind;

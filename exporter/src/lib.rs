//! The capturing half of Evenkeel.

pub mod kernel;
pub mod signal;

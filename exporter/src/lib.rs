//! The capturing half of Evenkeel.

pub mod identity;
pub mod kernel;
pub mod signal;

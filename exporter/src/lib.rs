//! The capturing half of Evenkeel.

pub mod capture;
pub mod deliver;
pub mod identity;
pub mod kernel;
pub mod profile;
pub mod signal;
pub mod symbol;

//! The capturing half of Evenkeel.

pub mod deliver;

//! One module a signal.

pub mod host;

//! One test per rule.

mod metrics;
mod profiles;

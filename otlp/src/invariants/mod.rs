//! What every request of ours keeps, as one checker for all tests that receive OTLP.
//!
//! The rules are those of the OTLP profiles and metrics data models, of the semantic conventions
//! (the registry), and what Pyroscope and Parca need on top ([`Rule`] names each).

mod dictionary;
mod metrics;
mod points;
mod profiles;
mod resource;
mod rule;
mod usage;

use std::fmt;

pub use self::{metrics::check_metrics, profiles::check_profiles, rule::Rule};

/// Who wrote the request last.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Origin {
    /// We: attributes of resources and scopes stand inline.
    Evenkeel,
    /// A Collector: from 0.161 on it rewrites them to references into the dictionary, which are
    /// resolved before they are checked.
    Collector,
}

/// A rule that a request breaks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Violation {
    /// Which one.
    pub rule: Rule,
    /// Where: `resource[0].scope[0].profile[1].sample[2]`, `location_table[3]`.
    pub at: String,
    /// What was found.
    pub found: String,
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { rule, at, found } = self;
        write!(f, "{at}: {rule} (found {found})")
    }
}

/// Violations as they are found.
#[derive(Debug, Default)]
struct Findings(Vec<Violation>);

impl Findings {
    /// Most violations that are listed: one broken index can be in every sample.
    const MAX: usize = 1_000;

    fn add(&mut self, rule: Rule, at: impl fmt::Display, found: impl fmt::Display) {
        if self.0.len() < Self::MAX {
            self.0.push(Violation {
                rule,
                at: at.to_string(),
                found: found.to_string(),
            });
        }
    }

    fn require(
        &mut self,
        holds: bool,
        rule: Rule,
        at: impl fmt::Display,
        found: impl fmt::Display,
    ) {
        if !holds {
            self.add(rule, at, found);
        }
    }
}

#[cfg(test)]
mod tests;

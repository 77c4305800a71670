//! What can differ between two hosts that run the same kernel object.

use std::fmt::Write as _;

use evenkeel_semconv::attribute::value::evenkeel_method_clock_cost as cost;
use sha2::{Digest as _, Sha256};

use super::{
    globals::Globals,
    object::hex,
    probe::{Program, State},
    self_test::HelperCosts,
};

/// Facts of the method that are not offsets: two kernels with other offsets measure alike.
const FALLBACKS: &[&str] = &[
    "HAS_STEAL",
    "HAS_PREV_STATE_ARGUMENT",
    "HAS_GROUP_DEAD_ARGUMENT",
    "WALK_USER_STACKS",
    "WAITS",
    "WAIT_PERIOD",
    "STACK_HOOK",
    "HAS_INTERRUPT_STATE",
];

/// How a host measures.
#[derive(Clone, Debug)]
pub struct Method {
    /// SHA-256 over hooks attached, fallbacks taken and rates; 16 hex digits.
    pub fingerprint: String,
    /// The text that the fingerprint is over, for people who wonder what differs.
    pub description: String,
    /// Cost of the helpers on this host; `None` where the self-test did not run.
    pub costs: Option<HelperCosts>,
}

impl Method {
    /// Describes how this host measures. `digest` is the object's.
    pub fn new(
        digest: &str,
        programs: &[(&'static Program, State)],
        globals: &Globals,
        frequency: u64,
        costs: Option<HelperCosts>,
    ) -> Self {
        let mut description = format!("object={digest}");
        // Writing to a String cannot fail.
        for (program, state) in programs {
            let _ = write!(description, " {}={}", program.name, state.name());
        }
        for name in FALLBACKS {
            let _ = write!(description, " {name}={}", globals.get(name).unwrap_or(0));
        }
        let _ = write!(description, " on_cpu=cpu-clock@{frequency}Hz");
        let digest = Sha256::digest(description.as_bytes());
        Self {
            fingerprint: hex(&digest[..8]),
            description,
            costs,
        }
    }

    /// The clock's cost as a class (`evenkeel.method.clock.cost`); `None` when it was not measured.
    /// The class and not the number is an attribute: a number would make a new series at each start.
    pub fn clock_cost(&self) -> Option<&'static str> {
        match self.costs?.clock {
            nanos if nanos < 100.0 => Some(cost::FAST),
            nanos if nanos < 1_000.0 => Some(cost::SLOW),
            _ => Some(cost::VERY_SLOW),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernel::part::programs;

    fn method(state: State, frequency: u64) -> Method {
        let programs: Vec<_> = programs().map(|program| (program, state.clone())).collect();
        Method::new("abc", &programs, &Globals::default(), frequency, None)
    }

    /// The fingerprint is the same for the same method, and another when a hook or a rate is.
    #[test]
    fn fingerprint_follows_the_method() {
        let base = method(State::Attached, 99);
        assert_eq!(base.fingerprint, method(State::Attached, 99).fingerprint);
        assert_ne!(base.fingerprint, method(State::Attached, 49).fingerprint);
        assert_ne!(
            base.fingerprint,
            method(State::Off("x".into()), 99).fingerprint
        );
        assert_eq!(base.fingerprint.len(), 16);
    }

    /// Two starts that measure 39.6 and 41.2 ns are of one class; what was not measured has none.
    #[test]
    fn clock_cost_is_a_class() {
        let mut method = method(State::Attached, 99);
        assert_eq!(method.clock_cost(), None);
        for clock in [39.6, 41.2] {
            method.costs = Some(HelperCosts {
                clock,
                ..HelperCosts::default()
            });
            assert_eq!(method.clock_cost(), Some("fast"));
        }
    }
}

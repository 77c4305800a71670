//! Few words about a long outage.

use std::{time::Duration, fmt};
use tokio::time::Instant;

/// One line at most in this time, for each kind of trouble.
const PERIOD: Duration = Duration::from_secs(60);

/// Lets the first of a kind through, then one a period, and counts what it held back.
#[derive(Debug, Default)]
pub(super) struct Throttle {
    last: Option<Instant>,
    held_back: u64,
}

impl Throttle {
    /// `Some(n)` when a line is due, `n` being those held back since the last.
    pub(super) fn admit(&mut self, now: Instant) -> Option<u64> {
        if self.last.is_some_and(|last| now.duration_since(last) < PERIOD) {
            self.held_back += 1;
            return None;
        }
        self.last = Some(now);
        Some(std::mem::take(&mut self.held_back))
    }
}

/// The time in which a destination takes nothing.
#[derive(Debug, Default)]
pub(super) struct Outage {
    since: Option<Instant>,
    throttle: Throttle,
}

/// How an outage went.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Recovery {
    pub(super) after: Duration,
}

impl fmt::Display for Recovery {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{:.1} s", self.after.as_secs_f64())
    }
}

impl Outage {
    /// A try failed; see [`Throttle::admit`].
    pub(super) fn failed(&mut self, now: Instant) -> Option<u64> {
        self.since.get_or_insert(now);
        self.throttle.admit(now)
    }

    /// The server answered; `Some` if there was an outage.
    pub(super) fn answered(&mut self, now: Instant) -> Option<Recovery> {
        let since = self.since.take()?;
        // The next outage is news.
        self.throttle = Throttle::default();
        Some(Recovery {
            after: now.duration_since(since),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// First at once, then one a minute with the number held back, then the recovery.
    #[test]
    fn one_line_a_minute() {
        let start = Instant::now();
        let at = |seconds| start + Duration::from_secs(seconds);
        let mut outage = Outage::default();
        assert_eq!(outage.answered(at(0)), None);
        assert_eq!(outage.failed(at(0)), Some(0));
        assert_eq!(outage.failed(at(30)), None);
        assert_eq!(outage.failed(at(59)), None);
        assert_eq!(outage.failed(at(60)), Some(2));
        let recovery = outage.answered(at(90)).unwrap();
        assert_eq!(recovery.after, Duration::from_secs(90));
        assert_eq!(outage.answered(at(91)), None);
        assert_eq!(outage.failed(at(92)), Some(0));
    }
}

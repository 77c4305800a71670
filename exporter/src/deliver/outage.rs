//! Few words about a long outage.

use std::time::Duration;
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
        if self
            .last
            .is_some_and(|last| now.duration_since(last) < PERIOD)
        {
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
    /// A line told of this outage, so that its end is worth one, too.
    announced: bool,
    throttle: Throttle,
}

impl Outage {
    /// A try failed; see [`Throttle::admit`].
    pub(super) fn failed(&mut self, now: Instant) -> Option<u64> {
        self.since.get_or_insert(now);
        let held_back = self.throttle.admit(now);
        self.announced |= held_back.is_some();
        held_back
    }

    /// The server answered; gives the length of the outage if there was one that was announced.
    pub(super) fn answered(&mut self, now: Instant) -> Option<Duration> {
        let since = self.since.take()?;
        std::mem::take(&mut self.announced).then(|| now.duration_since(since))
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
        assert_eq!(outage.answered(at(90)), Some(Duration::from_secs(90)));
        assert_eq!(outage.answered(at(91)), None);
    }

    /// A server that comes and goes every second does not get two lines each time.
    #[test]
    fn flapping() {
        let start = Instant::now();
        let mut outage = Outage::default();
        let mut lines = 0;
        for second in 0..600 {
            let now = start + Duration::from_secs(second);
            lines += usize::from(outage.failed(now).is_some());
            lines += usize::from(outage.answered(now).is_some());
        }
        assert_eq!(lines, 20);
    }
}

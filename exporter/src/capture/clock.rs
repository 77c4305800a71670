//! When windows begin and end.

use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use evenkeel_otlp::model::Span;

/// Deviation of the wall clock from the steady one that is followed; smaller ones are the clock
/// being disciplined, and following them would make windows overlap or leave gaps.
const STEP: Duration = Duration::from_secs(1);

/// Windows that follow each other without gap or overlap, on a steady clock, near the wall clock.
///
/// A clock that is set forward makes a gap in the recorded time; one that is set back does not: the
/// windows go on from the time reached, so that no two overlap.
#[derive(Debug)]
pub struct WindowClock {
    started: Instant,
    start_unix_nanos: u64,
}

fn unix_nanos(time: SystemTime) -> u64 {
    time.duration_since(UNIX_EPOCH).map_or(0, |since| {
        u64::try_from(since.as_nanos()).unwrap_or(u64::MAX)
    })
}

impl WindowClock {
    /// The first window begins now.
    pub fn start() -> Self {
        Self::start_at(Instant::now(), SystemTime::now())
    }

    fn start_at(now: Instant, wall: SystemTime) -> Self {
        Self {
            started: now,
            start_unix_nanos: unix_nanos(wall),
        }
    }

    /// When the running window began.
    pub fn started(&self) -> Instant {
        self.started
    }

    /// Ends the running window now; the next one begins.
    pub fn end(&mut self) -> Span {
        self.end_at(Instant::now(), SystemTime::now())
    }

    fn end_at(&mut self, now: Instant, wall: SystemTime) -> Span {
        let elapsed = now.saturating_duration_since(self.started);
        let duration_nanos = u64::try_from(elapsed.as_nanos()).unwrap_or(u64::MAX).max(1);
        let span = Span {
            start_unix_nanos: self.start_unix_nanos,
            duration_nanos,
        };
        let end = self.start_unix_nanos.saturating_add(duration_nanos);
        let wall = unix_nanos(wall);
        let ahead = wall.saturating_sub(end);
        self.start_unix_nanos = if u128::from(ahead) > STEP.as_nanos() {
            wall
        } else {
            end
        };
        self.started = now;
        span
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(seconds: u64) -> SystemTime {
        UNIX_EPOCH + Duration::from_secs(seconds)
    }

    /// Windows follow each other whatever small steps the wall clock makes.
    #[test]
    fn windows_are_contiguous() {
        let begin = Instant::now();
        let mut clock = WindowClock::start_at(begin, at(1_000));
        let first = clock.end_at(begin + Duration::from_secs(10), at(1_010));
        let second = clock.end_at(
            begin + Duration::from_secs(20),
            at(1_020) + Duration::from_millis(400),
        );
        assert_eq!(
            first.start_unix_nanos + first.duration_nanos,
            second.start_unix_nanos
        );
        assert_eq!(second.duration_nanos, 10_000_000_000);
    }

    /// A clock that is set back makes no overlap, one that is set forward is followed.
    #[test]
    fn clock_steps_make_no_overlap() {
        let begin = Instant::now();
        let mut clock = WindowClock::start_at(begin, at(1_000));
        clock.end_at(begin + Duration::from_secs(10), at(400));
        let after_step_back = clock.end_at(begin + Duration::from_secs(20), at(2_000));
        assert_eq!(after_step_back.start_unix_nanos, 1_010_000_000_000);
        let after_step_forward = clock.end_at(begin + Duration::from_secs(30), at(2_010));
        assert_eq!(after_step_forward.start_unix_nanos, 2_000_000_000_000);
    }
}

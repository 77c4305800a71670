//! When windows begin and end.

use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use evenkeel_otlp::model::Span;

/// Deviation of the wall clock from the time reached that is let be. Following smaller ones, of a clock
/// that is disciplined, would make an overlap or a gap at every window; timestamps that are a second
/// off hurt nobody.
const STEP: Duration = Duration::from_secs(1);

/// Windows that follow each other without gap or overlap, on a steady clock, near the wall clock.
///
/// When the wall clock is more than a second away from the time reached, because it was set or has
/// drifted, the next window begins at the wall clock's time: after a gap in the recorded time, or,
/// when the clock was set back, inside it. An overlap is the smaller evil: windows that stay in the
/// future would be refused by backends (Pyroscope takes 10 minutes) for as long as the agent runs.
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
        self.start_unix_nanos = if u128::from(wall.abs_diff(end)) <= STEP.as_nanos() {
            end
        } else {
            let seconds = wall.abs_diff(end) / 1_000_000_000;
            if wall < end {
                tracing::warn!(seconds, "The clock was set back; windows overlap in time.");
            } else {
                tracing::warn!(
                    seconds,
                    "The clock was set forward, or the host was suspended; time is missing."
                );
            }
            wall
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

    const TEN: Duration = Duration::from_secs(10);

    /// A clock that is set, forward or back, is followed by the next window, and the windows after it
    /// are contiguous again.
    #[test]
    fn steps_are_followed() {
        for wall_after in [400, 1_008, 1_012, 100_000] {
            let begin = Instant::now();
            let mut clock = WindowClock::start_at(begin, at(1_000));
            let before = clock.end_at(begin + TEN, at(wall_after));
            assert_eq!(before.start_unix_nanos, 1_000_000_000_000);
            assert_eq!(before.duration_nanos, 10_000_000_000);
            let after = clock.end_at(begin + 2 * TEN, at(wall_after + 10));
            assert_eq!(after.start_unix_nanos, wall_after * 1_000_000_000);
            let next = clock.end_at(begin + 3 * TEN, at(wall_after + 20));
            assert_eq!(next.start_unix_nanos, (wall_after + 10) * 1_000_000_000);
        }
    }

    /// Against a clock that runs 500 ppm fast or slow, the most that the kernel corrects, windows stay
    /// within a second and a window's drift for a day, and all but a few are contiguous.
    #[test]
    fn drift_does_not_add_up() {
        const WINDOWS: u32 = 8_640;
        const DRIFT: Duration = Duration::from_millis(5);
        for wall_window in [TEN + DRIFT, TEN - DRIFT] {
            let (mut steady, mut wall) = (Instant::now(), at(1_000_000));
            let mut clock = WindowClock::start_at(steady, wall);
            let (mut reached, mut jumps) = (unix_nanos(wall), 0);
            for _ in 0..WINDOWS {
                let began = unix_nanos(wall);
                steady += TEN;
                wall += wall_window;
                let span = clock.end_at(steady, wall);
                let deviation = span.start_unix_nanos.abs_diff(began);
                assert!(u128::from(deviation) <= STEP.as_nanos(), "{deviation} ns");
                jumps += u32::from(span.start_unix_nanos != reached);
                reached = span.start_unix_nanos + span.duration_nanos;
            }
            // 43.2 s of drift, a second at a time.
            assert_eq!(jumps, 42, "{wall_window:?}");
        }
    }
}

//! A published counter that stays monotone although its source does not.

use super::Moment;

/// How far a source can be believed.
#[derive(Clone, Copy, Debug)]
pub(super) struct Limits {
    /// Source units that one second of real time can bring at most.
    pub(super) per_second: u64,
    /// Units allowed beyond that: granularity of the source and of the two clock readings.
    pub(super) slack: u64,
    /// Units by which the source goes back in ordinary operation.
    pub(super) backlash: u64,
}

impl Limits {
    /// A source without a natural rate.
    pub(super) const UNLIMITED: Self = Self {
        per_second: u64::MAX,
        slack: 0,
        backlash: 0,
    };

    /// Units that can have come in that time, without slack.
    fn growth(&self, nanos: u64) -> u64 {
        let units = u128::from(self.per_second) * u128::from(nanos) / 1_000_000_000;
        u64::try_from(units).unwrap_or(u64::MAX)
    }
}

/// What a reading did to a stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Step {
    /// It grew, or stood.
    Normal,
    /// The source went back a little: nothing is added until it is past its highest value.
    Held,
    /// The source grew by more than time allows: what time allows was added.
    Clamped,
    /// The source went back by more than its backlash: nothing was added, and it counts from there.
    Rebased,
}

/// One series.
#[derive(Clone, Copy, Debug)]
pub(super) struct Stream {
    /// The source's value that counts as `published`.
    raw: u64,
    published: u64,
    start_unix_nanos: u64,
    seen: Moment,
}

impl Stream {
    /// A series of a source that counts since boot. A first value that time since boot does not
    /// allow is not published: the series then counts from now.
    pub(super) fn begin(
        raw: u64,
        now: Moment,
        boot_unix_nanos: u64,
        limits: Limits,
    ) -> (Self, Step) {
        let allowed = limits
            .growth(now.since_boot_nanos)
            .saturating_add(limits.slack);
        let possible = raw <= allowed;
        let stream = Self {
            raw,
            published: if possible { raw } else { 0 },
            start_unix_nanos: if possible {
                boot_unix_nanos
            } else {
                now.unix_nanos
            },
            seen: now,
        };
        let step = if possible {
            Step::Normal
        } else {
            Step::Clamped
        };
        (stream, step)
    }

    /// Takes the next reading.
    pub(super) fn advance(&mut self, raw: u64, now: Moment, limits: Limits) -> Step {
        let allowed = limits.growth(now.nanos_since(self.seen));
        let with_slack = allowed.saturating_add(limits.slack);
        self.seen = now;
        if let Some(grown) = raw.checked_sub(self.raw) {
            self.raw = raw;
            if grown > with_slack {
                self.published = self.published.saturating_add(allowed);
                return Step::Clamped;
            }
            self.published = self.published.saturating_add(grown);
            return Step::Normal;
        }
        if self.raw - raw <= limits.backlash {
            return Step::Held;
        }
        self.raw = raw;
        Step::Rebased
    }

    /// The value to publish, in units of the source.
    pub(super) fn value(&self) -> u64 {
        self.published
    }

    pub(super) fn start_unix_nanos(&self) -> u64 {
        self.start_unix_nanos
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LIMITS: Limits = Limits {
        per_second: 200,
        slack: 4,
        backlash: 100,
    };
    const BOOT: u64 = 1_000;

    fn at(seconds: u64) -> Moment {
        Moment {
            since_boot_nanos: seconds * 1_000_000_000,
            unix_nanos: BOOT + seconds * 1_000_000_000,
        }
    }

    fn stream(raw: u64) -> Stream {
        let (stream, step) = Stream::begin(raw, at(100), BOOT, LIMITS);
        assert_eq!((step, stream.start_unix_nanos()), (Step::Normal, BOOT));
        stream
    }

    /// A source that trembles adds each unit once.
    #[test]
    fn trembling_is_counted_once() {
        let mut stream = stream(1000);
        let steps: Vec<_> = [999, 1000, 998, 1003]
            .iter()
            .enumerate()
            .map(|(second, raw)| stream.advance(*raw, at(101 + second as u64), LIMITS))
            .collect();
        assert_eq!(steps, [Step::Held, Step::Normal, Step::Held, Step::Normal]);
        assert_eq!(stream.value(), 1003);
    }

    /// A large fall adds nothing and does not freeze the series either.
    #[test]
    fn a_fall_neither_resets_nor_freezes() {
        let mut stream = stream(10_000);
        assert_eq!(stream.advance(2_000, at(101), LIMITS), Step::Rebased);
        assert_eq!(stream.advance(2_050, at(102), LIMITS), Step::Normal);
        assert_eq!((stream.value(), stream.start_unix_nanos()), (10_050, BOOT));
    }

    /// Impossible growth is cut to the possible, also when it nears the end of the number range.
    #[test]
    fn impossible_growth_is_clamped() {
        let mut stream = stream(1000);
        assert_eq!(stream.advance(1700, at(101), LIMITS), Step::Clamped);
        assert_eq!(stream.value(), 1200);
        assert_eq!(stream.advance(1904, at(102), LIMITS), Step::Normal);
        assert_eq!(stream.value(), 1404);
        assert_eq!(stream.advance(u64::MAX, at(103), LIMITS), Step::Clamped);
        assert_eq!(stream.value(), 1604);
    }

    /// A first value beyond all time since boot is not published.
    #[test]
    fn an_impossible_first_value_counts_from_now() {
        let (mut stream, step) = Stream::begin(1 << 60, at(100), BOOT, LIMITS);
        assert_eq!((step, stream.value()), (Step::Clamped, 0));
        assert_eq!(stream.start_unix_nanos(), at(100).unix_nanos);
        stream.advance((1 << 60) + 7, at(101), LIMITS);
        assert_eq!(stream.value(), 7);
    }
}

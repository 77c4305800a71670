//! The distribution of stolen time over seconds: two hosts that lose the same share of an hour are
//! not the same if one loses it in a few bad seconds.

use std::path::{Path, PathBuf};

use evenkeel_otlp::{
    histogram::ExponentialHistogram,
    model::{Metric, Point, PointValue},
    scale_table::KERNEL_SCALE,
};
use evenkeel_semconv::metric;

use super::{Losses, Moment, Stat, StealClock, read};

/// Shortest interval: below it, one tick of 10 ms is too coarse a share.
const SHORTEST_NANOS: u64 = 500_000_000;
/// Longest interval that is spread over its seconds. A longer one was a suspended machine rather
/// than a stolen one.
const LONGEST_NANOS: u64 = 60_000_000_000;

/// Call [`StealTicker::tick`] every second.
#[derive(Debug)]
pub struct StealTicker {
    path: PathBuf,
    clock: StealClock,
    ticks_per_second: u64,
    /// Stolen ticks at the last tick, by CPU, ascending.
    previous: Vec<(u32, u64)>,
    seen: Option<Moment>,
    start_unix_nanos: u64,
    /// From one tick in the longest interval to 1 it spans 13 octaves, 416 buckets.
    shares: ExponentialHistogram,
    losses: Losses,
    buffer: Vec<u8>,
}

impl StealTicker {
    /// A ticker over `<proc_root>/stat`. The first tick only takes the values to count from.
    #[must_use]
    pub fn new(proc_root: &Path, clock: StealClock) -> Self {
        Self {
            path: proc_root.join("stat"),
            clock,
            ticks_per_second: rustix::param::clock_ticks_per_second(),
            previous: Vec::new(),
            seen: None,
            start_unix_nanos: 0,
            shares: ExponentialHistogram::new(KERNEL_SCALE),
            losses: Losses::default(),
            buffer: Vec::new(),
        }
    }

    /// What was left out or corrected since the start.
    #[must_use]
    pub fn losses(&self) -> Losses {
        self.losses
    }

    /// Records the share of each CPU's time that was stolen since the last tick.
    pub fn tick(&mut self) {
        if matches!(self.clock, StealClock::Absent { .. }) {
            return;
        }
        if read(&self.path, &mut self.buffer).is_err() {
            self.losses.read_failed += 1;
            return;
        }
        let now = Moment::now();
        let stat = Stat::parse(&self.buffer);
        self.record(&stat, now);
    }

    fn record(&mut self, stat: &Stat, now: Moment) {
        self.losses.invalid += stat.invalid;
        let stolen: Vec<(u32, u64)> = stat
            .cpus
            .iter()
            .filter_map(|(cpu, ticks)| Some((*cpu, ticks.steal()?)))
            .collect();
        let total = stolen
            .iter()
            .fold(0, |sum: u64, (_, ticks)| sum.saturating_add(*ticks));
        if stolen.is_empty() || !self.clock.believes(total) {
            return;
        }
        let Some(seen) = self.seen else {
            self.start_unix_nanos = now.unix_nanos;
            self.seen = Some(now);
            self.previous = stolen;
            return;
        };
        let elapsed = now.nanos_since(seen);
        if elapsed < SHORTEST_NANOS {
            return;
        }
        if elapsed > LONGEST_NANOS {
            self.losses.late += 1;
        } else {
            self.record_shares(&stolen, elapsed);
        }
        self.seen = Some(now);
        self.previous = stolen;
    }

    fn record_shares(&mut self, stolen: &[(u32, u64)], elapsed: u64) {
        let seconds = elapsed as f64 / 1e9;
        // A tick that came late, most likely because this CPU was stolen, stands for all the
        // seconds it covers; else the worst seconds would be missing.
        let weight = seconds.round().max(1.0) as u64;
        let possible = seconds * self.ticks_per_second as f64;
        for (cpu, ticks) in stolen {
            let Ok(index) = self.previous.binary_search_by_key(cpu, |(cpu, _)| *cpu) else {
                continue;
            };
            let Some(grown) = self
                .previous
                .get(index)
                .and_then(|(_, before)| ticks.checked_sub(*before))
            else {
                self.losses.out_of_range += 1;
                continue;
            };
            // A tenth over is the distance between the two clock readings.
            if grown as f64 > 1.1 * possible {
                self.losses.out_of_range += 1;
            }
            let share = (grown as f64 / possible).min(1.0);
            for _ in 0..weight {
                self.shares.record(share);
            }
        }
    }

    /// The distribution since the first tick; absent until a share was recorded.
    #[must_use]
    pub fn metric(&self) -> Option<Metric> {
        if self.shares.count() == 0 {
            return None;
        }
        Some(Metric {
            descriptor: &metric::EVENKEEL_CPU_STOLEN_UTILIZATION,
            points: vec![Point {
                attributes: Vec::new(),
                start_unix_nanos: self.start_unix_nanos,
                value: PointValue::Histogram(self.shares.clone()),
            }],
        })
    }
}

#[cfg(test)]
mod tests {
    use std::fmt::Write;

    use super::*;

    const COUNTED: StealClock = StealClock::Counted { by: "test" };

    fn ticker(clock: StealClock) -> StealTicker {
        let mut ticker = StealTicker::new(Path::new("nowhere"), clock);
        ticker.ticks_per_second = 100;
        ticker
    }

    fn at(millis: u64) -> Moment {
        Moment {
            since_boot_nanos: (1_000_000 + millis) * 1_000_000,
            unix_nanos: millis,
        }
    }

    /// A file with these stolen ticks, by CPU.
    fn stat(stolen: &[(u32, u64)]) -> Stat {
        let mut text = String::new();
        for (cpu, ticks) in stolen {
            writeln!(text, "cpu{cpu} 0 0 0 0 0 0 0 {ticks} 0 0").unwrap();
        }
        Stat::parse(text.as_bytes())
    }

    fn counts(ticker: &StealTicker) -> (u64, i32, Vec<u64>) {
        let shares = ticker.shares.clone();
        (shares.zero_count, shares.offset, shares.counts)
    }

    /// Shares land in the bucket whose upper bound is at or above them: a half is the end of
    /// bucket -33, a whole that of -1; untouched CPUs count as zeros.
    #[test]
    fn shares_land_in_their_buckets() {
        let mut ticker = ticker(COUNTED);
        ticker.record(&stat(&[(0, 10), (1, 10), (2, 10)]), at(0));
        assert!(ticker.metric().is_none());
        ticker.record(&stat(&[(0, 110), (1, 60), (2, 10)]), at(1000));
        let (zeros, offset, counts) = counts(&ticker);
        assert_eq!((zeros, offset, counts.len()), (1, -33, 33));
        assert_eq!(
            (counts[0], counts[32], counts.iter().sum::<u64>()),
            (1, 1, 2)
        );
        let metric = ticker.metric().unwrap();
        let PointValue::Histogram(histogram) = &metric.points[0].value else {
            panic!("a histogram");
        };
        assert!((histogram.sum - 1.5).abs() < 1e-9);
    }

    /// A late tick stands for the seconds it covers; one far too late for none; one far too early
    /// waits for the next.
    #[test]
    fn late_ticks_stand_for_their_seconds() {
        let mut ticker = ticker(COUNTED);
        ticker.record(&stat(&[(0, 0)]), at(0));
        ticker.record(&stat(&[(0, 7)]), at(100));
        ticker.record(&stat(&[(0, 300)]), at(3000));
        assert_eq!(counts(&ticker), (0, -1, vec![3]));
        ticker.record(&stat(&[(0, 300)]), at(120_000));
        assert_eq!(counts(&ticker), (0, -1, vec![3]));
        assert_eq!(ticker.losses().late, 1);
        ticker.record(&stat(&[(0, 300)]), at(121_000));
        assert_eq!(counts(&ticker).0, 1);
    }

    /// A CPU that came, went back or grew beyond time neither spoils the others nor exceeds 1.
    #[test]
    fn odd_cpus_are_left_out_or_clamped() {
        let mut ticker = ticker(COUNTED);
        ticker.record(&stat(&[(0, 500), (2, 5)]), at(0));
        ticker.record(&stat(&[(0, 3), (1, 900), (2, u64::MAX)]), at(1000));
        assert_eq!(counts(&ticker), (0, -1, vec![1]));
        assert_eq!(ticker.losses().out_of_range, 2);
        ticker.record(&stat(&[(0, 3), (1, 900)]), at(2000));
        assert_eq!(counts(&ticker).0, 2);
    }

    /// Without a steal clock, or without its column, there is no distribution at all.
    #[test]
    fn no_clock_no_distribution() {
        for clock in [
            StealClock::Absent { reason: "" },
            StealClock::Unknown { reason: "" },
        ] {
            let mut ticker = ticker(clock);
            for second in 0..3 {
                ticker.record(&stat(&[(0, 0)]), at(1000 * second));
            }
            assert!(ticker.metric().is_none());
        }
        let mut ticker = ticker(COUNTED);
        for second in 0..3 {
            ticker.record(&Stat::parse(b"cpu0 1 2 3 4 5 6 7\n"), at(1000 * second));
        }
        assert!(ticker.metric().is_none());
    }

    /// A missing file is counted.
    #[test]
    fn a_missing_file_is_counted() {
        let mut ticker = ticker(COUNTED);
        ticker.tick();
        assert_eq!(ticker.losses().read_failed, 1);
        assert!(ticker.metric().is_none());
    }
}

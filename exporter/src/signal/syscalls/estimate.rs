//! From what bursts saw to all calls.
//!
//! A burst of length L that ends at B stands for the time until the next one begins at A: what it
//! counted, X, is credited at once, and X / L for each second from B to A. The lengths of a burst and of
//! the gap behind it are drawn before the burst begins, from what earlier bursts saw, so that they
//! do not depend on what they weigh: over time each moment is as likely to be seen as to be stood
//! for, and the estimate has no bias. It needs no look into the future, so a window's numbers are
//! complete at its end.
//!
//! Two things are put right. **A call is measured only if it begins in the burst as well**: of
//! those that end at any time in it, one of duration d is seen with probability (L - d) / L, and
//! counts for the inverse. Up to [`LARGEST_WEIGHT`]: calls longer than three quarters of the burst
//! are not measured, rather than a few of them standing for many. **Watching slows down who makes
//! calls in a loop** (`slowdown`).

use std::ops::Range;

use evenkeel_abi::{HISTOGRAM_SCALE, HISTOGRAM_SLOTS};
use evenkeel_otlp::{histogram::ExponentialHistogram, scale_table::ScaleTables};

use super::{
    budget::Costs,
    growth::Growth,
    layout::{HISTOGRAM, Layout},
    slowdown::Slowdown,
};

/// Most calls that one stands for because others of its duration did not fit in the burst.
const LARGEST_WEIGHT: f64 = 4.0;

/// A span in which calls are watched; a burst, or the later part of one. Seconds since any instant.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Watch {
    /// When the burst began: calls entered before it are not measured.
    pub(super) attached: f64,
    /// When the span began.
    pub(super) begun: f64,
    /// When it ended.
    pub(super) ended: f64,
}

impl Watch {
    /// Its length in seconds.
    pub(super) fn length(self) -> f64 {
        self.ended - self.begun
    }

    /// Share of the calls of that duration, of those that ended in the span, that were measured.
    fn visible(self, duration: f64) -> f64 {
        let length = self.length();
        if length <= 0.0 {
            return 0.0;
        }
        ((self.ended - self.attached - duration) / length).clamp(0.0, 1.0)
    }

    /// The longest duration that can be measured in it.
    pub(super) fn longest(self) -> f64 {
        (self.ended - self.attached - self.length() / LARGEST_WEIGHT).max(0.0)
    }
}

/// What a span stands for.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Weighed {
    /// What was counted in it, by word.
    counted: Vec<f64>,
    /// What is to be credited for each second behind it, by word.
    per_second: Vec<f64>,
    /// Calls that were too long for it.
    pub(super) too_long: f64,
}

/// Sums since the start.
#[derive(Debug)]
pub(super) struct Estimate {
    layout: Layout,
    settled: Vec<f64>,
    last: Option<(Weighed, f64)>,
}

/// Weighs what a span saw in which one sample stood for `skip` calls.
pub(super) fn weigh(
    layout: Layout,
    growth: &Growth,
    watch: Watch,
    skip: u16,
    costs: Costs,
    shards: usize,
) -> Weighed {
    let length = watch.length().max(1e-6);
    let mut weighed = Weighed {
        counted: vec![0.0; layout.words()],
        per_second: vec![0.0; layout.words()],
        too_long: 0.0,
    };
    let slowdown = Slowdown::new(layout, growth, skip, costs, shards);
    for count in &growth.counts {
        let growth = count.growth as f64;
        let factor = slowdown.of_cpu(count.place, layout.family(count.word));
        weighed.counted[count.word] += growth;
        weighed.per_second[count.word] += growth * factor / length;
    }
    // All words of a histogram of a shard follow each other, its sum at the end.
    for run in growth.durations.chunk_by(|a, b| {
        a.place == b.place && histogram(layout, a.word) == histogram(layout, b.word)
    }) {
        let Some(first) = run.first() else { continue };
        let Some(histogram) = histogram(layout, first.word) else {
            continue;
        };
        let (slots, sum) = (layout.slots(histogram), layout.sum(histogram));
        let factor = slowdown.of_shard(first.place, layout.family(first.word));
        // How much of the sum is left and how much more it stands for, by the slots' middles.
        let (mut raw, mut corrected) = (0.0, 0.0);
        let mut credit = |word: usize, amount: f64| {
            weighed.counted[word] += amount;
            weighed.per_second[word] += amount * factor / length;
        };
        for count in run.iter().filter(|count| slots.contains(&count.word)) {
            let growth = count.growth as f64;
            let middle = middle(count.word - slots.start);
            raw += growth * middle;
            let visible = watch.visible(middle);
            if visible * LARGEST_WEIGHT < 1.0 {
                weighed.too_long += growth;
                continue;
            }
            corrected += growth / visible * middle;
            credit(count.word, growth / visible);
        }
        if let Some(nanos) = run.iter().find(|count| count.word == sum)
            && raw > 0.0
        {
            credit(sum, nanos.growth as f64 * corrected / raw);
        }
    }
    weighed
}

/// The histogram that a word is of.
fn histogram(layout: Layout, word: usize) -> Option<usize> {
    let first = layout.slots(0).start;
    Some(word.checked_sub(first)? / HISTOGRAM)
}

/// The middle of a slot, in seconds.
fn middle(slot: usize) -> f64 {
    let index = slot as i64 + i64::from(ScaleTables::NANOSECONDS_IN_SECONDS.slot_zero_index);
    // Half a bucket is a whole one at the next finer scale.
    ExponentialHistogram::bound(HISTOGRAM_SCALE as i32 + 1, index * 2 + 1)
}

impl Estimate {
    /// Nothing yet.
    pub(super) fn new(layout: Layout) -> Self {
        Self {
            layout,
            settled: vec![0.0; layout.words()],
            last: None,
        }
    }

    /// A span begins: what the one before it stands for is settled.
    pub(super) fn begin(&mut self, at: f64) {
        if self.last.is_some() {
            self.settled = self.words(at, None);
            self.last = None;
        }
    }

    /// A span has ended.
    pub(super) fn end(&mut self, watch: Watch, weighed: Weighed) {
        self.last = Some((weighed, watch.ended));
    }

    /// The sums at a time, by word; `under_way` is the span that is not over.
    pub(super) fn words(&self, at: f64, under_way: Option<&Weighed>) -> Vec<f64> {
        let mut words = self.settled.clone();
        let mut add = |amounts: &[f64], times: f64| {
            for (word, amount) in words.iter_mut().zip(amounts) {
                *word += amount * times;
            }
        };
        if let Some((last, ended)) = &self.last {
            add(&last.counted, 1.0);
            add(&last.per_second, (at - ended).max(0.0));
        }
        if let Some(weighed) = under_way {
            add(&weighed.counted, 1.0);
        }
        words
    }

    /// Words in all.
    pub(super) fn layout(&self) -> Layout {
        self.layout
    }
}

impl Weighed {
    /// What of the calls a second is owed to the slowdown.
    pub(super) fn slowed(&self, layout: Layout, watch: Watch) -> f64 {
        let families: Range<usize> = layout.calls(0)..layout.calls(evenkeel_abi::SYSCALL_FAMILIES);
        let credited: f64 = self.per_second[families].iter().sum();
        (credited - self.calls(layout) / watch.length().max(1e-6)).max(0.0)
    }

    /// Calls of all families.
    pub(super) fn calls(&self, layout: Layout) -> f64 {
        let families: Range<usize> = layout.calls(0)..layout.calls(evenkeel_abi::SYSCALL_FAMILIES);
        self.counted[families].iter().sum()
    }
}

/// A histogram from the words of an estimate, and the sum in seconds.
pub(super) fn distribution(
    layout: Layout,
    words: &[f64],
    histogram: usize,
) -> ExponentialHistogram {
    let slots: Vec<u64> = words[layout.slots(histogram)]
        .iter()
        .map(|count| *count as u64)
        .collect();
    debug_assert_eq!(slots.len(), HISTOGRAM_SLOTS as usize);
    ExponentialHistogram::from_slots(
        HISTOGRAM_SCALE as i32,
        ScaleTables::NANOSECONDS_IN_SECONDS.slot_zero_index,
        &slots,
        words[layout.sum(histogram)] / 1e9,
    )
}

#[cfg(test)]
mod tests {
    use super::{
        super::growth::{Count, Looks},
        *,
    };
    const FREE: Costs = Costs {
        call: 0.0,
        sample: 0.0,
    };

    fn layout() -> Layout {
        Layout::new([].into_iter())
    }

    fn slot_of(nanos: u64) -> usize {
        ScaleTables::NANOSECONDS_IN_SECONDS.slot(nanos).unwrap_or(0) as usize
    }

    /// Growth of the first family: so many calls, and so many durations of so many nanoseconds.
    fn growth(calls: u64, durations: &[(u64, u64)]) -> Growth {
        let slots = layout().slots(0);
        let count = |word, growth| Count {
            place: 0,
            word,
            growth,
        };
        let mut growth = Growth {
            looks: vec![Looks {
                watched: calls,
                sampled: calls,
            }],
            counts: vec![count(layout().calls(0), calls)],
            durations: Vec::new(),
        };
        let mut sum = 0;
        for (nanos, number) in durations {
            growth
                .durations
                .push(count(slots.start + slot_of(*nanos), *number));
            sum += nanos * number;
        }
        growth.durations.push(count(layout().sum(0), sum));
        growth
    }

    fn calls(words: &[f64]) -> f64 {
        words[layout().calls(0)]
    }

    /// A burst stands for itself and for the gap behind it, and a reading in the gap has what is due
    /// until then.
    #[test]
    fn a_burst_stands_for_its_gap() {
        let mut estimate = Estimate::new(layout());
        let watch = Watch {
            attached: 0.0,
            begun: 0.0,
            ended: 0.1,
        };
        let weighed = weigh(layout(), &growth(100, &[]), watch, 1, FREE, 1);
        assert_eq!(weighed.calls(layout()), 100.0);
        estimate.end(watch, weighed);
        assert_eq!(calls(&estimate.words(0.1, None)), 100.0);
        assert!((calls(&estimate.words(0.6, None)) - 600.0).abs() < 1e-6);
        estimate.begin(1.0);
        assert!((calls(&estimate.words(9.0, None)) - 1000.0).abs() < 1e-6);
        let under_way = weigh(layout(), &growth(7, &[]), watch, 1, FREE, 1);
        assert!((calls(&estimate.words(9.0, Some(&under_way))) - 1007.0).abs() < 1e-6);
    }

    /// Calls of half the burst's length were seen half of the time; of more than three quarters they are
    /// left out and counted; the sum follows.
    #[test]
    fn long_calls_count_for_those_that_did_not_fit() {
        let watch = Watch {
            attached: 0.0,
            begun: 0.0,
            ended: 0.1,
        };
        let durations = [(50_000_000, 10), (90_000_000, 3)];
        let weighed = weigh(layout(), &growth(0, &durations), watch, 1, FREE, 1);
        let slot = |nanos| weighed.counted[layout().slots(0).start + slot_of(nanos)];
        assert!((slot(50_000_000) / 20.0 - 1.0).abs() < 0.03);
        assert_eq!(slot(90_000_000), 0.0);
        assert_eq!(weighed.too_long, 3.0);
        let sum = weighed.counted[layout().sum(0)] / 1e9;
        assert!((sum / 1.0 - 1.0).abs() < 0.03, "{sum}");
        assert!((watch.longest() - 0.075).abs() < 1e-9);
        // Attached for long, everything that ends was seen from its beginning.
        let later = Watch {
            attached: -10.0,
            ..watch
        };
        let weighed = weigh(layout(), &growth(0, &durations), later, 1, FREE, 1);
        let slot = |nanos| weighed.counted[layout().slots(0).start + slot_of(nanos)];
        assert_eq!((slot(50_000_000), slot(90_000_000)), (10.0, 3.0));
    }
}

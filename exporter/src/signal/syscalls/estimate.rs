//! From what bursts saw to all calls.
//!
//! Time is divided into cycles. In a cycle of length C a burst of length L is watched, which begins at
//! any moment of it with the same probability: what the burst counted, X, is credited C / L times.
//! Whatever calls there are in the cycle, and whatever has led to L and C, each of them is counted with
//! probability L / C, so that the estimate has no bias. It needs no look into what comes: until a cycle is
//! over, the burst stands for the part of it that has passed, and until the burst begins, the burst
//! before does.
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

/// Seconds of a burst that say something of what was not watched before it.
const ENOUGH: f64 = 0.01;

/// Most calls that one stands for because others of its duration did not fit in the burst.
const LARGEST_WEIGHT: f64 = 4.0;

/// A time in which calls are watched; a burst, or a part of one. Seconds since any instant.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Watch {
    /// When the burst began: calls entered before it are not measured.
    pub(super) attached: f64,
    /// When the time began.
    pub(super) begun: f64,
    /// When it ended.
    pub(super) ended: f64,
}

impl Watch {
    /// Its length in seconds.
    pub(super) fn length(self) -> f64 {
        self.ended - self.begun
    }

    /// Seconds of it in which a call that ends and is of that duration was seen beginning.
    fn visible(self, duration: f64) -> f64 {
        (self.ended - self.attached - duration).clamp(0.0, self.length())
    }
}

/// Seconds watched.
pub(super) fn length(watches: &[Watch]) -> f64 {
    watches.iter().map(|watch| watch.length()).sum()
}

/// The longest duration that can be measured.
pub(super) fn longest(watches: &[Watch]) -> f64 {
    let least = length(watches) / LARGEST_WEIGHT;
    let seen = watches.iter().map(|watch| watch.ended - watch.attached);
    (seen.fold(0.0, f64::max) - least).max(0.0)
}

/// What was watched of a cycle.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Weighed {
    /// What was counted, by word.
    counted: Vec<f64>,
    /// What is to be credited for each second that was not watched, by word.
    per_second: Vec<f64>,
    /// Seconds watched.
    watched: f64,
    /// Calls that were too long.
    pub(super) too_long: f64,
}

/// Sums since the start.
#[derive(Debug)]
pub(super) struct Estimate {
    layout: Layout,
    /// Cycles that are over.
    settled: Vec<f64>,
    /// When the cycle began.
    begun: f64,
    /// What was watched of it, once that is over.
    seen: Option<Weighed>,
    /// What each second is credited with until then.
    before: Vec<f64>,
}

/// Weighs what was watched of a cycle in which one sample stood for `skip` calls.
pub(super) fn weigh(
    layout: Layout,
    growth: &Growth,
    watches: &[Watch],
    skip: u16,
    costs: Costs,
    shards: usize,
) -> Weighed {
    let watched = length(watches);
    let length = watched.max(1e-6);
    let mut weighed = Weighed {
        counted: vec![0.0; layout.words()],
        per_second: vec![0.0; layout.words()],
        watched,
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
            let visible: f64 = watches.iter().map(|watch| watch.visible(middle)).sum();
            let visible = visible / length;
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
            begun: 0.0,
            seen: None,
            before: vec![0.0; layout.words()],
        }
    }

    /// A cycle begins, and the one before is over.
    pub(super) fn begin(&mut self, at: f64) {
        self.settled = self.words(at, None);
        if let Some(seen) = self.seen.take() {
            self.before = seen.per_second;
        }
        self.begun = at;
    }

    /// What was to be watched of the cycle was watched.
    pub(super) fn end(&mut self, weighed: Weighed) {
        self.seen = Some(weighed);
    }

    /// The sums at a time, by word; `so_far` is what was watched of the cycle until now, if that is not
    /// over.
    pub(super) fn words(&self, at: f64, so_far: Option<&Weighed>) -> Vec<f64> {
        let mut words = self.settled.clone();
        let mut add = |amounts: &[f64], times: f64| {
            for (word, amount) in words.iter_mut().zip(amounts) {
                *word += amount * times;
            }
        };
        let elapsed = (at - self.begun).max(0.0);
        match self.seen.as_ref().or(so_far) {
            None => add(&self.before, elapsed),
            Some(weighed) => {
                add(&weighed.counted, 1.0);
                let unwatched = (elapsed - weighed.watched).max(0.0);
                // A burst that has just begun says little.
                let is_enough = self.seen.is_some() || weighed.watched >= ENOUGH;
                let rate = if is_enough {
                    &weighed.per_second
                } else {
                    &self.before
                };
                add(rate, unwatched);
            }
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
    pub(super) fn slowed(&self, layout: Layout) -> f64 {
        let families: Range<usize> = layout.calls(0)..layout.calls(evenkeel_abi::SYSCALL_FAMILIES);
        let credited: f64 = self.per_second[families].iter().sum();
        (credited - self.calls(layout) / self.watched.max(1e-6)).max(0.0)
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

    /// A burst of 0.1 s in the middle of a cycle of 1 s: what it counted is worth ten times as much, and a
    /// reading before its end has what is due until then.
    #[test]
    fn a_burst_stands_for_its_cycle() {
        let mut estimate = Estimate::new(layout());
        let at = |begun: f64| Watch {
            attached: begun,
            begun,
            ended: begun + 0.1,
        };
        let seen = |calls, begun| weigh(layout(), &growth(calls, &[]), &[at(begun)], 1, FREE, 1);
        estimate.begin(5.0);
        assert_eq!(calls(&estimate.words(5.4, None)), 0.0);
        let weighed = seen(100, 5.4);
        assert_eq!(weighed.calls(layout()), 100.0);
        estimate.end(weighed);
        assert!((calls(&estimate.words(5.5, None)) - 500.0).abs() < 1e-6);
        estimate.begin(6.0);
        assert!((calls(&estimate.words(6.0, None)) - 1000.0).abs() < 1e-6);
        // Until the next burst, the last one says how many there may be.
        assert!((calls(&estimate.words(6.2, None)) - 1200.0).abs() < 1e-6);
        let so_far = seen(20, 6.2);
        assert!((calls(&estimate.words(6.3, Some(&so_far))) - 1060.0).abs() < 1e-6);
        estimate.end(so_far);
        estimate.begin(7.0);
        assert!((calls(&estimate.words(7.0, None)) - 1200.0).abs() < 1e-6);
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
        let weighed = weigh(layout(), &growth(0, &durations), &[watch], 1, FREE, 1);
        let slot = |nanos| weighed.counted[layout().slots(0).start + slot_of(nanos)];
        assert!((slot(50_000_000) / 20.0 - 1.0).abs() < 0.03);
        assert_eq!(slot(90_000_000), 0.0);
        assert_eq!(weighed.too_long, 3.0);
        let sum = weighed.counted[layout().sum(0)] / 1e9;
        assert!((sum / 1.0 - 1.0).abs() < 0.03, "{sum}");
        assert!((longest(&[watch]) - 0.075).abs() < 1e-9);
        // Attached for long, everything that ends was seen from its beginning.
        let later = Watch {
            attached: -10.0,
            ..watch
        };
        let weighed = weigh(layout(), &growth(0, &durations), &[later], 1, FREE, 1);
        let slot = |nanos| weighed.counted[layout().slots(0).start + slot_of(nanos)];
        assert_eq!((slot(50_000_000), slot(90_000_000)), (10.0, 3.0));
        // In two parts of 0.1 s, 90 ms were seen a tenth of the time, which is too little.
        let parts = [0.0, 5.0].map(|begun| Watch {
            attached: begun,
            begun,
            ended: begun + 0.1,
        });
        let weighed = weigh(layout(), &growth(0, &durations), &parts, 1, FREE, 1);
        assert_eq!(weighed.too_long, 3.0);
    }
}

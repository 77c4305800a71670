//! How much more calls there would have been, had nobody watched.
//!
//! Watching takes 150 ns a call. A thread that makes the cheapest call in a loop, at 120 ns, makes less
//! than half as many while it is watched, and the gap behind a burst must be credited with what it
//! makes unwatched. Such threads are known by runs of calls (`CallRuns`): a run of time T with n calls
//! that cost c each would have taken T - n c, so that the same time would have seen T / (T - n c)
//! times the calls. Calls that are not in a run came when something else let them come, and count as
//! they are.

use evenkeel_abi::SYSCALL_FAMILIES;

use super::{
    budget::Costs,
    growth::{Growth, Looks},
    layout::Layout,
};

/// Largest factor. The cheapest calls have 2.3, and 3.2 when each is measured; what is above comes from
/// costs that changed since they were measured.
const LARGEST: f64 = 3.5;

/// Factors by CPU and family.
#[derive(Clone, Debug)]
pub(super) struct Slowdown {
    by_cpu: Vec<[f64; SYSCALL_FAMILIES]>,
    by_shard: Vec<[f64; SYSCALL_FAMILIES]>,
}

/// What was counted of a family on a CPU.
#[derive(Clone, Copy, Debug, Default)]
struct Seen {
    /// Calls, by samples.
    calls: f64,
    /// Samples that ended a run, and the calls and nanoseconds of the runs.
    runs: [f64; 3],
}

impl Seen {
    fn factor(self, skip: u16, costs: Costs) -> f64 {
        let [samples, calls, nanos] = self.runs;
        if self.calls <= 0.0 || nanos <= 0.0 {
            return 1.0;
        }
        let share = (samples * f64::from(skip) / self.calls).min(1.0);
        let cost = costs.of(Looks {
            watched: calls as u64,
            sampled: samples as u64,
        });
        let seconds = nanos / 1e9;
        let of_run = seconds / (seconds - cost).max(seconds / LARGEST);
        1.0 + share * (of_run - 1.0)
    }
}

impl Slowdown {
    /// The factors of a span in which one sample stood for `skip` calls.
    pub(super) fn new(
        layout: Layout,
        growth: &Growth,
        skip: u16,
        costs: Costs,
        shards: usize,
    ) -> Self {
        let cpus = growth.looks.len();
        let mut seen = vec![[Seen::default(); SYSCALL_FAMILIES]; cpus];
        for count in &growth.counts {
            let family = layout.family(count.word);
            let Some(seen) = seen
                .get_mut(count.place)
                .and_then(|cpu| cpu.get_mut(family))
            else {
                continue;
            };
            if count.word == layout.calls(family) {
                seen.calls += count.growth as f64;
            }
            let run = count.word.checked_sub(layout.runs(family));
            if let Some(run) = run.and_then(|word| seen.runs.get_mut(word)) {
                *run += count.growth as f64;
            }
        }
        let factors = |of: &[Seen; SYSCALL_FAMILIES]| of.map(|seen| seen.factor(skip, costs));
        let by_cpu: Vec<_> = seen.iter().map(factors).collect();
        let shards = shards.max(1);
        let by_shard = (0..shards)
            .map(|shard| mean(shard, shards, &seen, &by_cpu))
            .collect();
        Self { by_cpu, by_shard }
    }

    /// The factor of a family on a CPU.
    pub(super) fn of_cpu(&self, cpu: usize, family: usize) -> f64 {
        self.by_cpu.get(cpu).map_or(1.0, |factors| factors[family])
    }

    /// The factor of a family on the CPUs of a shard.
    pub(super) fn of_shard(&self, shard: usize, family: usize) -> f64 {
        self.by_shard
            .get(shard)
            .map_or(1.0, |factors| factors[family])
    }
}

/// The mean of the factors of a shard's CPUs, by their calls.
fn mean(
    shard: usize,
    shards: usize,
    seen: &[[Seen; SYSCALL_FAMILIES]],
    factors: &[[f64; SYSCALL_FAMILIES]],
) -> [f64; SYSCALL_FAMILIES] {
    let mut means = [1.0; SYSCALL_FAMILIES];
    for (family, mean) in means.iter_mut().enumerate() {
        let of_shard = || {
            let cpus = seen.iter().zip(factors).skip(shard).step_by(shards);
            cpus.map(|(seen, factors)| (seen[family].calls, factors[family]))
        };
        let calls: f64 = of_shard().map(|(calls, _)| calls).sum();
        if calls > 0.0 {
            *mean = of_shard()
                .map(|(calls, factor)| calls * factor)
                .sum::<f64>()
                / calls;
        }
    }
    means
}

#[cfg(test)]
mod tests {
    use super::{super::growth::Count, *};

    const COSTS: Costs = Costs {
        call: 150e-9,
        sample: 104e-9,
    };

    fn layout() -> Layout {
        Layout::new([].into_iter())
    }

    /// On each CPU so many calls of the first family, of which so many are in runs of so many
    /// nanoseconds a call, with one sample for 16.
    fn factors(cpus: &[(u64, u64, u64)], shards: usize) -> Slowdown {
        let mut growth = Growth::default();
        for (place, (calls, in_runs, nanos)) in cpus.iter().enumerate() {
            let count = |word, growth| Count {
                place,
                word,
                growth,
            };
            growth.looks.push(Looks::default());
            growth.counts.extend([
                count(layout().calls(0), *calls),
                count(layout().runs(0), in_runs / 16),
                count(layout().runs(0) + 1, *in_runs),
                count(layout().runs(0) + 2, in_runs * nanos),
            ]);
        }
        Slowdown::new(layout(), &growth, 16, COSTS, shards)
    }

    /// A loop of 120 ns is watched at 276.5 ns and would have made 2.3 times the calls; of a thread
    /// that does other things between its calls, the factor is small; without runs it is 1.
    #[test]
    fn runs_are_credited_as_if_unwatched() {
        let slowdown = factors(&[(16_000, 16_000, 277), (1600, 1600, 3000), (800, 0, 0)], 4);
        assert!((slowdown.of_cpu(0, 0) / (277.0 / 120.5) - 1.0).abs() < 0.01);
        assert!((slowdown.of_cpu(1, 0) / (3000.0 / 2843.5) - 1.0).abs() < 0.01);
        assert_eq!(slowdown.of_cpu(2, 0), 1.0);
        assert_eq!((slowdown.of_cpu(9, 0), slowdown.of_shard(9, 0)), (1.0, 1.0));
    }

    /// Half of the calls in runs are half of the correction, costs that cannot be are bounded, and CPUs
    /// of one shard are weighed by their calls.
    #[test]
    fn factors_are_means() {
        let slowdown = factors(&[(32_000, 16_000, 313), (16_000, 16_000, 100)], 1);
        let half = 1.0 + (313.0 / 156.5 - 1.0) / 2.0;
        assert!((slowdown.of_cpu(0, 0) / half - 1.0).abs() < 0.01);
        assert_eq!(slowdown.of_cpu(1, 0), LARGEST);
        let mean = (half * 2.0 + LARGEST) / 3.0;
        assert!((slowdown.of_shard(0, 0) / mean - 1.0).abs() < 0.01);
    }
}

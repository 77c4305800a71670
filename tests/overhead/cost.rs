//! From what was measured to the figures that are printed.

use std::ops::Add as _;

use crate::{kernel::Runs, load::Run, statistics::Interval};

/// What the kernel programs and the agent used while a workload ran.
#[derive(Clone, Debug)]
pub(crate) struct Cost {
    /// The run of the workload, with the kernel's statistics on.
    pub(crate) run: Run,
    /// CPU time of the agent's threads.
    pub(crate) agent_seconds: f64,
    /// What each program did.
    pub(crate) programs: Vec<Runs>,
}

impl Cost {
    /// Seconds in the programs, as the kernel counts them.
    pub(crate) fn program_seconds(&self) -> f64 {
        // From 0: the sum of no numbers is -0, which shows.
        self.programs.iter().map(Runs::seconds).fold(0.0, f64::add)
    }

    /// The same without what the statistics count for an empty program.
    pub(crate) fn net_program_seconds(&self, bias_nanos: f64) -> f64 {
        let net = |runs: &Runs| (runs.seconds() - runs.count() * bias_nanos / 1e9).max(0.0);
        self.programs.iter().map(net).fold(0.0, f64::add)
    }

    /// The share of all CPUs' time that `seconds` of one CPU are, in percent.
    pub(crate) fn share_of_node(&self, seconds: f64, cpus: usize) -> f64 {
        #[expect(clippy::cast_precision_loss, reason = "CPUs of one machine")]
        let whole = self.run.seconds * cpus as f64;
        seconds / whole * 100.0
    }

    /// Nanoseconds an operation.
    pub(crate) fn nanos_an_operation(&self, seconds: f64) -> f64 {
        seconds * 1e9 / self.run.operations
    }
}

/// The same work without and with the agent.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Pair {
    /// Seconds, the mean of the runs before and after.
    pub(crate) without: f64,
    /// Seconds.
    pub(crate) with: f64,
    /// How much work it was.
    pub(crate) operations: f64,
}

/// Throughput that is lost with the agent, in percent: 50 is half of it.
pub(crate) fn loss(pairs: &[Pair]) -> Interval {
    let loss = |pair: &Pair| (1.0 - pair.without / pair.with) * 100.0;
    Interval::of(&pairs.iter().map(loss).collect::<Vec<_>>())
}

/// Nanoseconds that an operation takes longer with the agent.
pub(crate) fn added_nanos(pairs: &[Pair]) -> Interval {
    let added = |pair: &Pair| (pair.with - pair.without) * 1e9 / pair.operations;
    Interval::of(&pairs.iter().map(added).collect::<Vec<_>>())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cost() -> Cost {
        Cost {
            run: Run {
                seconds: 10.0,
                operations: 1e6,
            },
            agent_seconds: 0.05,
            programs: vec![
                Runs::new("sched_switch", 2_000_000, 300_000_000),
                Runs::new("rare", 10, 400),
            ],
        }
    }

    /// 0.3 s of programs in 10 s of two CPUs are 1.5 %, and 300 ns for each of a million operations.
    #[test]
    fn shares_and_costs() {
        let cost = cost();
        let programs = cost.program_seconds();
        assert!((programs - 0.300_000_4).abs() < 1e-12);
        assert!((cost.share_of_node(programs, 2) - 1.500_002).abs() < 1e-9);
        assert!((cost.share_of_node(cost.agent_seconds, 2) - 0.25).abs() < 1e-9);
        assert!((cost.nanos_an_operation(programs) - 300.000_4).abs() < 1e-6);
    }

    /// What an empty program would have cost comes off each program, never more than it had.
    #[test]
    fn the_bias_comes_off() {
        let net = cost().net_program_seconds(50.0);
        assert!((net - 0.2).abs() < 1e-12, "{net}");
        assert_eq!(cost().net_program_seconds(1e6), 0.0);
    }

    /// Twice the time is half the throughput; the difference falls on each operation.
    #[test]
    fn pairs_are_compared() {
        let pair = |without, with| Pair {
            without,
            with,
            operations: 1e6,
        };
        let pairs = [pair(1.0, 2.0), pair(2.0, 4.0)];
        assert!((loss(&pairs).mean - 50.0).abs() < 1e-9);
        assert!((added_nanos(&pairs).mean - 1500.0).abs() < 1e-6);
        assert!(loss(&[pair(2.0, 1.0)]).mean < 0.0, "faster is negative");
    }
}

//! What the kernel programs counted, summed over CPUs, and what they cost.

use std::{os::fd::OwnedFd, time::Duration};

use evenkeel_abi::{
    BANK_COUNTERS, Counter, HISTOGRAM_SLOTS, RunQueueReason, WalkEnd, histogram_base,
};

use super::loader::Kernel;

/// Run time of one program since it was loaded, as far as the kernel kept it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RunTime {
    /// Name of the program.
    pub program: &'static str,
    /// Time in it while statistics were on.
    pub time: Duration,
    /// Runs while statistics were on.
    pub runs: u64,
}

/// Keeps the kernel's run-time statistics of BPF programs on while it lives. They cost two clock
/// reads for each run of every BPF program of the host, so they are not kept on for good.
#[derive(Debug)]
pub struct Statistics {
    _descriptor: OwnedFd,
}

impl Statistics {
    /// Turns them on; `None` where that is not allowed.
    pub fn on() -> Option<Self> {
        match aya::sys::enable_stats(aya::sys::Stats::RunTime) {
            Ok(descriptor) => Some(Self {
                _descriptor: descriptor,
            }),
            Err(error) => {
                tracing::debug!(%error, "The kernel keeps no run time of BPF programs.");
                None
            }
        }
    }
}

impl Kernel {
    /// A counter, summed over CPUs.
    pub fn counter(&self, counter: Counter) -> u64 {
        self.counter_at(counter as usize)
    }

    fn counter_at(&self, index: usize) -> u64 {
        (0..self.cpu_limit())
            .map(|cpu| self.counters().load(cpu * BANK_COUNTERS as usize + index))
            .fold(0, u64::wrapping_add)
    }

    /// How many walks ended in a way.
    pub fn walks(&self, end: WalkEnd) -> u64 {
        self.counter_at(Counter::WalkEnds as usize + end as usize)
    }

    /// Slots of a run-queue histogram, summed over CPUs (see evenkeel-otlp, `ScaleTables`).
    pub fn run_queue_slots(&self, reason: RunQueueReason) -> Vec<u64> {
        let mut slots = vec![0_u64; HISTOGRAM_SLOTS as usize];
        for cpu in 0..self.cpu_limit() {
            let base = histogram_base(cpu as u32, reason as u32) as usize;
            for (index, slot) in slots.iter_mut().enumerate() {
                *slot = slot.wrapping_add(self.histograms().load(base + index));
            }
        }
        slots
    }

    /// Run times of the programs.
    pub fn run_times(&self) -> Vec<RunTime> {
        self.programs()
            .iter()
            .filter_map(|(program, _)| {
                let info = self.ebpf().program(program.name)?.info().ok()?;
                Some(RunTime {
                    program: program.name,
                    time: info.run_time(),
                    runs: info.run_count(),
                })
            })
            .collect()
    }
}

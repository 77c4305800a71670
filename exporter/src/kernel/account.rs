//! What the kernel programs counted, summed over CPUs, and what they cost.

use std::{os::fd::OwnedFd, time::Duration};

use evenkeel_abi::{
    BANK_COUNTERS, BANK_HISTOGRAMS, Counter, HISTOGRAM_SCALE, HISTOGRAM_SLOTS, HISTOGRAM_WORDS,
    RunQueueReason, WalkEnd,
};
use evenkeel_otlp::{histogram::ExponentialHistogram, scale_table::ScaleTables};

use super::{loader::Kernel, mapped_array::MappedArray};

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
            .map(|cpu| self.counter_of(cpu, index))
            .fold(0, u64::wrapping_add)
    }

    /// A counter of one CPU, by its number in the bank.
    pub fn counter_of(&self, cpu: usize, index: usize) -> u64 {
        self.array("COUNTERS").map_or(0, |counters| {
            counters.load(cpu * BANK_COUNTERS as usize + index)
        })
    }

    /// How many walks ended in a way.
    pub fn walks(&self, end: WalkEnd) -> u64 {
        self.counter_at(Counter::WalkEnds as usize + end as usize)
    }

    /// A run-queue histogram, summed over CPUs.
    pub fn run_queue_histogram(&self, reason: RunQueueReason) -> ExponentialHistogram {
        let entries =
            (0..self.cpu_limit()).map(|cpu| cpu * BANK_HISTOGRAMS as usize + reason as usize);
        histogram(self.array("HISTOGRAMS"), entries)
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

/// The sum of some entries of an array of `Histogram`s, in seconds.
pub fn histogram(
    array: Option<&MappedArray>,
    entries: impl Iterator<Item = usize>,
) -> ExponentialHistogram {
    let mut slots = vec![0_u64; HISTOGRAM_SLOTS as usize];
    let mut nanos = 0_u64;
    if let Some(array) = array {
        for entry in entries {
            let base = entry * HISTOGRAM_WORDS as usize;
            for (index, slot) in slots.iter_mut().enumerate() {
                *slot = slot.wrapping_add(array.load(base + index));
            }
            nanos = nanos.wrapping_add(array.load(base + slots.len()));
        }
    }
    ExponentialHistogram::from_slots(
        HISTOGRAM_SCALE as i32,
        ScaleTables::NANOSECONDS_IN_SECONDS.slot_zero_index,
        &slots,
        nanos as f64 / 1e9,
    )
}

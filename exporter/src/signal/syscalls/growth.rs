//! What the kernel programs have counted since it was last taken.

use std::sync::Arc;

use evenkeel_abi::{SAMPLED_WORD, SEEN_WORD};

use super::layout::{BANK, HISTOGRAM, Layout};
use crate::kernel::{Kernel, mapped_array::MappedArray, part::syscalls::shards};

/// The arrays of the kernel programs, and how far they have been taken.
#[derive(Debug)]
pub(super) struct Counted {
    layout: Layout,
    banks: Arc<MappedArray>,
    histograms: Arc<MappedArray>,
    cpus: usize,
    shards: usize,
    banks_taken: Vec<u64>,
    histograms_taken: Vec<u64>,
}

/// Growth of the counts. Words that did not grow are left out.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Growth {
    /// Calls that were watched and calls that were sampled, by CPU.
    pub(super) looks: Vec<Looks>,
    /// Words of the banks.
    pub(super) counts: Vec<Count>,
    /// Words of the histograms; `place` is a shard.
    pub(super) durations: Vec<Count>,
}

/// What the programs did on a CPU.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Looks {
    /// Calls watched, up to the last sample.
    pub(super) watched: u64,
    /// Calls sampled.
    pub(super) sampled: u64,
}

/// Growth of one word.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Count {
    /// CPU or shard.
    pub(super) place: usize,
    /// Word, by [`Layout`].
    pub(super) word: usize,
    /// By how much it grew.
    pub(super) growth: u64,
}

impl Growth {
    /// Calls watched on all CPUs.
    pub(super) fn watched(&self) -> u64 {
        self.looks.iter().map(|looks| looks.watched).sum()
    }

    /// Growth of a word of the banks on all CPUs.
    pub(super) fn count(&self, word: usize) -> u64 {
        let counts = self.counts.iter().filter(|count| count.word == word);
        counts.map(|count| count.growth).sum()
    }

    /// Calls sampled on all CPUs.
    pub(super) fn sampled(&self) -> u64 {
        self.looks.iter().map(|looks| looks.sampled).sum()
    }
}

impl Counted {
    /// The arrays; `None` where the kernel programs are not loaded.
    pub(super) fn new(kernel: &Kernel, layout: Layout) -> Option<Self> {
        let cpus = kernel.cpu_limit();
        let shards = shards(cpus);
        Some(Self {
            layout,
            banks: kernel.shared_array("SYSCALL_BANKS")?,
            histograms: kernel.shared_array("SYSCALL_HISTOGRAMS")?,
            cpus,
            shards,
            banks_taken: vec![0; cpus * BANK],
            histograms_taken: vec![0; shards * layout.histograms() * HISTOGRAM],
        })
    }

    /// Calls watched on all CPUs since the counts were taken: a load for each CPU.
    pub(super) fn watched(&self) -> u64 {
        let words = (0..self.cpus).map(|cpu| cpu * BANK + SEEN_WORD);
        words.map(|word| self.bank_growth(word)).sum()
    }

    fn bank_growth(&self, word: usize) -> u64 {
        self.banks.load(word).wrapping_sub(self.banks_taken[word])
    }

    /// What was counted since the counts were taken.
    pub(super) fn growth(&self) -> Growth {
        let mut growth = Growth::default();
        for cpu in 0..self.cpus {
            let bank = cpu * BANK;
            growth.looks.push(Looks {
                watched: self.bank_growth(bank + SEEN_WORD),
                sampled: self.bank_growth(bank + SAMPLED_WORD),
            });
            for word in self.layout.counts() {
                let grown = self.bank_growth(bank + word);
                if grown > 0 {
                    growth.counts.push(Count {
                        place: cpu,
                        word,
                        growth: grown,
                    });
                }
            }
        }
        let in_shard = self.layout.histograms();
        for histogram in 0..self.shards * in_shard {
            let start = histogram * HISTOGRAM;
            let grown = |word: usize| {
                let seen = self.histograms.load(start + word);
                seen.wrapping_sub(self.histograms_taken[start + word])
            };
            // The sum grows with every value: where it stands still, so does the rest.
            if grown(HISTOGRAM - 1) == 0 {
                continue;
            }
            let first = self.layout.slots(histogram % in_shard).start;
            for word in 0..HISTOGRAM {
                let grown = grown(word);
                if grown > 0 {
                    growth.durations.push(Count {
                        place: histogram / in_shard,
                        word: first + word,
                        growth: grown,
                    });
                }
            }
        }
        growth
    }

    /// Takes what was counted: later growth is counted from there.
    pub(super) fn take(&mut self, growth: &Growth) {
        for (cpu, looks) in growth.looks.iter().enumerate() {
            let bank = cpu * BANK;
            add(&mut self.banks_taken[bank + SEEN_WORD], looks.watched);
            add(&mut self.banks_taken[bank + SAMPLED_WORD], looks.sampled);
        }
        for count in &growth.counts {
            add(
                &mut self.banks_taken[count.place * BANK + count.word],
                count.growth,
            );
        }
        let shard = self.layout.histograms() * HISTOGRAM;
        for count in &growth.durations {
            let word = count.place * shard + (count.word - BANK);
            add(&mut self.histograms_taken[word], count.growth);
        }
    }
}

fn add(word: &mut u64, growth: u64) {
    *word = word.wrapping_add(growth);
}

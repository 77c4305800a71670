//! Where each number is in the words that the kernel programs count in.

use std::ops::Range;

use evenkeel_abi::{
    CALLS_WORD, ERROR_CLASSES, ERRORS_WORD, HISTOGRAM_SLOTS, HISTOGRAM_WORDS, LISTED_SYSCALLS,
    LISTED_WORD, RUNS_WORD, SYSCALL_BANK_WORDS, SYSCALL_FAMILIES, SyscallFamily,
};

/// Words of a bank, and then those of the histograms: families first, then the listed calls.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Layout {
    listed: usize,
    /// Families of the listed calls.
    families: [u8; LISTED_SYSCALLS],
}

/// Words of a CPU's bank.
pub(super) const BANK: usize = SYSCALL_BANK_WORDS as usize;
/// Words of a histogram, its sum being the last.
pub(super) const HISTOGRAM: usize = HISTOGRAM_WORDS as usize;

impl Layout {
    /// The layout for listed calls of these families.
    pub(super) fn new(families: impl Iterator<Item = SyscallFamily>) -> Self {
        let mut layout = Self {
            listed: 0,
            families: [0; LISTED_SYSCALLS],
        };
        for (place, family) in layout.families.iter_mut().zip(families) {
            *place = family as u8;
            layout.listed += 1;
        }
        layout
    }

    /// Histograms in a shard.
    pub(super) fn histograms(self) -> usize {
        SYSCALL_FAMILIES + self.listed
    }

    /// Words in all.
    pub(super) fn words(self) -> usize {
        BANK + self.histograms() * HISTOGRAM
    }

    /// Words of a bank that count something; those before are the state of the sampling.
    pub(super) fn counts(self) -> Range<usize> {
        CALLS_WORD..BANK
    }

    /// Calls of a family.
    pub(super) fn calls(self, family: usize) -> usize {
        CALLS_WORD + family
    }

    /// Calls of a listed call.
    pub(super) fn listed_calls(self, place: usize) -> usize {
        LISTED_WORD + place
    }

    /// Samples that ended a run of calls of a family; behind them the calls and the nanoseconds.
    pub(super) fn runs(self, family: usize) -> usize {
        RUNS_WORD + 3 * family
    }

    /// The family that a word counts calls of.
    pub(super) fn family(self, word: usize) -> usize {
        let listed = |place: usize| usize::from(self.families.get(place).copied().unwrap_or(0));
        if word >= BANK {
            let histogram = (word - BANK) / HISTOGRAM;
            match histogram.checked_sub(SYSCALL_FAMILIES) {
                None => histogram,
                Some(place) => listed(place),
            }
        } else if word >= ERRORS_WORD {
            (word - ERRORS_WORD) / ERROR_CLASSES
        } else if word >= RUNS_WORD {
            (word - RUNS_WORD) / 3
        } else if word >= LISTED_WORD {
            listed(word - LISTED_WORD)
        } else {
            word.saturating_sub(CALLS_WORD)
        }
    }

    /// Errors of a family and class.
    pub(super) fn errors(self, family: usize, class: usize) -> usize {
        ERRORS_WORD + family * ERROR_CLASSES + class
    }

    /// The slots of a histogram.
    pub(super) fn slots(self, histogram: usize) -> Range<usize> {
        let start = BANK + histogram * HISTOGRAM;
        start..start + HISTOGRAM_SLOTS as usize
    }

    /// The sum of a histogram's values, nanoseconds.
    pub(super) fn sum(self, histogram: usize) -> usize {
        self.slots(histogram).end
    }

    /// The histogram of a listed call.
    pub(super) fn listed_histogram(self, place: usize) -> usize {
        SYSCALL_FAMILIES + place
    }
}

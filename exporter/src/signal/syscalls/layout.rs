//! Where each number is in the words that the kernel programs count in.

use std::ops::Range;

use evenkeel_abi::{
    CALLS_WORD, ERROR_CLASSES, ERRORS_WORD, HISTOGRAM_SLOTS, HISTOGRAM_WORDS, LISTED_WORD,
    SYSCALL_BANK_WORDS, SYSCALL_FAMILIES,
};

/// Words of a bank, and then those of the histograms: families first, then the listed calls.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Layout {
    /// Listed calls.
    pub(super) listed: usize,
}

/// Words of a CPU's bank.
pub(super) const BANK: usize = SYSCALL_BANK_WORDS as usize;
/// Words of a histogram, its sum being the last.
pub(super) const HISTOGRAM: usize = HISTOGRAM_WORDS as usize;

impl Layout {
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

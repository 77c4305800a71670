//! Distributions: arrays of `Histogram`s in mmapped maps.

/// Scale of every kernel histogram: buckets 2.2 % wide, so that a 5 % difference can be seen.
pub const HISTOGRAM_SCALE: u32 = 5;

/// Octaves of nanoseconds kept: below 2^42 ns (73 minutes); longer values fall in the last slot.
const OCTAVES: u32 = 42;

/// Slots of one histogram: `32` per octave and some for the carry of the last.
pub const HISTOGRAM_SLOTS: u32 = (OCTAVES << HISTOGRAM_SCALE) + 31;

/// Words of one histogram: its slots and then the sum of its values in nanoseconds.
pub const HISTOGRAM_WORDS: u32 = HISTOGRAM_SLOTS + 1;

/// Histograms in one CPU's bank of `HISTOGRAMS`.
pub const BANK_HISTOGRAMS: u32 = 3;

/// A distribution.
#[repr(C)]
pub struct Histogram {
    /// How many values fell in each bucket.
    pub slots: [u64; HISTOGRAM_SLOTS as usize],
    /// Sum of the values, nanoseconds.
    pub sum: u64,
}

const _: () = assert!(size_of::<Histogram>() == HISTOGRAM_WORDS as usize * 8);

/// Why a task was put on a run queue; also the number of its histogram in the bank.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub enum RunQueueReason {
    /// It was woken.
    Wakeup = 0,
    /// It was created.
    New = 1,
    /// It was runnable when it was switched out.
    Preempted = 2,
}

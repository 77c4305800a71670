//! Distributions: banks of `u64` slots per CPU in the mmapped `HISTOGRAMS` array.

/// Scale of every kernel histogram: buckets 2.2 % wide, so that a 5 % difference can be seen.
pub const HISTOGRAM_SCALE: u32 = 5;

/// Octaves of nanoseconds kept: below 2^42 ns (73 minutes); longer values fall in the last slot.
const OCTAVES: u32 = 42;

/// Slots of one histogram: `32` per octave and one more for the carry of the last.
pub const HISTOGRAM_SLOTS: u32 = (OCTAVES << HISTOGRAM_SCALE) + 32;

/// Histograms in one CPU's bank.
const HISTOGRAMS: u32 = 3;

/// Slots in one CPU's bank.
pub const BANK_HISTOGRAM_SLOTS: u32 = HISTOGRAMS * HISTOGRAM_SLOTS;

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

/// First slot of a histogram in the bank of a CPU.
#[inline(always)]
pub const fn histogram_base(cpu: u32, histogram: u32) -> u32 {
    cpu * BANK_HISTOGRAM_SLOTS + histogram * HISTOGRAM_SLOTS
}

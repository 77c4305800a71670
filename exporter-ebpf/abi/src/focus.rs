//! Services and containers that have distributions of their own.

/// Most groups in focus.
pub const FOCUS_GROUPS: u32 = 20;

/// Most processes in focus at a time, for each group.
pub const FOCUS_PROCESSES: u32 = 4_096;

/// What is measured of each group; also the number of its histogram.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub enum FocusDistribution {
    /// Waits for a CPU.
    RunQueue = 0,
    /// Blocked times.
    OffCpu = 1,
    /// System calls.
    SystemCall = 2,
    /// Block I/O, from arrival to completion.
    BlockIo = 3,
}

/// Histograms of a group.
pub const FOCUS_DISTRIBUTIONS: u32 = 4;

/// The histogram of a group, which counts from 1.
#[inline(always)]
pub const fn focus_histogram(group: u32, distribution: FocusDistribution) -> u32 {
    group.saturating_sub(1) * FOCUS_DISTRIBUTIONS + distribution as u32
}

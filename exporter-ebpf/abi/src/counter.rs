//! Counters, one bank of `u64` per CPU in the mmapped `COUNTERS` array.

/// Counters in one CPU's bank; a multiple of 8, so that banks do not share a cache line.
pub const BANK_COUNTERS: u32 = 256;

/// Index of a counter in its CPU's bank.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub enum Counter {
    /// Timer ticks of `on_cpu` that hit a task other than idle.
    Samples = 0,
    /// Timer ticks of `on_cpu` that hit the idle task.
    IdleSamples,
    /// Samples that found no room in the ring buffer.
    SamplesLost,
    /// Stolen nanoseconds by the kernel's own account (`rq.prev_steal_time`), idle included.
    StolenNanos,
    /// Stolen nanoseconds while the idle task was current.
    StolenIdleNanos,
    /// Stolen nanoseconds whose record found no room in the ring buffer.
    StolenLostNanos,
    /// Records of stolen time that found no room in the ring buffer.
    StolenLost,
    /// fork, exec and exit events seen.
    ProcessEvents,
    /// fork, exec and exit events that found no room in the ring buffer.
    ProcessEventsLost,
    /// Context switches seen by `sched_switch`.
    Switches,
    /// Run-queue waits recorded.
    RunQueueWaits,
    /// Tasks that began to run without a known enqueue time (they waited before we attached).
    RunQueueUnmatched,
    /// Waits that came out negative because the clocks of two CPUs disagree.
    RunQueueNegative,
    /// Tasks for which no storage could be made.
    TaskStorageFull,
    /// User-stack walks by how they ended; one counter for each `WalkEnd`, in its order.
    WalkEnds = 56,
    // Each signal has 32 numbers of its own from here on.
    // --- interrupts: from 64

    // --- network: from 96

    // --- syscalls: from 128
    /// Sampled system calls whose end was seen in a later burst only, so that it says nothing.
    SyscallsUnmatched = 128,
    /// Durations that came out negative because the clocks of two CPUs disagree.
    SyscallsNegative,
    /// Sampled system calls of tasks for which no storage could be made.
    SyscallStorageFull,
    // --- block_io: from 160
}

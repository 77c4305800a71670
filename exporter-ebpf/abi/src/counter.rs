//! Counters, one bank of `u64` per CPU in the mmapped `COUNTERS` array.

use crate::WALK_ENDS;

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
    /// Switches away from a task that blocked.
    SwitchesVoluntary,
    /// Switches away from a task that could have gone on.
    SwitchesInvoluntary,
    /// Switches away from the idle task.
    SwitchesIdle,
    /// Run-queue waits recorded.
    RunQueueWaits,
    /// Tasks that began to run and of whose wait nothing is known.
    WaitsUnmatched,
    /// Waits that came out negative because the clocks of two CPUs disagree.
    WaitsNegative,
    /// Tasks for which no storage could be made.
    TaskStorageFull,
    /// Waits that were sampled.
    WaitsSampled,
    /// Samples of waits that found no room in the ring buffer.
    WaitsLost,
    /// Blocked nanoseconds that were lost with them.
    BlockedLostNanos,
    /// Nanoseconds on run queues that were lost with them.
    QueuedLostNanos,
    /// Sampled waits whose user stack could not be taken.
    UserStacksMissed,
    /// Accounts of exiting threads that found no room in the ring buffer.
    AccountsLost,

    // Words of a CPU that are no counters.
    /// Accounted steal at the last look, plus one; 0 before the first look.
    StealSeen,
    /// `bpf_ktime_get_ns` minus the run queue's clock, when that is up to date.
    ClockOffset,
    /// `bpf_ktime_get_ns` at the last switch.
    LastSwitch,
    /// By how many powers of two the wait period is stretched.
    PeriodShift,
    /// When the running review of the period began.
    ReviewStart,
    /// Waits sampled since.
    ReviewSamples,

    /// User-stack walks by how they ended; one counter for each `WalkEnd`, in its order.
    WalkEnds = 48,
    // Each signal has 32 numbers of its own from here on.
    // --- interrupts: from 64
    /// Interrupts whose begin or end was not seen.
    InterruptsUnmatched = 64,
    /// Interrupts that ended before they began.
    InterruptsNegative,
    /// Interrupts of numbers that user space has not seen yet; they are in the row of others.
    InterruptsUnnamed,
    /// Interrupts of devices that have no row of their own.
    InterruptsOther,

    // --- network: from 96
    /// TCP segments sent again, without SYN.
    RetransmittedData = 96,
    /// SYN segments sent again.
    RetransmittedSyn,
    /// SYN-ACK segments sent again.
    RetransmittedSynAck,
    // --- syscalls: from 128
    /// Sampled system calls whose end was seen in a later burst only, so that it says nothing.
    SyscallsUnmatched = 128,
    /// Durations that came out negative because the clocks of two CPUs disagree.
    SyscallsNegative,
    /// Sampled system calls of tasks for which no storage could be made.
    SyscallStorageFull,
    // --- block_io: from 160
    /// Requests that were completed without a known issue: they were issued before we attached, or
    /// their place in the table was taken.
    DiskUnmatched = 160,
    /// Requests whose bio's arrival is not known: a wait for a tag is not in their durations.
    DiskArrivalUnknown,
    /// Operations whose end lay before their issue because the clocks of two CPUs disagree.
    DiskNegative,
    /// Operations of disks that found no series; they are counted with all such disks.
    DiskSeriesFull,
    /// Requests that were issued again without having been completed or handed back.
    DiskCompletionUnseen,
    /// Charges of processes that found no room in the table.
    DiskSubmittersFull,

    // --- scheduler
    /// Timer ticks by how many tasks were runnable on the CPU; the last for `RUN_QUEUE_LENGTHS - 1`
    /// and more.
    RunQueueLengths = 192,
}

/// Counters of run-queue lengths.
pub const RUN_QUEUE_LENGTHS: u32 = 64;

const _: () = assert!(Counter::RunQueueLengths as u32 + RUN_QUEUE_LENGTHS == BANK_COUNTERS);
const _: () = assert!((Counter::ReviewSamples as u32) < Counter::WalkEnds as u32);
const _: () = assert!(Counter::WalkEnds as u32 + WALK_ENDS <= Counter::InterruptsUnmatched as u32);

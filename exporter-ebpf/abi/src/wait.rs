//! Waits of tasks: what a sample of one carries, and what is counted for each task.

use crate::COMM_LEN;

/// Programs that take waits: bits of the global `WAITS`.
pub const WAITS_OFF_CPU: u64 = 1;
/// Run-queue waits are sampled.
pub const WAITS_RUN_QUEUE: u64 = 2;
/// Run-queue waits are counted.
pub const WAITS_SCHEDULER: u64 = 4;

/// Where the user stack of a sampled wait is taken: the global `STACK_HOOK`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u64)]
pub enum StackHook {
    /// Nowhere: the kernel stack has to do.
    None = 0,
    /// In an interrupt that the switch raises on its own CPU, which hits the resumed task.
    Interrupt = 1,
    /// At `sched_exit_tp`, when the resumed task leaves the scheduler.
    Exit = 2,
}

/// The task was runnable when it left the CPU.
pub const LEFT_RUNNABLE: u32 = 1;
/// Its group had used up its quota.
pub const LEFT_THROTTLED: u32 = 2;
/// It had never run before.
pub const LEFT_NEW: u32 = 4;
/// The wait goes on: it is reported as far as the end of the window.
pub const LEFT_UNFINISHED: u32 = 8;
/// The task's group has a quota, and the task may have been throttled while it waited.
pub const HAS_QUOTA: u32 = 16;
/// No user stack could be taken, though the task has one.
pub const USER_STACK_MISSED: u32 = 32;

/// The waker was an interrupt: nobody's process.
pub const WAKER_INTERRUPT: u32 = u32::MAX;

/// Number of the system call in the saved registers of a task that is in none.
pub const NO_SYSTEM_CALL: i32 = -1;

/// Neighbours that a sample names.
pub const NEIGHBOURS: usize = 4;

/// A process that had the CPU while another one waited for it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(C)]
pub struct Neighbour {
    /// Process; 0 for none.
    pub pid: u32,
    /// Padding.
    pub reserved: u32,
    /// Its start time, nanoseconds since boot.
    pub start_time: u64,
    /// How long, nanoseconds.
    pub nanos: u64,
}

/// Head of `EventKind::Wait`; a `SampleHeader` and its frames follow.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(C)]
pub struct WaitDetail {
    /// `EventKind::Wait`.
    pub kind: u32,
    /// `LEFT_*` and the other flags here.
    pub flags: u32,
    /// What the sample counts of blocked time, nanoseconds.
    pub blocked_weight: u64,
    /// What it counts of time on a run queue, nanoseconds.
    pub queued_weight: u64,
    /// Time on run queues of the whole wait, nanoseconds; the parts below are of it, those by who had the
    /// CPU as far as it is remembered.
    pub queued_nanos: u64,
    /// Of that: held back by a quota.
    pub throttled_nanos: u64,
    /// While a task of the same process had the CPU, or of the same group
    /// without being named below.
    pub own_nanos: u64,
    /// While another process had it.
    pub other_nanos: u64,
    /// While a kernel thread had it.
    pub kernel_nanos: u64,
    /// While the CPU was idle.
    pub idle_nanos: u64,
    /// Who the other processes were, as far as there is room.
    pub others: [Neighbour; NEIGHBOURS],
    /// State in which the task left the CPU (`TASK_*`, include/linux/sched.h).
    pub task_state: u32,
    /// System call that the task is in, or `NO_SYSTEM_CALL`.
    pub system_call: i32,
    /// Process that woke it, `WAKER_INTERRUPT`, or 0 when nobody was seen.
    pub waker_pid: u32,
    /// In `EventKind::Waker`: the thread that is woken.
    pub woken_tid: u32,
    /// Second and third argument of the system call.
    pub arguments: [u64; 2],
    /// Start time of that process, nanoseconds since boot.
    pub waker_start_time: u64,
}

/// What a task did since the last account of it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(C)]
pub struct TaskAccount {
    /// `EventKind::Account`.
    pub kind: u32,
    /// Process.
    pub pid: u32,
    /// Thread.
    pub tid: u32,
    /// Padding.
    pub reserved: u32,
    /// `group_leader->start_boottime`, nanoseconds since boot.
    pub start_time: u64,
    /// Switches away because it blocked.
    pub voluntary: u64,
    /// Switches away while it could have gone on.
    pub involuntary: u64,
    /// Time on run queues, nanoseconds.
    pub queued_nanos: u64,
    /// Thread name, NUL-terminated.
    pub comm: [u8; COMM_LEN],
}

const _: () = assert!(size_of::<WaitDetail>() == 208);
const _: () = assert!(size_of::<TaskAccount>() == 64);

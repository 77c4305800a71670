//! What is remembered of each task: since when it waits, and what it did.

use aya_ebpf::macros::btf_map;

use crate::task_storage::TaskStorage;

/// Progress of the sampling of one kind of wait of one task (`wait_sampling`).
#[derive(Clone, Copy)]
#[repr(C)]
pub struct Phase {
    /// Waited since the last whole period, in 2^32ths of the running one.
    pub position: u32,
    /// Where in the running period the sample is taken; it was when the position is beyond.
    pub point: u32,
    /// By how many powers of two the running period is stretched.
    pub shift: u32,
    /// Padding.
    pub reserved: u32,
}

/// What is remembered of a task. The CPU that switches the task writes it, under the scheduler's
/// locks; `reported_*` are also written by the walk over all tasks.
#[repr(C)]
pub struct TaskState {
    /// When it left the CPU, by the clock of the run queue; 0 while it runs.
    pub left: u64,
    /// Its `sched_info.run_delay` then.
    pub run_delay: u64,
    /// Its `held_back` then, where it left throttled.
    pub held_back: u64,
    /// Blocked nanoseconds of this wait that earlier windows have.
    pub reported_blocked: u64,
    /// Nanoseconds on a run queue of this wait that earlier windows have.
    pub reported_queued: u64,
    /// `LEFT_*` flags.
    pub flags: u32,
    /// State in which it left.
    pub task_state: u32,
    /// Process that woke it last, or `WAKER_INTERRUPT`; 0 when nobody was seen.
    pub waker_pid: u32,
    /// Padding.
    pub reserved: u32,
    /// Start time of that process.
    pub waker_start_time: u64,
    /// 1 once the points of the phases were drawn.
    pub is_drawn: u64,
    /// Sampling of blocked time.
    pub blocked: Phase,
    /// Sampling of time on run queues.
    pub queued: Phase,
    /// Group in focus that it belongs to, 0 for none, as of `focus_generation`.
    pub focus_group: u32,
    /// Low half of the generation of the processes in focus; 0 before the first look.
    pub focus_generation: u32,
    /// Switches away because it blocked.
    pub voluntary: u64,
    /// Switches away while it could have gone on.
    pub involuntary: u64,
    /// Time on run queues, nanoseconds.
    pub queued_nanos: u64,
    /// Parts of the three above that were accounted for.
    pub accounted: [u64; 3],
}

/// The states of all tasks.
#[btf_map]
pub static TASKS: TaskStorage<TaskState> = TaskStorage::new();

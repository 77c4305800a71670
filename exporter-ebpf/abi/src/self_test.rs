//! What the self-test reads, for user space to compare with what the kernel says elsewhere.
//!
//! The verifier proves the offsets of pointer fields; a wrong offset that hits another scalar of
//! fitting size goes unnoticed, so every scalar offset is proved here.

/// State of the self-test, in `SelfTest::state`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub enum SelfTestState {
    /// Not run yet.
    Pending = 0,
    /// The fields are filled.
    Done = 1,
}

/// Readings of the loading thread, taken while it creates a thread (`sched_process_fork`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(C)]
pub struct SelfTest {
    /// `SelfTestState`.
    pub state: u32,
    /// CPU that it ran on.
    pub cpu: u32,
    /// `task_struct.pid`.
    pub tid: u32,
    /// `task_struct.tgid`.
    pub pid: u32,
    /// `task_struct.flags`.
    pub flags: u32,
    /// `task_struct.__state`; 0 for a running task.
    pub task_state: u32,
    /// `group_leader->start_boottime`.
    pub start_time: u64,
    /// `se.cfs_rq->rq->prev_steal_time`.
    pub steal: u64,
    /// User instruction pointer.
    pub instruction_pointer: u64,
    /// User stack pointer.
    pub stack_pointer: u64,
    /// User frame pointer.
    pub frame_pointer: u64,
    /// `sched_info.run_delay`.
    pub run_delay: u64,
    /// `sched_info.pcount`.
    pub times_run: u64,
    /// `sched_info.last_queued`; 0 for a running task.
    pub last_queued: u64,
    /// `se.cfs_rq->rq->clock`.
    pub run_queue_clock: u64,
    /// `task_struct.on_cpu`.
    pub on_cpu: u32,
    /// Number of the system call that the thread is in.
    pub system_call: u32,
    /// `task_struct.comm`.
    pub comm: [u8; 16],
    /// Nanoseconds that 64 reads of the clock took.
    pub clock_nanos: u64,
    /// Nanoseconds that 64 look-ups of task storage took.
    pub task_storage_nanos: u64,
    /// Nanoseconds that 64 counter increments took.
    pub counter_nanos: u64,
}

const _: () = assert!(size_of::<SelfTest>() == 144);

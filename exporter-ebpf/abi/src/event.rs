//! Records in the `EVENTS` ring buffer.

/// `TASK_COMM_LEN` of the kernel (include/linux/sched.h).
pub const COMM_LEN: usize = 16;

/// Set in the id of a process that is not in the agent's PID namespace; the rest is its id in the kernel's first one. Ids are
/// below 2^22 (`PID_MAX_LIMIT` in include/linux/threads.h).
pub const OUTSIDE: u32 = 1 << 31;

/// Longest executable path that an exec event carries; longer ones are cut and read from `/proc`.
pub const EXEC_FILENAME_LEN: usize = 256;

/// Kernel frames kept; `kernel.perf_event_max_stack` is 127 by default.
pub const MAX_KERNEL_FRAMES: usize = 127;

/// User frames kept. At 110 ns a frame the deepest walk costs 56 µs.
pub const MAX_USER_FRAMES: usize = 512;

/// Slots of the frame buffer: a power of two, so that a masked index is in bounds for the
/// verifier, above `MAX_KERNEL_FRAMES + MAX_USER_FRAMES`.
pub const FRAME_SLOTS: usize = 1024;

/// The sample hit user mode: the first user frame is the instruction that ran.
pub const FLAG_USER_MODE: u32 = 1;

/// The task is a kernel thread.
pub const FLAG_KERNEL_THREAD: u32 = 2;

/// The user stack was walked by frame pointers through code about which nothing was known.
pub const FLAG_UNVERIFIED: u32 = 4;

/// What a record is: its first four bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub enum EventKind {
    /// A `SampleHeader`, then its kernel frames and user frames, leaf first.
    Sample = 1,
    /// A `SampleHeader` without frames: stolen time found at a context switch.
    Stolen = 2,
    /// A `ProcessEvent`: a process (not a thread) was created.
    Fork = 3,
    /// An `ExecEvent`.
    Exec = 4,
    /// A `ProcessEvent`: the last thread of a process is exiting.
    Exit = 5,
    /// A `WaitDetail`, then a `SampleHeader` and its frames: a task waited.
    Wait = 6,
    /// A `TaskAccount`.
    Account = 7,
    /// A `WaitDetail` of which only `woken_tid` is set, then a `SampleHeader` and its frames: what
    /// woke a task whose wait is likely to be sampled.
    Waker = 8,
}

/// Head of `EventKind::Sample` and `EventKind::Stolen`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(C)]
pub struct SampleHeader {
    /// `EventKind`.
    pub kind: u32,
    /// Logical CPU.
    pub cpu: u32,
    /// Process id in the root PID namespace (`tgid`).
    pub pid: u32,
    /// Thread id in the root PID namespace (`pid`).
    pub tid: u32,
    /// `group_leader->start_boottime`, nanoseconds since boot.
    pub start_time: u64,
    /// Growth of the CPU's stolen time since it was last looked at, nanoseconds.
    pub stolen_nanos: u64,
    /// Thread name, NUL-terminated.
    pub comm: [u8; COMM_LEN],
    /// `FLAG_*`.
    pub flags: u32,
    /// `WalkEnd` of the user stack.
    pub walk_end: u32,
    /// Kernel frames that follow.
    pub kernel_frames: u32,
    /// User frames that follow the kernel frames.
    pub user_frames: u32,
}

/// How the walk of a user stack ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub enum WalkEnd {
    /// At the outermost frame: the frame pointer or the return address is zero.
    Complete = 0,
    /// At `MAX_USER_FRAMES`; outer frames are missing.
    Truncated,
    /// The frame pointer does not lead outwards on the stack: code without frame pointers.
    BadFramePointer,
    /// Memory at the frame pointer could not be read (paged out or not mapped).
    ReadFault,
    /// The return address cannot be code.
    BadReturnAddress,
    /// There is no user stack: a kernel thread, or a task that is exiting.
    NoUserStack,
    /// The task was not running, so that its user memory could not be read.
    NotCurrent,
    /// The rule for the code gave a frame that does not lie outwards on the stack.
    BadFrame,
    /// The code says how its caller is found, but in a way that is not understood, or by a register
    /// that was lost on the way.
    NotUnderstood,
    /// At what is the outermost frame by frame pointers, of code about which nothing was known yet: if it
    /// has none, callers are missing.
    Unverified,
}

/// How many ways there can be to end a walk, for a masked index.
pub const WALK_ENDS: u32 = 16;

/// Bit of a user frame's address that says that the instruction there was interrupted: it is not a
/// return address. The first frame is so, and the one that a signal handler returns to. Addresses
/// of user space end below it.
pub const EXACT_FRAME: u64 = 1 << 63;

/// A process was created or is gone.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(C)]
pub struct ProcessEvent {
    /// `EventKind::Fork` or `EventKind::Exit`.
    pub kind: u32,
    /// The process.
    pub pid: u32,
    /// Its start time, nanoseconds since boot.
    pub start_time: u64,
    /// Fork: the creating process. Exit: 0.
    pub parent_pid: u32,
    /// Padding.
    pub reserved: u32,
    /// Fork: start time of the creating process.
    pub parent_start_time: u64,
}

/// A process began to run another program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C)]
pub struct ExecEvent {
    /// `EventKind::Exec`.
    pub kind: u32,
    /// The process.
    pub pid: u32,
    /// Its start time, nanoseconds since boot; exec does not change it.
    pub start_time: u64,
    /// New thread name, NUL-terminated.
    pub comm: [u8; COMM_LEN],
    /// The path given to execve, NUL-terminated unless cut.
    pub filename: [u8; EXEC_FILENAME_LEN],
}

const _: () = assert!(size_of::<SampleHeader>() == 64);
const _: () = assert!(size_of::<ProcessEvent>() == 32);
const _: () = assert!(size_of::<ExecEvent>() == 32 + EXEC_FILENAME_LEN);
const _: () = assert!(MAX_KERNEL_FRAMES + MAX_USER_FRAMES < FRAME_SLOTS);

//! Typed reads of `task_struct` and what hangs on it.
//!
//! The verifier knows the type of the pointer and checks each load against the kernel's BTF, so
//! no load needs `bpf_probe_read_kernel`. A null pointer on the way reads as zero.

use core::ffi::c_void;

use aya_ebpf::helpers::bpf_get_current_task_btf;

use crate::globals;

/// A `task_struct` that the verifier trusts.
#[derive(Clone, Copy)]
pub struct Task(*const c_void);

/// Reads a field at an offset that the verifier folds into a constant.
///
/// # Safety
///
/// `base` is a pointer to a kernel structure that the verifier knows the type of.
#[inline(always)]
pub unsafe fn field<T: Copy>(base: *const c_void, offset: u64) -> T {
    // SAFETY: the verifier checks offset and size against the type of `base`.
    unsafe { base.byte_add(offset as usize).cast::<T>().read_volatile() }
}

impl Task {
    /// The running task.
    #[inline(always)]
    pub fn current() -> Self {
        // SAFETY: the helper takes nothing.
        Self(unsafe { bpf_get_current_task_btf() }.cast())
    }

    /// A task that is an argument of a BTF tracepoint.
    #[inline(always)]
    pub fn from_argument(pointer: *const c_void) -> Self {
        Self(pointer)
    }

    /// The pointer, for helpers that take a task.
    #[inline(always)]
    pub fn as_ptr(self) -> *const c_void {
        self.0
    }

    #[inline(always)]
    fn read<T: Copy>(self, offset: u64) -> T {
        // SAFETY: `self.0` is a task the verifier trusts.
        unsafe { field(self.0, offset) }
    }

    /// Thread id in the root namespace; 0 for the idle task.
    #[inline(always)]
    pub fn tid(self) -> u32 {
        self.read(globals::TASK_PID.load())
    }

    /// Process id in the root namespace.
    #[inline(always)]
    pub fn pid(self) -> u32 {
        self.read(globals::TASK_TGID.load())
    }

    /// `PF_*` flags.
    #[inline(always)]
    pub fn flags(self) -> u32 {
        self.read(globals::TASK_FLAGS.load())
    }

    /// `__state`: 0 is runnable.
    #[inline(always)]
    pub fn state(self) -> u32 {
        self.read(globals::TASK_STATE.load())
    }

    /// The word of `thread_info` that says which ABI the system call under way is of.
    #[inline(always)]
    pub fn abi(self) -> u32 {
        self.read(globals::TASK_ABI.load())
    }

    /// Start of the process in nanoseconds since boot: with the pid it names a process for good.
    #[inline(always)]
    pub fn process_start_time(self) -> u64 {
        let leader: *const c_void = self.read(globals::TASK_GROUP_LEADER.load());
        // SAFETY: a pointer loaded from a typed pointer is typed again.
        unsafe { field(leader, globals::TASK_START_BOOTTIME.load()) }
    }

    /// Stolen nanoseconds that the kernel has accounted to the CPU of this running task
    /// (`rq.prev_steal_time`, kernel/sched/cputime.c: the same number as steal in `/proc/stat`).
    #[inline(always)]
    pub fn accounted_steal(self) -> u64 {
        let cfs_rq: *const c_void = self.read(globals::TASK_CFS_RQ.load());
        // SAFETY: typed, as it was loaded from a typed pointer.
        let rq: *const c_void = unsafe { field(cfs_rq, globals::CFS_RQ_RQ.load()) };
        // SAFETY: as above.
        unsafe { field(rq, globals::RQ_PREV_STEAL_TIME.load()) }
    }
}

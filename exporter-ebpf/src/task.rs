//! Typed reads of `task_struct` and what hangs on it.
//!
//! The verifier knows the type of the pointer and checks each load against the kernel's BTF, so
//! no load needs `bpf_probe_read_kernel`. A null pointer on the way reads as zero.

use core::ffi::c_void;

use aya_ebpf::helpers::bpf_get_current_task_btf;
use evenkeel_abi::COMM_LEN;

use crate::{globals, pid_namespace};

/// `PF_KTHREAD` (include/linux/sched.h).
const PF_KTHREAD: u32 = 0x0020_0000;

/// `TASK_DEAD` (include/linux/sched.h): the last state of a task.
pub const TASK_DEAD: u32 = 0x80;

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

    /// Process id as the agent's `/proc` has it; with [`evenkeel_abi::OUTSIDE`] for a process that is not in the agent's PID
    /// namespace.
    #[inline(always)]
    pub fn pid(self) -> u32 {
        let pid = self.root_pid();
        // The verifier takes the rest away where the agent is in the first namespace.
        if globals::PID_NAMESPACE.load() == 0 || pid == 0 {
            return pid;
        }
        pid_namespace::own_id(self.leader_pid(), pid)
    }

    /// Process id in the root namespace.
    #[inline(always)]
    fn root_pid(self) -> u32 {
        self.read(globals::TASK_TGID.load())
    }

    /// It is the thread that its process began with.
    #[inline(always)]
    pub fn is_leader(self) -> bool {
        self.tid() == self.root_pid()
    }

    /// The `struct pid` of its process.
    #[inline(always)]
    fn leader_pid(self) -> *const c_void {
        let leader: *const c_void = self.read(globals::TASK_GROUP_LEADER.load());
        // SAFETY: typed, as it was loaded from a typed pointer.
        unsafe { field(leader, globals::TASK_THREAD_PID.load()) }
    }

    /// `PF_*` flags.
    #[inline(always)]
    pub fn flags(self) -> u32 {
        self.read(globals::TASK_FLAGS.load())
    }

    /// It never returns to user mode.
    #[inline(always)]
    pub fn is_kernel_thread(self) -> bool {
        self.flags() & PF_KTHREAD != 0
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
        // SAFETY: typed.
        unsafe { field(self.run_queue(), globals::RQ_PREV_STEAL_TIME.load()) }
    }

    /// The run queue of the CPU that it is on, or of the one it was on last.
    #[inline(always)]
    fn run_queue(self) -> *const c_void {
        let cfs_rq: *const c_void = self.read(globals::TASK_CFS_RQ.load());
        // SAFETY: typed, as it was loaded from a typed pointer.
        unsafe { field(cfs_rq, globals::CFS_RQ_RQ.load()) }
    }

    /// The clock of its run queue (`rq.clock`, kernel/sched/core.c, `update_rq_clock`): what the
    /// kernel itself measures waits with. It is read for nothing where the scheduler has just
    /// brought it up to date, as at a switch; `bpf_ktime_get_ns` costs 40 ns.
    #[inline(always)]
    pub fn run_queue_clock(self) -> u64 {
        // SAFETY: typed.
        unsafe { field(self.run_queue(), globals::RQ_CLOCK.load()) }
    }

    /// Tasks that are running or ready on its CPU, of the fair and the real-time classes.
    #[inline(always)]
    pub fn runnable_on_cpu(self) -> u32 {
        let rq = self.run_queue();
        // SAFETY: typed.
        let fair: u32 = unsafe { field(rq, globals::RQ_RUNNABLE.load()) };
        // SAFETY: typed.
        let real_time: u32 = unsafe { field(rq, globals::RQ_RT_RUNNING.load()) };
        fair + real_time
    }

    /// Nanoseconds that it has spent on run queues, up to the last time that it got a CPU or
    /// changed queues (`sched_info.run_delay`: field 2 of `/proc/PID/schedstat`).
    #[inline(always)]
    pub fn run_delay(self) -> u64 {
        self.read(globals::TASK_RUN_DELAY.load())
    }

    /// When it was put on the run queue that it is on, by that queue's clock; 0 when it waits on
    /// none (`sched_info.last_queued`).
    #[inline(always)]
    pub fn last_queued(self) -> u64 {
        self.read(globals::TASK_LAST_QUEUED.load())
    }

    /// How often it got a CPU (`sched_info.pcount`).
    #[inline(always)]
    pub fn times_run(self) -> u64 {
        self.read(globals::TASK_PCOUNT.load())
    }

    /// It is on a CPU.
    #[inline(always)]
    pub fn is_on_cpu(self) -> bool {
        self.read::<u32>(globals::TASK_ON_CPU.load()) != 0
    }

    /// The cgroup of the cpu controller that it is in, whichever hierarchy that is; 1 is the root
    /// (`sched_task_group->css.cgroup->kn->id`).
    #[inline(always)]
    pub fn group(self) -> u64 {
        if globals::HAS_TASK_GROUP.load() == 0 {
            return 1;
        }
        let group: *const c_void = self.read(globals::TASK_GROUP.load());
        // SAFETY: typed.
        let cgroup: *const c_void = unsafe { field(group, globals::GROUP_CGROUP.load()) };
        // SAFETY: typed.
        let node: *const c_void = unsafe { field(cgroup, globals::CGROUP_NODE.load()) };
        // SAFETY: typed.
        unsafe { field(node, globals::NODE_ID.load()) }
    }

    /// Its group has used up its quota, so that it may not run.
    #[inline(always)]
    pub fn is_throttled(self) -> bool {
        if globals::HAS_THROTTLED.load() != 0 {
            return self.read::<u8>(globals::TASK_THROTTLED.load()) != 0;
        }
        if globals::HAS_QUOTA_FIELDS.load() == 0 {
            return false;
        }
        let cfs_rq: *const c_void = self.read(globals::TASK_CFS_RQ.load());
        // SAFETY: typed.
        unsafe { field::<u32>(cfs_rq, globals::CFS_RQ_THROTTLE_COUNT.load()) != 0 }
    }

    /// How long its group has held tasks back on this CPU, nanoseconds, up to `now` by the clock of the run
    /// queue (kernel/sched/fair.c, `record_throttle_clock` and `tg_unthrottle_up`).
    #[inline(always)]
    pub fn held_back(self, now: u64) -> u64 {
        let cfs_rq: *const c_void = self.read(globals::TASK_CFS_RQ.load());
        // SAFETY: typed.
        let since: u64 = unsafe { field(cfs_rq, globals::CFS_RQ_THROTTLED_SINCE.load()) };
        // SAFETY: typed.
        let before: u64 = unsafe { field(cfs_rq, globals::CFS_RQ_THROTTLED_TIME.load()) };
        if since == 0 {
            before
        } else {
            before + now.saturating_sub(since)
        }
    }

    /// Its group has a quota, and it can be throttled while it waits, without saying so. A task that
    /// says so (6.18) throttles itself on its way to user mode, so it always leaves throttled.
    #[inline(always)]
    pub fn has_quota(self) -> bool {
        if globals::HAS_THROTTLED.load() != 0 || globals::HAS_QUOTA_FIELDS.load() == 0 {
            return false;
        }
        let cfs_rq: *const c_void = self.read(globals::TASK_CFS_RQ.load());
        // SAFETY: typed.
        unsafe { field::<u32>(cfs_rq, globals::CFS_RQ_RUNTIME_ENABLED.load()) != 0 }
    }

    /// Its thread name.
    #[inline(always)]
    pub fn comm(self, to: &mut [u8; COMM_LEN]) {
        let offset = globals::TASK_COMM.load();
        let halves = to.as_mut_ptr().cast::<u64>();
        // SAFETY: two words are the whole array, on both sides.
        unsafe {
            halves.write_unaligned(self.read(offset));
            halves.add(1).write_unaligned(self.read(offset + 8));
        }
    }
}

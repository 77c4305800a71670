//! Read-only globals that user space sets before loading.
//!
//! Offsets are bytes into the structure named first; they come from `/sys/kernel/btf/vmlinux`.

use aya_ebpf::Global;

macro_rules! globals {
    ($($(#[$doc:meta])* $name:ident: $type:ty;)*) => {
        $(
            $(#[$doc])*
            #[unsafe(no_mangle)]
            pub static $name: Global<$type> = Global::new(0);
        )*
    };
}

globals! {
    /// `task_struct.pid`.
    TASK_PID: u64;
    /// `task_struct.tgid`.
    TASK_TGID: u64;
    /// Inode number of the agent's PID namespace; 0 where that is the kernel's first one.
    PID_NAMESPACE: u64;
    /// Device number of the file system that the inode is of.
    PID_NAMESPACE_DEVICE: u64;
    /// `task_struct.thread_pid`.
    TASK_THREAD_PID: u64;
    /// `pid.level`.
    PID_LEVEL: u64;
    /// `pid.numbers`.
    PID_NUMBERS: u64;
    /// `upid.ns`, its last field.
    UPID_NAMESPACE: u64;
    /// `upid.nr`.
    UPID_NUMBER: u64;
    /// `pid_namespace.ns.inum`.
    NAMESPACE_NUMBER: u64;
    /// `task_struct.flags`.
    TASK_FLAGS: u64;
    /// `task_struct.__state`, or `state` before 5.14.
    TASK_STATE: u64;
    /// `task_struct.group_leader`.
    TASK_GROUP_LEADER: u64;
    /// `task_struct.start_boottime`.
    TASK_START_BOOTTIME: u64;
    /// `task_struct.se.cfs_rq`.
    TASK_CFS_RQ: u64;
    /// `cfs_rq.rq`.
    CFS_RQ_RQ: u64;
    /// `rq.prev_steal_time`.
    RQ_PREV_STEAL_TIME: u64;
    /// `rq.clock`.
    RQ_CLOCK: u64;
    /// `rq.cfs.h_nr_runnable`, or `h_nr_running` before 6.14.
    RQ_RUNNABLE: u64;
    /// `rq.rt.rt_nr_running`.
    RQ_RT_RUNNING: u64;
    /// `task_struct.sched_info.run_delay`.
    TASK_RUN_DELAY: u64;
    /// `task_struct.sched_info.last_queued`.
    TASK_LAST_QUEUED: u64;
    /// `task_struct.sched_info.pcount`.
    TASK_PCOUNT: u64;
    /// `task_struct.on_cpu`.
    TASK_ON_CPU: u64;
    /// `task_struct.comm`.
    TASK_COMM: u64;
    /// `task_struct.sched_task_group`.
    TASK_GROUP: u64;
    /// `task_group.css.cgroup`.
    GROUP_CGROUP: u64;
    /// `cgroup.kn`.
    CGROUP_NODE: u64;
    /// `kernfs_node.id`.
    NODE_ID: u64;
    /// `task_struct.throttled` (6.18).
    TASK_THROTTLED: u64;
    /// `cfs_rq.throttle_count`.
    CFS_RQ_THROTTLE_COUNT: u64;
    /// `cfs_rq.throttled_clock_self` (6.6).
    CFS_RQ_THROTTLED_SINCE: u64;
    /// `cfs_rq.throttled_clock_self_time` (6.6).
    CFS_RQ_THROTTLED_TIME: u64;
    /// `cfs_rq.runtime_enabled`.
    CFS_RQ_RUNTIME_ENABLED: u64;
    /// `linux_binprm.filename`.
    BINPRM_FILENAME: u64;
    /// `pt_regs`: instruction pointer.
    REGS_IP: u64;
    /// `pt_regs`: stack pointer.
    REGS_SP: u64;
    /// `pt_regs`: frame pointer (rbp, x29).
    REGS_FP: u64;
    /// `pt_regs`: link register (arm64); 0 where there is none.
    REGS_LINK: u64;
    /// `ucontext`: instruction pointer.
    CONTEXT_IP: u64;
    /// `ucontext`: stack pointer.
    CONTEXT_SP: u64;
    /// `ucontext`: frame pointer.
    CONTEXT_FP: u64;
    /// 1 where code is of x86.
    HAS_X86_CODE: u64;
    /// 1 where the platform has a steal clock.
    HAS_STEAL: u64;
    /// 1 where `sched_switch` carries the previous state as its fourth argument (5.18).
    HAS_PREV_STATE_ARGUMENT: u64;
    /// 1 where `sched_process_exit` says whether the whole process is gone (second argument).
    HAS_GROUP_DEAD_ARGUMENT: u64;
    /// `pt_regs`: number of the system call that the task is in.
    REGS_SYSTEM_CALL: u64;
    /// `pt_regs`: second argument of the system call.
    REGS_ARGUMENT_2: u64;
    /// `pt_regs`: third argument of the system call.
    REGS_ARGUMENT_3: u64;
    /// 1 where the fields that waits are measured by are known.
    HAS_WAIT_FIELDS: u64;
    /// 1 where tasks have groups of the cpu controller.
    HAS_TASK_GROUP: u64;
    /// 1 where tasks say themselves that they are throttled.
    HAS_THROTTLED: u64;
    /// 1 where run queues of groups say that they are.
    HAS_QUOTA_FIELDS: u64;
    /// 1 where run queues of groups say for how long they were throttled.
    HAS_THROTTLED_TIME: u64;
    /// 1 where it is known whether a CPU is in an interrupt.
    HAS_INTERRUPT_STATE: u64;
    /// 1 where services or containers are in focus.
    FOCUS_USED: u64;
    /// 1 where stacks of wakers are wanted.
    WAKER_STACKS: u64;
    /// `WAITS_*`: which waits are measured; 0 where the programs only serve `stolen`.
    WAITS: u64;
    /// `StackHook`.
    STACK_HOOK: u64;
    /// One wait is sampled for so many nanoseconds of waiting.
    WAIT_PERIOD: u64;
    /// 2^52 divided by it.
    WAIT_PERIOD_RECIPROCAL: u64;
    /// `request.q`.
    REQUEST_QUEUE: u64;
    /// `request.cmd_flags`.
    REQUEST_FLAGS: u64;
    /// `request.__data_len`.
    REQUEST_LENGTH: u64;
    /// `request.__sector`.
    REQUEST_SECTOR: u64;
    /// `request.bio`.
    REQUEST_BIO: u64;
    /// `request.start_time_ns`.
    REQUEST_START: u64;
    /// `request.io_start_time_ns`.
    REQUEST_ISSUE: u64;
    /// `request_queue.disk`.
    QUEUE_DISK: u64;
    /// `request_queue.mq_ops`: null for a disk without requests.
    QUEUE_OPERATIONS: u64;
    /// `gendisk.diskseq`.
    DISK_SEQUENCE: u64;
    /// `gendisk.disk_name`.
    DISK_NAME: u64;
    /// `bio.bi_opf`.
    BIO_FLAGS: u64;
    /// `bio.bi_iter.bi_sector`.
    BIO_SECTOR: u64;
    /// `bio.bi_iter.bi_size`.
    BIO_SIZE: u64;
    /// `bio.bi_status`.
    BIO_STATUS: u64;
    /// `bio.bi_private`.
    BIO_PRIVATE: u64;
    /// Blocks of `DISK_TABLE_BLOCK` sets in the tables of bios and requests.
    DISK_TABLE_BLOCKS: u64;
    /// 1 where several CPUs share a bank of `DISK_IO`.
    DISK_BANKS_SHARED: u64;
    /// 1 where user stacks are walked.
    WALK_USER_STACKS: u64;
    /// Bits of a return address that are part of the address: all but arm64's pointer
    /// authentication code.
    RETURN_ADDRESS_MASK: u64;
    /// First address above user space.
    USER_ADDRESS_LIMIT: u64;
    /// The agent's own process, for the self-test.
    SELF_PID: u64;
    /// Banks of the arrays that several CPUs share, less one; banks are a power of two.
    BANK_MASK: u64;
    /// 1 where there are more CPUs than banks.
    BANKS_ARE_SHARED: u64;
    /// `sock.__sk_common.skc_state`.
    SOCK_STATE: u64;
    /// `tcp_sock.srtt_us`.
    TCP_SRTT_US: u64;
    /// `tcp_sock.snd_una`.
    TCP_SND_UNA: u64;
    /// `sk_buff.cb`, where TCP keeps its `tcp_skb_cb`.
    SKB_CB: u64;
    /// `tcp_skb_cb.ack_seq`.
    TCP_SKB_CB_ACK_SEQ: u64;
    /// `tcp_skb_cb.tcp_gso_segs`.
    TCP_SKB_CB_GSO_SEGS: u64;
    /// 1 where `tcp_retransmit_skb` is hit by failures too and says so (third argument).
    HAS_RETRANSMIT_ERROR_ARGUMENT: u64;
    /// Of `task_struct.thread_info`, the word that says which ABI the current call is of (x86-64
    /// `status`, arm64 `flags`); its low half.
    TASK_ABI: u64;
    /// The bits of that word that mean the 32-bit ABI (`TS_COMPAT`, `TIF_32BIT`).
    ABI_IS_COMPAT: u64;
    /// Histograms of system calls in each shard: the families and the listed calls.
    SYSCALL_HISTOGRAMS_PER_SHARD: u64;
    /// Bits of a CPU's number that are the number of its shard.
    SYSCALL_SHARD_MASK: u64;
}

/// By DWARF number of a register: its offset in `pt_regs`.
#[unsafe(no_mangle)]
pub static REGISTERS_BY_NUMBER: Global<[u64; 16]> = Global::new([0; 16]);

/// By number of the system call: its family in the low byte, and above that its place among the
/// listed calls plus one, or 0.
#[unsafe(no_mangle)]
pub static SYSCALL_ROWS: Global<[u16; 512]> = Global::new([0; 512]);

/// By error number: its class.
#[unsafe(no_mangle)]
pub static ERROR_CLASS: Global<[u8; 256]> = Global::new([0; 256]);

/// First bucket of each of the 256 mantissa cells (see evenkeel-otlp, `ScaleTables`).
#[unsafe(no_mangle)]
pub static SCALE_FIRST: Global<[u8; 256]> = Global::new([0; 256]);

/// Upper bounds of the buckets of an octave, as normalized mantissas; padded to a power of two so
/// that a masked index is in bounds.
#[unsafe(no_mangle)]
pub static SCALE_BOUNDS: Global<[u64; 64]> = Global::new([0; 64]);

//! What a blocked task waits for, told from its state, its stack and its futex.

use evenkeel_semconv::attribute::value::evenkeel_off_cpu_reason as reason;

use super::cause::{Block, Futex};

/// `__TASK_STOPPED | __TASK_TRACED` (include/linux/sched.h).
const STOPPED: u32 = 0x4 | 0x8;
/// `TASK_INTERRUPTIBLE`.
const INTERRUPTIBLE: u32 = 0x1;
/// `TASK_NOLOAD`: waits that the kernel itself takes for idleness, of its threads.
const NO_LOAD: u32 = 0x400;

/// `FUTEX_LOCK_PI` and `FUTEX_LOCK_PI2`: a lock by definition.
const LOCKING: [u32; 2] = [6, 13];

/// Kernel functions that say what is waited for, by the beginning of their names. The first that a
/// stack has, from the leaf on, decides. Static ones keep their names in kallsyms; where one is
/// inlined into its caller, the caller is here too.
const KERNEL: &[(&str, &str)] = &[
    // Memory first: what a fault waits for is below it in the stack, and is found before it, so
    // `page_fault` is decided by `FAULTS`.
    ("futex_lock_pi", reason::LOCK),
    ("futex_", reason::CONDITION),
    ("__futex_wait", reason::CONDITION),
    ("do_futex", reason::CONDITION),
    ("rwsem_down_", reason::LOCK),
    ("__mutex_lock", reason::LOCK),
    ("mutex_lock", reason::LOCK),
    ("__rt_mutex_", reason::LOCK),
    ("rt_mutex_", reason::LOCK),
    ("__down", reason::LOCK),
    ("down_", reason::LOCK),
    ("percpu_rwsem_wait", reason::LOCK),
    ("__percpu_down_read", reason::LOCK),
    ("flock_lock_inode_wait", reason::LOCK),
    ("locks_lock_inode_wait", reason::LOCK),
    ("fcntl_setlk", reason::LOCK),
    ("do_semtimedop", reason::LOCK),
    ("do_nanosleep", reason::TIMER),
    ("hrtimer_nanosleep", reason::TIMER),
    ("common_nsleep", reason::TIMER),
    ("timerfd_read", reason::TIMER),
    ("msleep", reason::TIMER),
    ("usleep_range", reason::TIMER),
    ("ep_poll", reason::POLL),
    ("do_epoll_wait", reason::POLL),
    ("do_poll", reason::POLL),
    ("do_sys_poll", reason::POLL),
    ("do_select", reason::POLL),
    ("core_sys_select", reason::POLL),
    ("io_cqring_wait", reason::POLL),
    ("pipe_", reason::PIPE),
    ("anon_pipe_", reason::PIPE),
    ("fifo_pipe_", reason::PIPE),
    ("fifo_open", reason::PIPE),
    ("wait_for_partner", reason::PIPE),
    ("n_tty_read", reason::PIPE),
    ("n_tty_write", reason::PIPE),
    ("eventfd_read", reason::PIPE),
    ("eventfd_write", reason::PIPE),
    ("do_wait", reason::CHILD),
    ("kernel_wait4", reason::CHILD),
    // Until a child by vfork has ended or runs a program of its own.
    ("wait_for_vfork_done", reason::CHILD),
    ("kernel_clone", reason::CHILD),
    ("sk_wait_", reason::NETWORK),
    ("sk_stream_wait_", reason::NETWORK),
    ("__lock_sock", reason::NETWORK),
    ("inet_csk_accept", reason::NETWORK),
    ("inet_wait_for_connect", reason::NETWORK),
    ("__inet_stream_connect", reason::NETWORK),
    ("__skb_wait_for_more_packets", reason::NETWORK),
    ("__skb_recv_", reason::NETWORK),
    ("unix_", reason::NETWORK),
    ("tcp_", reason::NETWORK),
    ("sock_alloc_send_pskb", reason::NETWORK),
    ("vsock_", reason::NETWORK),
    ("virtio_transport_", reason::NETWORK),
    ("netlink_", reason::NETWORK),
    ("rpc_wait_bit_killable", reason::NETWORK),
    ("io_schedule", reason::DISK_IO),
    ("folio_wait_", reason::DISK_IO),
    ("wait_on_page_", reason::DISK_IO),
    ("blk_", reason::DISK_IO),
    ("submit_bio_wait", reason::DISK_IO),
    ("__wait_on_buffer", reason::DISK_IO),
    ("jbd2_", reason::DISK_IO),
    ("xfs_", reason::DISK_IO),
    ("btrfs_", reason::DISK_IO),
    ("ext4_", reason::DISK_IO),
    // A file system in user space that waits for requests.
    ("fuse_dev_", reason::POLL),
    ("fuse_", reason::DISK_IO),
    ("nfs_", reason::DISK_IO),
    ("read_events", reason::DISK_IO),
    ("balance_dirty_pages", reason::DISK_IO),
    ("wb_wait_for_completion", reason::DISK_IO),
    ("do_signal_stop", reason::STOPPED),
    ("ptrace_stop", reason::STOPPED),
    ("__refrigerator", reason::STOPPED),
];

/// Kernel functions of a page fault. A wait below one is for memory, whatever it is.
const FAULTS: &[&str] = &[
    "exc_page_fault",
    "do_user_addr_fault",
    "do_page_fault",
    "do_mem_abort",
    "handle_mm_fault",
    "do_swap_page",
];

/// Main loops of kernel threads, where they wait for work.
const KERNEL_LOOPS: &[&str] = &[
    "worker_thread",
    "kthreadd",
    "kthread_worker_fn",
    "smpboot_thread_fn",
    "rescuer_thread",
    "rcu_gp_kthread",
    "rcu_gp_fqs_loop",
    "rcu_tasks_kthread",
    "rcu_tasks_one_gp",
    "rcu_nocb_",
    "nocb_cb_wait",
    "kswapd",
    "kcompactd",
    "khugepaged",
    "ksm_scan_thread",
    "kauditd_thread",
    "khungtaskd",
    "watchdog",
    "oom_reaper",
    "irq_thread",
    "kjournald2",
    "psi_rtpoll_worker",
    "mld_",
    "loop_",
    "devtmpfs",
    "hwrng_fillfn",
    "scsi_error_handler",
];

/// User functions that wait for a lock, by what their names contain.
const LOCKS: &[&str] = &[
    "lll_lock_wait",
    "pthread_mutex_lock",
    "pthread_mutex_timedlock",
    "pthread_mutex_clocklock",
    "pthread_rwlock_",
    "pthread_spin_lock",
    "mutex_lock",
    "Mutex::lock",
    "mutex::futex::Mutex",
    "RwLock::",
    "rwlock::futex::RwLock",
    "RawMutex::lock_slow",
    "RawRwLock::",
    "runtime.lock2",
    "sync.(*Mutex)",
    "sem_wait",
    "__lock",
];

/// User functions that wait for the end of a thread.
const JOINS: &[&str] = &[
    "pthread_join",
    "pthread_clockjoin",
    "pthread_timedjoin",
    "JoinHandle",
    "thread::join",
    "std::thread::scoped",
];

/// User functions that wait for a condition, a queue, work.
const CONDITIONS: &[&str] = &[
    "pthread_cond_",
    "Condvar",
    "condvar",
    "condition_variable",
    "Parker::",
    "park",
    "runtime.notesleep",
    "runtime.notetsleep",
    "runtime.mPark",
    "runtime.stopm",
    "std::sync::mpsc",
];

/// Names of the functions of a stack, leaf first.
pub(super) struct Names<'a, K, U>
where
    K: Iterator<Item = &'a str> + Clone,
    U: Iterator<Item = &'a str> + Clone,
{
    /// Of the kernel.
    pub kernel: K,
    /// Of the program.
    pub user: U,
}

/// The reason of a block (`evenkeel.off_cpu.reason`).
pub(super) fn reason<'a, K, U>(
    block: &Block,
    is_kernel_thread: bool,
    names: &Names<'a, K, U>,
) -> &'static str
where
    K: Iterator<Item = &'a str> + Clone,
    U: Iterator<Item = &'a str> + Clone,
{
    let is_named = |list: &[&str]| {
        names
            .kernel
            .clone()
            .any(|name| list.iter().any(|prefix| name.starts_with(prefix)))
    };
    let uninterruptible = block.task_state & INTERRUPTIBLE == 0;
    if block.task_state & STOPPED != 0 {
        return reason::STOPPED;
    }
    if block.task_state & NO_LOAD != 0 {
        return reason::IDLE;
    }
    if !is_kernel_thread && is_named(FAULTS) {
        return reason::PAGE_FAULT;
    }
    let mut known = names
        .kernel
        .clone()
        // A completion, of whatever it is.
        .filter(|name| !name.starts_with("do_wait_for_common"))
        .find_map(|name| {
            KERNEL
                .iter()
                .find_map(|(prefix, reason)| name.starts_with(prefix).then_some(*reason))
        });
    // Deep in its main loop a kernel thread waits for the disk like anybody else.
    if is_kernel_thread && known.is_none() && !uninterruptible && is_named(KERNEL_LOOPS) {
        return reason::IDLE;
    }
    if known == Some(reason::CONDITION) {
        known = Some(futex_reason(block.futex, names.user.clone()));
    }
    let found = known.unwrap_or(reason::OTHER);
    // What somebody waits for who waits for others to end is what those wait for.
    let waits_for_others = block.a_second && found == reason::CHILD;
    let fills_window = block.whole_window && may_be_idle(found);
    if !uninterruptible && (waits_for_others || fills_window) {
        return reason::IDLE;
    }
    found
}

/// A lock and a condition variable are both a futex; the functions of the program tell them apart,
/// and where they have no names, the value that is waited on.
fn futex_reason<'a>(
    futex: Option<Futex>,
    user: impl Iterator<Item = &'a str> + Clone,
) -> &'static str {
    // From the leaf on: a condition variable takes its mutex again after the wait.
    for name in user {
        let contains = |list: &[&str]| list.iter().any(|part| name.contains(part));
        if contains(JOINS) {
            return reason::CHILD;
        }
        if contains(LOCKS) {
            return reason::LOCK;
        }
        if contains(CONDITIONS) {
            return reason::CONDITION;
        }
    }
    match futex {
        Some(futex) if LOCKING.contains(&futex.operation) || futex.is_contended_mutex => {
            reason::LOCK
        }
        _ => reason::CONDITION,
    }
}

/// Whether somebody who waits so for a whole window may simply have nothing to do. Disks, locks,
/// faults and stops are no idleness however long they last.
fn may_be_idle(found: &str) -> bool {
    [
        reason::POLL,
        reason::CONDITION,
        reason::NETWORK,
        reason::PIPE,
        reason::CHILD,
        reason::TIMER,
        reason::OTHER,
    ]
    .contains(&found)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn block(task_state: u32) -> Block {
        Block {
            task_state,
            futex: None,
            whole_window: false,
            a_second: false,
            waker: None,
        }
    }

    fn told(block: &Block, is_kernel_thread: bool, kernel: &[&str], user: &[&str]) -> &'static str {
        let names = Names {
            kernel: kernel.iter().copied(),
            user: user.iter().copied(),
        };
        reason(block, is_kernel_thread, &names)
    }

    const FUTEX: &[&str] = &[
        "__schedule",
        "schedule",
        "futex_do_wait",
        "__futex_wait",
        "futex_wait",
        "do_futex",
        "__x64_sys_futex",
    ];

    /// Stacks as kernel 6.18 gives them.
    #[test]
    fn stacks_have_their_reason() {
        for (stack, expected) in [
            (
                &["__schedule", "schedule", "io_schedule", "blkdev_direct_IO"][..],
                reason::DISK_IO,
            ),
            (
                &[
                    "__schedule",
                    "schedule",
                    "do_nanosleep",
                    "hrtimer_nanosleep",
                ],
                reason::TIMER,
            ),
            (
                &[
                    "__schedule",
                    "schedule",
                    "schedule_hrtimeout_range",
                    "ep_poll",
                ],
                reason::POLL,
            ),
            (
                &["__schedule", "schedule", "anon_pipe_read", "vfs_read"],
                reason::PIPE,
            ),
            (
                &["__schedule", "schedule", "do_wait", "kernel_wait4"],
                reason::CHILD,
            ),
            (
                &[
                    "__schedule",
                    "schedule_timeout",
                    "wait_woken",
                    "sk_wait_data",
                ],
                reason::NETWORK,
            ),
            (
                &[
                    "__schedule",
                    "rwsem_down_read_slowpath",
                    "down_read",
                    "ext4_readdir",
                ],
                reason::LOCK,
            ),
            (
                &[
                    "__schedule",
                    "io_schedule",
                    "folio_wait_bit_common",
                    "filemap_fault",
                    "handle_mm_fault",
                    "exc_page_fault",
                ],
                reason::PAGE_FAULT,
            ),
            (
                &["__schedule", "schedule", "do_sigtimedwait"],
                reason::OTHER,
            ),
        ] {
            assert_eq!(told(&block(1), false, stack, &[]), expected, "{stack:?}");
        }
    }

    /// Lock, condition and join are one function of the kernel: names tell them apart, and without
    /// names the value.
    #[test]
    fn futexes_are_told_apart() {
        for (user, expected) in [
            (
                &["__lll_lock_wait", "pthread_mutex_lock", "worker"][..],
                reason::LOCK,
            ),
            (&["pthread_cond_wait", "consumer"], reason::CONDITION),
            (
                &[
                    "__futex_abstimed_wait_common",
                    "pthread_cond_wait",
                    "Mutex::lock",
                ],
                reason::CONDITION,
            ),
            (
                &[
                    "std::sys::sync::mutex::futex::Mutex::lock_contended",
                    "main",
                ],
                reason::LOCK,
            ),
            (&["__pthread_clockjoin_ex", "main"], reason::CHILD),
        ] {
            assert_eq!(told(&block(1), false, FUTEX, user), expected, "{user:?}");
        }
        for (operation, is_contended_mutex, expected) in [
            (0, true, reason::LOCK),
            (9, false, reason::CONDITION),
            (0, false, reason::CONDITION),
            (6, false, reason::LOCK),
        ] {
            let block = Block {
                futex: Some(Futex {
                    operation,
                    is_contended_mutex,
                }),
                ..block(1)
            };
            assert_eq!(
                told(&block, false, FUTEX, &["main"]),
                expected,
                "{operation}"
            );
        }
    }

    /// Who waits for a child by vfork is hung if it takes long, not idle.
    #[test]
    fn vfork_is_a_child() {
        let vfork = [
            "__schedule",
            "schedule",
            "wait_for_completion_state",
            "kernel_clone",
        ];
        let hung = Block {
            whole_window: true,
            a_second: true,
            ..block(0x102)
        };
        assert_eq!(told(&hung, false, &vfork, &[]), reason::CHILD);
    }

    /// Waiting for work is idle: kernel threads in their loops at once, programs after a window. A
    /// hung disk or lock is never idle.
    #[test]
    fn idleness() {
        let worker = ["__schedule", "schedule", "worker_thread", "kthread"];
        assert_eq!(told(&block(0x402), true, &worker, &[]), reason::IDLE);
        assert_eq!(told(&block(1), true, &worker, &[]), reason::IDLE);
        let busy = [
            "__schedule",
            "io_schedule",
            "jbd2_journal_commit_transaction",
            "kjournald2",
        ];
        assert_eq!(told(&block(2), true, &busy, &[]), reason::DISK_IO);
        let long = Block {
            whole_window: true,
            ..block(1)
        };
        let poll = ["__schedule", "schedule", "ep_poll"];
        assert_eq!(told(&long, false, &poll, &[]), reason::IDLE);
        assert_eq!(told(&block(1), false, &poll, &[]), reason::POLL);
        let join = ["__schedule", "schedule", "do_wait", "kernel_wait4"];
        let parent = Block {
            a_second: true,
            ..block(1)
        };
        assert_eq!(told(&parent, false, &join, &[]), reason::IDLE);
        assert_eq!(told(&parent, false, &poll, &[]), reason::POLL);
        let hung = Block {
            whole_window: true,
            ..block(2)
        };
        let disk = ["__schedule", "schedule", "io_schedule"];
        assert_eq!(told(&hung, false, &disk, &[]), reason::DISK_IO);
        assert_eq!(
            told(&long, false, FUTEX, &["pthread_mutex_lock"]),
            reason::LOCK
        );
    }

    /// A stopped task is stopped, whatever it was doing.
    #[test]
    fn stopped_is_stopped() {
        assert_eq!(
            told(&block(4), false, &["__schedule", "ep_poll"], &[]),
            reason::STOPPED
        );
        assert_eq!(told(&block(8), false, &[], &[]), reason::STOPPED);
    }
}

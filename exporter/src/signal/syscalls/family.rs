//! Which family a system call is of, by name: numbers differ between architectures, names do not.

use evenkeel_abi::{LISTED_SYSCALLS, SYSCALL_NUMBERS, SyscallFamily};
use evenkeel_semconv::attribute::value::evenkeel_syscall_family as value;
use syscalls::Sysno;

use SyscallFamily::{
    AsyncIo, Compat, Copy, File, Ipc, Lock, Memory, Network, Other, Poll, Process, Read, Signal,
    Sync, Time, Write,
};

/// Every family, in the order of its number.
pub(super) const FAMILIES: [(SyscallFamily, &str); 16] = [
    (Other, value::OTHER),
    (Read, value::READ),
    (Write, value::WRITE),
    (Sync, value::SYNC),
    (Copy, value::COPY),
    (Poll, value::POLL),
    (AsyncIo, value::ASYNC_IO),
    (Network, value::NETWORK),
    (File, value::FILE),
    (Memory, value::MEMORY),
    (Process, value::PROCESS),
    (Signal, value::SIGNAL),
    (Time, value::TIME),
    (Lock, value::LOCK),
    (Ipc, value::IPC),
    (Compat, value::COMPAT),
];

/// The calls of each family, in alphabetical order. What is not here is `Other`.
#[rustfmt::skip]
const MEMBERS: &[(SyscallFamily, &[&str])] = &[
    (Read, &[
        "getdents", "getdents64", "getrandom", "pread64", "preadv", "preadv2", "process_vm_readv",
        "read", "readahead", "readv",
    ]),
    (Write, &["process_vm_writev", "pwrite64", "pwritev", "pwritev2", "write", "writev"]),
    (Sync, &["fdatasync", "fsync", "msync", "sync", "sync_file_range", "syncfs"]),
    (Copy, &["copy_file_range", "sendfile", "splice", "tee", "vmsplice"]),
    (Poll, &[
        "epoll_create", "epoll_create1", "epoll_ctl", "epoll_ctl_old", "epoll_pwait",
        "epoll_pwait2", "epoll_wait", "epoll_wait_old", "eventfd", "eventfd2", "poll", "ppoll",
        "ppoll_time64", "pselect6", "pselect6_time64", "select",
    ]),
    (AsyncIo, &[
        "io_cancel", "io_destroy", "io_getevents", "io_pgetevents", "io_pgetevents_time64",
        "io_setup", "io_submit", "io_uring_enter", "io_uring_register", "io_uring_setup",
    ]),
    (Network, &[
        "accept", "accept4", "bind", "connect", "getpeername", "getsockname", "getsockopt",
        "listen", "recvfrom", "recvmmsg", "recvmmsg_time64", "recvmsg", "sendmmsg", "sendmsg",
        "sendto", "setsockopt", "shutdown", "socket", "socketpair",
    ]),
    (File, &[
        "access", "chdir", "chmod", "chown", "chroot", "close", "close_range", "creat", "dup",
        "dup2", "dup3", "faccessat", "faccessat2", "fadvise64", "fallocate", "fanotify_init",
        "fanotify_mark", "fchdir", "fchmod", "fchmodat", "fchmodat2", "fchown", "fchownat",
        "fcntl", "fgetxattr", "file_getattr", "flistxattr", "fremovexattr",
        "fsconfig", "fsetxattr", "fsmount", "fsopen", "fspick", "fstat", "fstatat", "fstatfs",
        "ftruncate", "futimesat", "getcwd", "getxattr", "getxattrat", "inotify_add_watch",
        "inotify_init", "inotify_init1", "inotify_rm_watch", "lchown", "lgetxattr", "link",
        "linkat", "listmount", "listxattr", "listxattrat", "llistxattr", "lremovexattr", "lseek",
        "lsetxattr", "lstat", "mkdir", "mkdirat", "mknod", "mknodat", "mount", "mount_setattr",
        "move_mount", "name_to_handle_at", "newfstatat", "open", "open_by_handle_at", "open_tree",
        "open_tree_attr", "openat", "openat2", "pivot_root", "quotactl", "quotactl_fd",
        "readlink", "readlinkat", "removexattr", "removexattrat", "rename", "renameat",
        "renameat2", "rmdir", "setxattr", "setxattrat", "stat", "statfs", "statmount", "statx",
        "symlink", "symlinkat", "truncate", "umask", "umount2", "unlink", "unlinkat", "ustat",
        "utime", "utimensat", "utimensat_time64", "utimes",
    ]),
    (Memory, &[
        "brk", "cachestat", "get_mempolicy", "madvise", "map_shadow_stack", "mbind", "membarrier",
        "memfd_create", "memfd_secret", "migrate_pages", "mincore", "mlock", "mlock2", "mlockall",
        "mmap", "move_pages", "mprotect", "mremap", "mseal", "munlock", "munlockall", "munmap",
        "pkey_alloc", "pkey_free", "pkey_mprotect", "process_madvise", "process_mrelease",
        "remap_file_pages", "set_mempolicy", "set_mempolicy_home_node", "swapoff", "swapon",
        "userfaultfd",
    ]),
    (Process, &[
        "arch_prctl", "capget", "capset", "clone", "clone3", "execve", "execveat", "exit",
        "exit_group", "fork", "get_robust_list", "get_thread_area", "getcpu", "getegid",
        "geteuid", "getgid", "getgroups", "getpgid", "getpgrp", "getpid", "getppid",
        "getpriority", "getresgid", "getresuid", "getrlimit", "getrusage", "getsid", "gettid",
        "getuid", "ioprio_get", "ioprio_set", "kcmp", "modify_ldt", "personality", "pidfd_getfd",
        "pidfd_open", "prctl", "prlimit64", "ptrace", "rseq", "sched_get_priority_max",
        "sched_get_priority_min", "sched_getaffinity", "sched_getattr", "sched_getparam",
        "sched_getscheduler", "sched_rr_get_interval", "sched_rr_get_interval_time64",
        "sched_setaffinity", "sched_setattr", "sched_setparam", "sched_setscheduler",
        "sched_yield", "seccomp", "set_robust_list", "set_thread_area", "set_tid_address",
        "setfsgid", "setfsuid", "setgid", "setgroups", "setns", "setpgid", "setpriority",
        "setregid", "setresgid", "setresuid", "setreuid", "setrlimit", "setsid", "setuid",
        "unshare", "vfork", "wait4", "waitid",
    ]),
    (Signal, &[
        "kill", "pause", "pidfd_send_signal", "rt_sigaction", "rt_sigpending", "rt_sigprocmask",
        "rt_sigqueueinfo", "rt_sigreturn", "rt_sigsuspend", "rt_sigtimedwait",
        "rt_sigtimedwait_time64", "rt_tgsigqueueinfo", "sigaltstack", "signalfd", "signalfd4",
        "tgkill", "tkill",
    ]),
    (Time, &[
        "adjtimex", "alarm", "clock_adjtime", "clock_adjtime64", "clock_getres",
        "clock_getres_time64", "clock_gettime", "clock_gettime64", "clock_nanosleep",
        "clock_nanosleep_time64", "clock_settime", "clock_settime64", "getitimer", "gettimeofday",
        "nanosleep", "setitimer", "settimeofday", "time", "timer_create", "timer_delete",
        "timer_getoverrun", "timer_gettime", "timer_gettime64", "timer_settime",
        "timer_settime64", "timerfd_create", "timerfd_gettime", "timerfd_gettime64",
        "timerfd_settime", "timerfd_settime64", "times",
    ]),
    (Lock, &[
        "flock", "futex", "futex_requeue", "futex_time64", "futex_wait", "futex_waitv",
        "futex_wake",
    ]),
    (Ipc, &[
        "mq_getsetattr", "mq_notify", "mq_open", "mq_timedreceive", "mq_timedreceive_time64",
        "mq_timedsend", "mq_timedsend_time64", "mq_unlink", "msgctl", "msgget", "msgrcv", "msgsnd",
        "pipe", "pipe2", "semctl", "semget", "semop", "semtimedop", "semtimedop_time64", "shmat",
        "shmctl", "shmdt", "shmget",
    ]),
];

/// The family of a call.
pub(super) fn family(name: &str) -> SyscallFamily {
    MEMBERS
        .iter()
        .find(|(_, members)| members.binary_search(&name).is_ok())
        .map_or(Other, |(family, _)| *family)
}

/// The table by number that the kernel programs look calls up in: the family in the low byte,
/// above it the place among the listed calls plus one.
pub(crate) fn rows(listed: &[Sysno]) -> [u16; SYSCALL_NUMBERS] {
    let mut rows = [Other as u16; SYSCALL_NUMBERS];
    for call in Sysno::iter() {
        if let Ok(number) = usize::try_from(call.id())
            && let Some(row) = rows.get_mut(number)
        {
            *row = family(call.name()) as u16;
        }
    }
    for (place, call) in (1_u16..).zip(listed.iter().take(LISTED_SYSCALLS)) {
        if let Ok(number) = usize::try_from(call.id())
            && let Some(row) = rows.get_mut(number)
        {
            *row |= place << 8;
        }
    }
    rows
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use syscalls::{aarch64::Sysno as Arm64, x86_64::Sysno as X86};

    use super::*;

    /// Calls that are of no family, so that a call that a later table adds is looked at.
    #[rustfmt::skip]
    const NO_FAMILY: &[&str] = &[
        "_sysctl", "acct", "add_key", "afs_syscall", "bpf", "create_module", "delete_module",
        "finit_module", "get_kernel_syms", "getpmsg", "init_module", "ioctl", "ioperm", "iopl",
        "kexec_file_load", "kexec_load", "keyctl", "landlock_add_rule",
        "landlock_create_ruleset", "landlock_restrict_self", "lookup_dcookie",
        "lsm_get_self_attr", "lsm_list_modules", "lsm_set_self_attr", "nfsservctl",
        "perf_event_open", "putpmsg", "query_module", "reboot", "request_key",
        "restart_syscall", "security", "setdomainname", "sethostname", "sysfs", "sysinfo",
        "syslog", "tuxcall", "uname", "uprobe", "uretprobe", "uselib", "vhangup", "vserver",
    ];

    fn names() -> BTreeSet<&'static str> {
        let x86 = X86::iter().map(|call| call.name());
        let arm64 = Arm64::iter().map(|call| call.name());
        x86.chain(arm64).collect()
    }

    /// Every call of both architectures is in one family, or in none on purpose; no name is
    /// misspelt; the lists are sorted, as they are searched by halving.
    #[test]
    fn every_call_has_its_place() {
        let names = names();
        let mut seen = BTreeSet::new();
        for (family, members) in MEMBERS {
            assert!(members.is_sorted(), "{family:?}");
            for name in *members {
                assert!(names.contains(name), "{name} is no system call");
                assert!(seen.insert(*name), "{name} is in two families");
            }
        }
        for name in NO_FAMILY {
            assert!(seen.insert(*name), "{name} is in a family and in none");
        }
        let forgotten: Vec<_> = names.difference(&seen).collect();
        assert_eq!(forgotten, Vec::<&&str>::new());
    }

    /// Both architectures' numbers fit the table of the kernel programs.
    #[test]
    fn numbers_fit_the_table() {
        for number in X86::iter().map(|call| call.id() as usize) {
            assert!(number < SYSCALL_NUMBERS, "{number}");
        }
        for number in Arm64::iter().map(|call| call.id() as usize) {
            assert!(number < SYSCALL_NUMBERS, "{number}");
        }
    }

    /// The same name is of the same family under the numbers of both; a listed call keeps its
    /// family.
    #[test]
    fn rows_hold_family_and_place() {
        assert_eq!(family("futex"), Lock);
        assert_eq!(family("ioctl"), Other);
        let rows = rows(&[Sysno::futex, Sysno::read]);
        let row = |call: Sysno| rows[call.id() as usize];
        assert_eq!(row(Sysno::futex), Lock as u16 | 1 << 8);
        assert_eq!(row(Sysno::read), Read as u16 | 2 << 8);
        assert_eq!(row(Sysno::write), Write as u16);
        assert_eq!(rows[SYSCALL_NUMBERS - 1], Other as u16);
    }

    /// Families are numbered in the order in which they are listed.
    #[test]
    fn families_are_in_order() {
        for (number, (family, _)) in FAMILIES.iter().enumerate() {
            assert_eq!(*family as usize, number);
        }
    }
}

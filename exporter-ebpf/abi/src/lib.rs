//! Types and sizes that the kernel programs and user space share.
//!
//! Layouts are `repr(C)` with explicit padding, in native byte order; both sides run on the same
//! machine. Nothing here allocates or touches memory by address.
#![no_std]
#![forbid(unsafe_code)]

mod counter;
mod disk;
mod event;
mod focus;
mod histogram;
mod interrupt;
mod network;
mod self_test;
mod syscall;
mod unwind;
mod wait;

pub use self::{
    counter::{BANK_COUNTERS, Counter, RUN_QUEUE_LENGTHS},
    disk::{
        DISK_BANK_SERIES, DISK_BANKS, DISK_CACHE_SETS, DISK_CHARGE_BYTES, DISK_DURATION_SLOTS,
        DISK_EXACT_SECTORS, DISK_FIRST_OCTAVE, DISK_IDENTITY_WORDS, DISK_NAME_LEN,
        DISK_OCTAVE_SLOTS, DISK_OCTAVES, DISK_SERIES, DISK_SIZE_SCALE, DISK_SIZE_SLOTS,
        DISK_STATUSES, DISK_SUBMITTERS, DISK_TABLE_BLOCK, DISK_TABLE_LIMIT, DISK_TABLE_SETS,
        DiskIdentity, DiskOperation, DiskPhase, DiskSeries, DiskSubmitted, DiskSubmitter,
    },
    event::{
        COMM_LEN, EXACT_FRAME, EXEC_FILENAME_LEN, EventKind, ExecEvent, FLAG_KERNEL_THREAD,
        FLAG_UNVERIFIED, FLAG_USER_MODE, FRAME_SLOTS, MAX_KERNEL_FRAMES, MAX_USER_FRAMES, OUTSIDE,
        ProcessEvent, SampleHeader, WALK_ENDS, WalkEnd,
    },
    focus::{
        FOCUS_DISTRIBUTIONS, FOCUS_GROUPS, FOCUS_PROCESSES, FocusDistribution, focus_histogram,
    },
    histogram::{
        BANK_HISTOGRAMS, HISTOGRAM_SCALE, HISTOGRAM_SLOTS, HISTOGRAM_WORDS, Histogram,
        RunQueueReason,
    },
    interrupt::{
        DEVICE_NANOS_WORD, DEVICE_ROW, DEVICE_ROWS, INTERRUPT_ROWS, INTERRUPT_STATE_WORDS,
        IRQ_NUMBERS, IRQ_UNNAMED, InterruptState, LOCAL_VECTORS, LocalVector, NET_RX_SOFTIRQ,
        NET_TX_SOFTIRQ, SOFT_NANOS_WORD, SOFT_SLOTS, SOFTIRQS, VECTOR_KEY, VECTOR_NANOS_WORD,
        VECTOR_ROW,
    },
    network::{
        DROP_REASONS, NETWORK_ROWS, NETWORK_STATE_WORDS, NetworkRow, NetworkState, NetworkWord,
        ROUND_TRIP_INTERVAL,
    },
    self_test::{SelfTest, SelfTestState},
    syscall::{
        CALLS_WORD, CallInFlight, CallRuns, ERROR_CLASSES, ERROR_NUMBERS, ERRORS_WORD, KnownAge,
        LISTED_SYSCALLS, LISTED_WORD, RUN_NANOS, RUNS_WORD, SAMPLED_WORD, SEEN_WORD, SKIP_BITS,
        SYSCALL_BANK_WORDS, SYSCALL_FAMILIES, SYSCALL_NUMBERS, SyscallBank, SyscallFamily,
    },
    unwind::{
        CfaKind, FramePointerKind, NO_EXECUTABLE, NO_RULE, ReturnKind, UNWIND_EXECUTABLES,
        UNWIND_MAPPINGS, UNWIND_PAGE_BITS, UNWIND_PAGES, UNWIND_PROCESS_MAPPINGS, UNWIND_PROCESSES,
        UNWIND_RULES, UnwindExecutable, UnwindMapping, UnwindProcess, UnwindRule,
    },
    wait::{
        HAS_QUOTA, LEFT_NEW, LEFT_RUNNABLE, LEFT_THROTTLED, LEFT_UNFINISHED, NEIGHBOURS,
        NO_SYSTEM_CALL, Neighbour, StackHook, TaskAccount, USER_STACK_MISSED, WAITS_OFF_CPU,
        WAITS_RUN_QUEUE, WAITS_SCHEDULER, WAKER_INTERRUPT, WaitDetail,
    },
};

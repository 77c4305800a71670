//! Types and sizes that the kernel programs and user space share.
//!
//! Layouts are `repr(C)` with explicit padding, in native byte order; both sides run on the same
//! machine. Nothing here allocates or touches memory by address.
#![no_std]
#![forbid(unsafe_code)]

mod counter;
mod event;
mod histogram;
mod self_test;
mod syscall;
mod wait;

pub use self::{
    counter::{BANK_COUNTERS, Counter, RUN_QUEUE_LENGTHS},
    event::{
        COMM_LEN, EXEC_FILENAME_LEN, EventKind, ExecEvent, FLAG_KERNEL_THREAD, FLAG_USER_MODE,
        FRAME_SLOTS, MAX_KERNEL_FRAMES, MAX_USER_FRAMES, ProcessEvent, SampleHeader, WalkEnd,
    },
    histogram::{
        BANK_HISTOGRAMS, HISTOGRAM_SCALE, HISTOGRAM_SLOTS, HISTOGRAM_WORDS, Histogram,
        RunQueueReason,
    },
    self_test::{SelfTest, SelfTestState},
    syscall::{
        CALLS_WORD, CallInFlight, CallRuns, ERROR_CLASSES, ERROR_NUMBERS, ERRORS_WORD, KnownAge,
        LISTED_SYSCALLS, LISTED_WORD, RUN_NANOS, RUNS_WORD, SAMPLED_WORD, SEEN_WORD, SKIP_BITS,
        SYSCALL_BANK_WORDS, SYSCALL_FAMILIES, SYSCALL_NUMBERS, SyscallBank, SyscallFamily,
    },
    wait::{
        HAS_QUOTA, LEFT_NEW, LEFT_RUNNABLE, LEFT_THROTTLED, LEFT_UNFINISHED, NEIGHBOURS,
        NO_SYSTEM_CALL, Neighbour, StackHook, TaskAccount, USER_STACK_MISSED, WAITS_OFF_CPU,
        WAITS_RUN_QUEUE, WAITS_SCHEDULER, WAKER_INTERRUPT, WaitDetail,
    },
};

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

pub use self::{
    counter::{BANK_COUNTERS, Counter},
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
        CALLS_WORD, CallInFlight, ERROR_CLASSES, ERROR_NUMBERS, ERRORS_WORD, LISTED_SYSCALLS,
        LISTED_WORD, SAMPLED_WORD, SEEN_WORD, SKIP_BITS, SYSCALL_BANK_WORDS, SYSCALL_FAMILIES,
        SYSCALL_NUMBERS, SyscallBank, SyscallFamily,
    },
};

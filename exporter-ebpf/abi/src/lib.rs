//! Types and sizes that the kernel programs and user space share.
//!
//! Layouts are `repr(C)` with explicit padding, in native byte order; both sides run on the same
//! machine. Nothing here allocates or touches memory by address.
#![no_std]
#![forbid(unsafe_code)]

mod counter;
mod disk;
mod event;
mod histogram;
mod self_test;

pub use self::{
    counter::{BANK_COUNTERS, Counter},
    disk::{
        DISK_BANK_SERIES, DISK_BANKS, DISK_CACHE_SETS, DISK_CHARGE_BYTES, DISK_DURATION_SLOTS,
        DISK_EXACT_SECTORS, DISK_FIRST_OCTAVE, DISK_IDENTITY_WORDS, DISK_NAME_LEN,
        DISK_OCTAVE_SLOTS, DISK_OCTAVES, DISK_SERIES, DISK_SIZE_SCALE, DISK_SIZE_SLOTS,
        DISK_STATUSES, DISK_SUBMITTERS, DISK_TABLE_BLOCK, DISK_TABLE_LIMIT, DISK_TABLE_SETS,
        DiskIdentity, DiskOperation, DiskPhase, DiskSeries, DiskSubmitted, DiskSubmitter,
    },
    event::{
        COMM_LEN, EXEC_FILENAME_LEN, EventKind, ExecEvent, FLAG_KERNEL_THREAD, FLAG_USER_MODE,
        FRAME_SLOTS, MAX_KERNEL_FRAMES, MAX_USER_FRAMES, ProcessEvent, SampleHeader, WalkEnd,
    },
    histogram::{
        BANK_HISTOGRAMS, HISTOGRAM_SCALE, HISTOGRAM_SLOTS, HISTOGRAM_WORDS, Histogram,
        RunQueueReason,
    },
    self_test::{SelfTest, SelfTestState},
};

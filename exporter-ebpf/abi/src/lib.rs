//! Types and sizes that the kernel programs and user space share.
//!
//! Layouts are `repr(C)` with explicit padding, in native byte order; both sides run on the same
//! machine. Nothing here allocates or touches memory by address.
#![no_std]
#![forbid(unsafe_code)]

mod counter;
mod event;
mod histogram;
mod interrupt;
mod network;
mod self_test;

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
};

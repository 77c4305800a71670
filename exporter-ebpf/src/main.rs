//! Kernel programs of Evenkeel. One file a probe; what they share is beside them.
//!
//! No probe depends on a kernel version: whatever differs by kernel or CPU (field offsets, the
//! number of a tracepoint's arguments, register offsets) is a read-only global that user space
//! sets before loading, so that all hosts run the same bytes. The verifier folds these globals
//! into constants and checks typed loads against the kernel's own BTF.
#![no_std]
#![no_main]
#![feature(core_intrinsics)]
#![expect(
    internal_features,
    reason = "atomic add without a result has no stable form on bpf"
)]

mod block_io;
mod calls_in_flight;
mod counters;
mod disk;
mod disk_submitters;
mod disk_tables;
mod events;
mod focus;
mod globals;
mod histogram;
mod interrupts;
mod network;
mod on_cpu;
mod pid_namespace;
mod process;
mod run_history;
mod sample_buffer;
mod self_test;
mod stolen;
mod switch;
mod syscalls;
mod task;
mod task_storage;
mod task_walk;

mod unwind_tables;
mod user_stack;
mod wait_sample;
mod wait_sampling;
mod wait_state;
mod waker;

/// The kernel lets only GPL-compatible programs call its tracing helpers.
#[unsafe(link_section = "license")]
#[unsafe(no_mangle)]
static LICENSE: [u8; 4] = *b"GPL\0";

#[panic_handler]
fn panic(_info: &core::panic::PanicInfo<'_>) -> ! {
    loop {}
}

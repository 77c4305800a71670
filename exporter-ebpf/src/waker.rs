//! Who woke a task.
//!
//! Hook: tp_btf `sched_waking`, which runs where the waker does (`sched_wakeup` may run on the CPU of the
//! woken task). Maps: `TASKS`; for stacks `SAMPLE_BUFFERS`, `EVENTS`, `COUNTERS`. Cost: 40 ns a wake-up; with stacks
//! 50 ns more, and 5 µs for one whose wait is likely to be sampled.

use core::ffi::c_void;

use aya_ebpf::{
    EbpfContext as _,
    helpers::{bpf_get_stack, bpf_ktime_get_ns},
    macros::btf_tracepoint,
    programs::BtfTracePointContext,
};
use evenkeel_abi::{
    Counter, EventKind, FLAG_KERNEL_THREAD, MAX_KERNEL_FRAMES, WAKER_INTERRUPT, WaitDetail,
};

use crate::{
    counters::Bank,
    events, globals, interrupts, on_cpu,
    sample_buffer::{Use, sample_buffer},
    task::Task,
    user_stack, wait_sample, wait_sampling,
    wait_state::{TASKS, TaskState},
};

/// Frames on top of a waker's stack that are our own: the program and what calls it.
const WAKE_UP_FRAMES: u64 = 2;

/// A task is being woken by what runs on this CPU.
#[btf_tracepoint(function = "sched_waking")]
pub fn sched_waking(context: BtfTracePointContext) -> i32 {
    let task = Task::from_argument(context.arg::<*const c_void>(0));
    let Some(waits) = TASKS.find(task) else {
        return 0;
    };
    if globals::HAS_INTERRUPT_STATE.load() != 0 {
        // SAFETY: the task's storage; the lock of the wake-up orders the wakers of one task.
        unsafe {
            // What an interrupt hits has nothing to do with whom it wakes.
            if interrupts::in_interrupt() {
                (*waits).waker_pid = WAKER_INTERRUPT;
            } else {
                let current = Task::current();
                (*waits).waker_pid = current.pid();
                (*waits).waker_start_time = current.process_start_time();
            }
        }
    }
    if globals::WAKER_STACKS.load() != 0 {
        stack(&context, task, waits);
    }
    0
}

/// Takes the stack of the waker, if the wait that ends is likely to be sampled.
#[inline(always)]
fn stack(context: &BtfTracePointContext, task: Task, waits: *mut TaskState) {
    let Some(bank) = Bank::current() else {
        return;
    };
    let offset = bank.get(Counter::ClockOffset);
    // SAFETY: the task's storage.
    let left = unsafe { (*waits).left };
    if left == 0 || offset == 0 {
        return;
    }
    // SAFETY: the helper takes nothing.
    let now = unsafe { bpf_ktime_get_ns() }.wrapping_sub(offset);
    // SAFETY: as above.
    if !unsafe { wait_sampling::may_be_kept(&raw const (*waits).blocked, now.saturating_sub(left)) }
    {
        return;
    }
    let Some(buffer) = sample_buffer(Use::Waker as u32) else {
        return;
    };
    let current = Task::current();
    buffer.detail = WaitDetail::default();
    buffer.detail.kind = EventKind::Waker as u32;
    buffer.detail.woken_tid = task.tid();
    on_cpu::describe(&mut buffer.header, EventKind::Waker, current, 0);
    // SAFETY: the frames have room for `MAX_KERNEL_FRAMES` words.
    let copied = unsafe {
        bpf_get_stack(
            context.as_ptr(),
            buffer.frames.as_mut_ptr().cast(),
            (MAX_KERNEL_FRAMES * 8) as u32,
            WAKE_UP_FRAMES,
        )
    };
    if copied > 0 {
        buffer.header.kernel_frames = (copied as u32 / 8) & 127;
    }
    // What an interrupt hits did not wake anybody: the kernel's part is all there is to say.
    if buffer.header.flags & FLAG_KERNEL_THREAD == 0
        && globals::WALK_USER_STACKS.load() != 0
        && !interrupts::in_interrupt()
    {
        user_stack::walk(buffer, Use::Waker as u32, current);
    }
    // SAFETY: the record begins the buffer and its size is within it.
    let sent = unsafe {
        events::output(
            (&raw const *buffer).cast::<c_void>(),
            wait_sample::record_size(buffer),
            events::NO_WAKEUP,
        )
    };
    if !sent {
        bank.count(Counter::WaitsLost);
    }
}

//! A sampled wait: whose, where, why, and behind whom.
//!
//! Hooks: called by `sched_switch`; tp_btf `irq_work_entry` or `sched_exit_tp` for the user stack.
//! Maps: `SAMPLE_BUFFERS`, `SELF_INTERRUPTS`, `EVENTS`, `COUNTERS`, `RUN_HISTORY`. Cost: 18 µs a sample,
//! of which 3 µs are the kernel stack and 11 µs the interrupt; 5 ns for an interrupt of others.
//!
//! At a switch the memory of the task that gets the CPU is not mapped yet, so its user stack has to
//! be taken a moment later, in its own context. `sched_exit_tp` is there (since 6.15), but runs at
//! every switch: 130 ns each. So a switch whose wait is kept raises an interrupt on its own CPU
//! instead, by writing to a perf event that asks to be woken at each record (`perf_output_wakeup`,
//! `irq_work_queue`): it hits the task as soon as interrupts are on again, before it has left the
//! scheduler (50,002 of 50,002 here).

use core::ffi::c_void;

use aya_ebpf::{
    EbpfContext as _,
    helpers::generated::{bpf_get_task_stack, bpf_perf_event_output},
    macros::{btf_tracepoint, map},
    maps::PerfEventArray,
    programs::BtfTracePointContext,
};
use evenkeel_abi::{
    Counter, EventKind, FLAG_KERNEL_THREAD, FRAME_SLOTS, HAS_QUOTA, LEFT_THROTTLED,
    MAX_KERNEL_FRAMES, NO_SYSTEM_CALL, SampleHeader, StackHook, USER_STACK_MISSED, WALK_ENDS,
    WaitDetail, WalkEnd,
};

use crate::{
    counters::{self, Bank},
    events, globals, on_cpu, run_history,
    sample_buffer::{SampleBuffer, Use, sample_buffer},
    switch::Wait,
    task::Task,
    user_stack, wait_sampling,
    wait_state::TaskState,
};

/// Perf events, one a CPU, that interrupt it when they are written to.
#[map]
static SELF_INTERRUPTS: PerfEventArray<u64> = PerfEventArray::new(0);

/// `BPF_F_CURRENT_CPU`.
const CURRENT_CPU: u64 = 0xffff_ffff;

/// A wait that is kept.
pub struct Kept {
    /// Storage of the task.
    pub waits: *mut TaskState,
    /// The wait.
    pub wait: Wait,
    /// `LEFT_*`.
    pub flags: u32,
    /// What it counts of blocked time.
    pub blocked: u64,
    /// What it counts of time on run queues.
    pub queued: u64,
}

/// Fills a buffer with everything but the user stack. `task` is not running.
#[inline(always)]
pub fn describe(buffer: &mut SampleBuffer, task: Task, kept: &Kept, now: u64) {
    let detail = &mut buffer.detail;
    *detail = WaitDetail::default();
    detail.kind = EventKind::Wait as u32;
    detail.flags = kept.flags;
    detail.blocked_weight = kept.blocked;
    detail.queued_weight = kept.queued;
    // SAFETY: `waits` is the task's storage.
    unsafe {
        detail.task_state = (*kept.waits).task_state;
        detail.waker_pid = (*kept.waits).waker_pid;
        detail.waker_start_time = (*kept.waits).waker_start_time;
    }
    if kept.queued != 0 {
        if task.has_quota() {
            detail.flags |= HAS_QUOTA;
        }
        detail.queued_nanos = kept.wait.queued;
        if kept.flags & LEFT_THROTTLED != 0 {
            detail.throttled_nanos = throttled(task, kept, now);
        }
        // A task can be held back once in a wait, and is so at its beginning.
        let free_since = now - (kept.wait.queued - detail.throttled_nanos);
        if kept.wait.since != 0 && detail.throttled_nanos < kept.wait.queued {
            let since = if free_since > kept.wait.since {
                free_since
            } else {
                kept.wait.since
            };
            run_history::blame(detail, task, since, now);
        }
    }
    detail.system_call = NO_SYSTEM_CALL;

    let header = &mut buffer.header;
    header.kind = EventKind::Wait as u32;
    header.cpu = counters::current_cpu();
    header.pid = task.pid();
    header.tid = task.tid();
    header.start_time = task.process_start_time();
    header.stolen_nanos = 0;
    header.flags = 0;
    header.walk_end = WalkEnd::NoUserStack as u32;
    header.kernel_frames = 0;
    header.user_frames = 0;
    task.comm(&mut header.comm);
    if task.is_kernel_thread() {
        header.flags = FLAG_KERNEL_THREAD;
    } else {
        header.walk_end = WalkEnd::NotCurrent as u32;
        detail.system_call = user_stack::system_call(task);
        detail.arguments = user_stack::arguments(task);
    }
    // SAFETY: the frames have room for `MAX_KERNEL_FRAMES` words.
    let copied = unsafe {
        bpf_get_task_stack(
            task.as_ptr().cast_mut().cast(),
            buffer.frames.as_mut_ptr().cast(),
            (MAX_KERNEL_FRAMES * 8) as u32,
            0,
        )
    };
    if copied > 0 {
        header.kernel_frames = (copied as u32 / 8) & 127;
    }
}

/// For how much of its wait a task was held back by a quota, nanoseconds: all of it, where the kernel does
/// not say.
#[inline(always)]
fn throttled(task: Task, kept: &Kept, now: u64) -> u64 {
    if globals::HAS_THROTTLED_TIME.load() == 0 {
        return kept.wait.queued;
    }
    // SAFETY: `waits` is the task's storage.
    let before = unsafe { (*kept.waits).held_back };
    let after = task.held_back(now);
    // On another CPU its group has another account.
    if after < before || after - before > kept.wait.queued {
        return kept.wait.queued;
    }
    after - before
}

/// Bytes of the record in a buffer.
#[inline(always)]
pub fn record_size(buffer: &SampleBuffer) -> u64 {
    let frames =
        (buffer.header.kernel_frames + buffer.header.user_frames) as u64 & (FRAME_SLOTS as u64 - 1);
    (size_of::<WaitDetail>() + size_of::<SampleHeader>()) as u64 + frames * 8
}

/// Sends the record in a buffer.
#[inline(always)]
fn send(buffer: &mut SampleBuffer, bank: Bank) {
    buffer.is_pending = 0;
    if buffer.header.walk_end == WalkEnd::NotCurrent as u32 {
        buffer.detail.flags |= USER_STACK_MISSED;
        bank.count(Counter::UserStacksMissed);
    }
    bank.add(
        Counter::WalkEnds as u32 + (buffer.header.walk_end & (WALK_ENDS - 1)),
        1,
    );
    let flags = on_cpu::wake_up(&buffer.header);
    // SAFETY: the record begins the buffer and its size is within it.
    let sent = unsafe {
        events::output(
            (&raw const *buffer).cast::<c_void>(),
            record_size(buffer),
            flags,
        )
    };
    if !sent {
        bank.count(Counter::WaitsLost);
        bank.add(
            Counter::BlockedLostNanos as u32,
            buffer.detail.blocked_weight,
        );
        bank.add(Counter::QueuedLostNanos as u32, buffer.detail.queued_weight);
    }
}

/// Keeps the wait of a task that gets the CPU.
#[inline(always)]
pub fn keep(context: &BtfTracePointContext, bank: Bank, task: Task, kept: Kept, now: u64) {
    wait_sampling::review(bank, now);
    let Some(buffer) = sample_buffer(Use::Wait as u32) else {
        return;
    };
    if buffer.is_pending != 0 {
        // The interrupt for the last one has not come.
        send(buffer, bank);
    }
    describe(buffer, task, &kept, now);
    let hook = globals::STACK_HOOK.load();
    if buffer.header.flags & FLAG_KERNEL_THREAD != 0 || hook == StackHook::None as u64 {
        send(buffer, bank);
        return;
    }
    buffer.is_pending = 1;
    if hook == StackHook::Interrupt as u64 {
        let mut nothing = 0_u64;
        // SAFETY: the record is a word on the stack.
        let failed = unsafe {
            bpf_perf_event_output(
                context.as_ptr(),
                (&raw const SELF_INTERRUPTS).cast_mut().cast(),
                CURRENT_CPU,
                (&raw mut nothing).cast(),
                8,
            )
        };
        if failed != 0 {
            send(buffer, bank);
        }
    }
}

/// Takes the user stack that the record of this CPU waits for, and sends it.
#[inline(always)]
fn complete() {
    let Some(buffer) = sample_buffer(Use::Wait as u32) else {
        return;
    };
    if buffer.is_pending == 0 {
        return;
    }
    let Some(bank) = Bank::current() else {
        return;
    };
    let current = Task::current();
    if current.tid() == buffer.header.tid && globals::WALK_USER_STACKS.load() != 0 {
        user_stack::walk(buffer, Use::Wait as u32, current);
    }
    send(buffer, bank);
}

/// An interrupt that this CPU sent itself; perhaps ours.
#[btf_tracepoint(function = "irq_work_entry")]
pub fn wait_interrupt(_context: BtfTracePointContext) -> i32 {
    complete();
    0
}

/// A task leaves the scheduler.
#[btf_tracepoint(function = "sched_exit_tp")]
pub fn sched_exit_tp(_context: BtfTracePointContext) -> i32 {
    complete();
    0
}

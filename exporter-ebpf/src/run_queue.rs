//! How long tasks wait for a CPU, and stolen time at each switch.
//!
//! Hooks: tp_btf `sched_switch`, `sched_wakeup`, `sched_wakeup_new`. Maps: `TASKS`, `HISTOGRAMS`,
//! `COUNTERS`, `STEAL_SEEN`, `EVENTS`. Cost: see docs/performance.md; one clock read (40 ns), two
//! task-storage look-ups (27 ns each), one histogram and three counters a switch.
//!
//! A wait begins when a task becomes ready (woken, created, or switched out while runnable) and
//! ends when it runs. The idle task never waits. The kernel's own account of the same is field 2
//! of `/proc/PID/schedstat` (kernel/sched/stats.h, `sched_info_arrive`).

use core::ffi::c_void;

use aya_ebpf::{helpers::bpf_ktime_get_ns, macros::btf_tracepoint, programs::BtfTracePointContext};
use evenkeel_abi::{Counter, EventKind, RunQueueReason, SampleHeader};

use crate::{counters, events, globals, histogram, on_cpu, stolen, task::Task, task_storage};

/// A task became ready.
#[inline(always)]
fn ready(task: Task, reason: RunQueueReason) {
    let Some(state) = task_storage::find_or_create(task) else {
        counters::count(Counter::TaskStorageFull);
        return;
    };
    // SAFETY: `state` is the task's storage, and the scheduler's locks order its hooks.
    unsafe {
        // Woken while runnable (preempted between setting its state and sleeping): it has been
        // waiting since then.
        if (*state).enqueued == 0 {
            (*state).reason = reason as u32;
            (*state).enqueued = bpf_ktime_get_ns();
        }
    }
}

/// A sleeping task became ready.
#[btf_tracepoint(function = "sched_wakeup")]
pub fn sched_wakeup(context: BtfTracePointContext) -> i32 {
    ready(
        Task::from_argument(context.arg::<*const c_void>(0)),
        RunQueueReason::Wakeup,
    );
    0
}

/// A new task became ready for the first time.
#[btf_tracepoint(function = "sched_wakeup_new")]
pub fn sched_wakeup_new(context: BtfTracePointContext) -> i32 {
    ready(
        Task::from_argument(context.arg::<*const c_void>(0)),
        RunQueueReason::New,
    );
    0
}

/// The CPU goes from one task to another.
#[btf_tracepoint(function = "sched_switch")]
pub fn sched_switch(context: BtfTracePointContext) -> i32 {
    let preempted = context.arg::<u64>(0) as u8 != 0;
    let previous = Task::from_argument(context.arg::<*const c_void>(1));
    let next = Task::from_argument(context.arg::<*const c_void>(2));
    counters::count(Counter::Switches);
    charge_stolen(previous);
    if globals::RUN_QUEUE.load() == 0 {
        return 0;
    }
    // SAFETY: the helper takes nothing.
    let now = unsafe { bpf_ktime_get_ns() };
    if previous.tid() != 0 {
        leave(
            previous,
            preempted || previous_state(&context, previous) == 0,
            now,
        );
    }
    if next.tid() != 0 {
        arrive(next, now);
    }
    0
}

/// State with which the previous task left. The argument is right even if another CPU has woken
/// the task since; the field is the best there is on older kernels.
#[inline(always)]
fn previous_state(context: &BtfTracePointContext, previous: Task) -> u32 {
    if globals::HAS_PREV_STATE_ARGUMENT.load() != 0 {
        context.arg::<u64>(3) as u32
    } else {
        previous.state()
    }
}

/// Remembers since when a task that leaves the CPU is ready, or that it is not.
#[inline(always)]
fn leave(task: Task, runnable: bool, now: u64) {
    if runnable {
        let Some(state) = task_storage::find_or_create(task) else {
            counters::count(Counter::TaskStorageFull);
            return;
        };
        // SAFETY: as in `ready`.
        unsafe {
            (*state).reason = RunQueueReason::Preempted as u32;
            (*state).enqueued = now;
        }
    } else if let Some(state) = task_storage::find(task) {
        // SAFETY: as in `ready`.
        unsafe { (*state).enqueued = 0 };
    }
}

/// Ends the wait of a task that gets the CPU.
#[inline(always)]
fn arrive(task: Task, now: u64) {
    let Some(state) = task_storage::find(task) else {
        counters::count(Counter::RunQueueUnmatched);
        return;
    };
    // SAFETY: as in `ready`.
    let (enqueued, reason) = unsafe { ((*state).enqueued, (*state).reason) };
    // SAFETY: as in `ready`.
    unsafe { (*state).enqueued = 0 };
    if enqueued == 0 {
        counters::count(Counter::RunQueueUnmatched);
        return;
    }
    if now < enqueued {
        counters::count(Counter::RunQueueNegative);
        return;
    }
    let reason = reason & 3;
    if reason > RunQueueReason::Preempted as u32 {
        return;
    }
    counters::count(Counter::RunQueueWaits);
    histogram::record(reason, now - enqueued);
}

/// Charges what was stolen since the last look to the task that leaves, which is still current.
/// It has no stack worth showing: the one it has is the scheduler's.
#[inline(always)]
fn charge_stolen(previous: Task) {
    let stolen_nanos = stolen::growth(previous);
    if stolen_nanos == 0 {
        return;
    }
    if previous.tid() == 0 {
        counters::add(Counter::StolenIdleNanos as u32, stolen_nanos);
        return;
    }
    let mut header = SampleHeader::default();
    on_cpu::describe(&mut header, EventKind::Stolen, previous, stolen_nanos);
    // SAFETY: a whole, initialized header on the stack.
    let sent = unsafe {
        events::output(
            (&raw const header).cast::<c_void>(),
            size_of::<SampleHeader>() as u64,
            events::NO_WAKEUP,
        )
    };
    if !sent {
        counters::count(Counter::StolenLost);
        counters::add(Counter::StolenLostNanos as u32, stolen_nanos);
    }
}

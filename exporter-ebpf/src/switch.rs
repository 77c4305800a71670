//! A CPU goes from one task to another: stolen time, waits, switches.
//!
//! Hook: tp_btf `sched_switch`. Maps: `TASKS`, `HISTOGRAMS`, `COUNTERS`, `RUN_HISTORY`, `EVENTS`;
//! for sampled waits `SAMPLE_BUFFERS` and `SELF_INTERRUPTS`. Cost: see docs/performance.md.
//!
//! The kernel's own account does most of the work: `sched_info` has when a task was put on a run
//! queue and how long it has waited on queues before, by the clock of the run queue, in all
//! classes and across migrations. So no wake-up has to be watched: what lies between leaving and
//! returning is time on queues by that account, and the rest is blocked. `sched_info_switch` runs
//! after this tracepoint (kernel/sched/core.c, `prepare_task_switch`), so that both are still as
//! the wait left them.

use core::ffi::c_void;

use aya_ebpf::{helpers::bpf_ktime_get_ns, macros::btf_tracepoint, programs::BtfTracePointContext};
use evenkeel_abi::{
    Counter, EventKind, FocusDistribution, LEFT_NEW, LEFT_RUNNABLE, LEFT_THROTTLED, RunQueueReason,
    SampleHeader, WAITS_OFF_CPU, WAITS_RUN_QUEUE, WAITS_SCHEDULER,
};

use crate::{
    counters::Bank,
    events, focus, globals, histogram, on_cpu, run_history, stolen,
    task::{TASK_DEAD, Task},
    wait_sample, wait_sampling,
    wait_state::{TASKS, TaskState},
};

/// The CPU goes from one task to another.
#[btf_tracepoint(function = "sched_switch")]
pub fn sched_switch(context: BtfTracePointContext) -> i32 {
    let Some(bank) = Bank::current() else {
        return 0;
    };
    let preempted = context.arg::<u64>(0) as u8 != 0;
    let previous = Task::from_argument(context.arg::<*const c_void>(1));
    let next = Task::from_argument(context.arg::<*const c_void>(2));
    bank.count_alone(Counter::Switches);
    charge_stolen(bank, previous);
    if globals::WAITS.load() == 0 {
        return 0;
    }
    let now = previous.run_queue_clock();
    let late = lateness(bank, now);
    if globals::WAITS.load() & WAITS_RUN_QUEUE != 0 {
        run_history::push(previous, now);
    }
    if previous.tid() == 0 {
        bank.count_alone(Counter::SwitchesIdle);
    } else {
        leave(
            bank,
            previous,
            preempted,
            previous_state(&context, previous),
            now,
        );
    }
    if next.tid() != 0 {
        arrive(&context, bank, next, now, late);
    }
    0
}

/// How far the clock of the run queue is behind.
///
/// The scheduler leaves it alone at a switch that a wake-up has asked for (kernel/sched/core.c,
/// `rq_clock_skip_update`): the interrupt that carried the wish, and the time that a virtual CPU took
/// to wake up from idle, are missing from the kernel's account. The smallest difference between
/// the clocks is that of a clock that is up to date; it may grow by 488 ppm, nearly what the kernel slews the
/// time by at most.
#[inline(always)]
fn lateness(bank: Bank, now: u64) -> u64 {
    // SAFETY: the helper takes nothing.
    let clock = unsafe { bpf_ktime_get_ns() };
    let skew = clock.wrapping_sub(now);
    let elapsed = clock.wrapping_sub(bank.get(Counter::LastSwitch));
    bank.set(Counter::LastSwitch, clock);
    let before = bank.get(Counter::ClockOffset);
    let slewed = before.wrapping_add(elapsed >> 11);
    // The difference can be negative: what counts is which is nearer to the past.
    let offset = if before == 0 || (skew.wrapping_sub(slewed) as i64) < 0 {
        skew
    } else {
        slewed
    };
    bank.set(Counter::ClockOffset, offset);
    skew.wrapping_sub(offset)
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

/// A task gives up the CPU.
#[inline(always)]
fn leave(bank: Bank, task: Task, preempted: bool, state: u32, now: u64) {
    let is_runnable = preempted || state == 0;
    bank.count_alone(if is_runnable {
        Counter::SwitchesInvoluntary
    } else {
        Counter::SwitchesVoluntary
    });
    if state & TASK_DEAD != 0 {
        return;
    }
    let Some(waits) = TASKS.find_or_create(task) else {
        bank.count(Counter::TaskStorageFull);
        return;
    };
    let run_delay = task.run_delay();
    let mut flags = 0;
    if is_runnable {
        flags = LEFT_RUNNABLE;
        if task.is_throttled() {
            flags |= LEFT_THROTTLED;
            if globals::HAS_THROTTLED_TIME.load() != 0 {
                // SAFETY: `waits` is the task's storage, and the scheduler's locks order its hooks.
                unsafe { (*waits).held_back = task.held_back(now) };
            }
        }
    }
    // SAFETY: `waits` is the task's storage, and the scheduler's locks order its hooks.
    unsafe {
        (*waits).left = now;
        (*waits).run_delay = run_delay;
        (*waits).reported_blocked = 0;
        (*waits).reported_queued = 0;
        (*waits).flags = flags;
        (*waits).task_state = state;
        (*waits).waker_pid = 0;
        if is_runnable {
            (*waits).involuntary += 1;
        } else {
            (*waits).voluntary += 1;
        }
    }
}

/// How a wait that has lasted until now divides.
#[derive(Clone, Copy)]
pub struct Wait {
    /// Blocked, nanoseconds.
    pub blocked: u64,
    /// On run queues, nanoseconds.
    pub queued: u64,
    /// When it was put on the queue that it is on; 0 while it is blocked.
    pub since: u64,
}

/// Divides the wait of a task that left at `left`; `None` when the clocks of two CPUs disagree.
#[inline(always)]
pub fn divide(task: Task, left: u64, run_delay: u64, runnable: bool, now: u64) -> Option<Wait> {
    let since = task.last_queued();
    if now < left || now < since {
        return None;
    }
    let mut queued = task.run_delay().wrapping_sub(run_delay);
    if since != 0 {
        queued += now - since;
    }
    let whole = now - left;
    // Ready all the time: the kernel's account begins at the same clock reading.
    if runnable || queued > whole {
        queued = whole;
    }
    Some(Wait {
        blocked: whole - queued,
        queued,
        since,
    })
}

/// A task gets the CPU.
#[inline(always)]
fn arrive(context: &BtfTracePointContext, bank: Bank, task: Task, now: u64, late: u64) {
    let Some(waits) = TASKS.find_or_create(task) else {
        bank.count(Counter::TaskStorageFull);
        return;
    };
    // SAFETY: as in `leave`.
    let (left, run_delay, mut flags) =
        unsafe { ((*waits).left, (*waits).run_delay, (*waits).flags) };
    let wait = if left != 0 {
        divide(task, left, run_delay, flags & LEFT_RUNNABLE != 0, now)
    } else if task.times_run() == 0 {
        flags = LEFT_NEW;
        let since = task.last_queued();
        if since != 0 && since <= now {
            Some(Wait {
                blocked: 0,
                queued: task.run_delay() + (now - since),
                since,
            })
        } else {
            None
        }
    } else {
        bank.count(Counter::WaitsUnmatched);
        return;
    };
    // SAFETY: as in `leave`.
    unsafe { (*waits).left = 0 };
    let Some(wait) = wait else {
        bank.count(Counter::WaitsNegative);
        return;
    };
    // SAFETY: as in `leave`.
    unsafe { (*waits).queued_nanos += wait.queued };
    if globals::WAITS.load() & WAITS_SCHEDULER != 0 {
        let reason = if flags & LEFT_RUNNABLE != 0 {
            RunQueueReason::Preempted
        } else if flags & LEFT_NEW != 0 {
            RunQueueReason::New
        } else {
            RunQueueReason::Wakeup
        };
        bank.count_alone(Counter::RunQueueWaits);
        histogram::record(reason as u32, wait.queued + late);
    }
    if focus::is_used() {
        let group = focus::of_task(task, waits);
        focus::record(group, FocusDistribution::RunQueue, wait.queued + late);
        if flags & (LEFT_RUNNABLE | LEFT_NEW) == 0 {
            focus::record(group, FocusDistribution::OffCpu, wait.blocked);
        }
    }
    // SAFETY: the task's storage.
    let (blocked, queued) = unsafe { sample(bank, waits, wait, false) };
    if blocked + queued != 0 {
        wait_sample::keep(
            context,
            bank,
            task,
            wait_sample::Kept {
                waits,
                wait,
                flags,
                blocked,
                queued,
            },
            now,
        );
    }
}

/// What the parts of a wait that earlier windows do not have count in the profiles; 0 for parts
/// that are not kept. The parts that a window ends are all kept that are not shorter than the period of
/// the settings, however it is stretched: who is blocked all the time is in each window.
///
/// # Safety
///
/// `waits` is a task's storage.
#[inline(always)]
pub unsafe fn sample(
    bank: Bank,
    waits: *mut TaskState,
    wait: Wait,
    is_window_end: bool,
) -> (u64, u64) {
    // SAFETY: by the caller's promise.
    unsafe {
        wait_sampling::draw(bank, waits);
        let blocked = wait.blocked.saturating_sub((*waits).reported_blocked);
        let queued = wait.queued.saturating_sub((*waits).reported_queued);
        let kinds = globals::WAITS.load();
        let weight = |phase, nanos| {
            if is_window_end && nanos >= globals::WAIT_PERIOD.load() {
                nanos
            } else {
                wait_sampling::weight(bank, phase, nanos)
            }
        };
        (
            if kinds & WAITS_OFF_CPU != 0 {
                weight(&raw mut (*waits).blocked, blocked)
            } else {
                0
            },
            if kinds & WAITS_RUN_QUEUE != 0 {
                weight(&raw mut (*waits).queued, queued)
            } else {
                0
            },
        )
    }
}

/// Charges what was stolen since the last look to the task that leaves, which is still current.
/// It has no stack worth showing: the one it has is the scheduler's.
#[inline(always)]
fn charge_stolen(bank: Bank, previous: Task) {
    let stolen_nanos = stolen::growth(bank, previous);
    if stolen_nanos == 0 {
        return;
    }
    if previous.tid() == 0 {
        bank.add(Counter::StolenIdleNanos as u32, stolen_nanos);
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
        bank.count(Counter::StolenLost);
        bank.add(Counter::StolenLostNanos as u32, stolen_nanos);
    }
}

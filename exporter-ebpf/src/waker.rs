//! Who woke a task.
//!
//! Hook: tp_btf `sched_waking`, which runs where the waker does (`sched_wakeup` may run on the CPU of the
//! woken task). Maps: `TASKS`. Cost: 45 ns a wake-up.

use core::ffi::c_void;

use aya_ebpf::{macros::btf_tracepoint, programs::BtfTracePointContext};
use evenkeel_abi::WAKER_INTERRUPT;

use crate::{globals, interrupt_state, task::Task, wait_state::TASKS};

/// A task is being woken by what runs on this CPU.
#[btf_tracepoint(function = "sched_waking")]
pub fn sched_waking(context: BtfTracePointContext) -> i32 {
    let task = Task::from_argument(context.arg::<*const c_void>(0));
    let Some(waits) = TASKS.find(task) else {
        return 0;
    };
    if globals::HAS_INTERRUPT_STATE.load() == 0 {
        return 0;
    }
    // SAFETY: the task's storage; the lock of the wake-up orders the wakers of one task.
    unsafe {
        // What an interrupt hits has nothing to do with whom it wakes.
        if interrupt_state::in_interrupt() {
            (*waits).waker_pid = WAKER_INTERRUPT;
        } else {
            let current = Task::current();
            (*waits).waker_pid = current.pid();
            (*waits).waker_start_time = current.process_start_time();
        }
    }
    0
}

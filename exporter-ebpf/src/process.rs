//! Birth, exec and death of processes, so that short-lived ones have names and owners.
//!
//! Hooks: tp_btf `sched_process_fork`, `sched_process_exec`, `sched_process_exit`. Maps: `EVENTS`,
//! `COUNTERS`, `WOKEN`, `UNWIND_PROCESSES`. Cost: 0.2 to 0.4 µs an event. Only an exec wakes user space, where something
//! is in focus: a storm of short processes costs a memory copy each.

use core::{ffi::c_void, mem::MaybeUninit};

use aya_ebpf::{
    btf_maps::PerCpuArray,
    helpers::{bpf_get_current_comm, generated::bpf_probe_read_kernel_str},
    macros::{btf_map, btf_tracepoint},
    programs::BtfTracePointContext,
};
use evenkeel_abi::{Counter, EXEC_FILENAME_LEN, EventKind, ExecEvent, ProcessEvent};

use crate::{
    counters, events, focus, globals, on_cpu,
    task::{Task, field},
    task_walk, unwind_tables,
    wait_state::TASKS,
};

#[btf_map]
static EXEC_BUFFER: PerCpuArray<MaybeUninit<ExecEvent>, 1> = PerCpuArray::new();

#[inline(always)]
fn send(data: *const c_void, size: usize, flags: u64) {
    counters::count(Counter::ProcessEvents);
    // SAFETY: callers pass a whole, initialized event.
    if !unsafe { events::output(data, size as u64, flags) } {
        counters::count(Counter::ProcessEventsLost);
    }
}

/// A task was created; threads are not reported.
#[btf_tracepoint(function = "sched_process_fork")]
pub fn sched_process_fork(context: BtfTracePointContext) -> i32 {
    let parent = Task::from_argument(context.arg::<*const c_void>(0));
    let child = Task::from_argument(context.arg::<*const c_void>(1));
    if globals::WAITS.load() != 0 {
        // Not at its first switch: memory must not be asked for under the run queue's lock.
        let _ = TASKS.find_or_create(child);
    }
    if !child.is_leader() {
        return 0;
    }
    focus::inherit(parent.pid(), child.pid());
    let event = ProcessEvent {
        kind: EventKind::Fork as u32,
        pid: child.pid(),
        start_time: child.process_start_time(),
        parent_pid: parent.pid(),
        reserved: 0,
        parent_start_time: parent.process_start_time(),
    };
    send(
        (&raw const event).cast(),
        size_of::<ProcessEvent>(),
        events::NO_WAKEUP,
    );
    0
}

/// A process runs another program now.
#[btf_tracepoint(function = "sched_process_exec")]
pub fn sched_process_exec(context: BtfTracePointContext) -> i32 {
    let task = Task::from_argument(context.arg::<*const c_void>(0));
    let program = context.arg::<*const c_void>(2);
    let Some(buffer) = EXEC_BUFFER.get_ptr_mut(0) else {
        return 0;
    };
    let event = buffer.cast::<ExecEvent>();
    // SAFETY: `linux_binprm` is a typed argument.
    let filename: *const c_void = unsafe { field(program, globals::BINPRM_FILENAME.load()) };
    // SAFETY: the event is this CPU's; the helper writes at most the length given.
    unsafe {
        (*event).kind = EventKind::Exec as u32;
        (*event).pid = task.pid();
        (*event).start_time = task.process_start_time();
        (*event).comm = bpf_get_current_comm().unwrap_or_default();
        (*event).filename[0] = 0;
        bpf_probe_read_kernel_str(
            (&raw mut (*event).filename).cast(),
            EXEC_FILENAME_LEN as u32,
            filename,
        );
        on_cpu::forget_wake_up((*event).pid);
        unwind_tables::forget((*event).pid);
    }
    // Until user space has seen it, it is in the group of who started it.
    let flags = if focus::is_used() {
        events::FORCE_WAKEUP
    } else {
        events::NO_WAKEUP
    };
    send(event.cast_const().cast(), size_of::<ExecEvent>(), flags);
    0
}

/// A task is exiting; reported when it is the last of its process (or, on kernels that do not say
/// so, when it is the first thread).
#[btf_tracepoint(function = "sched_process_exit")]
pub fn sched_process_exit(context: BtfTracePointContext) -> i32 {
    let task = Task::from_argument(context.arg::<*const c_void>(0));
    let gone = if globals::HAS_GROUP_DEAD_ARGUMENT.load() != 0 {
        context.arg::<u64>(1) as u8 != 0
    } else {
        task.is_leader()
    };
    task_walk::exit(task);
    if !gone {
        return 0;
    }
    let event = ProcessEvent {
        kind: EventKind::Exit as u32,
        pid: task.pid(),
        start_time: task.process_start_time(),
        ..ProcessEvent::default()
    };
    send(
        (&raw const event).cast(),
        size_of::<ProcessEvent>(),
        events::NO_WAKEUP,
    );
    0
}

//! All tasks of the host, one after the other: waits that go on at the end of a window, and what
//! each task did.
//!
//! Hooks: an iterator over tasks (`iter/task`), read by user space at the start and at the end of each
//! window; tp_btf `sched_process_exit`, for threads that end before. Maps: `TASKS`, `SAMPLE_BUFFERS`,
//! `COUNTERS`, `EVENTS`. Cost: 0.3 µs a task, 4 µs for one whose wait is reported.

use core::ffi::c_void;

use aya_ebpf::helpers::{bpf_ktime_get_ns, generated::bpf_seq_write};
use evenkeel_abi::{Counter, EventKind, LEFT_RUNNABLE, LEFT_UNFINISHED, TaskAccount};

use crate::{
    counters::{self, Bank},
    events, globals,
    sample_buffer::{Use, sample_buffer},
    switch::{self, divide},
    task::{TASK_DEAD, Task},
    user_stack, wait_sample,
    wait_state::{TASKS, TaskState},
};

/// `struct bpf_iter__task` (kernel/bpf/task_iter.c), of which the kernel checks the layout.
#[repr(C)]
pub struct TaskContext {
    meta: *const Meta,
    task: *const c_void,
}

/// `struct bpf_iter_meta` (include/linux/bpf.h).
#[repr(C)]
struct Meta {
    seq: *mut c_void,
}

/// Takes what a task did since the last account; `None` when that is nothing.
///
/// # Safety
///
/// `waits` is the storage of `task`.
#[inline(always)]
unsafe fn account(task: Task, waits: *mut TaskState) -> Option<TaskAccount> {
    // SAFETY: by the caller's promise; the parts accounted for are written here alone.
    let (now, before) = unsafe {
        (
            [
                (*waits).voluntary,
                (*waits).involuntary,
                (*waits).queued_nanos,
            ],
            (*waits).accounted,
        )
    };
    if now[0] == before[0] && now[1] == before[1] && now[2] == before[2] {
        return None;
    }
    // SAFETY: as above.
    unsafe { (*waits).accounted = now };
    let mut account = TaskAccount {
        kind: EventKind::Account as u32,
        pid: task.pid(),
        tid: task.tid(),
        reserved: 0,
        start_time: task.process_start_time(),
        voluntary: now[0].wrapping_sub(before[0]),
        involuntary: now[1].wrapping_sub(before[1]),
        queued_nanos: now[2].wrapping_sub(before[2]),
        comm: [0; evenkeel_abi::COMM_LEN],
    };
    task.comm(&mut account.comm);
    Some(account)
}

/// A thread is exiting: its last account.
#[inline(always)]
pub fn exit(task: Task) {
    if globals::WAITS.load() == 0 {
        return;
    }
    let Some(waits) = TASKS.find(task) else {
        return;
    };
    // SAFETY: the task's storage.
    let Some(account) = (unsafe { account(task, waits) }) else {
        return;
    };
    // SAFETY: a whole, initialized account on the stack.
    let sent = unsafe {
        events::output(
            (&raw const account).cast::<c_void>(),
            size_of::<TaskAccount>() as u64,
            events::NO_WAKEUP,
        )
    };
    if !sent {
        counters::count(Counter::AccountsLost);
    }
}

/// Looks at one task.
#[unsafe(no_mangle)]
#[unsafe(link_section = "iter/task")]
pub extern "C" fn task_walk(context: *mut TaskContext) -> i32 {
    // SAFETY: the kernel passes a whole context.
    let (meta, task) = unsafe { ((*context).meta, (*context).task) };
    if task.is_null() {
        return 0;
    }
    // SAFETY: typed by the kernel.
    let seq = unsafe { (*meta).seq };
    let task = Task::from_argument(task);
    let Some(bank) = Bank::current() else {
        return 0;
    };
    let Some(waits) = TASKS.find_or_create(task) else {
        counters::count(Counter::TaskStorageFull);
        return 0;
    };
    // SAFETY: the task's storage.
    if let Some(account) = unsafe { account(task, waits) } {
        write(
            seq,
            (&raw const account).cast(),
            size_of::<TaskAccount>() as u32,
        );
    }
    unfinished(seq, bank, task, waits);
    0
}

#[inline(always)]
fn write(seq: *mut c_void, data: *const c_void, size: u32) {
    // SAFETY: `data` has `size` bytes. What does not fit is lost; user space reads in pieces that
    // leave room (exporter/src/kernel/iterator.rs).
    unsafe { bpf_seq_write(seq.cast(), data.cast_mut(), size) };
}

/// Reports the part of a running wait that this window has.
#[inline(always)]
fn unfinished(seq: *mut c_void, bank: Bank, task: Task, waits: *mut TaskState) {
    let offset = bank.get(Counter::ClockOffset);
    // Who has ended and is not asked for by its parent is still in the list.
    if task.is_on_cpu() || task.state() & TASK_DEAD != 0 || offset == 0 {
        return;
    }
    // SAFETY: the helper takes nothing.
    let now = unsafe { bpf_ktime_get_ns() }.wrapping_sub(offset);
    // SAFETY: the task's storage.
    let (left, run_delay, flags) = unsafe { ((*waits).left, (*waits).run_delay, (*waits).flags) };
    if left == 0 {
        // Seen for the first time: it has waited since nobody knows when, so since now.
        if task.times_run() != 0 {
            // SAFETY: as above.
            unsafe {
                (*waits).task_state = task.state();
                (*waits).flags = if task.state() == 0 { LEFT_RUNNABLE } else { 0 };
                (*waits).run_delay = task.run_delay();
                (*waits).reported_blocked = 0;
                (*waits).reported_queued = 0;
                (*waits).left = now;
            }
        }
        return;
    }
    let Some(wait) = divide(task, left, run_delay, flags & LEFT_RUNNABLE != 0, now) else {
        return;
    };
    // SAFETY: the task's storage.
    let (blocked, queued) = unsafe { switch::sample(bank, waits, wait, true) };
    // SAFETY: as above. If the task has gone on meanwhile, its CPU has reported the whole wait
    // or will subtract what is written here; it is never counted twice.
    let gone = unsafe {
        (*waits).reported_blocked = wait.blocked;
        (*waits).reported_queued = wait.queued;
        (&raw const (*waits).left).read_volatile() != left
    };
    if gone || blocked + queued == 0 {
        return;
    }
    bank.count(Counter::WaitsSampled);
    let Some(buffer) = sample_buffer(Use::Walk as u32) else {
        return;
    };
    let kept = wait_sample::Kept {
        waits,
        wait: switch::Wait { since: 0, ..wait },
        flags: flags | LEFT_UNFINISHED,
        blocked,
        queued,
    };
    wait_sample::describe(buffer, task, &kept, now);
    if !task.is_kernel_thread() {
        user_stack::push_entry(buffer, task);
    }
    let size = wait_sample::record_size(buffer) as u32;
    write(seq, (&raw const *buffer).cast(), size);
}

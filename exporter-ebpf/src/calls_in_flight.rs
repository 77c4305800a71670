//! The system call that each task is in, and for how long.
//!
//! Hook: an iterator over tasks (`iter/task`), read by user space at the end of each window. Maps:
//! `SYSCALL_CONTROL`, `SYSCALL_STARTS`, `TASKS`, `COUNTERS`. Cost: 0.2 µs a task.
//!
//! A task that is not on a CPU has entered the kernel by a system call or by an interrupt or
//! exception; its saved registers say which. Of one that is on a CPU they may be of a call that
//! has ended: it is left out unless its call was sampled and still has its start.

use core::ffi::c_void;

use aya_ebpf::helpers::{bpf_ktime_get_ns, bpf_task_pt_regs, generated::bpf_seq_write};
use evenkeel_abi::{CallInFlight, Counter, KnownAge, SKIP_BITS};

use crate::{
    counters::Bank,
    globals,
    syscalls::{SYSCALL_STARTS, control, row},
    task::{Task, field},
    wait_state::TASKS,
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

/// Looks at one task.
#[unsafe(no_mangle)]
#[unsafe(link_section = "iter/task")]
pub extern "C" fn calls_in_flight(context: *mut TaskContext) -> i32 {
    // SAFETY: the kernel passes a whole context.
    let (meta, task) = unsafe { ((*context).meta, (*context).task) };
    if task.is_null() {
        return 0;
    }
    // SAFETY: typed by the kernel.
    let seq = unsafe { (*meta).seq };
    let task = Task::from_argument(task);
    if task.is_kernel_thread() {
        return 0;
    }
    // SAFETY: the helper takes a trusted task and gives a typed `pt_regs`.
    let registers = unsafe { bpf_task_pt_regs(task.as_ptr().cast_mut().cast()) } as *const c_void;
    // SAFETY: typed pointer, offset from BTF.
    let number: u32 = unsafe { field(registers, globals::REGS_SYSTEM_CALL.load()) };
    if (number as i32) < 0 {
        return 0;
    }
    // SAFETY: the helper takes nothing.
    let now = unsafe { bpf_ktime_get_ns() };
    let row = row(task, number);
    let mut call = CallInFlight {
        row: row as u32,
        known: KnownAge::Not as u32,
        age: 0,
    };
    if let Some(age) = since_entry(task, row, now) {
        call.known = KnownAge::SinceEntry as u32;
        call.age = age;
    } else if task.is_on_cpu() {
        return 0;
    } else if let Some(age) = since_left(task, now) {
        call.known = KnownAge::SinceLeft as u32;
        call.age = age;
    }
    // SAFETY: a whole, initialized record on the stack. A buffer that is too small makes the
    // kernel call the program again for the task with a larger one.
    unsafe {
        bpf_seq_write(
            seq.cast(),
            (&raw mut call).cast(),
            size_of::<CallInFlight>() as u32,
        )
    };
    0
}

/// Age of a sampled call. Between two bursts calls end unseen, so that only the starts of the one
/// that is on say anything.
#[inline(always)]
fn since_entry(task: Task, row: u64, now: u64) -> Option<u64> {
    let control = control();
    if control == 0 {
        return None;
    }
    let start = SYSCALL_STARTS.find(task)?;
    // SAFETY: the task's storage; it may change while it is read, which the checks below bear.
    let (started, of, its_row) = unsafe {
        (
            (&raw const (*start).started).read_volatile(),
            (&raw const (*start).control).read_volatile(),
            (&raw const (*start).row).read_volatile(),
        )
    };
    let is_its_own = started != 0 && of >> SKIP_BITS == control >> SKIP_BITS && its_row == row;
    (is_its_own && started <= now).then(|| now - started)
}

/// Time since a waiting task left the CPU, which is the least age of its call.
#[inline(always)]
fn since_left(task: Task, now: u64) -> Option<u64> {
    let offset = Bank::current()?.get(Counter::ClockOffset);
    if offset == 0 {
        return None;
    }
    let waits = TASKS.find(task)?;
    // SAFETY: the task's storage.
    let left = unsafe { (&raw const (*waits).left).read_volatile() };
    let now = now.wrapping_sub(offset);
    (left != 0 && left <= now).then(|| now - left)
}

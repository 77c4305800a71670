//! How long system calls take, by family and for the listed ones one by one, and how they fail.
//!
//! Hooks: tp_btf `sys_enter` and `sys_exit`, attached in bursts (exporter/src/signal/syscalls).
//! Maps: `SYSCALL_CONTROL`, `SYSCALL_BANKS`, `SYSCALL_STARTS`, `SYSCALL_HISTOGRAMS`, `COUNTERS`.
//!
//! Cost: `sys_enter` 10 ns and `sys_exit` 24 ns a call, one in 16 of them measured; 100 ns more for
//! a call that is measured, 5 ns for one that fails. Empty programs cost 130 ns a call, so that it is
//! 150 to 180 ns longer in all.
//!
//! Merely being attached puts every call of the host on the kernel's slow path, so what is done
//! for a call that is not sampled is a countdown at its entry and, at its end, one look whether
//! the task has a start to end. A call is counted at its entry, as one that is still under way
//! when the burst ends was made all the same; it is measured only if both ends are in one burst.

use core::ffi::c_void;

use aya_ebpf::{
    btf_maps::Array,
    helpers::{bpf_get_prandom_u32, bpf_ktime_get_ns},
    macros::{btf_map, btf_tracepoint},
    programs::BtfTracePointContext,
};
use evenkeel_abi::{
    CallRuns, Counter, ERROR_CLASSES, ERROR_NUMBERS, FocusDistribution, Histogram, LISTED_SYSCALLS,
    RUN_NANOS, SKIP_BITS, SYSCALL_FAMILIES, SYSCALL_NUMBERS, SyscallBank, SyscallFamily,
};

use crate::{
    counters::{self, MMAPABLE, current_cpu},
    focus,
    globals::{self, ERROR_CLASS, SYSCALL_ROWS},
    histogram,
    task::{Task, field},
    task_storage::TaskStorage,
};

/// `ERESTARTSYS` (include/linux/errno.h), the first of five numbers by which the kernel notes that a
/// signal came: user space sees `EINTR`, or the call is restarted.
const ERESTARTSYS: u64 = 512;

/// `EINTR`.
const EINTR: u64 = 4;

/// Highest error number (include/linux/err.h, `MAX_ERRNO`).
const MAX_ERROR: u64 = 4095;

/// The number of the burst and, in the low `SKIP_BITS`, the mean skip; 0 between bursts. User
/// space writes it after attaching and before detaching, so that a burst has sharp ends.
#[btf_map]
static SYSCALL_CONTROL: Array<u64, 1, MMAPABLE> = Array::new();

/// A bank for each possible CPU; user space sets the size at load.
#[btf_map]
static SYSCALL_BANKS: Array<SyscallBank, 1, MMAPABLE> = Array::new();

/// `SYSCALL_HISTOGRAMS_PER_SHARD` for each shard; user space sets the size at load.
#[btf_map]
static SYSCALL_HISTOGRAMS: Array<Histogram, 1, MMAPABLE> = Array::new();

/// The sampled call that a task is in.
#[repr(C)]
pub struct SyscallStart {
    /// When it was entered (`bpf_ktime_get_ns`); 0 when the task is in no sampled call.
    pub started: u64,
    /// The control word at its entry: the burst that it belongs to and the calls it stands for.
    pub control: u64,
    /// Its row in `SYSCALL_ROWS`.
    pub row: u64,
}

#[btf_map]
pub static SYSCALL_STARTS: TaskStorage<SyscallStart> = TaskStorage::new();

/// The burst that is on and how many calls a sample stands for; 0 between bursts.
#[inline(always)]
pub fn control() -> u64 {
    match SYSCALL_CONTROL.get_ptr(0) {
        // SAFETY: it comes from the look-up.
        Some(word) => unsafe { word.read_volatile() },
        None => 0,
    }
}

/// Adds to a word of this CPU's bank. No other program writes it, and this one is not interrupted by
/// itself, so that it need not be locked.
///
/// # Safety
///
/// `word` points into the bank.
#[inline(always)]
unsafe fn add_to(word: *mut u64, amount: u64) {
    // SAFETY: by the caller's promise.
    unsafe { word.write_volatile(word.read_volatile() + amount) }
}

/// How many calls a sample stands for.
#[inline(always)]
fn mean_skip(control: u64) -> u64 {
    control & ((1 << SKIP_BITS) - 1)
}

/// The row of a call of the running task. Calls of the 32-bit ABI have other numbers.
#[inline(always)]
pub fn row(task: Task, number: u32) -> u64 {
    if u64::from(task.abi()) & globals::ABI_IS_COMPAT.load() != 0 {
        return SyscallFamily::Compat as u64;
    }
    if number as usize >= SYSCALL_NUMBERS {
        return SyscallFamily::Other as u64;
    }
    let index = number as usize & (SYSCALL_NUMBERS - 1);
    // SAFETY: the index is below the length of the table.
    let row = unsafe {
        (&raw const SYSCALL_ROWS)
            .cast::<u16>()
            .add(index)
            .read_volatile()
    };
    u64::from(row)
}

#[inline(always)]
fn family(row: u64) -> usize {
    row as usize & (SYSCALL_FAMILIES - 1)
}

/// Place among the listed calls, plus one; 0 for the others.
#[inline(always)]
fn listed(row: u64) -> usize {
    (row >> 8) as usize
}

/// A call is entered.
#[btf_tracepoint(function = "sys_enter")]
pub fn sys_enter(context: BtfTracePointContext) -> i32 {
    let control = control();
    if control == 0 {
        return 0;
    }
    let Some(bank) = SYSCALL_BANKS.get_ptr_mut(current_cpu()) else {
        return 0;
    };
    // SAFETY: only this program on this CPU touches these words, with preemption off.
    let drawn = unsafe {
        let remaining = (*bank).remaining;
        if remaining > 1 {
            (*bank).remaining = remaining - 1;
            return 0;
        }
        // Uniform on 1 ..= 2 * mean - 1: the mean is exact, and no pattern of calls keeps step.
        let skip = 1 + u64::from(bpf_get_prandom_u32()) % (2 * mean_skip(control) - 1);
        let drawn = (*bank).drawn;
        (*bank).seen += drawn;
        (*bank).sampled += 1;
        (*bank).drawn = skip;
        (*bank).remaining = skip;
        drawn
    };
    let task = Task::current();
    let row = row(task, context.arg::<u64>(1) as u32);
    // SAFETY: the index is below the number of families.
    let word = unsafe { (&raw mut (*bank).calls).cast::<u64>().add(family(row)) };
    // SAFETY: a word of the map value.
    unsafe { add_to(word, mean_skip(control)) };
    let place = listed(row);
    if place > 0 {
        // SAFETY: the index is below the number of listed calls.
        let word = unsafe {
            (&raw mut (*bank).listed)
                .cast::<u64>()
                .add((place - 1) & (LISTED_SYSCALLS - 1))
        };
        // SAFETY: a word of the map value.
        unsafe { add_to(word, mean_skip(control)) };
    }
    let Some(start) = SYSCALL_STARTS.find_or_create(task) else {
        counters::count(Counter::SyscallStorageFull);
        return 0;
    };
    // SAFETY: only the task itself touches its storage.
    unsafe {
        (*start).control = control;
        (*start).row = row;
    }
    // Last, so that what is done here is not part of the call.
    // SAFETY: the helper takes nothing.
    let now = unsafe { bpf_ktime_get_ns() };
    // SAFETY: as above.
    unsafe { (*start).started = now };
    note_run(bank, task, row, drawn, now);
    0
}

/// Notes a run of calls by one thread. A time that another thread, an interrupt or idling has
/// lengthened is none.
#[inline(always)]
fn note_run(bank: *mut SyscallBank, task: Task, row: u64, drawn: u64, now: u64) {
    let tid = u64::from(task.tid());
    // SAFETY: as in `sys_enter`.
    unsafe {
        let nanos = now.wrapping_sub((*bank).sampled_at);
        let is_run = (*bank).sampled_tid == tid && nanos < drawn * RUN_NANOS;
        (*bank).sampled_at = now;
        (*bank).sampled_tid = tid;
        if is_run {
            let runs = (&raw mut (*bank).runs).cast::<CallRuns>().add(family(row));
            (*runs).samples += 1;
            (*runs).calls += drawn;
            (*runs).nanos += nanos;
        }
    }
}

/// A call has returned to the entry code.
#[btf_tracepoint(function = "sys_exit")]
pub fn sys_exit(context: BtfTracePointContext) -> i32 {
    let control = control();
    if control == 0 {
        return 0;
    }
    let task = Task::current();
    let error = context.arg::<u64>(1).wrapping_neg();
    if error.wrapping_sub(1) < MAX_ERROR {
        count_error(task, context.arg::<*const c_void>(0), error);
    }
    let Some(start) = SYSCALL_STARTS.find(task) else {
        return 0;
    };
    // SAFETY: as in `sys_enter`.
    let (started, of, row) = unsafe { ((*start).started, (*start).control, (*start).row) };
    if started == 0 {
        return 0;
    }
    // SAFETY: as above.
    unsafe { (*start).started = 0 };
    // Between two bursts calls end and begin unseen: this need not be the call that began then.
    if of >> SKIP_BITS != control >> SKIP_BITS {
        counters::count(Counter::SyscallsUnmatched);
        return 0;
    }
    // SAFETY: the helper takes nothing.
    let now = unsafe { bpf_ktime_get_ns() };
    if now < started {
        counters::count(Counter::SyscallsNegative);
        return 0;
    }
    record(family(row) as u32, now - started, mean_skip(of));
    let place = listed(row);
    if place > 0 {
        let histogram = SYSCALL_FAMILIES + ((place - 1) & (LISTED_SYSCALLS - 1));
        record(histogram as u32, now - started, mean_skip(of));
    }
    if focus::is_used() {
        focus::record_weighted(
            focus::of_process(task.pid()),
            FocusDistribution::SystemCall,
            now - started,
            mean_skip(of),
        );
    }
    0
}

#[inline(always)]
fn record(histogram: u32, nanos: u64, weight: u64) {
    let shard = current_cpu() & globals::SYSCALL_SHARD_MASK.load() as u32;
    let index = shard * globals::SYSCALL_HISTOGRAMS_PER_SHARD.load() as u32 + histogram;
    if let Some(histogram) = SYSCALL_HISTOGRAMS.get_ptr_mut(index) {
        // SAFETY: it comes from the look-up.
        unsafe { histogram::record_weighted_in(histogram, nanos, weight) }
    }
}

#[inline(always)]
fn count_error(task: Task, registers: *const c_void, error: u64) {
    let Some(bank) = SYSCALL_BANKS.get_ptr_mut(current_cpu()) else {
        return;
    };
    // SAFETY: `pt_regs` is a typed argument.
    let number: u32 = unsafe { field(registers, globals::REGS_SYSTEM_CALL.load()) };
    let row = row(task, number);
    let number = if error.wrapping_sub(ERESTARTSYS) < 5 {
        EINTR
    } else {
        error
    };
    let class = if number as usize >= ERROR_NUMBERS {
        0
    } else {
        // SAFETY: the index is below the length of the table.
        unsafe {
            (&raw const ERROR_CLASS)
                .cast::<u8>()
                .add(number as usize & (ERROR_NUMBERS - 1))
                .read_volatile()
        }
    };
    let index = family(row) * ERROR_CLASSES + (class as usize & (ERROR_CLASSES - 1));
    // SAFETY: the index is below the number of families times classes.
    let word = unsafe { (&raw mut (*bank).errors).cast::<u64>().add(index) };
    // SAFETY: a word of the map value.
    unsafe { add_to(word, 1) };
}

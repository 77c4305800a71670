//! Hard and soft interrupts and the vectors of the CPU.
//!
//! Hooks: tp_btf `irq_handler_*`, `softirq_*` and the pairs of `irq_vectors`. Maps:
//! `INTERRUPT_STATES`, `INTERRUPT_HISTOGRAMS`, `IRQ_ROWS`, `COUNTERS`.
//!
//! A CPU is in one hard interrupt at most (handlers and vectors run with interrupts off) and in one
//! soft interrupt at most, which hard ones can interrupt. So two stamps a CPU are enough, and a soft
//! interrupt's own time is its duration without what hard interrupts took meanwhile.
//!
//! Cost of begin and end together: 130 ns a soft interrupt, 155 ns a device's, 160 to 250 ns a vector,
//! which comes less often and finds colder caches. Two clock reads are 80 ns of it.

use aya_ebpf::{
    btf_maps::Array,
    helpers::bpf_ktime_get_ns,
    macros::{btf_map, btf_tracepoint},
    programs::BtfTracePointContext,
};
use evenkeel_abi::{
    Counter, DEVICE_ROW, DEVICE_ROWS, Histogram, INTERRUPT_ROWS, IRQ_NUMBERS, IRQ_UNNAMED,
    InterruptState, LocalVector, NET_RX_SOFTIRQ, SOFT_SLOTS, SOFTIRQS, VECTOR_KEY, VECTOR_ROW,
};

use crate::{
    counters::{self, MMAPABLE, current_cpu},
    histogram, network,
};

/// One entry for each possible CPU; user space sets the size at load.
#[btf_map]
static INTERRUPT_STATES: Array<InterruptState, 1, MMAPABLE> = Array::new();

/// `INTERRUPT_ROWS` for each bank; user space sets the size at load.
#[btf_map]
static INTERRUPT_HISTOGRAMS: Array<Histogram, 1, MMAPABLE> = Array::new();

/// Row of a device's interrupt by its number, plus one; user space fills it.
#[btf_map]
static IRQ_ROWS: Array<u32, { IRQ_NUMBERS as usize }> = Array::new();

/// What kind of time a hard interrupt takes.
#[derive(Clone, Copy)]
enum Hard {
    Device,
    Vector,
}

#[inline(always)]
fn clock() -> u64 {
    // SAFETY: the helper takes nothing.
    unsafe { bpf_ktime_get_ns() }
}

#[inline(always)]
fn state() -> Option<*mut InterruptState> {
    INTERRUPT_STATES.get_ptr_mut(current_cpu())
}

/// Nanoseconds that hard interrupts have taken on this CPU.
#[inline(always)]
fn hard_nanos(state: *const InterruptState) -> u64 {
    // SAFETY: `state` is this CPU's; volatile, as a hard interrupt can come in at any instruction
    // of a soft one's program.
    let devices = unsafe { (&raw const (*state).device_nanos).read_volatile() };
    // SAFETY: as above.
    let vectors = unsafe { (&raw const (*state).vector_nanos).read_volatile() };
    devices + vectors
}

/// Whether this CPU is in a hard interrupt, a vector or a soft interrupt, as far as these programs
/// are attached. 5 ns.
#[inline(always)]
pub fn in_interrupt() -> bool {
    let Some(state) = state() else {
        return false;
    };
    // SAFETY: `state` is this CPU's.
    unsafe { (*state).hard_since | (*state).soft_since != 0 }
}

/// Whether this CPU is in that soft interrupt.
#[inline(always)]
pub fn in_softirq(vector: u32) -> bool {
    let Some(state) = state() else {
        return false;
    };
    // SAFETY: `state` is this CPU's.
    unsafe { (*state).soft_since != 0 && (*state).soft_vector == vector }
}

#[inline(always)]
fn record(row: u32, nanos: u64) {
    if let Some(histogram) =
        INTERRUPT_HISTOGRAMS.get_ptr_mut(histogram::bank() * INTERRUPT_ROWS + row)
    {
        // SAFETY: it comes from the look-up. Hard interrupts do not interrupt each other, and they have
        // other rows than soft ones.
        unsafe { histogram::record_shares(histogram, nanos, 1) }
    }
}

#[inline(always)]
fn enter_hard(key: u32) {
    let Some(state) = state() else {
        return;
    };
    // SAFETY: `state` is this CPU's, with interrupts off.
    unsafe {
        (*state).hard_key = key;
        (*state).hard_since = clock();
    }
}

/// Ends the hard interrupt; its duration, unless its begin was not seen.
#[inline(always)]
fn leave_hard(key: u32, kind: Hard) -> Option<u64> {
    let state = state()?;
    let now = clock();
    // SAFETY: `state` is this CPU's, with interrupts off.
    let (since, entered) = unsafe { ((*state).hard_since, (*state).hard_key) };
    // SAFETY: as above.
    unsafe { (*state).hard_since = 0 };
    if since == 0 || entered != key {
        counters::count(Counter::InterruptsUnmatched);
        return None;
    }
    if now < since {
        counters::count(Counter::InterruptsNegative);
        return None;
    }
    // SAFETY: as above.
    unsafe {
        match kind {
            Hard::Device => (*state).device_nanos += now - since,
            Hard::Vector => (*state).vector_nanos += now - since,
        }
    }
    Some(now - since)
}

/// The row of a device's interrupt.
#[inline(always)]
fn device_row(irq: u32) -> u32 {
    let row = match IRQ_ROWS.get(irq) {
        Some(row) => *row,
        None => 1,
    };
    if row == IRQ_UNNAMED {
        counters::count(Counter::InterruptsUnnamed);
        return DEVICE_ROW;
    }
    if row == 1 {
        counters::count(Counter::InterruptsOther);
    }
    DEVICE_ROW + ((row - 1) & (DEVICE_ROWS - 1))
}

/// A device's handler begins.
#[btf_tracepoint(function = "irq_handler_entry")]
pub fn irq_handler_entry(context: BtfTracePointContext) -> i32 {
    enter_hard(context.arg::<u64>(0) as u32);
    0
}

/// A device's handler has ended.
#[btf_tracepoint(function = "irq_handler_exit")]
pub fn irq_handler_exit(context: BtfTracePointContext) -> i32 {
    let irq = context.arg::<u64>(0) as u32;
    if let Some(nanos) = leave_hard(irq, Hard::Device) {
        record(device_row(irq), nanos);
    }
    0
}

/// A soft interrupt begins, on the way out of a hard one or in ksoftirqd.
#[btf_tracepoint(function = "softirq_entry")]
pub fn softirq_entry(context: BtfTracePointContext) -> i32 {
    let Some(state) = state() else {
        return 0;
    };
    // SAFETY: `state` is this CPU's, and a CPU is in one soft interrupt at most.
    unsafe {
        (*state).soft_vector = context.arg::<u64>(0) as u32;
        // Before the clock is read: a hard interrupt that comes in between the two is then taken
        // off too much, so that own times never sum to more than time.
        (*state).hard_before_soft = hard_nanos(state);
        (*state).soft_since = clock();
    }
    0
}

/// A soft interrupt has ended.
#[btf_tracepoint(function = "softirq_exit")]
pub fn softirq_exit(context: BtfTracePointContext) -> i32 {
    let vector = context.arg::<u64>(0) as u32;
    let Some(state) = state() else {
        return 0;
    };
    let now = clock();
    let hard = hard_nanos(state);
    // SAFETY: as in `softirq_entry`.
    let (since, entered, before) = unsafe {
        (
            (*state).soft_since,
            (*state).soft_vector,
            (*state).hard_before_soft,
        )
    };
    // SAFETY: as in `softirq_entry`.
    unsafe { (*state).soft_since = 0 };
    if since == 0 || entered != vector || vector >= SOFTIRQS {
        counters::count(Counter::InterruptsUnmatched);
        return 0;
    }
    if now < since {
        counters::count(Counter::InterruptsNegative);
        return 0;
    }
    let nanos = now - since;
    let interrupted = hard - before;
    let own = if nanos > interrupted {
        nanos - interrupted
    } else {
        0
    };
    let slot = (vector & (SOFT_SLOTS - 1)) as usize;
    // SAFETY: `slot` is below the length.
    let word = unsafe { (&raw mut (*state).soft_nanos).cast::<u64>().add(slot) };
    // SAFETY: the word is this CPU's, as in `softirq_entry`.
    unsafe { *word += own };
    record(vector, nanos);
    if vector == NET_RX_SOFTIRQ {
        network::receive_has_ended(own);
    }
    0
}

/// The two programs of each vector.
macro_rules! vectors {
    ($($vector:ident: $entry:ident $entry_hook:literal, $exit:ident $exit_hook:literal;)*) => {
        $(
            /// The vector begins.
            #[btf_tracepoint(function = $entry_hook)]
            pub fn $entry(_context: BtfTracePointContext) -> i32 {
                enter_hard(VECTOR_KEY | LocalVector::$vector as u32);
                0
            }

            /// The vector has ended.
            #[btf_tracepoint(function = $exit_hook)]
            pub fn $exit(_context: BtfTracePointContext) -> i32 {
                let key = VECTOR_KEY | LocalVector::$vector as u32;
                if let Some(nanos) = leave_hard(key, Hard::Vector) {
                    record(VECTOR_ROW + LocalVector::$vector as u32, nanos);
                }
                0
            }
        )*
    };
}

vectors! {
    Timer: local_timer_entry "local_timer_entry", local_timer_exit "local_timer_exit";
    Reschedule: reschedule_entry "reschedule_entry", reschedule_exit "reschedule_exit";
    CallFunction: call_function_entry "call_function_entry", call_function_exit "call_function_exit";
    CallFunctionSingle: call_function_single_entry "call_function_single_entry",
        call_function_single_exit "call_function_single_exit";
    IrqWork: irq_work_entry "irq_work_entry", irq_work_exit "irq_work_exit";
    Thermal: thermal_apic_entry "thermal_apic_entry", thermal_apic_exit "thermal_apic_exit";
}

//! Distributions on the base-2 exponential scale, in mmapped arrays of `Histogram`s.
//!
//! Cost: 15 ns a value, the array look-up included.

use aya_ebpf::{Global, btf_maps::Array, macros::btf_map};
use evenkeel_abi::{BANK_HISTOGRAMS, HISTOGRAM_SCALE, HISTOGRAM_SLOTS, Histogram};

use crate::{
    counters::{MMAPABLE, add_to, current_cpu},
    globals::{self, SCALE_BOUNDS, SCALE_FIRST},
};

/// `BANK_HISTOGRAMS` for each possible CPU; user space sets the size at load.
#[btf_map]
static HISTOGRAMS: Array<Histogram, 1, MMAPABLE> = Array::new();

/// Binary logarithms of the numbers of 8 bits, rounded down; 0 for 0.
#[unsafe(no_mangle)]
pub static LOG2: Global<[u8; 256]> = Global::new(log2_of_bytes());

const fn log2_of_bytes() -> [u8; 256] {
    let mut table = [0; 256];
    let mut byte = 1;
    while byte < table.len() {
        table[byte] = byte.ilog2() as u8;
        byte += 1;
    }
    table
}

/// The exponent of the largest power of two that is not above a value below 2^48; 0 for 0.
///
/// The instruction set has no count of leading zeros, and what the compiler computes in its place takes
/// three times as long as two predicted branches and a table.
#[inline(always)]
pub fn log2(value: u64) -> u32 {
    let shift = if value >> 24 == 0 {
        if value >> 16 != 0 {
            16
        } else if value >> 8 != 0 {
            8
        } else {
            0
        }
    } else if value >> 40 != 0 {
        40
    } else if value >> 32 != 0 {
        32
    } else {
        24
    };
    let byte = (value >> shift) as usize & 0xff;
    // SAFETY: `byte` is below 256, the length of the table.
    let log2 = unsafe { (&raw const LOG2).cast::<u8>().add(byte).read_volatile() };
    shift + (u32::from(log2) & 7)
}

/// The slot of a value in nanoseconds; exact, as bounds are compared as integers.
///
/// The shape of the computation and the tables are explained in evenkeel-otlp, `ScaleTables`.
#[inline(always)]
pub fn slot(nanos: u64) -> u32 {
    // 39 hours: beyond what any histogram keeps, and within what `log2` takes.
    const LONGEST: u64 = (1 << 47) - 1;
    let nanos = if nanos < LONGEST { nanos } else { LONGEST };
    let exponent = log2(nanos);
    let mantissa = nanos << (63 - exponent);
    let cell = (mantissa >> 55) as usize & 0xff;
    // SAFETY: `cell` is below 256, the length of the table.
    let first = unsafe {
        (&raw const SCALE_FIRST)
            .cast::<u8>()
            .add(cell)
            .read_volatile()
    };
    let bucket = first as usize & 63;
    // SAFETY: `bucket` is below 64, the length of the table.
    let bound = unsafe {
        (&raw const SCALE_BOUNDS)
            .cast::<u64>()
            .add(bucket)
            .read_volatile()
    };
    let carry = (mantissa > bound) as u32;
    let slot = (exponent << HISTOGRAM_SCALE) + bucket as u32 + carry;
    if slot < HISTOGRAM_SLOTS {
        slot
    } else {
        HISTOGRAM_SLOTS - 1
    }
}

/// Records a value.
///
/// # Safety
///
/// `histogram` points to a map value.
#[inline(always)]
pub unsafe fn record_in(histogram: *mut Histogram, nanos: u64) {
    // SAFETY: by the caller's promise.
    unsafe { record_weighted_in(histogram, nanos, 1) }
}

/// Records a value that stands for `weight` of its kind.
///
/// # Safety
///
/// `histogram` points to a map value.
#[inline(always)]
pub unsafe fn record_weighted_in(histogram: *mut Histogram, nanos: u64, weight: u64) {
    let slot = slot(nanos) as usize;
    // SAFETY: the slot is below the number of slots.
    let word = unsafe { (&raw mut (*histogram).slots).cast::<u64>().add(slot) };
    // SAFETY: a word of the map value.
    unsafe { add_to(word, weight) };
    // SAFETY: as above.
    unsafe { add_to(&raw mut (*histogram).sum, nanos * weight) };
}

/// Adds to a word of a bank of [`bank`]. Where each CPU has a bank to itself that takes 1 ns, and
/// 6 where it must be atomic.
///
/// # Safety
///
/// `word` points into a map value, and no program that interrupts this one writes it.
#[inline(always)]
unsafe fn add_in_bank(word: *mut u64, amount: u64) {
    if globals::BANKS_ARE_SHARED.load() != 0 {
        // SAFETY: by the caller's promise.
        unsafe { add_to(word, amount) }
    } else {
        // SAFETY: as above.
        unsafe { word.write_volatile(word.read_volatile() + amount) }
    }
}

/// Records a total that is made up of so many equal values.
///
/// # Safety
///
/// `histogram` points to a map value in the bank of this CPU ([`bank`]), no program that interrupts
/// this one writes it, and `values` is not 0.
#[inline(always)]
pub unsafe fn record_shares(histogram: *mut Histogram, total_nanos: u64, values: u64) {
    // Most totals are a single value, and a division takes as long as the rest.
    let nanos = if values == 1 {
        total_nanos
    } else {
        total_nanos / values
    };
    let slot = slot(nanos) as usize;
    // SAFETY: the slot is below the number of slots.
    let word = unsafe { (&raw mut (*histogram).slots).cast::<u64>().add(slot) };
    // SAFETY: a word of the map value.
    unsafe { add_in_bank(word, values) };
    // SAFETY: as above.
    unsafe { add_in_bank(&raw mut (*histogram).sum, total_nanos) };
}

/// The bank of this CPU in arrays whose banks are shared by several CPUs on large hosts.
#[inline(always)]
pub fn bank() -> u32 {
    current_cpu() & globals::BANK_MASK.load() as u32
}

/// Records a value of a histogram of this CPU.
#[inline(always)]
pub fn record(histogram: u32, nanos: u64) {
    if let Some(histogram) = HISTOGRAMS.get_ptr_mut(current_cpu() * BANK_HISTOGRAMS + histogram) {
        // SAFETY: it comes from the look-up.
        unsafe { record_in(histogram, nanos) }
    }
}

//! Distributions on the base-2 exponential scale, in mmapped arrays of `Histogram`s.
//!
//! Cost: 15 ns a value, the array look-up included.

use aya_ebpf::{btf_maps::Array, macros::btf_map};
use evenkeel_abi::{BANK_HISTOGRAMS, HISTOGRAM_SCALE, HISTOGRAM_SLOTS, Histogram};

use crate::{
    counters::{MMAPABLE, add_to, current_cpu},
    globals::{self, SCALE_BOUNDS, SCALE_FIRST},
};

/// `BANK_HISTOGRAMS` for each possible CPU; user space sets the size at load.
#[btf_map]
static HISTOGRAMS: Array<Histogram, 1, MMAPABLE> = Array::new();

/// The slot of a value in nanoseconds; exact, as bounds are compared as integers.
///
/// The shape of the computation and the tables are explained in evenkeel-otlp, `ScaleTables`.
#[inline(always)]
fn slot(nanos: u64) -> u32 {
    let value = if nanos == 0 { 1 } else { nanos };
    let zeros = value.leading_zeros();
    let mantissa = value << zeros;
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
    let slot = ((63 - zeros) << HISTOGRAM_SCALE) + bucket as u32 + carry;
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
    let slot = slot(nanos) as usize;
    // SAFETY: the slot is below the number of slots.
    let word = unsafe { (&raw mut (*histogram).slots).cast::<u64>().add(slot) };
    // SAFETY: a word of the map value.
    unsafe { add_to(word, 1) };
    // SAFETY: as above.
    unsafe { add_to(&raw mut (*histogram).sum, nanos) };
}

/// Records a total that is made up of so many equal values.
///
/// # Safety
///
/// `histogram` points to a map value; `values` is not 0.
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
    unsafe { add_to(word, values) };
    // SAFETY: as above.
    unsafe { add_to(&raw mut (*histogram).sum, total_nanos) };
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

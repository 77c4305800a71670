//! Distributions on the base-2 exponential scale, in an mmapped array: one bank per CPU.
//!
//! Cost: 15 ns a value, the array look-up included.

use aya_ebpf::{btf_maps::Array, macros::btf_map};
use evenkeel_abi::{HISTOGRAM_SCALE, HISTOGRAM_SLOTS, histogram_base};

use crate::{
    counters::{MMAPABLE, add_to, current_cpu},
    globals::{SCALE_BOUNDS, SCALE_FIRST},
};

/// Slots; user space sets the size to possible CPUs times `BANK_HISTOGRAM_SLOTS` at load.
#[btf_map]
static HISTOGRAMS: Array<u64, 64, MMAPABLE> = Array::new();

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

/// Records a value of a histogram of this CPU.
#[inline(always)]
pub fn record(histogram: u32, nanos: u64) {
    let index = histogram_base(current_cpu(), histogram) + slot(nanos);
    if let Some(word) = HISTOGRAMS.get_ptr_mut(index) {
        // SAFETY: `word` comes from the look-up.
        unsafe { add_to(word, 1) }
    }
}

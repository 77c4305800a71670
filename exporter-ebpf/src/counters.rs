//! Counters in an mmapped array: one bank per CPU, written only by programs on that CPU.
//!
//! Cost: 10 ns an increment (an array look-up on a known map is inlined by the verifier).

use aya_ebpf::{btf_maps::Array, helpers::bpf_get_smp_processor_id, macros::btf_map};
use core::intrinsics::{AtomicOrdering, atomic_xadd};
use evenkeel_abi::{BANK_COUNTERS, Counter};

/// `BPF_F_MMAPABLE`.
pub const MMAPABLE: usize = 0x400;

/// Counters; user space sets the size to possible CPUs times `BANK_COUNTERS` at load.
#[btf_map]
static COUNTERS: Array<u64, 64, MMAPABLE> = Array::new();

/// The CPU that the program runs on.
#[inline(always)]
pub fn current_cpu() -> u32 {
    // SAFETY: the helper takes nothing and is allowed in every program type used here.
    unsafe { bpf_get_smp_processor_id() }
}

/// Adds to a 64-bit word in a map.
///
/// `fetch_add` does not compile for this target; the intrinsic gives `lock xadd` as long as its
/// result is not used.
///
/// # Safety
///
/// `word` points into a map value.
#[inline(always)]
pub unsafe fn add_to(word: *mut u64, amount: u64) {
    // SAFETY: by the caller's promise the word is valid and aligned.
    unsafe {
        atomic_xadd::<u64, u64, { AtomicOrdering::Relaxed }>(word, amount);
    }
}

/// Adds to a counter of this CPU.
#[inline(always)]
pub fn add(counter: u32, amount: u64) {
    if let Some(word) = COUNTERS.get_ptr_mut(current_cpu() * BANK_COUNTERS + counter) {
        // SAFETY: `word` comes from the look-up.
        unsafe { add_to(word, amount) }
    }
}

/// Adds one to a counter of this CPU.
#[inline(always)]
pub fn count(counter: Counter) {
    add(counter as u32, 1);
}

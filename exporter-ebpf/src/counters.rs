//! Counters in an mmapped array: one bank per CPU, written only by programs on that CPU.
//!
//! Cost: 5 ns for the bank (an array look-up on a known map is inlined by the verifier), 2 ns an
//! increment.

use aya_ebpf::{btf_maps::Array, helpers::bpf_get_smp_processor_id, macros::btf_map};
use core::intrinsics::{AtomicOrdering, atomic_xadd};
use evenkeel_abi::{BANK_COUNTERS, Counter};

/// `BPF_F_MMAPABLE`.
pub const MMAPABLE: usize = 0x400;

/// The words of one CPU.
#[repr(C)]
struct Words([u64; BANK_COUNTERS as usize]);

/// A bank for each possible CPU; user space sets the size at load.
#[btf_map]
static COUNTERS: Array<Words, 1, MMAPABLE> = Array::new();

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

/// The counters of the current CPU, for a program that counts more than once.
#[derive(Clone, Copy)]
pub struct Bank(*mut Words);

impl Bank {
    /// The bank of this CPU.
    #[inline(always)]
    pub fn current() -> Option<Self> {
        COUNTERS.get_ptr_mut(current_cpu()).map(Self)
    }

    #[inline(always)]
    fn word(self, counter: u32) -> *mut u64 {
        let index = counter as usize & (BANK_COUNTERS as usize - 1);
        // SAFETY: the mask keeps the index below the length.
        unsafe { self.0.cast::<u64>().add(index) }
    }

    /// Adds to a counter, by its number.
    ///
    /// Not atomic where it does not have to be: a program that interrupts this one on the same CPU
    /// between load and store can lose an increment, so counters that several programs share use
    /// the locked form.
    #[inline(always)]
    pub fn add(self, counter: u32, amount: u64) {
        // SAFETY: a word of the map value.
        unsafe { add_to(self.word(counter), amount) }
    }

    /// Adds one to a counter.
    #[inline(always)]
    pub fn count(self, counter: Counter) {
        self.add(counter as u32, 1);
    }

    /// Adds one to a counter that only programs with interrupts off write: 1 ns instead of 6.
    #[inline(always)]
    pub fn count_alone(self, counter: Counter) {
        let word = self.word(counter as u32);
        // SAFETY: a word of the map value; nobody else writes it meanwhile.
        unsafe { word.write_volatile(word.read_volatile() + 1) }
    }

    /// A word that is no counter.
    #[inline(always)]
    pub fn get(self, word: Counter) -> u64 {
        // SAFETY: a word of the map value.
        unsafe { self.word(word as u32).read_volatile() }
    }

    /// Sets a word that is no counter.
    #[inline(always)]
    pub fn set(self, word: Counter, value: u64) {
        // SAFETY: a word of the map value.
        unsafe { self.word(word as u32).write_volatile(value) }
    }
}

/// Adds to a counter of this CPU.
#[inline(always)]
pub fn add(counter: u32, amount: u64) {
    if let Some(bank) = Bank::current() {
        bank.add(counter, amount);
    }
}

/// Adds one to a counter of this CPU.
#[inline(always)]
pub fn count(counter: Counter) {
    add(counter as u32, 1);
}

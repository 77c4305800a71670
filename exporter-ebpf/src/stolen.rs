//! Time that the hypervisor took, charged to the task that was current when it was found.
//!
//! The kernel accounts steal at its tick, in the task that the tick hits, so looking at each
//! sample and at each switch leaves nothing to the wrong task: what grew before a switch belongs
//! to the task that leaves.
//!
//! Cost: 4 ns a look (three typed loads and a compare).

use aya_ebpf::{btf_maps::Array, macros::btf_map};
use evenkeel_abi::Counter;

use crate::{counters, globals, task::Task};

/// Accounted steal at the last look, plus one, by CPU; 0 before the first look.
#[btf_map]
static STEAL_SEEN: Array<u64, 1> = Array::new();

/// Growth of the stolen time of the current CPU since the last look, in nanoseconds, added to
/// the counters. `current` is the task that runs on this CPU.
#[inline(always)]
pub fn growth(current: Task) -> u64 {
    if globals::HAS_STEAL.load() == 0 {
        return 0;
    }
    let Some(seen) = STEAL_SEEN.get_ptr_mut(counters::current_cpu()) else {
        return 0;
    };
    let now = current.accounted_steal() + 1;
    // SAFETY: only programs on this CPU touch the word, with interrupts off.
    let before = unsafe { *seen };
    if now == before {
        return 0;
    }
    // SAFETY: as above.
    unsafe { *seen = now };
    // The first look sets the base; a smaller value is a CPU that was offline in between.
    if before == 0 || now < before {
        return 0;
    }
    counters::add(Counter::StolenNanos as u32, now - before);
    now - before
}

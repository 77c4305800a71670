//! Time that the hypervisor took, charged to the task that was current when it was found.
//!
//! The kernel accounts steal at its tick, in the task that the tick hits, so looking at each
//! sample and at each switch leaves nothing to the wrong task: what grew before a switch belongs
//! to the task that leaves.
//!
//! Cost: 4 ns a look (three typed loads and a compare).

use evenkeel_abi::Counter;

use crate::{counters::Bank, globals, task::Task};

/// Growth of the stolen time of the current CPU since the last look, in nanoseconds, added to
/// the counters. `current` is the task that runs on this CPU.
#[inline(always)]
pub fn growth(bank: Bank, current: Task) -> u64 {
    if globals::HAS_STEAL.load() == 0 {
        return 0;
    }
    let now = current.accounted_steal() + 1;
    // Only programs on this CPU touch the word, with interrupts off.
    let before = bank.get(Counter::StealSeen);
    if now == before {
        return 0;
    }
    bank.set(Counter::StealSeen, now);
    // The first look sets the base; a smaller value is a CPU that was offline in between.
    if before == 0 || now < before {
        return 0;
    }
    bank.add(Counter::StolenNanos as u32, now - before);
    now - before
}

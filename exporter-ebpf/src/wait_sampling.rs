//! Which waits are sampled: one sample for each period of waiting, without threshold and bias.
//!
//! A wait of length d is kept with probability min(1, d/T) and counts max(d, T): a wait of T or
//! longer always, as what it is; of shorter ones, whose time is added up for each task, the one
//! that is under way at a random point of each period, as T. The point is drawn anew for each
//! period, so that no rhythm of waits can agree with it, and a total is off by at most a period
//! whatever its waits are like. (Independent coins would have been off by 2 to 3 % after a thousand
//! waits.)
//!
//! T is the period of the settings, stretched by powers of two on a CPU where more waits are kept
//! than it can afford; a sample counts the T of its moment, so that totals stay right.
//!
//! Cost: 3 ns a wait (a multiplication and a compare).

use aya_ebpf::helpers::generated::bpf_get_prandom_u32;
use evenkeel_abi::Counter;

use crate::{
    counters::Bank,
    globals,
    wait_state::{Phase, TaskState},
};

/// Most doublings of the period: from 10 ms to 10 s.
const LONGEST_SHIFT: u64 = 10;

/// Length of a review of the rate, nanoseconds.
const REVIEW_NANOS: u64 = 100_000_000;

/// Samples of a review that a CPU can afford: 150 a second, at 18 µs each 0.27 % of it.
const REVIEW_BUDGET: u64 = 15;

#[inline(always)]
fn random() -> u32 {
    // SAFETY: the helper takes nothing.
    unsafe { bpf_get_prandom_u32() }
}

/// Draws the first points of a task.
///
/// # Safety
///
/// `state` is a task's storage.
#[inline(always)]
pub unsafe fn draw(state: *mut TaskState) {
    // SAFETY: by the caller's promise.
    unsafe {
        if (*state).is_drawn == 0 {
            (*state).is_drawn = 1;
            (*state).blocked.point = random();
            (*state).queued.point = random();
        }
    }
}

/// What a wait counts: 0 when it is not kept.
///
/// # Safety
///
/// `phase` is of a task's storage.
#[inline(always)]
pub unsafe fn weight(bank: Bank, phase: *mut Phase, nanos: u64) -> u64 {
    let shift = bank.get(Counter::PeriodShift) & 15;
    let period = globals::WAIT_PERIOD.load() << shift;
    if nanos >= period {
        return nanos;
    }
    // 2^52 / T times a time below T << shift stays below 2^62.
    let advance = (nanos * globals::WAIT_PERIOD_RECIPROCAL.load()) >> (20 + shift);
    // SAFETY: by the caller's promise.
    unsafe {
        let position = (*phase).position as u64;
        let reached = position + advance;
        let point = (*phase).point as u64;
        (*phase).position = reached as u32;
        if reached <= u32::MAX as u64 {
            return if position <= point && point < reached {
                period
            } else {
                0
            };
        }
        let mut hits = (position <= point) as u64;
        let next = random();
        (*phase).point = next;
        hits += ((next as u64) < (reached & u32::MAX as u64)) as u64;
        hits * period
    }
}

/// Counts a kept wait and stretches or shortens the period of this CPU.
#[inline(always)]
pub fn review(bank: Bank, now: u64) {
    bank.count(Counter::WaitsSampled);
    let samples = bank.get(Counter::ReviewSamples) + 1;
    let start = bank.get(Counter::ReviewStart);
    let elapsed = now.wrapping_sub(start);
    let shift = bank.get(Counter::PeriodShift) & 15;
    if elapsed < REVIEW_NANOS {
        if samples < 2 * REVIEW_BUDGET {
            bank.set(Counter::ReviewSamples, samples);
            return;
        }
        if shift < LONGEST_SHIFT {
            bank.set(Counter::PeriodShift, shift + 1);
        }
    } else {
        // Samples in a review's length, were they spread evenly; a long pause counts as little.
        let affordable = REVIEW_BUDGET * (elapsed / REVIEW_NANOS);
        if samples > affordable && shift < LONGEST_SHIFT {
            bank.set(Counter::PeriodShift, shift + 1);
        } else if samples * 4 < affordable && shift > 0 {
            bank.set(Counter::PeriodShift, shift - 1);
        }
    }
    bank.set(Counter::ReviewSamples, 0);
    bank.set(Counter::ReviewStart, now);
}

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
//! than it can afford. A task takes on a new period at once, or as soon as it can without its
//! total being off by more than a period at any time: `adopt` keeps what the samples are ahead of
//! the time that was waited, or behind it.
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

/// Positions in a period.
const WHOLE: u64 = 1 << 32;

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
pub unsafe fn draw(bank: Bank, state: *mut TaskState) {
    // SAFETY: by the caller's promise.
    unsafe {
        if (*state).is_drawn == 0 {
            let shift = wanted_shift(bank) as u32;
            (*state).is_drawn = 1;
            (*state).blocked.point = random();
            (*state).blocked.shift = shift;
            (*state).queued.point = random();
            (*state).queued.shift = shift;
        }
    }
}

/// By how many powers of two periods that begin now on this CPU are stretched.
#[inline(always)]
fn wanted_shift(bank: Bank) -> u64 {
    bank.get(Counter::PeriodShift) & 15
}

/// Takes on the period of this CPU.
///
/// Before its sample a period is behind by what was waited, after it ahead by what is left to
/// wait. Neither may change, so what is to be waited and where the sample is taken are put in the
/// measure of the new period; where they don't fit into a shorter one, the task keeps its own for
/// now.
///
/// # Safety
///
/// `phase` is of a task's storage.
#[inline(always)]
unsafe fn adopt(bank: Bank, phase: *mut Phase) {
    // SAFETY: by the caller's promise.
    let (position, point, shift) = unsafe {
        (
            (*phase).position as u64,
            (*phase).point as u64,
            (*phase).shift as u64 & 15,
        )
    };
    let wanted = wanted_shift(bank);
    if wanted == shift {
        return;
    }
    let is_sampled = position > point;
    let (reached, next_shift) = if wanted > shift {
        let by = wanted - shift;
        if is_sampled {
            (WHOLE - ((WHOLE - position) >> by), wanted)
        } else {
            (position >> by, wanted)
        }
    } else if is_sampled && position > WHOLE / 2 {
        ((position - WHOLE / 2) << 1, shift - 1)
    } else if !is_sampled && position < WHOLE / 2 {
        (position << 1, shift - 1)
    } else {
        return;
    };
    let next_point = if is_sampled {
        0
    } else {
        // Anywhere in what is left.
        reached + ((random() as u64 * (WHOLE - reached)) >> 32)
    };
    // SAFETY: by the caller's promise.
    unsafe {
        (*phase).position = reached as u32;
        (*phase).point = next_point as u32;
        (*phase).shift = next_shift as u32;
    }
}

/// What a wait adds to the position in the running period; `None` when it is not shorter than the period.
///
/// # Safety
///
/// `phase` is of a task's storage.
#[inline(always)]
unsafe fn advance(phase: *const Phase, nanos: u64) -> Option<u64> {
    // SAFETY: by the caller's promise.
    let shift = unsafe { (*phase).shift as u64 & 15 };
    if nanos >= globals::WAIT_PERIOD.load() << shift {
        return None;
    }
    // 2^52 / T times a time below T << shift stays below 2^62.
    Some((nanos * globals::WAIT_PERIOD_RECIPROCAL.load()) >> (20 + shift))
}

/// What a wait counts: 0 when it is not kept.
///
/// # Safety
///
/// `phase` is of a task's storage.
#[inline(always)]
pub unsafe fn weight(bank: Bank, phase: *mut Phase, nanos: u64) -> u64 {
    // SAFETY: by the caller's promise.
    unsafe { adopt(bank, phase) };
    // SAFETY: by the caller's promise.
    let Some(advance) = (unsafe { advance(phase, nanos) }) else {
        return nanos;
    };
    // SAFETY: by the caller's promise.
    unsafe {
        let period = globals::WAIT_PERIOD.load() << ((*phase).shift as u64 & 15);
        let position = (*phase).position as u64;
        let reached = position + advance;
        let point = (*phase).point as u64;
        (*phase).position = reached as u32;
        if reached < WHOLE {
            return if position <= point && point < reached {
                period
            } else {
                0
            };
        }
        let mut hits = (position <= point) as u64;
        let next = random();
        (*phase).point = next;
        hits += ((next as u64) < reached - WHOLE) as u64;
        hits * period
    }
}

/// Whether a wait may be kept: it ends at or beyond the next point, as far as that is drawn.
///
/// # Safety
///
/// `phase` is of a task's storage.
#[inline(always)]
pub unsafe fn may_be_kept(phase: *const Phase, nanos: u64) -> bool {
    // SAFETY: by the caller's promise.
    let Some(advance) = (unsafe { advance(phase, nanos) }) else {
        return true;
    };
    // SAFETY: by the caller's promise.
    let (position, point) = unsafe { ((*phase).position as u64, (*phase).point as u64) };
    let reached = position + advance;
    position <= point && point < reached || reached >= WHOLE
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
        } else if samples * 3 < affordable && shift > 0 {
            bank.set(Counter::PeriodShift, shift - 1);
        }
    }
    bank.set(Counter::ReviewSamples, 0);
    bank.set(Counter::ReviewStart, now);
}

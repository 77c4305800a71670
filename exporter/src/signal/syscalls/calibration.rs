//! What watching costs on this host, and proof that what is read of a call is right.
//!
//! Both are found with calls of our own whose number is known.

use std::{fs, io, time::Instant};

use evenkeel_abi::SyscallFamily;
use rustix::{
    process::getppid,
    time::{ClockId, clock_gettime},
};

use super::{budget::Costs, error_class, growth::Counted, hooks::Hooks, layout::Layout};
use evenkeel_semconv::attribute::value::evenkeel_syscall_error_class as class;

/// Calls in a loop that is timed: 0.3 to 1 ms, short enough that some pass undisturbed.
const LOOP: u32 = 2000;

/// Calls in a loop that is timed at the end of a burst: 0.1 ms.
const QUICK_LOOP: u32 = 500;

/// Loops of a kind; the middle one counts.
const LOOPS: u32 = 8;

/// Calls that fail.
const FAILING: u64 = 200;

/// Calls that one sample stands for while watching alone is timed.
const THINNED: u16 = 16;

/// What was found.
#[derive(Clone, Copy, Debug)]
pub(super) struct Calibration {
    /// What a call costs.
    pub(super) costs: Costs,
    /// CPU time of this thread for attaching and detaching once, seconds.
    pub(super) attachment: f64,
    /// Calls a second that others made meanwhile.
    pub(super) calls: f64,
    /// Calls were told from those of the 32-bit ABI and had their numbers.
    pub(super) families_are_right: bool,
    /// Failing calls had their numbers and errors.
    pub(super) errors_are_right: bool,
}

/// CPU time of this thread in seconds.
pub(super) fn own_time() -> f64 {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    time.tv_sec as f64 + time.tv_nsec as f64 / 1e9
}

/// CPU time of a call in a loop of so many, in seconds.
fn call(calls: u32) -> f64 {
    let start = own_time();
    for _ in 0..calls {
        // No library remembers it: each is a call.
        let _ = getppid();
    }
    (own_time() - start) / f64::from(calls)
}

/// The usual one of some loops.
fn usual_call() -> f64 {
    let mut loops: Vec<f64> = (0..LOOPS).map(|_| call(LOOP)).collect();
    loops.sort_by(f64::total_cmp);
    loops[loops.len() / 2]
}

/// CPU time of a call now, over a loop that is short enough for every burst.
pub(super) fn quick_call() -> f64 {
    call(QUICK_LOOP)
}

/// Measures for about 30 ms, for some of which all calls of the host are watched.
pub(super) fn calibrate(
    hooks: &mut Hooks,
    counted: &Counted,
    layout: Layout,
) -> io::Result<Calibration> {
    let unwatched = usual_call();
    let nothing = counted.growth();
    let before_attaching = own_time();
    hooks.attach()?;
    let attached = own_time();
    let watching = Instant::now();
    hooks.watch(THINNED);
    let thinned = usual_call();
    hooks.watch(1);
    let before = counted.growth();
    let measured = usual_call();
    for _ in 0..FAILING {
        // No file has an empty name.
        let _ = fs::symlink_metadata("");
    }
    let after = counted.growth();
    let watched = watching.elapsed().as_secs_f64();
    let before_detaching = own_time();
    hooks.detach();
    let attachment = attached - before_attaching + own_time() - before_detaching;

    let grown = |word: usize| after.count(word).saturating_sub(before.count(word));
    // Without those that were still skipped when every call began to be sampled.
    let made = u64::from(LOOP * (LOOPS - 1));
    let not_found = error_class::CLASSES
        .iter()
        .position(|(name, _)| *name == class::NOT_FOUND)
        .unwrap_or(0);
    let file_errors = layout.errors(SyscallFamily::File as usize, not_found);
    let own = u64::from(LOOP * LOOPS) * 2 + FAILING;
    let others = after.watched().saturating_sub(nothing.watched() + own);
    // Each call costs `call + sample / skip`, for two values of the skip.
    let thinning = f64::from(THINNED);
    let sample = ((measured - thinned) * thinning / (thinning - 1.0)).max(0.0);
    Ok(Calibration {
        costs: Costs {
            call: (thinned - unwatched - sample / thinning).max(0.0),
            sample,
        },
        attachment,
        calls: others as f64 / watched.max(1e-6),
        families_are_right: grown(layout.calls(SyscallFamily::Process as usize)) >= made,
        errors_are_right: grown(file_errors) >= FAILING,
    })
}

//! The agent's own use of CPU and memory.

use std::fs;

use rustix::param::{clock_ticks_per_second, page_size};

use crate::identity::stat::Stat;

/// What this process has used so far, from `/proc/self/stat`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Usage {
    /// CPU time in user mode, seconds, in steps of 10 ms.
    pub(super) user_seconds: f64,
    /// CPU time in the kernel, seconds, in steps of 10 ms; the run time of the kernel programs
    /// is not in it, as they run on the time of those they interrupt.
    pub(super) system_seconds: f64,
    /// Resident memory in bytes.
    pub(super) resident_bytes: i64,
}

impl Usage {
    /// Reads it; `None` where `/proc` is not mounted.
    pub(super) fn of_self() -> Option<Self> {
        let text = fs::read("/proc/self/stat").ok()?;
        let stat = Stat::parse(&text)?;
        let seconds = |ticks: u64| ticks as f64 / clock_ticks_per_second() as f64;
        let resident_bytes = stat.resident_pages.checked_mul(page_size() as u64)?;
        Some(Self {
            user_seconds: seconds(stat.user_ticks),
            system_seconds: seconds(stat.system_ticks),
            resident_bytes: i64::try_from(resident_bytes).ok()?,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::{Duration, Instant};

    /// Spinning shows as user time, at most as much as passed, and memory that was written shows
    /// as resident.
    #[test]
    fn grows_with_use() {
        let before = Usage::of_self().unwrap();
        let start = Instant::now();
        while start.elapsed() < Duration::from_millis(100) {
            std::hint::black_box(start);
        }
        let memory = std::hint::black_box(vec![1_u8; 64 << 20]);
        let after = Usage::of_self().unwrap();
        let used =
            after.user_seconds + after.system_seconds - before.user_seconds - before.system_seconds;
        assert!(used > 0.0, "{used}");
        assert!(after.resident_bytes - before.resident_bytes > 32 << 20);
        drop(memory);
    }
}

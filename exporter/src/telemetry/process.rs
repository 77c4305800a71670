//! The agent's own use of CPU and memory.

use procfs::{WithCurrentSystemInfo, process::Process};

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
        let stat = Process::myself().and_then(|process| process.stat()).ok()?;
        let seconds = |ticks: u64| ticks as f64 / procfs::ticks_per_second() as f64;
        Some(Self {
            user_seconds: seconds(stat.utime),
            system_seconds: seconds(stat.stime),
            resident_bytes: i64::try_from(stat.rss_bytes().get()).ok()?,
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

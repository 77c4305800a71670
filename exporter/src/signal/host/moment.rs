//! The two clocks of a reading.

use rustix::time::{ClockId, Timespec, clock_gettime};

/// When a reading was taken.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Moment {
    /// Nanoseconds since boot, suspended time included (`CLOCK_BOOTTIME`); never steps.
    pub since_boot_nanos: u64,
    /// Nanoseconds since the Unix epoch; may be stepped by an administrator or NTP.
    pub unix_nanos: u64,
}

impl Moment {
    /// Reads both clocks.
    #[must_use]
    pub fn now() -> Self {
        Self {
            since_boot_nanos: nanos(clock_gettime(ClockId::Boottime)),
            unix_nanos: nanos(clock_gettime(ClockId::Realtime)),
        }
    }

    /// When the host booted, by these clocks. Taken once: `btime` of `/proc/stat` moves with every
    /// step of the clock, and with it would move the start of all series.
    #[must_use]
    pub fn boot_unix_nanos(self) -> u64 {
        self.unix_nanos.saturating_sub(self.since_boot_nanos)
    }

    /// Nanoseconds from `earlier` to here; 0 if it is later.
    #[must_use]
    pub fn nanos_since(self, earlier: Self) -> u64 {
        self.since_boot_nanos
            .saturating_sub(earlier.since_boot_nanos)
    }
}

fn nanos(time: Timespec) -> u64 {
    let seconds = u64::try_from(time.tv_sec).unwrap_or(0);
    let nanos = u64::try_from(time.tv_nsec).unwrap_or(0);
    seconds.saturating_mul(1_000_000_000).saturating_add(nanos)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Boot lies before now, and a clock that starts in 1970 does not underflow.
    #[test]
    fn boot_is_before_now() {
        let now = Moment::now();
        assert!(now.since_boot_nanos > 0 && now.boot_unix_nanos() < now.unix_nanos);
        let unset = Moment {
            since_boot_nanos: 5_000_000_000,
            unix_nanos: 1_000_000_000,
        };
        assert_eq!(unset.boot_unix_nanos(), 0);
        assert_eq!(unset.nanos_since(now), 0);
    }
}

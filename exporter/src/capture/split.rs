//! A wait on a run queue, divided by who had the CPU.

use evenkeel_abi::{HAS_QUOTA, LEFT_THROTTLED};

use crate::{kernel::event::Wait, profile::Ahead};

/// Nanoseconds of what a sampled wait counts, in the order of `Ahead::ALL`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Split([u64; 4]);

impl Split {
    /// Divides a wait as its moments on the last queue were divided.
    ///
    /// A task that was throttled waited for its quota the whole time. Nobody having the CPU while a
    /// task is ready for it is either that, where there is a quota, or a CPU that wakes up from
    /// idle.
    pub(super) fn of(wait: &Wait<'_>) -> Self {
        let behind = &wait.behind;
        let weights = if wait.flags & LEFT_THROTTLED != 0 {
            [1, 0, 0, 0]
        } else if wait.flags & HAS_QUOTA != 0 {
            [behind.idle, behind.own, behind.other, behind.kernel]
        } else {
            [
                0,
                behind.own,
                behind.other,
                behind.kernel.saturating_add(behind.idle),
            ]
        };
        let whole: u128 = weights.iter().map(|weight| u128::from(*weight)).sum();
        if whole == 0 {
            // Nothing is known of who ran: nobody's but the scheduler's.
            return Self([0, 0, 0, wait.queued_nanos]);
        }
        let part = |weight: u64| {
            let nanos = u128::from(wait.queued_nanos) * u128::from(weight) / whole;
            u64::try_from(nanos).unwrap_or(u64::MAX)
        };
        let mut parts = weights.map(part);
        // What rounding took goes to the largest part: the sum is what the sample counts.
        let rest = wait.queued_nanos.saturating_sub(parts.iter().sum::<u64>());
        if let Some(largest) = parts.iter_mut().max() {
            *largest += rest;
        }
        Self(parts)
    }

    /// Each part with its name.
    pub(super) fn parts(&self) -> impl Iterator<Item = (Ahead, u64)> + use<> {
        Ahead::ALL.into_iter().zip(self.0)
    }

    /// The share `part / whole` of one part.
    pub(super) fn part_of(&self, ahead: Ahead, part: u64, whole: u64) -> u64 {
        let nanos = self
            .parts()
            .find_map(|(name, nanos)| (name == ahead).then_some(nanos))
            .unwrap_or(0);
        let nanos = u128::from(nanos) * u128::from(part) / u128::from(whole.max(1));
        u64::try_from(nanos).unwrap_or(u64::MAX)
    }
}

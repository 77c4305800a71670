//! A wait on a run queue, divided by who had the CPU.

use evenkeel_abi::{HAS_QUOTA, LEFT_THROTTLED};

use crate::{kernel::event::Behind, profile::Ahead};

/// Nanoseconds of what a sampled wait counts, in the order of `Ahead::ALL`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Split([u64; 4]);

impl Split {
    /// Divides a wait as its moments on the last queue were divided.
    ///
    /// A task that was throttled waited for its quota the whole time. Nobody having the CPU while a
    /// task is ready for it is either that, where it can be throttled without saying so, or a CPU that
    /// wakes up from idle.
    pub(super) fn of(queued_nanos: u64, flags: u32, behind: &Behind) -> Self {
        let weights = if flags & LEFT_THROTTLED != 0 {
            [1, 0, 0, 0]
        } else if flags & HAS_QUOTA != 0 {
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
            return Self([0, 0, 0, queued_nanos]);
        }
        let part = |weight: u64| {
            let nanos = u128::from(queued_nanos) * u128::from(weight) / whole;
            u64::try_from(nanos).unwrap_or(u64::MAX)
        };
        let mut parts = weights.map(part);
        // What rounding took goes to the largest part: the sum is what the sample counts.
        let rest = queued_nanos.saturating_sub(parts.iter().sum::<u64>());
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::identity::ProcessKey;

    fn behind(own: u64, other: u64, kernel: u64, idle: u64) -> Behind {
        let nobody = ProcessKey {
            pid: 0,
            start_time_nanos: 0,
        };
        Behind {
            own,
            other,
            kernel,
            idle,
            others: [(nobody, 0); evenkeel_abi::NEIGHBOURS],
        }
    }

    fn parts(queued_nanos: u64, flags: u32, behind: &Behind) -> Vec<u64> {
        let split = Split::of(queued_nanos, flags, behind);
        split.parts().map(|(_, nanos)| nanos).collect()
    }

    /// A sample counts as its moments were divided, whatever it counts; nothing is lost in rounding.
    #[test]
    fn parts_are_in_proportion() {
        assert_eq!(parts(100, 0, &behind(1, 2, 1, 0)), [0, 25, 50, 25]);
        assert_eq!(parts(100, 0, &behind(1, 1, 1, 0)).iter().sum::<u64>(), 100);
        assert_eq!(parts(u64::MAX, 0, &behind(0, u64::MAX, 0, 0))[2], u64::MAX);
        let split = Split::of(100, 0, &behind(1, 2, 1, 0));
        assert_eq!(split.part_of(Ahead::Other, 1, 2), 25);
    }

    /// A throttled task waited for its quota; an idle CPU means that only where it could not be seen.
    #[test]
    fn quotas() {
        let while_others_ran = behind(0, 5, 5, 0);
        assert_eq!(parts(10, LEFT_THROTTLED, &while_others_ran), [10, 0, 0, 0]);
        assert_eq!(parts(10, HAS_QUOTA, &behind(0, 2, 0, 8)), [8, 0, 2, 0]);
        assert_eq!(parts(10, 0, &behind(0, 2, 0, 8)), [0, 0, 2, 8]);
        assert_eq!(parts(10, 0, &behind(0, 0, 0, 0)), [0, 0, 0, 10]);
    }
}

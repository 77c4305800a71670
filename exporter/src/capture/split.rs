//! A wait on a run queue, divided by who had the CPU.

use evenkeel_abi::HAS_QUOTA;

use crate::{kernel::event::Behind, profile::Ahead};

/// Nanoseconds of what a sampled wait counts, in the order of `Ahead::ALL`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Split([u64; 4]);

/// `number * part / whole`, and all of it where there is no whole.
fn share(number: u64, part: u64, whole: u64) -> u64 {
    let nanos = u128::from(number) * u128::from(part.min(whole)) / u128::from(whole.max(1));
    u64::try_from(nanos).unwrap_or(u64::MAX)
}

impl Split {
    /// Divides what a wait counts as the wait itself was divided: what a quota held back, and the rest by
    /// who had the CPU as long as that is remembered.
    ///
    /// Nobody having it while a task is ready for it is a quota too, where a task can be throttled without
    /// saying so, or a CPU that wakes up from idle.
    pub(super) fn of(queued_nanos: u64, flags: u32, behind: &Behind) -> Self {
        let throttled = share(queued_nanos, behind.throttled, behind.queued);
        let free = queued_nanos - throttled;
        let weights = if flags & HAS_QUOTA != 0 {
            [behind.idle, behind.own, behind.other, behind.kernel]
        } else {
            let kernel = behind.kernel.saturating_add(behind.idle);
            [0, behind.own, behind.other, kernel]
        };
        let whole = weights.into_iter().fold(0, u64::saturating_add);
        let mut parts = weights.map(|weight| share(free, weight, whole));
        // What rounding took goes to the largest part: the sum is what the sample counts. Where nothing is
        // known of who ran, it was nobody's but the scheduler's.
        let rest = free.saturating_sub(parts.iter().sum());
        let largest = if whole == 0 {
            parts.last_mut()
        } else {
            parts.iter_mut().max()
        };
        if let Some(largest) = largest {
            *largest += rest;
        }
        parts[0] += throttled;
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
            .find_map(|(name, nanos)| (name == ahead).then_some(nanos));
        share(nanos.unwrap_or(0), part, whole)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::identity::ProcessKey;

    /// A wait of which `throttled` was held back, and then so long each behind its own, others, the kernel
    /// and nobody.
    fn behind(throttled: u64, [own, other, kernel, idle]: [u64; 4]) -> Behind {
        let nobody = ProcessKey {
            pid: 0,
            start_time_nanos: 0,
        };
        Behind {
            queued: throttled + own + other + kernel + idle,
            throttled,
            own,
            other,
            kernel,
            idle,
            others: [(nobody, 0); evenkeel_abi::NEIGHBOURS],
        }
    }

    fn parts(queued_nanos: u64, flags: u32, behind: &Behind) -> [u64; 4] {
        Split::of(queued_nanos, flags, behind).0
    }

    /// A sample counts as its moments were divided, whatever it counts; nothing is lost in rounding.
    #[test]
    fn parts_are_in_proportion() {
        assert_eq!(parts(100, 0, &behind(0, [1, 2, 1, 0])), [0, 25, 50, 25]);
        assert_eq!(
            parts(100, 0, &behind(0, [1, 1, 1, 0])).iter().sum::<u64>(),
            100
        );
        let long = behind(0, [0, u64::MAX, 0, 0]);
        assert_eq!(parts(u64::MAX, 0, &long), [0, 0, u64::MAX, 0]);
        let split = Split::of(100, 0, &behind(0, [1, 2, 1, 0]));
        assert_eq!(split.part_of(Ahead::Other, 1, 2), 25);
    }

    /// A throttled task waited for its quota first, and then behind others; of those only the last are
    /// remembered.
    #[test]
    fn held_back_and_then_behind_others() {
        assert_eq!(parts(100, 0, &behind(10, [0, 0, 0, 0])), [100, 0, 0, 0]);
        assert_eq!(parts(100, 0, &behind(6, [1, 3, 0, 0])), [60, 10, 30, 0]);
        let half_forgotten = Behind {
            queued: 20,
            ..behind(10, [0, 5, 0, 0])
        };
        assert_eq!(parts(100, 0, &half_forgotten), [50, 0, 50, 0]);
    }

    /// An idle CPU means a quota only where that could not be seen.
    #[test]
    fn idle_is_the_kernels_or_a_quota() {
        assert_eq!(parts(10, HAS_QUOTA, &behind(0, [0, 2, 0, 8])), [8, 0, 2, 0]);
        assert_eq!(parts(10, 0, &behind(0, [0, 2, 0, 8])), [0, 0, 2, 8]);
        assert_eq!(parts(10, 0, &behind(0, [0, 0, 0, 0])), [0, 0, 0, 10]);
    }
}

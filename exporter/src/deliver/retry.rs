//! When to try again.

use std::{
    hash::{BuildHasher, RandomState},
    time::Duration,
};

/// Waits between tries: exponential, with jitter, or what the server asks for if that is longer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct RetryPolicy {
    /// The first wait, before jitter.
    pub initial: Duration,
    /// The longest wait of our own choice, before jitter.
    pub maximum: Duration,
    /// The longest wait that a server may ask for.
    pub server_maximum: Duration,
}

impl Default for RetryPolicy {
    /// 1 s to 30 s. A server is obeyed up to 5 minutes: the default queue bridges 32 windows of
    /// 10 s, so a longer wait could only lose windows.
    fn default() -> Self {
        Self {
            initial: Duration::from_secs(1),
            maximum: Duration::from_secs(30),
            server_maximum: Duration::from_secs(300),
        }
    }
}

/// The state of one destination's retries.
#[derive(Debug)]
pub(crate) struct Backoff {
    policy: RetryPolicy,
    failures: u32,
    random: u64,
}

impl Backoff {
    pub(crate) fn new(policy: RetryPolicy) -> Self {
        // Agents of one cluster fail together; seeds that differ keep them from returning
        // together. `RandomState` is the standard library's own source of such seeds.
        Self::with_seed(policy, RandomState::new().hash_one(0))
    }

    fn with_seed(policy: RetryPolicy, seed: u64) -> Self {
        Self {
            policy,
            failures: 0,
            random: seed | 1,
        }
    }

    /// The server answered: the next failure is a first one.
    pub(super) fn reset(&mut self) {
        self.failures = 0;
    }

    /// The wait after one more failure: half to all of `initial * 2^failures`, at most `maximum`,
    /// or longer if the server asks for it, at most `server_maximum`.
    pub(crate) fn next(&mut self, server: Option<Duration>) -> Duration {
        let factor = 1_u32.checked_shl(self.failures).unwrap_or(u32::MAX);
        self.failures = self.failures.saturating_add(1).min(31);
        let whole = self
            .policy
            .initial
            .saturating_mul(factor)
            .min(self.policy.maximum);
        let own = whole.mul_f64(0.5 + 0.5 * self.fraction());
        own.max(server.unwrap_or_default().min(self.policy.server_maximum))
    }

    /// A number in `[0, 1)`, from xorshift64 (Marsaglia 2003): jitter needs no better.
    fn fraction(&mut self) -> f64 {
        self.random ^= self.random << 13;
        self.random ^= self.random >> 7;
        self.random ^= self.random << 17;
        f64::from((self.random >> 32) as u32) / (f64::from(u32::MAX) + 1.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Each wait is within half to all of its doubling step, and never over the maximum.
    #[test]
    fn grows_to_the_maximum() {
        for seed in 0..100 {
            let mut backoff = Backoff::with_seed(RetryPolicy::default(), seed);
            for step in [1, 2, 4, 8, 16, 30, 30, 30] {
                let wait = backoff.next(None).as_secs_f64();
                assert!((0.5 * f64::from(step)..=f64::from(step)).contains(&wait));
            }
            for _ in 0..100 {
                assert!(backoff.next(None) <= Duration::from_secs(30));
            }
            backoff.reset();
            assert!(backoff.next(None) <= Duration::from_secs(1));
        }
    }

    /// Two agents that fail together do not return together.
    #[test]
    fn jitter_differs() {
        let wait = |seed| Backoff::with_seed(RetryPolicy::default(), seed).next(None);
        let distinct: std::collections::HashSet<_> = (0..100_u64)
            .map(|seed| wait(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15)))
            .collect();
        assert!(distinct.len() > 40, "{}", distinct.len());
    }

    /// The server's delay is a lower bound, up to the cap.
    #[test]
    fn server_delay() {
        let mut backoff = Backoff::with_seed(RetryPolicy::default(), 7);
        assert_eq!(
            backoff.next(Some(Duration::from_secs(60))),
            Duration::from_secs(60)
        );
        assert_eq!(backoff.next(Some(Duration::MAX)), Duration::from_secs(300));
        assert!(backoff.next(Some(Duration::ZERO)) >= Duration::from_secs(2));
    }
}

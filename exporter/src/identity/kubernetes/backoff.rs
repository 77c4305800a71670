//! When to ask again after a failure, and which failures are worth a line in the log.

use std::{
    hash::{BuildHasher, RandomState},
    time::Duration,
};

/// Delays that double with each failure in a row.
#[derive(Clone, Copy, Debug)]
pub(super) struct Delays {
    pub(super) first: Duration,
    pub(super) longest: Duration,
}

impl Default for Delays {
    fn default() -> Self {
        Self {
            first: Duration::from_secs(1),
            longest: Duration::from_secs(60),
        }
    }
}

/// Failures in a row.
#[derive(Debug)]
pub(super) struct Backoff {
    delays: Delays,
    failures: u32,
    warned_forbidden: bool,
}

impl Backoff {
    pub(super) fn new(delays: Delays) -> Self {
        Self {
            delays,
            failures: 0,
            warned_forbidden: false,
        }
    }

    /// It works again.
    pub(super) fn reset(&mut self) {
        if self.failures > 0 {
            tracing::info!("the cluster answers again");
        }
        self.failures = 0;
        self.warned_forbidden = false;
    }

    /// How long to wait now: between half and all of the delay, so that the agents of a cluster do
    /// not all come back at once. Warns once in a row of failures, and once when rights are missing.
    pub(super) fn fail(&mut self, error: &dyn std::error::Error, forbidden: bool) -> Duration {
        if forbidden && !self.warned_forbidden {
            tracing::warn!(%error, "no right to learn of pods; what is known stays, asking again");
            self.warned_forbidden = true;
        } else if self.failures == 0 && !forbidden {
            tracing::warn!(%error, "cannot learn of pods; what is known stays, asking again");
        } else {
            tracing::debug!(%error, "cannot learn of pods");
        }
        let delay = self
            .delays
            .first
            .saturating_mul(1 << self.failures.min(16))
            .min(self.delays.longest);
        self.failures = self.failures.saturating_add(1);
        let random = (RandomState::new().hash_one(self.failures) >> 48) as u32;
        delay / 2 + (delay / 2).saturating_mul(random) / (1 << 16)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn delays_grow_to_a_bound_and_begin_anew() {
        let delays = Delays::default();
        let mut backoff = Backoff::new(delays);
        let error = std::fmt::Error;
        for failure in 0..40 {
            let most = delays.longest.min(delays.first * (1 << failure.min(10)));
            let delay = backoff.fail(&error, failure % 2 == 0);
            assert!(delay >= most / 2 && delay <= most, "{failure}: {delay:?}");
        }
        backoff.reset();
        assert!(backoff.fail(&error, false) <= delays.first);
    }

    #[derive(Clone, Default)]
    struct Log(std::sync::Arc<std::sync::Mutex<Vec<u8>>>);

    impl std::io::Write for Log {
        fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
            self.0.lock().unwrap().extend_from_slice(bytes);
            Ok(bytes.len())
        }

        fn flush(&mut self) -> std::io::Result<()> {
            Ok(())
        }
    }

    /// A row of failures gives one warning, one more when rights are missing, and one line at its end.
    #[test]
    fn warns_once() {
        let log = Log::default();
        let writer = log.clone();
        let subscriber = tracing_subscriber::fmt()
            .with_writer(move || writer.clone())
            .with_ansi(false)
            .finish();
        tracing::subscriber::with_default(subscriber, || {
            let mut backoff = Backoff::new(Delays::default());
            for _ in 0..2 {
                for failure in 0..100 {
                    backoff.fail(&std::fmt::Error, failure % 2 == 1);
                }
                backoff.reset();
                backoff.reset();
            }
        });
        let text = String::from_utf8(log.0.lock().unwrap().clone()).unwrap();
        let count = |what: &str| text.lines().filter(|line| line.contains(what)).count();
        assert_eq!(count("cannot learn of pods"), 2, "{text}");
        assert_eq!(count("no right to learn of pods"), 2, "{text}");
        assert_eq!(count("answers again"), 2, "{text}");
    }
}

//! How well the cluster answers, in figures.

use std::{
    sync::{
        Mutex, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
    time::{Duration, Instant},
};

/// Figures of a [`super::Source`] since its start.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SourceStatistics {
    /// Pods that are there now.
    pub pods: u64,
    /// Containers that are known, those of pods that are just gone included.
    pub containers: u64,
    /// Lists of all pods that were completed.
    pub lists: u64,
    /// Requests and watches that failed.
    pub errors: u64,
    /// Of these, the ones that were forbidden (401 and 403).
    pub forbidden: u64,
    /// Pods and containers that found no room, and container ids that were none.
    pub refused: u64,
    /// Time since the last good answer; absent before the first.
    pub last_success_age: Option<Duration>,
    /// The last request failed: what is known is what was last told.
    pub stale: bool,
}

/// The same, as they grow.
#[derive(Debug, Default)]
pub(super) struct Figures {
    pods: AtomicU64,
    containers: AtomicU64,
    lists: AtomicU64,
    errors: AtomicU64,
    forbidden: AtomicU64,
    refused: AtomicU64,
    answers: Mutex<Answers>,
}

#[derive(Clone, Copy, Debug, Default)]
struct Answers {
    last_success: Option<Instant>,
    failing: bool,
}

impl Figures {
    pub(super) fn hold(&self, pods: usize, containers: usize) {
        self.pods.store(pods as u64, Ordering::Relaxed);
        self.containers.store(containers as u64, Ordering::Relaxed);
    }

    pub(super) fn refuse(&self, count: u64) {
        self.refused.fetch_add(count, Ordering::Relaxed);
    }

    pub(super) fn list(&self) {
        self.lists.fetch_add(1, Ordering::Relaxed);
    }

    pub(super) fn succeed(&self) {
        let mut answers = self.answers.lock().unwrap_or_else(PoisonError::into_inner);
        *answers = Answers {
            last_success: Some(Instant::now()),
            failing: false,
        };
    }

    pub(super) fn fail(&self, forbidden: bool) {
        self.errors.fetch_add(1, Ordering::Relaxed);
        self.forbidden
            .fetch_add(u64::from(forbidden), Ordering::Relaxed);
        let mut answers = self.answers.lock().unwrap_or_else(PoisonError::into_inner);
        answers.failing = true;
    }

    pub(super) fn is_failing(&self) -> bool {
        let answers = self.answers.lock().unwrap_or_else(PoisonError::into_inner);
        answers.failing
    }

    pub(super) fn statistics(&self) -> SourceStatistics {
        let answers = *self.answers.lock().unwrap_or_else(PoisonError::into_inner);
        let load = |figure: &AtomicU64| figure.load(Ordering::Relaxed);
        SourceStatistics {
            pods: load(&self.pods),
            containers: load(&self.containers),
            lists: load(&self.lists),
            errors: load(&self.errors),
            forbidden: load(&self.forbidden),
            refused: load(&self.refused),
            last_success_age: answers.last_success.map(|success| success.elapsed()),
            stale: answers.failing,
        }
    }
}

//! The way of one signal from its queue to its destination.

use super::{
    accounts::{DropReason, SignalAccounts},
    client::{Outcome, Transport},
    measure,
    outage::{Outage, Throttle},
    queue::{Finished, Queue, QueueBounds, Settled, Try},
    retry::{Backoff, RetryPolicy},
    signal::Signal,
};
use bytes::Bytes;
use std::sync::{Mutex, MutexGuard, PoisonError};
use tokio::{
    sync::{Notify, watch},
    time::Instant,
};

/// When to stop: `None` while delivery goes on, then the deadline.
pub(super) type Stop = watch::Receiver<Option<Instant>>;

/// A queue, and what is needed to drain it.
#[derive(Debug)]
pub(super) struct Lane {
    signal: Signal,
    /// Where it goes, for log lines.
    endpoint: String,
    state: Mutex<State>,
    pushed: Notify,
}

#[derive(Debug)]
struct State {
    queue: Queue,
    drops: Throttle,
}

impl Lane {
    pub(super) fn new(signal: Signal, endpoint: String, bounds: QueueBounds) -> Self {
        Self {
            signal,
            endpoint,
            state: Mutex::new(State {
                queue: Queue::new(bounds),
                drops: Throttle::default(),
            }),
            pushed: Notify::new(),
        }
    }

    /// Takes a window; never waits for the network.
    pub(super) fn push(&self, window: u64, requests: Vec<Bytes>) {
        measure::made(self.signal);
        let finished = self.state().queue.push(window, requests);
        self.tell(&finished);
        self.pushed.notify_one();
    }

    pub(super) fn accounts(&self) -> SignalAccounts {
        self.state().queue.accounts()
    }

    /// Gives up on what is left and takes nothing more.
    pub(super) fn close(&self) {
        let finished = self.state().queue.close();
        self.tell(&finished);
    }

    /// Sends what is pushed until it is told to stop, then what is left until the deadline, and
    /// closes the queue.
    pub(super) async fn run(&self, transport: impl Transport, policy: RetryPolicy, stop: Stop) {
        let mut told = stop.clone();
        let expired = async {
            let deadline = told.wait_for(Option::is_some).await.ok().and_then(|at| *at);
            if let Some(deadline) = deadline {
                tokio::time::sleep_until(deadline).await;
            }
        };
        tokio::select! {
            () = self.drain(transport, Backoff::new(policy), stop) => {}
            () = expired => {}
        }
        self.close();
    }

    async fn drain(&self, mut transport: impl Transport, mut backoff: Backoff, mut stop: Stop) {
        let mut outage = Outage::default();
        let mut answers = Throttle::default();
        loop {
            let next = self.state().queue.next();
            let Some(Try { request, again }) = next else {
                if stop.borrow().is_some() {
                    return;
                }
                tokio::select! {
                    () = self.pushed.notified() => {}
                    _ = stop.wait_for(Option::is_some) => {}
                }
                continue;
            };
            if again {
                measure::retried(self.signal);
            }

            let began = Instant::now();
            let outcome = transport.export(request).await;
            measure::took(self.signal, began.elapsed());

            let (settled, wait) = match outcome {
                Outcome::Accepted => (Settled::Accepted { rejected: 0 }, None),
                Outcome::Partial { rejected, message } => {
                    self.warn(&mut answers, "accepted in part", rejected, &message);
                    (Settled::Accepted { rejected }, None)
                }
                Outcome::Refused { reason } => {
                    self.warn(&mut answers, "refused", 0, &reason);
                    (Settled::Refused, None)
                }
                Outcome::Retryable { reason, delay } => {
                    let wait = backoff.next(delay);
                    if let Some(held_back) = outage.failed(Instant::now()) {
                        tracing::warn!(
                            signal = self.signal.name(),
                            endpoint = %self.endpoint,
                            error = %reason,
                            retry_in_ms = wait.as_millis(),
                            failures_not_logged = held_back,
                            "Export failed and will be tried again."
                        );
                    }
                    (Settled::Again, Some(wait))
                }
            };
            if wait.is_none() {
                backoff.reset();
                if let Some(outage) = outage.answered(Instant::now()) {
                    let accounts = self.accounts();
                    tracing::info!(
                        signal = self.signal.name(),
                        endpoint = %self.endpoint,
                        outage_seconds = outage.as_secs(),
                        windows_waiting = accounts.queued + accounts.in_flight,
                        "Export works again."
                    );
                }
            }
            let finished = self.state().queue.settle(settled);
            self.tell(finished.as_slice());
            if let Some(wait) = wait {
                let stopping = stop.borrow().is_some();
                tokio::select! {
                    () = tokio::time::sleep(wait) => {}
                    // The last seconds are for trying, not for waiting.
                    _ = stop.wait_for(Option::is_some), if !stopping => backoff.reset(),
                }
            }
        }
    }

    fn warn(&self, throttle: &mut Throttle, what: &str, rejected: u64, message: &str) {
        if let Some(held_back) = throttle.admit(Instant::now()) {
            tracing::warn!(
                signal = self.signal.name(),
                endpoint = %self.endpoint,
                rejected,
                message,
                answers_not_logged = held_back,
                "Export was {what}."
            );
        }
    }

    /// Counts windows that reached their end, and says so when they were lost on this side.
    fn tell(&self, finished: &[Finished]) {
        for &window in finished {
            measure::finished(self.signal, window);
            // The server's refusals have a line of their own.
            let Some(reason) = window.lost.filter(|&reason| reason != DropReason::Refused) else {
                continue;
            };
            let admitted = self.state().drops.admit(Instant::now());
            if let Some(held_back) = admitted {
                tracing::warn!(
                    signal = self.signal.name(),
                    window = window.window,
                    reason = reason.name(),
                    windows_not_logged = held_back,
                    "A window was dropped."
                );
            }
        }
    }

    /// The data are consistent after each call, so a panic elsewhere does not spoil them.
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

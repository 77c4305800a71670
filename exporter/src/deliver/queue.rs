//! The queue of one signal: bounded, oldest out, every window accounted for.
//!
//! Plain data behind a lock that is never held across a wait; who sends and when is the lane's
//! concern.

use super::{
    accounts::{DropReason, SignalAccounts},
    signal::Signal,
};
use bytes::Bytes;
use std::collections::VecDeque;

/// One window of one signal, encoded.
#[derive(Clone, Debug)]
pub struct Export {
    /// What it is.
    pub signal: Signal,
    /// The window's sequence number, for log lines.
    pub window: u64,
    /// The requests it takes: encoded `Export...ServiceRequest` messages, not compressed. A
    /// window without requests has nothing to send and counts as sent.
    pub requests: Vec<Bytes>,
}

/// Bounds of one queue. The window that is being sent counts, too.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct QueueBounds {
    /// Encoded bytes, before compression.
    pub bytes: usize,
    /// Windows.
    pub windows: usize,
}

impl QueueBounds {
    /// 32 windows of 10 s outlast the rolling update of a Collector (5 minutes). A window of
    /// profiles is 100 to 500 kB on a busy node, so 16 MiB hold them all, and all three queues
    /// together stay under a third of the agent's 100 MiB.
    pub const fn default_for(signal: Signal) -> Self {
        match signal {
            Signal::Profiles => Self {
                bytes: 16 << 20,
                windows: 32,
            },
            Signal::Metrics => Self {
                bytes: 8 << 20,
                windows: 32,
            },
            // Cumulative: a newer export says all that an older one did, and more.
            Signal::AgentMetrics => Self {
                bytes: 1 << 20,
                windows: 4,
            },
        }
    }
}

/// A window on its way.
#[derive(Debug)]
struct Waiting {
    window: u64,
    /// What was not accepted yet.
    requests: VecDeque<Bytes>,
    bytes: usize,
    /// The request at the front was sent before.
    tried: bool,
    accepted_some: bool,
    rejected_some: bool,
    lost: Option<DropReason>,
}

/// A request to send.
#[derive(Clone, Debug)]
pub(super) struct Try {
    pub(super) request: Bytes,
    /// It was sent before.
    pub(super) again: bool,
}

/// What became of a request, as far as the queue is concerned.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Settled {
    /// Accepted, but for this many profiles or data points.
    Accepted { rejected: u64 },
    /// Lost for good.
    Refused,
    /// To be sent again.
    Again,
}

/// A window that reached its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Finished {
    pub(super) window: u64,
    /// `None`: it was sent.
    pub(super) lost: Option<DropReason>,
}

/// See the module.
#[derive(Debug)]
pub(super) struct Queue {
    bounds: QueueBounds,
    waiting: VecDeque<Waiting>,
    in_flight: Option<Waiting>,
    bytes: usize,
    closed: bool,
    accounts: SignalAccounts,
}

impl Queue {
    pub(super) fn new(bounds: QueueBounds) -> Self {
        Self {
            bounds,
            waiting: VecDeque::new(),
            in_flight: None,
            bytes: 0,
            closed: false,
            accounts: SignalAccounts::default(),
        }
    }

    /// The accounts at this instant.
    pub(super) fn accounts(&self) -> SignalAccounts {
        SignalAccounts {
            queued: self.waiting.len() as u64,
            in_flight: u64::from(self.in_flight.is_some()),
            queued_bytes: self.bytes as u64,
            ..self.accounts
        }
    }

    /// Takes a window in and returns those that reached their end by it: this one, or older ones
    /// that had to make room.
    pub(super) fn push(&mut self, window: u64, requests: Vec<Bytes>) -> Vec<Finished> {
        self.accounts.made += 1;
        let bytes = requests.iter().map(Bytes::len).sum();
        let waiting = Waiting {
            window,
            requests: requests.into(),
            bytes,
            tried: false,
            accepted_some: false,
            rejected_some: false,
            lost: None,
        };
        if self.closed {
            return vec![self.finish(waiting, Some(DropReason::Shutdown))];
        }
        if waiting.requests.is_empty() {
            return vec![self.finish(waiting, None)];
        }
        if bytes > self.bounds.bytes || self.bounds.windows == 0 {
            return vec![self.finish(waiting, Some(DropReason::TooLarge))];
        }
        let mut finished = Vec::new();
        while !self.has_room(bytes) {
            let oldest = match self.waiting.pop_front() {
                Some(oldest) => {
                    self.bytes -= oldest.bytes;
                    oldest
                }
                // Only the window that is being sent is left, and it stays.
                None => {
                    finished.push(self.finish(waiting, Some(DropReason::QueueFull)));
                    return finished;
                }
            };
            finished.push(self.finish(oldest, Some(DropReason::QueueFull)));
        }
        self.bytes += bytes;
        self.waiting.push_back(waiting);
        finished
    }

    fn has_room(&self, bytes: usize) -> bool {
        let windows = self.waiting.len() + usize::from(self.in_flight.is_some());
        windows < self.bounds.windows && self.bytes + bytes <= self.bounds.bytes
    }

    /// The request to send next; its window is in flight until the request is settled.
    pub(super) fn next(&mut self) -> Option<Try> {
        if self.in_flight.is_none() {
            self.in_flight = self.waiting.pop_front();
        }
        let waiting = self.in_flight.as_mut()?;
        let request = waiting.requests.front()?.clone();
        let again = std::mem::replace(&mut waiting.tried, true);
        self.accounts.retries += u64::from(again);
        Some(Try { request, again })
    }

    /// Settles the request that [`Queue::next`] gave; returns its window if that was its last.
    pub(super) fn settle(&mut self, settled: Settled) -> Option<Finished> {
        let mut waiting = self.in_flight.take()?;
        if settled == Settled::Again {
            self.waiting.push_front(waiting);
            return None;
        }
        let bytes = waiting
            .requests
            .pop_front()
            .map_or(0, |request| request.len());
        waiting.bytes -= bytes;
        waiting.tried = false;
        self.bytes -= bytes;
        match settled {
            Settled::Accepted { rejected } => {
                waiting.accepted_some = true;
                waiting.rejected_some |= rejected > 0;
                self.accounts.rejected_items += rejected;
                self.accounts.requests_sent += 1;
                self.accounts.bytes_sent += bytes as u64;
            }
            Settled::Refused => waiting.lost = Some(DropReason::Refused),
            Settled::Again => {}
        }
        if waiting.requests.is_empty() {
            let lost = waiting.lost;
            Some(self.finish(waiting, lost))
        } else {
            self.in_flight = Some(waiting);
            None
        }
    }

    /// Gives up on everything and takes nothing more.
    pub(super) fn close(&mut self) -> Vec<Finished> {
        self.closed = true;
        let left: Vec<_> = self
            .in_flight
            .take()
            .into_iter()
            .chain(self.waiting.drain(..))
            .collect();
        self.bytes = 0;
        left.into_iter()
            .map(|waiting| {
                let reason = waiting.lost.unwrap_or(DropReason::Shutdown);
                self.finish(waiting, Some(reason))
            })
            .collect()
    }

    fn finish(&mut self, waiting: Waiting, lost: Option<DropReason>) -> Finished {
        // The reason of the first request that was lost holds.
        let lost = waiting.lost.or(lost);
        match lost {
            None => {
                self.accounts.sent += 1;
                self.accounts.partially_rejected += u64::from(waiting.rejected_some);
            }
            Some(reason) => {
                self.accounts.drop_one(reason);
                self.accounts.partially_sent += u64::from(waiting.accepted_some);
            }
        }
        Finished {
            window: waiting.window,
            lost,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn requests(sizes: &[usize]) -> Vec<Bytes> {
        sizes
            .iter()
            .map(|&size| Bytes::from(vec![0; size]))
            .collect()
    }

    fn queue(bytes: usize, windows: usize) -> Queue {
        Queue::new(QueueBounds { bytes, windows })
    }

    const ACCEPTED: Settled = Settled::Accepted { rejected: 0 };

    /// Both bounds hold after every push, the oldest goes first, and the accounts balance.
    #[test]
    fn oldest_out() {
        let mut queue = queue(100, 3);
        for window in 0..5 {
            let finished = queue.push(window, requests(&[10]));
            let expected: Vec<_> = window.checked_sub(3).into_iter().collect();
            assert_eq!(
                finished.iter().map(|f| f.window).collect::<Vec<_>>(),
                expected
            );
        }
        // 30 bytes wait; 95 more leave no room for any of them.
        assert_eq!(queue.push(5, requests(&[45, 50])).len(), 3);
        let accounts = queue.accounts();
        assert!(accounts.balanced());
        assert_eq!(accounts.dropped(DropReason::QueueFull), 5);
        assert_eq!((accounts.queued, accounts.queued_bytes), (1, 95));
    }

    /// A window that can never fit is dropped at once and evicts nothing.
    #[test]
    fn too_large() {
        let mut queue = queue(100, 3);
        queue.push(0, requests(&[60]));
        let finished = queue.push(1, requests(&[60, 60]));
        assert_eq!(
            finished,
            [Finished {
                window: 1,
                lost: Some(DropReason::TooLarge)
            }]
        );
        assert_eq!(queue.accounts().queued, 1);
    }

    /// The window on the wire counts against the bounds and is not evicted.
    #[test]
    fn in_flight_stays() {
        let mut queue = queue(100, 2);
        queue.push(0, requests(&[60]));
        assert!(queue.next().is_some());
        queue.push(1, requests(&[20]));
        assert_eq!(queue.push(2, requests(&[20]))[0].window, 1);
        assert_eq!(
            queue.push(3, requests(&[50])).last(),
            Some(&Finished {
                window: 3,
                lost: Some(DropReason::QueueFull)
            })
        );
        assert!(queue.accounts().balanced());
        assert_eq!(
            queue.settle(ACCEPTED),
            Some(Finished {
                window: 0,
                lost: None
            })
        );
    }

    /// Only what was not accepted is sent again, and only tries beyond the first are retries.
    #[test]
    fn resends_the_rest() {
        let mut queue = queue(100, 2);
        queue.push(0, requests(&[1, 2, 3]));
        assert_eq!(queue.next().unwrap().request.len(), 1);
        assert_eq!(queue.settle(ACCEPTED), None);
        assert_eq!(queue.next().unwrap().request.len(), 2);
        assert_eq!(queue.settle(Settled::Again), None);
        assert_eq!(queue.next().unwrap().request.len(), 2);
        assert_eq!(queue.settle(Settled::Accepted { rejected: 7 }), None);
        assert_eq!(queue.next().unwrap().request.len(), 3);
        assert!(queue.settle(ACCEPTED).is_some());
        let accounts = queue.accounts();
        assert_eq!(
            (accounts.sent, accounts.retries, accounts.requests_sent),
            (1, 1, 3)
        );
        assert_eq!(
            (accounts.partially_rejected, accounts.rejected_items),
            (1, 7)
        );
        assert_eq!((accounts.bytes_sent, accounts.queued_bytes), (6, 0));
    }

    /// A refused request costs its window, and the window's other requests are still sent.
    #[test]
    fn refused() {
        let mut queue = queue(100, 2);
        queue.push(0, requests(&[1, 2]));
        queue.next();
        assert_eq!(queue.settle(Settled::Refused), None);
        queue.next();
        assert_eq!(
            queue.settle(ACCEPTED),
            Some(Finished {
                window: 0,
                lost: Some(DropReason::Refused)
            })
        );
        let accounts = queue.accounts();
        assert!(accounts.balanced());
        assert_eq!(
            (
                accounts.dropped(DropReason::Refused),
                accounts.partially_sent
            ),
            (1, 1)
        );
    }

    /// Closing gives up on all, what comes later included, and keeps the balance.
    #[test]
    fn closed() {
        let mut queue = queue(100, 5);
        queue.push(0, requests(&[1]));
        queue.push(1, requests(&[1]));
        queue.push(2, Vec::new());
        queue.next();
        assert_eq!(queue.close().len(), 2);
        queue.push(3, requests(&[1]));
        assert_eq!(queue.settle(ACCEPTED), None);
        let accounts = queue.accounts();
        assert!(accounts.balanced());
        assert_eq!(
            (accounts.sent, accounts.dropped(DropReason::Shutdown)),
            (1, 3)
        );
        assert_eq!(accounts.queued_bytes, 0);
    }
}

//! What became of every window.

use super::signal::Signal;

/// Why a window was dropped. A window of several requests is dropped as a whole in these
/// accounts as soon as one of them is lost, for the reason of the first that was.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum DropReason {
    /// The queue was full and this was the oldest window that was not being sent.
    QueueFull,
    /// The window alone is larger than the queue may be.
    TooLarge,
    /// The server refused it for good.
    Refused,
    /// It was still waiting when delivery stopped, or came after.
    Shutdown,
}

impl DropReason {
    /// Every reason, in the order of [`DropReason::index`].
    pub const ALL: [Self; 4] = [
        Self::QueueFull,
        Self::TooLarge,
        Self::Refused,
        Self::Shutdown,
    ];

    const fn index(self) -> usize {
        match self {
            Self::QueueFull => 0,
            Self::TooLarge => 1,
            Self::Refused => 2,
            Self::Shutdown => 3,
        }
    }

    /// The name used in log lines and as an attribute value.
    pub const fn name(self) -> &'static str {
        match self {
            Self::QueueFull => "queue_full",
            Self::TooLarge => "too_large",
            Self::Refused => "refused",
            Self::Shutdown => "shutdown",
        }
    }
}

/// The accounts of one signal since the start. Units are windows unless said otherwise.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct SignalAccounts {
    /// Windows pushed.
    pub made: u64,
    /// Windows of which every request was accepted.
    pub sent: u64,
    /// Windows waiting.
    pub queued: u64,
    /// Windows being sent: 0 or 1.
    pub in_flight: u64,
    pub(super) dropped: [u64; DropReason::ALL.len()],
    /// Sent windows of which the server rejected a part; among `sent`.
    pub partially_rejected: u64,
    /// Dropped windows of which some requests were accepted; among the dropped.
    pub partially_sent: u64,
    /// Profiles or data points that the server rejected.
    pub rejected_items: u64,
    /// Tries beyond the first of a request.
    pub retries: u64,
    /// Requests accepted.
    pub requests_sent: u64,
    /// Bytes of the accepted requests, before compression.
    pub bytes_sent: u64,
    /// Bytes waiting or being sent, before compression.
    pub queued_bytes: u64,
}

impl SignalAccounts {
    /// Windows dropped for one reason.
    pub fn dropped(&self, reason: DropReason) -> u64 {
        self.dropped[reason.index()]
    }

    /// Windows dropped for any reason.
    pub fn dropped_in_all(&self) -> u64 {
        self.dropped.iter().sum()
    }

    /// True when every window is accounted for; anything else is a bug.
    pub fn balanced(&self) -> bool {
        self.made == self.sent + self.dropped_in_all() + self.queued + self.in_flight
    }

    pub(super) fn drop_one(&mut self, reason: DropReason) {
        self.dropped[reason.index()] += 1;
    }
}

/// The accounts of every signal, each taken in one instant.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Accounts {
    pub(super) signals: [SignalAccounts; Signal::ALL.len()],
}

impl Accounts {
    /// The accounts of one signal.
    pub fn signal(&self, signal: Signal) -> &SignalAccounts {
        &self.signals[signal.index()]
    }

    /// True when every window of every signal is accounted for.
    pub fn balanced(&self) -> bool {
        self.signals.iter().all(SignalAccounts::balanced)
    }
}

//! Delivery of encoded windows over OTLP: settings, clients, queues, retries, accounts.
//!
//! A window is pushed as requests that are already encoded ([`Export`]) and never blocks the
//! thread that pushes it. Each signal has a queue that is bounded in bytes and in windows; when a
//! bound is met the oldest window goes. What becomes of each window is counted, and the counts
//! add up at every instant ([`SignalAccounts::balanced`]).
//!
//! ```no_run
//! use evenkeel::deliver::{Delivery, Export, Options, Settings, Signal};
//! use std::time::Duration;
//!
//! # fn encode() -> Vec<bytes::Bytes> { Vec::new() }
//! let settings = Settings::from_environment().map_err(|errors| {
//!     errors.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n")
//! })?;
//! let delivery = Delivery::start(&settings, Options::default())?;
//! delivery.push(Export { signal: Signal::Profiles, window: 1, requests: encode() });
//! let accounts = delivery.stop(Duration::from_secs(5));
//! assert!(accounts.balanced());
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod accounts;
mod client;
mod delivery;
mod lane;
mod measure;
mod outage;
mod queue;
mod retry;
mod settings;
mod signal;

#[cfg(test)]
mod tests;

pub(crate) use self::retry::Backoff;
pub use self::{
    accounts::{Accounts, DropReason, SignalAccounts},
    delivery::{Delivery, Options, Outbox, StartError},
    queue::{Export, QueueBounds},
    retry::RetryPolicy,
    settings::{Compression, Destination, HistogramAggregation, Protocol, SettingError, Settings},
    signal::Signal,
};

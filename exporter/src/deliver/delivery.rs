//! Delivery as a whole: its thread, its start and its stop.

use super::{
    accounts::Accounts,
    client::Client,
    lane::{Lane, Stop},
    queue::{Export, QueueBounds},
    retry::RetryPolicy,
    settings::Settings,
    signal::Signal,
};
use crossbeam_channel::{Receiver, RecvTimeoutError};
use std::{
    io,
    sync::Arc,
    thread::{self, JoinHandle},
    time::Duration,
};
use tokio::{sync::watch, time::Instant};

/// How much longer than the deadline a stop may take, for the thread to end.
const GRACE: Duration = Duration::from_secs(1);

/// A stop waits no longer than this, whatever the caller says.
const LONGEST_STOP: Duration = Duration::from_secs(3600);

/// Bounds and waits; the defaults are meant for use.
#[derive(Clone, Copy, Debug)]
pub struct Options {
    /// When to try again.
    pub retry: RetryPolicy,
    bounds: [QueueBounds; Signal::ALL.len()],
}

impl Default for Options {
    fn default() -> Self {
        Self {
            retry: RetryPolicy::default(),
            bounds: Signal::ALL.map(QueueBounds::default_for),
        }
    }
}

impl Options {
    /// Bounds one signal's queue otherwise than by default.
    #[must_use]
    pub fn with_bounds(mut self, signal: Signal, bounds: QueueBounds) -> Self {
        self.bounds[signal.index()] = bounds;
        self
    }
}

/// Why delivery could not start.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// No thread, or no event loop in it.
    #[error("cannot start the delivery thread: {0}")]
    Thread(#[from] io::Error),
    /// TLS could not be set up.
    #[error("cannot set up TLS for {}: {source}", signal.name())]
    Tls {
        /// What was to be sent.
        signal: Signal,
        /// The TLS library's words.
        source: rustls::Error,
    },
}

/// The end into which windows are put; clones share the queues.
#[derive(Clone, Debug)]
pub struct Outbox {
    lanes: Arc<[Lane; Signal::ALL.len()]>,
}

impl Outbox {
    /// Takes a window. Returns at once; a full queue drops its oldest window, and after the stop
    /// the window itself is dropped; both are counted.
    pub fn push(&self, export: Export) {
        let Export {
            signal,
            window,
            requests,
        } = export;
        self.lanes[signal.index()].push(window, requests);
    }

    /// The accounts at this instant.
    pub fn accounts(&self) -> Accounts {
        Accounts {
            signals: Signal::ALL.map(|signal| self.lanes[signal.index()].accounts()),
        }
    }

    fn close(&self) {
        self.lanes.iter().for_each(Lane::close);
    }
}

/// Delivery: one thread that sends what is pushed. Dropping it stops it without a flush.
#[derive(Debug)]
pub struct Delivery {
    outbox: Outbox,
    stop: watch::Sender<Option<Instant>>,
    ended: Receiver<()>,
    thread: Option<JoinHandle<()>>,
}

impl Delivery {
    /// Starts the thread; connections are made when there is something to send.
    ///
    /// [`Settings::disabled`] is the caller's to obey.
    ///
    /// # Errors
    /// When the thread or TLS cannot be set up.
    pub fn start(settings: &Settings, options: Options) -> Result<Self, StartError> {
        let mut clients = Vec::with_capacity(Signal::ALL.len());
        for signal in Signal::ALL {
            let client = Client::new(signal, settings.destination(signal).clone())
                .map_err(|source| StartError::Tls { signal, source })?;
            clients.push(client);
        }
        let lanes = Signal::ALL.map(|signal| {
            let endpoint = settings.destination(signal).endpoint.to_string();
            Lane::new(signal, endpoint, options.bounds[signal.index()])
        });
        let outbox = Outbox {
            lanes: Arc::new(lanes),
        };
        let (stop, told) = watch::channel(None);
        let (end, ended) = crossbeam_channel::bounded(1);
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()?;
        let lanes = Arc::clone(&outbox.lanes);
        let thread = thread::Builder::new()
            .name("deliver".to_owned())
            .spawn(move || {
                runtime.block_on(run_all(lanes, clients, options.retry, told));
                // A name look-up may still hang in a thread of its own; it is not waited for.
                runtime.shutdown_background();
                // The receiver is gone when the stop did not wait.
                let _gone = end.send(());
            })?;
        Ok(Self {
            outbox,
            stop,
            ended,
            thread: Some(thread),
        })
    }

    /// See [`Outbox::push`].
    pub fn push(&self, export: Export) {
        self.outbox.push(export);
    }

    /// See [`Outbox::accounts`].
    pub fn accounts(&self) -> Accounts {
        self.outbox.accounts()
    }

    /// A handle for other threads to push by.
    pub fn outbox(&self) -> Outbox {
        self.outbox.clone()
    }

    /// Sends what is left, no longer than `deadline`, and ends the thread. What could not be sent
    /// is counted as dropped, so nothing waits any more in the accounts that come back.
    pub fn stop(mut self, deadline: Duration) -> Accounts {
        self.end(deadline);
        self.accounts()
    }

    fn end(&mut self, deadline: Duration) {
        let Some(thread) = self.thread.take() else {
            return;
        };
        let deadline = deadline.min(LONGEST_STOP);
        self.stop.send_replace(Some(Instant::now() + deadline));
        match self.ended.recv_timeout(deadline + GRACE) {
            Err(RecvTimeoutError::Timeout) => {
                tracing::warn!("The delivery thread did not end in time.");
            }
            Ok(()) | Err(RecvTimeoutError::Disconnected) => {
                if thread.join().is_err() {
                    tracing::error!("The delivery thread panicked.");
                }
            }
        }
        self.outbox.close();
    }
}

impl Drop for Delivery {
    fn drop(&mut self) {
        self.end(Duration::ZERO);
    }
}

/// Runs every lane until all have stopped.
async fn run_all(
    lanes: Arc<[Lane; Signal::ALL.len()]>,
    clients: Vec<Client>,
    retry: RetryPolicy,
    stop: Stop,
) {
    let mut running = tokio::task::JoinSet::new();
    for (signal, client) in Signal::ALL.into_iter().zip(clients) {
        let lanes = Arc::clone(&lanes);
        let stop = stop.clone();
        running.spawn(async move { lanes[signal.index()].run(client, retry, stop).await });
    }
    while running.join_next().await.is_some() {}
}

//! The thread that asks until it is answered.

use std::{
    io, thread,
    thread::JoinHandle,
    time::{Duration, Instant},
};

use crossbeam_channel::{Receiver, Sender, bounded};
use tokio::sync::oneshot;

use super::{
    client::{Client, MetadataError},
    identify,
    provider::Provider,
    settings::{Choice, CloudSettings},
    signs,
};
use crate::{
    deliver::{Backoff, RetryPolicy},
    identity::{attributes::SourcedAttributes, roots::Roots},
};

/// All requests of one try; Google's eight take 10 ms.
const TRY_TIMEOUT: Duration = Duration::from_secs(5);

/// A service that does not answer within a minute of the boot seldom does later: closed to
/// containers, or turned off. So the waits grow to ten minutes.
const RETRIES: (Duration, Duration) = (Duration::from_secs(2), Duration::from_secs(600));

/// A running detection. Its thread ends with the answer, or when this is dropped.
#[derive(Debug)]
pub struct Detection {
    provider: Provider,
    answer: Receiver<SourcedAttributes>,
    /// Its end tells the thread to stop.
    stop: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl Detection {
    /// Starts the thread, if there is somebody to ask: the user's choice, or the provider that the
    /// host's files point to.
    ///
    /// # Errors
    /// When there is no thread or no event queue to be had.
    pub fn start(settings: &CloudSettings, roots: &Roots) -> io::Result<Option<Self>> {
        let (initial, maximum) = RETRIES;
        Self::start_with(settings, roots, initial, maximum)
    }

    pub(super) fn start_with(
        settings: &CloudSettings,
        roots: &Roots,
        initial: Duration,
        maximum: Duration,
    ) -> io::Result<Option<Self>> {
        let provider = match settings.choice {
            Choice::Off => return Ok(None),
            Choice::Provider(provider) => provider,
            Choice::Auto => {
                let Some((provider, file)) = signs::provider(roots) else {
                    return Ok(None);
                };
                tracing::debug!(%provider, file, "The host's files point to a cloud.");
                provider
            }
        };
        let client = Client::new(provider, settings.endpoint);
        let policy = RetryPolicy {
            initial,
            maximum,
            ..RetryPolicy::default()
        };
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_io()
            .enable_time()
            .build()?;
        let (stop, stopped) = oneshot::channel();
        let (sender, answer) = bounded(1);
        let thread = thread::Builder::new().name("cloud".into()).spawn(move || {
            runtime.block_on(async {
                tokio::select! {
                    () = ask(provider, &client, Backoff::new(policy), &sender) => {}
                    _ = stopped => {}
                }
            });
        })?;
        Ok(Some(Self {
            provider,
            answer,
            stop: Some(stop),
            thread: Some(thread),
        }))
    }

    /// Whom it asks.
    pub fn provider(&self) -> Provider {
        self.provider
    }

    /// What was told, once; `None` while nothing was.
    pub fn poll(&self) -> Option<SourcedAttributes> {
        self.answer.try_recv().ok()
    }

    /// As [`Detection::poll`], but waits until `deadline` for it.
    pub fn wait_until(&self, deadline: Instant) -> Option<SourcedAttributes> {
        self.answer.recv_deadline(deadline).ok()
    }
}

impl Drop for Detection {
    fn drop(&mut self) {
        self.stop = None;
        if let Some(thread) = self.thread.take() {
            // At most a moment: it waits for nothing but the end of `stop` beside its own doings.
            let _ = thread.join();
        }
    }
}

/// Asks until there is an answer, and gives it away. Only the first failure is worth a warning.
async fn ask(
    provider: Provider,
    client: &Client,
    mut backoff: Backoff,
    sender: &Sender<SourcedAttributes>,
) {
    let mut warned = false;
    loop {
        let answer = tokio::time::timeout(TRY_TIMEOUT, identify(provider, client)).await;
        let error = match answer.unwrap_or(Err(MetadataError::TimedOut)) {
            Ok(attributes) => {
                tracing::debug!(%provider, "The metadata service has answered.");
                // One answer in a channel of one; without a receiver nobody wants it.
                let _ = sender.try_send(attributes);
                return;
            }
            Err(error) => error,
        };
        if warned {
            tracing::debug!(%provider, %error, "The metadata service is asked again later.");
        } else {
            tracing::warn!(
                %provider,
                %error,
                "The metadata service does not tell what this host is: cloud attributes are missing until it does. --cloud off stops asking."
            );
            warned = true;
        }
        tokio::time::sleep(backoff.next(None)).await;
    }
}

//! The pods of this node by a watch of the API.

use std::{pin::pin, sync::Arc, time::Duration};

use futures_util::{Stream, StreamExt};
use k8s_openapi::api::core::v1::Pod;
use kube::{
    Api, Client,
    runtime::watcher::{self, Error, Event, watcher},
};
use tokio::time::{Instant, sleep, sleep_until};

use super::{
    backoff::{Backoff, Delays},
    client::is_forbidden,
    statistics::Figures,
    store::{MAX_PODS, Store},
};

/// Pods a page of a list, so that a page of large ones stays far below the bound of an answer.
const PAGE: u32 = 100;
/// Changes that come this close together are told at once.
const GATHER: Duration = Duration::from_millis(100);
/// How often pods that are gone are looked at.
const TIDY: Duration = Duration::from_secs(30);

/// What the watch is given.
pub(super) struct Watch {
    pub(super) client: Client,
    pub(super) node: String,
    /// How long one request to watch lasts, in seconds.
    pub(super) seconds: u32,
    pub(super) delays: Delays,
    pub(super) figures: Arc<Figures>,
}

/// What is to be done after a failure.
enum Failure {
    /// Ask again from where the watch was.
    Resume,
    /// Something was missed: list again.
    Restart,
}

impl Watch {
    /// Keeps the store as the API tells, until it is dropped.
    pub(super) async fn run(self, store: &mut Store) {
        let mut backoff = Backoff::new(self.delays);
        loop {
            let pods: Api<Pod> = Api::all(self.client.clone());
            let config = watcher::Config::default()
                .fields(&format!("spec.nodeName={}", self.node))
                .page_size(PAGE)
                .timeout(self.seconds);
            self.follow(watcher(pods, config), store, &mut backoff)
                .await;
        }
    }

    /// Follows one stream of events until it has to be begun anew.
    async fn follow(
        &self,
        events: impl Stream<Item = watcher::Result<Event<Pod>>>,
        store: &mut Store,
        backoff: &mut Backoff,
    ) {
        let mut events = pin!(events);
        let mut listed: usize = 0;
        let mut tell_at = Instant::now() + TIDY;
        loop {
            let event = tokio::select! {
                event = events.next() => event,
                () = sleep_until(tell_at) => {
                    store.publish();
                    // A watch that was resumed brings no event where nothing happens.
                    if !self.figures.is_failing() {
                        backoff.reset();
                    }
                    tell_at = Instant::now() + TIDY;
                    continue;
                }
            };
            match event {
                None => return,
                Some(Ok(event)) => {
                    if matches!(event, Event::Init) {
                        listed = 0;
                    }
                    if matches!(event, Event::InitApply(_)) {
                        listed += 1;
                        if listed > MAX_PODS {
                            // A node cannot have as many; a server that pages for ever is not followed.
                            let delay = self.fail(&EndlessList, false, backoff);
                            store.publish();
                            sleep(delay).await;
                            return;
                        }
                    }
                    if self.take(event, store) {
                        backoff.reset();
                    }
                    if store.is_changed() {
                        tell_at = tell_at.min(Instant::now() + GATHER);
                    }
                }
                Some(Err(error)) => {
                    let (failure, forbidden) = weigh(&error);
                    let delay = self.fail(&error, forbidden, backoff);
                    store.publish();
                    sleep(delay).await;
                    if matches!(failure, Failure::Restart) {
                        return;
                    }
                }
            }
        }
    }

    /// True if the event shows that list or watch work.
    fn take(&self, event: Event<Pod>, store: &mut Store) -> bool {
        match event {
            Event::Init => {
                store.begin_list();
                return false;
            }
            Event::InitApply(pod) => {
                store.apply(&pod);
                return false;
            }
            Event::InitDone => {
                store.end_list();
                self.figures.list();
            }
            Event::Apply(pod) => {
                store.apply(&pod);
            }
            Event::Delete(pod) => store.delete(&pod),
        }
        true
    }

    fn fail(
        &self,
        error: &dyn std::error::Error,
        forbidden: bool,
        backoff: &mut Backoff,
    ) -> Duration {
        self.figures.fail(forbidden);
        backoff.fail(error, forbidden)
    }
}

/// The server told of more pods than a node can have.
#[derive(Debug, thiserror::Error)]
#[error("the list of pods has no end")]
struct EndlessList;

fn weigh(error: &Error) -> (Failure, bool) {
    match error {
        Error::InitialListFailed(error) => (Failure::Resume, is_forbidden(error)),
        // Gone: the watcher itself would ask for the same version for ever.
        Error::WatchStartFailed(kube::Error::Api(status)) if status.code == 410 => {
            (Failure::Restart, false)
        }
        Error::WatchStartFailed(error) => (Failure::Resume, is_forbidden(error)),
        Error::WatchError(status) => (Failure::Restart, matches!(status.code, 401 | 403)),
        Error::WatchFailed(error) => (Failure::Restart, is_forbidden(error)),
        Error::NoResourceVersion => (Failure::Restart, false),
    }
}

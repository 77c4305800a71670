//! The pods of this node by asking its kubelet again and again.

use std::{sync::Arc, time::Duration};

use http::Request;
use k8s_openapi::api::core::v1::Pod;
use kube::{Client, core::ObjectList};
use tokio::time::{sleep, timeout};

use super::{
    backoff::{Backoff, Delays},
    client::is_forbidden,
    statistics::Figures,
    store::Store,
};

/// The kubelet answers from memory; one that takes longer is not well.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(20);

/// What the polling is given.
pub(super) struct Polling {
    pub(super) client: Client,
    pub(super) interval: Duration,
    pub(super) delays: Delays,
    pub(super) figures: Arc<Figures>,
}

/// Why an answer was not used.
#[derive(Debug, thiserror::Error)]
enum PollError {
    #[error("the kubelet did not answer in {} s", ANSWER_TIMEOUT.as_secs())]
    Timeout,
    #[error("the kubelet: {0}")]
    Request(#[from] kube::Error),
}

impl Polling {
    /// Keeps the store as the kubelet tells, until it is dropped.
    pub(super) async fn run(self, store: &mut Store) {
        let mut backoff = Backoff::new(self.delays);
        loop {
            let delay = match self.poll().await {
                Ok(pods) => {
                    backoff.reset();
                    store.begin_list();
                    for pod in &pods.items {
                        store.apply(pod);
                    }
                    store.end_list();
                    self.figures.list();
                    self.interval
                }
                Err(error) => {
                    let forbidden =
                        matches!(&error, PollError::Request(error) if is_forbidden(error));
                    self.figures.fail(forbidden);
                    backoff.fail(&error, forbidden)
                }
            };
            store.publish();
            sleep(delay).await;
        }
    }

    async fn poll(&self) -> Result<ObjectList<Pod>, PollError> {
        let request = Request::get("/pods")
            .body(Vec::new())
            .map_err(|error| PollError::Request(kube::Error::HttpError(error)))?;
        timeout(ANSWER_TIMEOUT, self.client.request(request))
            .await
            .map_err(|_| PollError::Timeout)?
            .map_err(PollError::Request)
    }
}

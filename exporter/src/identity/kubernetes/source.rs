//! The thread that learns of pods.

use std::{io, sync::Arc, thread::JoinHandle, time::Duration};

use kube::Client;
use tokio::sync::oneshot;

use super::{
    KubernetesMode, KubernetesSettings, Pods,
    client::{ClientError, client},
    cluster::ClusterFacts,
    kubelet::Polling,
    statistics::{Figures, SourceStatistics},
    store::Store,
    watch::Watch,
};
use crate::identity::SourcedAttributes;

/// Beyond the time that a request to watch lasts.
const READ_MARGIN: Duration = Duration::from_secs(10);

/// Why pods cannot be learnt of.
#[derive(Debug, thiserror::Error)]
pub enum SourceError {
    /// It was told not to.
    #[error("Kubernetes is switched off")]
    Off,
    /// A watch of all the cluster's pods would be wrong and dear.
    #[error("the name of this node is not known: set --kubernetes-node or K8S_NODE_NAME")]
    NoNode,
    /// There is no address of the kubelet.
    #[error("the address of the kubelet is not known: set EVENKEEL_KUBELET_ENDPOINT or HOST_IP")]
    NoKubelet,
    /// There is no way to ask.
    #[error(transparent)]
    Client(#[from] ClientError),
    /// The thread could not be started.
    #[error("cannot start the thread that learns of pods: {0}")]
    Thread(#[from] io::Error),
}

/// A thread that keeps [`Pods`] as the cluster tells; dropping it stops the thread. What is known
/// then stays.
#[derive(Debug)]
pub struct Source {
    figures: Arc<Figures>,
    facts: ClusterFacts,
    stop: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

enum Work {
    /// With a client of its own for what is asked of the node, so that its answers are not taken
    /// for answers about pods.
    Watch(Watch, Client),
    Polling(Polling),
}

impl Source {
    /// Starts. Nothing is waited for: an API that is out of reach is asked again.
    ///
    /// # Errors
    ///
    /// Settings that leave open whom to ask, a service account that cannot be read, and no room for
    /// a thread.
    pub fn start(settings: KubernetesSettings, pods: Pods) -> Result<Self, SourceError> {
        let figures = Arc::new(Figures::default());
        let facts = ClusterFacts::default();
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_io()
            .enable_time()
            .max_blocking_threads(2)
            .build()?;
        let timings = settings.timings;
        // The client starts a task.
        let entered = runtime.enter();
        let work = match settings.mode {
            KubernetesMode::Off => return Err(SourceError::Off),
            KubernetesMode::Auto | KubernetesMode::Api => {
                let node = settings.node.clone().ok_or(SourceError::NoNode)?;
                let watch_time = Duration::from_secs(timings.watch_seconds.into());
                let endpoint = settings.endpoint.as_ref();
                let make = |figures| client(endpoint, false, watch_time + READ_MARGIN, figures);
                let watch = Watch {
                    client: make(&figures)?,
                    node,
                    seconds: timings.watch_seconds,
                    delays: timings.delays,
                    figures: Arc::clone(&figures),
                };
                Work::Watch(watch, make(&Arc::default())?)
            }
            KubernetesMode::Kubelet => {
                let endpoint = settings.kubelet_endpoint.as_ref();
                let endpoint = endpoint.ok_or(SourceError::NoKubelet)?;
                let any = settings.kubelet_insecure;
                Work::Polling(Polling {
                    client: client(Some(endpoint), any, READ_MARGIN * 3, &figures)?,
                    interval: timings.poll,
                    delays: timings.delays,
                    figures: Arc::clone(&figures),
                })
            }
        };
        drop(entered);
        let mut store = Store::new(
            settings.allowed,
            settings.bounds,
            pods,
            Arc::clone(&figures),
        );
        let (stop, stopped) = oneshot::channel::<()>();
        let learnt = facts.clone();
        let thread = std::thread::Builder::new()
            .name("kubernetes".to_owned())
            .spawn(move || {
                runtime.block_on(async {
                    tokio::select! {
                        _ = stopped => {}
                        () = work.run(&mut store, &learnt, timings.facts) => {}
                    }
                });
                // A name that is being looked up must not hold up the end.
                runtime.shutdown_background();
            })?;
        Ok(Self {
            figures,
            facts,
            stop: Some(stop),
            thread: Some(thread),
        })
    }

    /// Figures since the start.
    pub fn statistics(&self) -> SourceStatistics {
        self.figures.statistics()
    }

    /// What the API says of the cluster and this node, as far as it is known yet: `k8s.cluster.uid`,
    /// `k8s.node.name`, `k8s.node.uid`, and `cloud.*`, `host.id` and `host.type` for where the
    /// provider's own metadata service is out of reach. Empty when the kubelet is asked.
    pub fn host_attributes(&self) -> SourcedAttributes {
        self.facts.attributes()
    }
}

impl Drop for Source {
    fn drop(&mut self) {
        drop(self.stop.take());
        if let Some(thread) = self.thread.take()
            && thread.join().is_err()
        {
            tracing::error!("the thread that learns of pods panicked");
        }
    }
}

impl Work {
    async fn run(self, store: &mut Store, facts: &ClusterFacts, facts_interval: Duration) {
        match self {
            Self::Watch(watch, client) => {
                let node = watch.node.clone();
                let learning = facts.learn(&client, &node, facts_interval);
                tokio::join!(watch.run(store), learning);
            }
            Self::Polling(polling) => polling.run(store).await,
        }
    }
}

#[cfg(test)]
#[path = "source_tests.rs"]
mod tests;

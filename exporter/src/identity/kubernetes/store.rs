//! The node's pods as they were last told, bounded, and their way to whoever asks.

use std::{
    collections::HashMap,
    sync::Arc,
    time::{Duration, Instant},
};

use k8s_openapi::api::core::v1::Pod;

use super::{
    AllowedMetadata, PodContainer, Pods,
    pod::{PodContainers, PodReader},
    statistics::Figures,
};

/// Most pods that are kept; a node has 110 by default.
pub const MAX_PODS: usize = 4096;
/// Most containers that are kept.
pub const MAX_CONTAINERS: usize = 32 << 10;

/// How long the containers of a deleted pod stay known: samples of their last moments are assigned
/// after the pod is gone. Ids of containers never come again.
const GRACE: Duration = Duration::from_secs(120);

/// Bounds of a store.
#[derive(Clone, Copy, Debug)]
pub(super) struct Bounds {
    pub(super) pods: usize,
    pub(super) containers: usize,
}

impl Default for Bounds {
    fn default() -> Self {
        Self {
            pods: MAX_PODS,
            containers: MAX_CONTAINERS,
        }
    }
}

type ContainersById = Vec<(Box<str>, Arc<PodContainer>)>;

#[derive(Debug)]
struct Known {
    containers: ContainersById,
    /// The list that told of it last.
    list: u64,
    gone: Option<Instant>,
}

/// Pods by their identity.
#[derive(Debug)]
pub(super) struct Store {
    reader: PodReader,
    bounds: Bounds,
    pods: HashMap<Box<str>, Known>,
    containers: usize,
    list: u64,
    changed: bool,
    target: Pods,
    figures: Arc<Figures>,
}

impl Store {
    pub(super) fn new(
        allowed: AllowedMetadata,
        bounds: Bounds,
        target: Pods,
        figures: Arc<Figures>,
    ) -> Self {
        Self {
            reader: PodReader::new(allowed),
            bounds,
            pods: HashMap::new(),
            containers: 0,
            list: 0,
            changed: false,
            target,
            figures,
        }
    }

    /// A list of all pods begins. What is known stays until it has ended.
    pub(super) fn begin_list(&mut self) {
        self.list += 1;
    }

    /// A list has ended: pods that it did not tell of are gone.
    pub(super) fn end_list(&mut self) {
        let (list, now) = (self.list, Instant::now());
        for known in self.pods.values_mut() {
            if known.list != list {
                known.gone.get_or_insert(now);
            }
        }
    }

    /// A pod is there, or has changed. False if it found no room.
    pub(super) fn apply(&mut self, pod: &Pod) -> bool {
        let PodContainers {
            containers,
            refused,
        } = self.reader.read(pod);
        self.figures.refuse(refused);
        let key = identity(pod);
        let before = self
            .pods
            .get(&key)
            .map_or(0, |known| known.containers.len());
        let is_full = |store: &Self| {
            (before == 0 && !store.pods.contains_key(&key) && store.pods.len() >= store.bounds.pods)
                || store.containers - before + containers.len() > store.bounds.containers
        };
        if is_full(self) {
            self.forget(|known| known.gone.is_some());
            if is_full(self) {
                self.figures.refuse(1);
                return false;
            }
        }
        let known = Known {
            containers,
            list: self.list,
            gone: None,
        };
        self.containers += known.containers.len();
        if let Some(old) = self.pods.insert(key, known) {
            self.containers -= old.containers.len();
        }
        self.changed = true;
        true
    }

    /// A pod was deleted.
    pub(super) fn delete(&mut self, pod: &Pod) {
        if let Some(known) = self.pods.get_mut(&identity(pod)) {
            known.gone.get_or_insert_with(Instant::now);
        }
    }

    /// Forgets pods that have been gone for long, and tells what has changed since the last call.
    pub(super) fn publish(&mut self) {
        self.forget(|known| known.gone.is_some_and(|gone| gone.elapsed() > GRACE));
        let live = self.pods.values().filter(|known| known.gone.is_none());
        self.figures.hold(live.count(), self.containers);
        if !self.changed {
            return;
        }
        self.changed = false;
        let all = self.pods.values().flat_map(|known| known.containers.iter());
        let mut containers = HashMap::with_capacity(self.containers);
        containers.extend(all.map(|(id, container)| (id.clone(), Arc::clone(container))));
        self.target.set(containers);
    }

    /// Something waits for [`Self::publish`].
    pub(super) fn is_changed(&self) -> bool {
        self.changed
    }

    fn forget(&mut self, which: impl Fn(&Known) -> bool) {
        let containers = &mut self.containers;
        let before = self.pods.len();
        self.pods.retain(|_, known| {
            let keep = !which(known);
            if !keep {
                *containers -= known.containers.len();
            }
            keep
        });
        self.changed |= self.pods.len() != before;
    }
}

/// The uid tells a pod from its successor of the same name.
fn identity(pod: &Pod) -> Box<str> {
    let metadata = &pod.metadata;
    match &metadata.uid {
        Some(uid) => uid.as_str().into(),
        None => {
            let namespace = metadata.namespace.as_deref().unwrap_or_default();
            format!(
                "{namespace}/{}",
                metadata.name.as_deref().unwrap_or_default()
            )
            .into()
        }
    }
}

#[cfg(test)]
#[path = "store_tests.rs"]
mod tests;

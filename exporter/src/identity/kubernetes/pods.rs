//! The node's containers as the cluster describes them, shared between whoever learns of pods and
//! whoever asks.

use std::{
    collections::HashMap,
    sync::{Arc, PoisonError, RwLock},
};

use crate::identity::service::ServiceName;

/// What the cluster says of one container.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct PodContainer {
    /// `k8s.*`, `container.*` and `service.*` attributes but for `service.name`: sorted by key, keys
    /// unique.
    pub attributes: Arc<[(Arc<str>, Arc<str>)]>,
    /// `service.name` by the rule of the semantic conventions, and where it comes from.
    pub service_name: ServiceName,
}

/// Containers of the node's pods by their ids; clones share them.
#[derive(Clone, Debug, Default)]
pub struct Pods {
    shared: Arc<RwLock<Shared>>,
}

#[derive(Debug, Default)]
struct Shared {
    revision: u64,
    containers: HashMap<Box<str>, Arc<PodContainer>>,
}

impl Pods {
    /// The container with this `container.id`, once the cluster has told of it.
    pub fn container(&self, id: &str) -> Option<Arc<PodContainer>> {
        let shared = self.shared.read().unwrap_or_else(PoisonError::into_inner);
        shared.containers.get(id).map(Arc::clone)
    }

    /// Grows whenever what [`Self::container`] answers may have changed.
    pub fn revision(&self) -> u64 {
        let shared = self.shared.read().unwrap_or_else(PoisonError::into_inner);
        shared.revision
    }

    /// Replaces what is known of all containers.
    pub fn set(&self, containers: HashMap<Box<str>, Arc<PodContainer>>) {
        let mut shared = self.shared.write().unwrap_or_else(PoisonError::into_inner);
        shared.containers = containers;
        shared.revision += 1;
    }
}

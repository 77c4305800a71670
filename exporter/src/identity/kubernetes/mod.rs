//! What the cluster says of the node's pods: from the Kubernetes API to attributes of containers.

mod controller;
mod image;
mod pod;
mod pods;
mod rule;

pub use self::{
    pod::{AllowedMetadata, MAX_CONTAINERS_OF_POD},
    pods::{PodContainer, Pods},
    rule::KubernetesRule,
};

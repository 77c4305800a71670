//! What the cluster says of the node's pods: from the Kubernetes API to attributes of containers.

mod backoff;
mod client;
mod cluster;
mod controller;
#[cfg(test)]
mod fake_api;
mod image;
mod kubelet;
mod pod;
mod pods;
mod rule;
mod settings;
mod source;
mod statistics;
mod store;
mod watch;

pub use self::{
    client::ClientError,
    pod::{AllowedMetadata, MAX_CONTAINERS_OF_POD},
    pods::{PodContainer, Pods},
    rule::KubernetesRule,
    settings::{
        KUBELET_ENDPOINT_VARIABLE, KUBELET_INSECURE_VARIABLE, KUBERNETES_ENDPOINT_VARIABLE,
        KubernetesArguments, KubernetesMode, KubernetesSettings,
    },
    source::{Source, SourceError},
    statistics::SourceStatistics,
    store::{MAX_CONTAINERS, MAX_PODS},
};

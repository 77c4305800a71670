//! What the cluster says of the node's pods: from the Kubernetes API to attributes of containers.

mod pods;

pub use self::pods::{PodContainer, Pods};

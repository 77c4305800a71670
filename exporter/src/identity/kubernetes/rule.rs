//! The rule by which a pod names its service.

use std::collections::BTreeMap;

/// Prefix of annotations by which a pod states resource attributes (semantic conventions 1.44,
/// "Kubernetes attributes").
const ANNOTATION_PREFIX: &str = "resource.opentelemetry.io/";

/// What gave `service.name`, in the order of precedence (semantic conventions 1.44, "Kubernetes
/// attributes": how `service.name` should be calculated).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum KubernetesRule {
    /// Annotation `resource.opentelemetry.io/service.name` of the pod.
    Annotation,
    /// Label `app.kubernetes.io/instance` of the pod.
    InstanceLabel,
    /// Label `app.kubernetes.io/name` of the pod.
    NameLabel,
    /// Name of the Deployment.
    Deployment,
    /// Name of the ReplicaSet.
    ReplicaSet,
    /// Name of the StatefulSet.
    StatefulSet,
    /// Name of the DaemonSet.
    DaemonSet,
    /// Name of the CronJob.
    CronJob,
    /// Name of the Job.
    Job,
    /// Name of the pod.
    Pod,
    /// Name of the container.
    Container,
}

impl KubernetesRule {
    /// The reason for people.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Annotation => "annotation resource.opentelemetry.io/service.name of the pod",
            Self::InstanceLabel => "label app.kubernetes.io/instance of the pod",
            Self::NameLabel => "label app.kubernetes.io/name of the pod",
            Self::Deployment => "Deployment of the pod",
            Self::ReplicaSet => "ReplicaSet of the pod",
            Self::StatefulSet => "StatefulSet of the pod",
            Self::DaemonSet => "DaemonSet of the pod",
            Self::CronJob => "CronJob of the pod",
            Self::Job => "Job of the pod",
            Self::Pod => "name of the pod",
            Self::Container => "name of the container",
        }
    }
}

/// The annotation of the pod that states the resource attribute `key`; an empty one is none.
pub(super) fn stated<'a>(
    annotations: Option<&'a BTreeMap<String, String>>,
    key: &str,
) -> Option<&'a str> {
    text_of(annotations, &format!("{ANNOTATION_PREFIX}{key}"))
}

/// A label or annotation, unless it is empty.
pub(super) fn text_of<'a>(map: Option<&'a BTreeMap<String, String>>, key: &str) -> Option<&'a str> {
    let text = map?.get(key)?.trim();
    (!text.is_empty()).then_some(text)
}

//! From a pod, as the API server or the kubelet describes it, to its containers.

use std::{
    collections::{BTreeMap, HashMap},
    sync::Arc,
};

use evenkeel_semconv::attribute;
use k8s_openapi::api::core::v1::{ContainerStatus, Pod};

use super::{
    PodContainer,
    controller::workloads,
    image::Image,
    rule::{KubernetesRule, stated, text_of},
};
use crate::identity::{
    service::{MAX_ATTRIBUTE_BYTES, ServiceName, ServiceNameSource},
    text::{MAX_NAME_BYTES, printable},
};

/// Most container ids that are taken from one pod; the rest is counted.
pub const MAX_CONTAINERS_OF_POD: usize = 512;
/// Longest container id, in bytes: 64 digits are usual.
const MAX_ID_BYTES: usize = 128;

/// Annotation of the kubelet: the identifier that a static pod has in cgroups.
const CONFIG_HASH_ANNOTATION: &str = "kubernetes.io/config.hash";
const INSTANCE_LABEL: &str = "app.kubernetes.io/instance";
const NAME_LABEL: &str = "app.kubernetes.io/name";
const VERSION_LABEL: &str = "app.kubernetes.io/version";

/// Labels and annotations that may leave the cluster; none unless the user names them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AllowedMetadata {
    /// Keys of labels, exact.
    pub labels: Vec<String>,
    /// Keys of annotations, exact.
    pub annotations: Vec<String>,
}

/// Reads pods; keeps each attribute's name once.
#[derive(Debug, Default)]
pub(super) struct PodReader {
    allowed: AllowedMetadata,
    keys: HashMap<Box<str>, Arc<str>>,
}

/// The containers of one pod.
#[derive(Debug, Default)]
pub(super) struct PodContainers {
    /// By `container.id`.
    pub(super) containers: Vec<(Box<str>, Arc<PodContainer>)>,
    /// Ids that were not taken: malformed, or one too many.
    pub(super) refused: u64,
}

type Attributes = Vec<(Arc<str>, Arc<str>)>;

impl PodReader {
    pub(super) fn new(allowed: AllowedMetadata) -> Self {
        Self {
            allowed,
            keys: HashMap::new(),
        }
    }

    /// All containers of the pod that have an id: init, ephemeral and ordinary ones, and the
    /// predecessors of restarted ones. Containers without an id are left out.
    pub(super) fn read(&mut self, pod: &Pod) -> PodContainers {
        let mut found = PodContainers::default();
        let (Some(name), Some(status)) = (&pod.metadata.name, &pod.status) else {
            return found;
        };
        let (common, service) = self.pod_attributes(pod);
        let groups = [
            &status.container_statuses,
            &status.init_container_statuses,
            &status.ephemeral_container_statuses,
        ];
        for container in groups.into_iter().flatten().flatten() {
            for (id, restarts) in ids(container) {
                let Some(id) = container_id(id) else {
                    found.refused += 1;
                    continue;
                };
                if found.containers.iter().any(|(known, _)| **known == *id) {
                    continue;
                }
                if found.containers.len() >= MAX_CONTAINERS_OF_POD {
                    found.refused += 1;
                    continue;
                }
                let described = self.container(pod, name, container, restarts, &common, &service);
                found.containers.push((id.into(), Arc::new(described)));
            }
        }
        found
    }

    fn key(&mut self, key: &str) -> Arc<str> {
        if let Some(known) = self.keys.get(key) {
            return Arc::clone(known);
        }
        let shared: Arc<str> = key.into();
        self.keys.insert(key.into(), Arc::clone(&shared));
        shared
    }

    fn push(&mut self, attributes: &mut Attributes, key: &str, value: &str) {
        let value = printable(value.as_bytes(), MAX_ATTRIBUTE_BYTES);
        if !value.is_empty() {
            attributes.push((self.key(key), value.into()));
        }
    }

    /// What all containers of the pod have in common, and the name of their service.
    fn pod_attributes(&mut self, pod: &Pod) -> (Attributes, Option<ServiceName>) {
        let metadata = &pod.metadata;
        let (labels, annotations) = (metadata.labels.as_ref(), metadata.annotations.as_ref());
        let mut attributes = Attributes::new();
        let name = metadata.name.as_deref();
        let namespace = metadata.namespace.as_deref();
        let node = pod.spec.as_ref().and_then(|spec| spec.node_name.as_deref());
        let simple = [
            (attribute::K8S_NAMESPACE_NAME, namespace),
            (attribute::K8S_POD_NAME, name),
            (attribute::K8S_POD_UID, api_uid(pod)),
            (attribute::K8S_NODE_NAME, node),
            (
                attribute::SERVICE_NAMESPACE,
                stated(annotations, attribute::SERVICE_NAMESPACE).or(namespace),
            ),
        ];
        for (key, value) in simple {
            if let Some(value) = value {
                self.push(&mut attributes, key, value);
            }
        }
        let workloads = workloads(pod);
        for workload in &workloads {
            self.push(&mut attributes, workload.name_key, &workload.name);
            if let Some((key, uid)) = &workload.uid {
                self.push(&mut attributes, key, uid);
            }
        }
        self.push_allowed(&mut attributes, labels, annotations);
        let service = [
            (
                stated(annotations, attribute::SERVICE_NAME),
                KubernetesRule::Annotation,
            ),
            (
                text_of(labels, INSTANCE_LABEL),
                KubernetesRule::InstanceLabel,
            ),
            (text_of(labels, NAME_LABEL), KubernetesRule::NameLabel),
        ]
        .into_iter()
        .chain(
            workloads
                .iter()
                .map(|workload| (Some(workload.name.as_str()), workload.rule)),
        )
        .chain([(name, KubernetesRule::Pod)])
        .find_map(|(name, rule)| service_name(name?, rule));
        (attributes, service)
    }

    fn push_allowed(
        &mut self,
        attributes: &mut Attributes,
        labels: Option<&BTreeMap<String, String>>,
        annotations: Option<&BTreeMap<String, String>>,
    ) {
        let allowed = self.allowed.clone();
        let sources = [
            (attribute::K8S_POD_LABEL, &allowed.labels, labels),
            (
                attribute::K8S_POD_ANNOTATION,
                &allowed.annotations,
                annotations,
            ),
        ];
        for (prefix, keys, map) in sources {
            for key in keys {
                if let Some(value) = map.and_then(|map| map.get(key)) {
                    self.push(attributes, &format!("{prefix}.{key}"), value);
                }
            }
        }
    }

    fn container(
        &mut self,
        pod: &Pod,
        pod_name: &str,
        status: &ContainerStatus,
        restarts: Option<i32>,
        common: &Attributes,
        service: &Option<ServiceName>,
    ) -> PodContainer {
        let mut attributes = common.clone();
        let metadata = &pod.metadata;
        let annotations = metadata.annotations.as_ref();
        let namespace = metadata.namespace.as_deref().unwrap_or_default();
        self.push(&mut attributes, attribute::K8S_CONTAINER_NAME, &status.name);
        if let Some(restarts) = restarts {
            let text = restarts.to_string();
            self.push(
                &mut attributes,
                attribute::K8S_CONTAINER_RESTART_COUNT,
                &text,
            );
        }
        let image = Image::parse(specified_image(pod, &status.name).unwrap_or(&status.image));
        if let Some(image) = &image {
            self.push(&mut attributes, attribute::CONTAINER_IMAGE_NAME, image.name);
            if let Some(tag) = image.tag {
                self.push(&mut attributes, attribute::CONTAINER_IMAGE_TAGS, tag);
            }
        }
        let version = stated(annotations, attribute::SERVICE_VERSION)
            .or_else(|| text_of(metadata.labels.as_ref(), VERSION_LABEL))
            .map(str::to_owned)
            .or_else(|| image.and_then(|image| image.version()));
        if let Some(version) = version {
            self.push(&mut attributes, attribute::SERVICE_VERSION, &version);
        }
        let instance = stated(annotations, attribute::SERVICE_INSTANCE_ID).map_or_else(
            || format!("{namespace}.{pod_name}.{}", status.name),
            str::to_owned,
        );
        self.push(&mut attributes, attribute::SERVICE_INSTANCE_ID, &instance);
        attributes.sort();
        attributes.dedup_by(|later, earlier| later.0 == earlier.0);
        PodContainer {
            attributes: attributes.into(),
            service_name: service
                .clone()
                .or_else(|| service_name(&status.name, KubernetesRule::Container))
                .unwrap_or_else(|| ServiceName {
                    value: "unknown_service".into(),
                    source: ServiceNameSource::Kubernetes(KubernetesRule::Container),
                }),
        }
    }
}

fn service_name(name: &str, rule: KubernetesRule) -> Option<ServiceName> {
    let value = printable(name.as_bytes(), MAX_NAME_BYTES);
    (!value.is_empty()).then(|| ServiceName {
        value: value.into(),
        source: ServiceNameSource::Kubernetes(rule),
    })
}

/// The uid that the pod has in the API. The kubelet calls a static pod by the hash of its
/// configuration, which is the same on all nodes with that file and is not a uid.
fn api_uid(pod: &Pod) -> Option<&str> {
    let uid = pod.metadata.uid.as_deref()?;
    let hash = text_of(pod.metadata.annotations.as_ref(), CONFIG_HASH_ANNOTATION);
    (hash != Some(uid)).then_some(uid)
}

/// The ids of a container with the number of restarts before each: of the one that is there, and of
/// the one before.
fn ids(status: &ContainerStatus) -> impl Iterator<Item = (&str, Option<i32>)> {
    let current = status.container_id.as_deref();
    let previous = status
        .last_state
        .as_ref()
        .and_then(|state| state.terminated.as_ref())
        .and_then(|terminated| terminated.container_id.as_deref());
    let before = status
        .restart_count
        .checked_sub(1)
        .filter(|count| *count >= 0);
    [
        (current, Some(status.restart_count)),
        // While a container waits for its next start, the status still has the id of the last run.
        (previous, before),
    ]
    .into_iter()
    .filter_map(|(id, restarts)| Some((id?, restarts)))
    .filter(|(id, _)| !id.is_empty())
}

/// The id without the runtime: `RUNTIME://ID`. None unless it is one that cgroups may show.
fn container_id(text: &str) -> Option<&str> {
    let (_, id) = text.split_once("://")?;
    let plain = |byte: u8| byte.is_ascii_hexdigit() || byte == b'-';
    (!id.is_empty() && id.len() <= MAX_ID_BYTES && id.bytes().all(plain)).then_some(id)
}

/// The image by the name that the pod's author gave it; runtimes may tell only a digest.
fn specified_image<'a>(pod: &'a Pod, container: &str) -> Option<&'a str> {
    let spec = pod.spec.as_ref()?;
    let init = spec.init_containers.iter().flatten();
    let ordinary = spec.containers.iter().chain(init);
    let ephemeral = spec.ephemeral_containers.iter().flatten();
    ordinary
        .map(|one| (&one.name, &one.image))
        .chain(ephemeral.map(|one| (&one.name, &one.image)))
        .find(|(name, _)| *name == container)
        .and_then(|(_, image)| image.as_deref())
}

#[cfg(test)]
#[path = "pod_tests.rs"]
mod tests;

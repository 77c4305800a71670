//! What the API says of the cluster and of this node: a fallback where the provider's own metadata
//! service is out of reach.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use evenkeel_semconv::attribute::{self, value::cloud_provider};
use k8s_openapi::api::core::v1::{Namespace, Node};
use kube::{Api, Client};
use tokio::time::{sleep, timeout};

use super::rule::text_of;
use crate::identity::{SourcedAttributes, service::MAX_ATTRIBUTE_BYTES, text::printable};

const ANSWER_TIMEOUT: Duration = Duration::from_secs(20);
const NODE_SOURCE: &str = "Kubernetes API: node";
const NAMESPACE_SOURCE: &str = "Kubernetes API: namespace kube-system";

/// Labels of nodes and the attributes that they give.
const LABELS: &[(&str, &str)] = &[
    ("topology.kubernetes.io/region", attribute::CLOUD_REGION),
    (
        "topology.kubernetes.io/zone",
        attribute::CLOUD_AVAILABILITY_ZONE,
    ),
    ("node.kubernetes.io/instance-type", attribute::HOST_TYPE),
];

/// Schemes of `spec.providerID` and the providers that set them.
const PROVIDERS: &[(&str, &str)] = &[
    ("aws", cloud_provider::AWS),
    ("azure", cloud_provider::AZURE),
    ("gce", cloud_provider::GCP),
    ("hcloud", cloud_provider::HETZNER),
    ("ibm", cloud_provider::IBM_CLOUD),
    ("linode", cloud_provider::AKAMAI_CLOUD),
    ("oci", cloud_provider::ORACLE_CLOUD),
    ("qcloud", cloud_provider::TENCENT_CLOUD),
    ("scaleway", cloud_provider::SCALEWAY_CLOUD),
    ("vultr", cloud_provider::VULTR),
];

/// Attributes of the host by the API, as far as they are known; clones share them.
#[derive(Clone, Debug, Default)]
pub(super) struct ClusterFacts {
    attributes: Arc<Mutex<SourcedAttributes>>,
}

impl ClusterFacts {
    pub(super) fn attributes(&self) -> SourcedAttributes {
        let attributes = self.attributes.lock();
        attributes.unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn extend(&self, other: &SourcedAttributes) {
        let attributes = self.attributes.lock();
        attributes
            .unwrap_or_else(PoisonError::into_inner)
            .extend(other);
    }

    /// Asks for both objects until each has been had once; rights to either may be missing, which
    /// is no fault.
    pub(super) async fn learn(&self, client: &Client, node: &str, interval: Duration) {
        let (mut has_node, mut has_namespace) = (false, false);
        loop {
            if !has_node {
                let nodes: Api<Node> = Api::all(client.clone());
                if let Ok(Ok(found)) = timeout(ANSWER_TIMEOUT, nodes.get(node)).await {
                    self.extend(&node_attributes(&found));
                    has_node = true;
                }
            }
            if !has_namespace {
                let namespaces: Api<Namespace> = Api::all(client.clone());
                let found = timeout(ANSWER_TIMEOUT, namespaces.get("kube-system")).await;
                if let Ok(Ok(found)) = found {
                    self.extend(&namespace_attributes(&found));
                    has_namespace = true;
                }
            }
            if has_node && has_namespace {
                return;
            }
            sleep(interval).await;
        }
    }
}

fn namespace_attributes(namespace: &Namespace) -> SourcedAttributes {
    let mut attributes = SourcedAttributes::default();
    let uid = namespace.metadata.uid.as_deref();
    set(
        &mut attributes,
        attribute::K8S_CLUSTER_UID,
        uid,
        NAMESPACE_SOURCE,
    );
    attributes
}

/// Name and uid of the node, and where it runs by its labels and `spec.providerID`.
pub(super) fn node_attributes(node: &Node) -> SourcedAttributes {
    let mut attributes = SourcedAttributes::default();
    let metadata = &node.metadata;
    let mut put = |key, value| set(&mut attributes, key, value, NODE_SOURCE);
    put(attribute::K8S_NODE_NAME, metadata.name.as_deref());
    put(attribute::K8S_NODE_UID, metadata.uid.as_deref());
    let labels: Option<&BTreeMap<String, String>> = metadata.labels.as_ref();
    let provider_id = node
        .spec
        .as_ref()
        .and_then(|spec| spec.provider_id.as_deref());
    let provider = provider_id.and_then(|id| {
        let (scheme, rest) = id.split_once("://")?;
        let (_, provider) = PROVIDERS.iter().find(|(known, _)| *known == scheme)?;
        Some((*provider, rest))
    });
    // Clusters outside clouds set these labels too, to places that are no region of a provider.
    let Some((provider, id)) = provider else {
        return attributes;
    };
    put(attribute::CLOUD_PROVIDER, Some(provider));
    for (label, key) in LABELS {
        put(key, text_of(labels, label));
    }
    // Only AWS writes the host.id of its metadata service here; elsewhere it is a path or a name.
    if provider == cloud_provider::AWS {
        let id = id.rsplit('/').next().filter(|id| id.starts_with("i-"));
        put(attribute::HOST_ID, id);
    }
    attributes
}

fn set(
    attributes: &mut SourcedAttributes,
    key: &'static str,
    value: Option<&str>,
    source: &'static str,
) {
    let value = value.map(|value| printable(value.as_bytes(), MAX_ATTRIBUTE_BYTES));
    if let Some(value) = value.filter(|value| !value.is_empty()) {
        attributes.insert(key, value, source);
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn node(provider_id: Option<&str>) -> SourcedAttributes {
        let node = json!({
            "metadata": {"name": "n", "uid": "u", "labels": {
                "topology.kubernetes.io/region": "eu-west-1",
                "topology.kubernetes.io/zone": "eu-west-1a",
                "node.kubernetes.io/instance-type": "m7i.large",
                "secret": "x",
            }},
            "spec": {"providerID": provider_id},
        });
        node_attributes(&serde_json::from_value(node).unwrap())
    }

    fn pairs(attributes: &SourcedAttributes) -> Vec<(&str, &str)> {
        let all = attributes.iter();
        all.map(|(key, sourced)| (key, &*sourced.value)).collect()
    }

    #[test]
    fn nodes_of_clouds() {
        assert_eq!(
            pairs(&node(Some("aws:///eu-west-1a/i-0abc"))),
            [
                ("cloud.availability_zone", "eu-west-1a"),
                ("cloud.provider", "aws"),
                ("cloud.region", "eu-west-1"),
                ("host.id", "i-0abc"),
                ("host.type", "m7i.large"),
                ("k8s.node.name", "n"),
                ("k8s.node.uid", "u"),
            ]
        );
        let gce = node(Some("gce://project/zone/name"));
        assert_eq!(gce.value("cloud.provider"), Some("gcp"));
        assert_eq!(gce.value("host.id"), None);
    }

    /// Labels of a node that is in no cloud we know say nothing about a cloud.
    #[test]
    fn nodes_elsewhere() {
        for id in [
            None,
            Some("kind://docker/kind/kind-worker"),
            Some("aws"),
            Some(""),
        ] {
            assert_eq!(
                pairs(&node(id)),
                [("k8s.node.name", "n"), ("k8s.node.uid", "u")]
            );
        }
    }
}

//! Google Compute Engine. Values are asked for one by one: the recursive document would bring the
//! secrets in `attributes` with it.

use evenkeel_semconv::attribute::{
    self,
    value::{cloud_platform as platform, evenkeel_host_life_cycle as life_cycle},
};

use super::{
    client::{Client, Header, MetadataError},
    findings::{Findings, last_segment, region_of_zone},
    provider::Provider,
};
use crate::identity::attributes::SourcedAttributes;

const FLAVOR: &[Header<'static>] = &[("metadata-flavor", "Google")];

/// Types that share a core and take more than their part for a while.
const SHARED_CORE: &[&str] = &["f1-micro", "g1-small", "e2-micro", "e2-small", "e2-medium"];

pub(super) async fn identify(client: &Client) -> Result<SourcedAttributes, MetadataError> {
    let get = async |path: &str| {
        let path = format!("/computeMetadata/v1/{path}");
        client.text(&path, FLAVOR).await
    };
    let id = get("instance/id").await?;
    let name = get("instance/name").await?;
    let zone = get("instance/zone").await?;
    let kind = get("instance/machine-type").await?;
    let image = get("instance/image").await?;
    let preemptible = get("instance/scheduling/preemptible").await?;
    let project = get("project/project-id").await?;
    // On the nodes of GKE only.
    let cluster = get("instance/attributes/cluster-name").await?;

    let mut findings = Findings::new(Provider::Gcp);
    findings.set(attribute::HOST_ID, id.as_deref());
    findings.set(attribute::HOST_NAME, name.as_deref());
    findings.set(attribute::CLOUD_ACCOUNT_ID, project.as_deref());
    let zone = zone.as_deref().map(last_segment);
    findings.set(attribute::CLOUD_AVAILABILITY_ZONE, zone);
    findings.set(attribute::CLOUD_REGION, zone.and_then(region_of_zone));
    findings.set(attribute::HOST_IMAGE_ID, image.as_deref());
    if let Some(kind) = kind.as_deref().map(last_segment) {
        findings.set(attribute::HOST_TYPE, kind);
        findings.set_burstable(SHARED_CORE.contains(&kind));
    }
    findings.set(
        attribute::EVENKEEL_HOST_LIFE_CYCLE,
        match preemptible.as_deref().map(str::trim) {
            Some("TRUE") => Some(life_cycle::PREEMPTIBLE),
            Some("FALSE") => Some(life_cycle::ON_DEMAND),
            _ => None,
        },
    );
    if let Some(cluster) = &cluster {
        findings.set(attribute::K8S_CLUSTER_NAME, &**cluster);
        findings.set(attribute::CLOUD_PLATFORM, platform::GCP_KUBERNETES_ENGINE);
    }
    findings.finish()
}

//! Oracle Cloud Infrastructure, by version 2 of its metadata service.

use evenkeel_semconv::attribute::{self, value::cloud_platform as platform};
use serde::Deserialize;

use super::{
    client::{Client, MetadataError},
    findings::Findings,
    provider::Provider,
};
use crate::identity::attributes::SourcedAttributes;

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Instance {
    id: String,
    display_name: Option<String>,
    shape: Option<String>,
    canonical_region_name: Option<String>,
    availability_domain: Option<String>,
    image: Option<String>,
    shape_config: Option<ShapeConfig>,
    /// Holds the user's keys and start-up script too: only this name is read.
    metadata: Option<UserMetadata>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct ShapeConfig {
    baseline_ocpu_utilization: Option<String>,
}

#[derive(Deserialize)]
#[serde(rename_all = "kebab-case")]
struct UserMetadata {
    oke_cluster_display_name: Option<String>,
}

pub(super) async fn identify(client: &Client) -> Result<SourcedAttributes, MetadataError> {
    let headers = [("authorization", "Bearer Oracle")];
    let instance: Instance = client.document("/opc/v2/instance/", &headers).await?;
    let mut findings = Findings::new(Provider::Oracle);
    findings.set(attribute::HOST_ID, &*instance.id);
    findings.set(attribute::CLOUD_RESOURCE_ID, &*instance.id);
    findings.set(attribute::HOST_NAME, instance.display_name.as_deref());
    findings.set(attribute::HOST_TYPE, instance.shape.as_deref());
    findings.set(
        attribute::CLOUD_REGION,
        instance.canonical_region_name.as_deref(),
    );
    findings.set(
        attribute::CLOUD_AVAILABILITY_ZONE,
        instance.availability_domain.as_deref(),
    );
    findings.set(attribute::HOST_IMAGE_ID, instance.image.as_deref());
    let baseline = instance
        .shape_config
        .and_then(|config| config.baseline_ocpu_utilization);
    match baseline.as_deref() {
        Some("BASELINE_1_8" | "BASELINE_1_2") => findings.set_burstable(true),
        Some("BASELINE_1_1") => findings.set_burstable(false),
        _ => {}
    }
    let cluster = instance
        .metadata
        .and_then(|metadata| metadata.oke_cluster_display_name);
    if let Some(cluster) = &cluster {
        findings.set(attribute::K8S_CLUSTER_NAME, &**cluster);
        findings.set(attribute::CLOUD_PLATFORM, platform::ORACLE_CLOUD_OKE);
    }
    findings.finish()
}

//! Azure virtual machines ("Azure Instance Metadata Service for virtual machines").

use evenkeel_semconv::attribute::{self, value::evenkeel_host_life_cycle as life_cycle};
use serde::Deserialize;

use super::{
    client::{Client, MetadataError},
    findings::Findings,
    provider::Provider,
};
use crate::identity::attributes::SourcedAttributes;

/// The part with the network, and the user data, are not asked for.
const PATH: &str = "/metadata/instance/compute?api-version=2021-12-13&format=json";

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Compute {
    vm_id: String,
    name: Option<String>,
    location: Option<String>,
    zone: Option<String>,
    subscription_id: Option<String>,
    resource_id: Option<String>,
    vm_size: Option<String>,
    priority: Option<String>,
    os_profile: Option<OsProfile>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct OsProfile {
    computer_name: Option<String>,
}

/// Sizes of the B series: `Standard_B2ms`, `Standard_B2as_v2`.
fn is_burstable(size: &str) -> bool {
    let series = size
        .strip_prefix("Standard_B")
        .or_else(|| size.strip_prefix("Basic_B"));
    series.is_some_and(|rest| rest.starts_with(|first: char| first.is_ascii_digit()))
}

pub(super) async fn identify(client: &Client) -> Result<SourcedAttributes, MetadataError> {
    let compute: Compute = client.document(PATH, &[("metadata", "true")]).await?;
    let mut findings = Findings::new(Provider::Azure);
    findings.set(attribute::HOST_ID, &*compute.vm_id);
    findings.set(attribute::HOST_NAME, compute.name.as_deref());
    // The name that the system has, where it is told, wins over that of the resource.
    let profile = compute.os_profile.and_then(|profile| profile.computer_name);
    findings.set(attribute::HOST_NAME, profile.as_deref());
    findings.set(attribute::CLOUD_REGION, compute.location.as_deref());
    findings.set(attribute::CLOUD_AVAILABILITY_ZONE, compute.zone.as_deref());
    findings.set(
        attribute::CLOUD_ACCOUNT_ID,
        compute.subscription_id.as_deref(),
    );
    findings.set(attribute::CLOUD_RESOURCE_ID, compute.resource_id.as_deref());
    if let Some(size) = &compute.vm_size {
        findings.set(attribute::HOST_TYPE, &**size);
        findings.set_burstable(is_burstable(size));
    }
    findings.set(
        attribute::EVENKEEL_HOST_LIFE_CYCLE,
        match compute.priority.as_deref() {
            Some("Spot") => Some(life_cycle::SPOT),
            Some("Regular") => Some(life_cycle::ON_DEMAND),
            _ => None,
        },
    );
    findings.finish()
}

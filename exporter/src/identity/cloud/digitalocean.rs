//! DigitalOcean. It does not tell the size of the droplet.

use evenkeel_semconv::attribute;
use serde::Deserialize;

use super::{
    client::{Client, MetadataError},
    findings::Findings,
    provider::Provider,
};
use crate::identity::attributes::SourcedAttributes;

#[derive(Deserialize)]
struct Droplet {
    droplet_id: u64,
    hostname: Option<String>,
    region: Option<String>,
}

pub(super) async fn identify(client: &Client) -> Result<SourcedAttributes, MetadataError> {
    let droplet: Droplet = client.document("/metadata/v1.json", &[]).await?;
    let mut findings = Findings::new(Provider::DigitalOcean);
    findings.set(attribute::HOST_ID, &*droplet.droplet_id.to_string());
    findings.set(attribute::HOST_NAME, droplet.hostname.as_deref());
    findings.set(attribute::CLOUD_REGION, droplet.region.as_deref());
    findings.finish()
}

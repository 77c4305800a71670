//! Vultr. It does not tell the plan of the server.

use evenkeel_semconv::attribute;
use serde::Deserialize;

use super::{
    client::{Client, MetadataError},
    findings::Findings,
    provider::Provider,
};
use crate::identity::attributes::SourcedAttributes;

#[derive(Deserialize)]
struct Server {
    #[serde(rename = "instance-v2-id")]
    id: Option<String>,
    /// What servers were called before.
    #[serde(rename = "instanceid")]
    old_id: Option<String>,
    hostname: Option<String>,
    region: Option<Region>,
}

#[derive(Deserialize)]
struct Region {
    #[serde(rename = "regioncode")]
    code: Option<String>,
}

pub(super) async fn identify(client: &Client) -> Result<SourcedAttributes, MetadataError> {
    let server: Server = client.document("/v1.json", &[]).await?;
    let mut findings = Findings::new(Provider::Vultr);
    findings.set(attribute::HOST_ID, server.old_id.as_deref());
    findings.set(attribute::HOST_ID, server.id.as_deref());
    findings.set(attribute::HOST_NAME, server.hostname.as_deref());
    let region = server
        .region
        .and_then(|region| Some(region.code?.to_lowercase()));
    findings.set(attribute::CLOUD_REGION, region.as_deref());
    findings.finish()
}

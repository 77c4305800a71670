//! Akamai (Linode).

use evenkeel_semconv::attribute;
use serde::Deserialize;

use super::{
    client::{Client, MetadataError},
    findings::Findings,
    provider::Provider,
    token::{TokenScheme, TokenSession},
};
use crate::identity::attributes::SourcedAttributes;

const TOKEN: TokenScheme = TokenScheme {
    path: "/v1/token",
    lifetime: ("metadata-token-expiry-seconds", "3600"),
    header: "metadata-token",
};

#[derive(Deserialize)]
struct Instance {
    id: u64,
    label: Option<String>,
    #[serde(rename = "type")]
    kind: Option<String>,
    region: Option<String>,
    account_euuid: Option<String>,
    image: Option<Image>,
}

#[derive(Deserialize)]
struct Image {
    id: Option<String>,
}

pub(super) async fn identify(client: &Client) -> Result<SourcedAttributes, MetadataError> {
    let mut session = TokenSession::open(client, &TOKEN).await?;
    let document = session
        .text("/v1/instance", &[("accept", "application/json")])
        .await?
        .ok_or(MetadataError::NoInstance)?;
    let instance: Instance = serde_json::from_str(&document)?;
    let mut findings = Findings::new(Provider::Akamai);
    findings.set(attribute::HOST_ID, &*instance.id.to_string());
    findings.set(attribute::HOST_NAME, instance.label.as_deref());
    findings.set(attribute::HOST_TYPE, instance.kind.as_deref());
    findings.set(attribute::CLOUD_REGION, instance.region.as_deref());
    findings.set(
        attribute::CLOUD_ACCOUNT_ID,
        instance.account_euuid.as_deref(),
    );
    let image = instance.image.and_then(|image| image.id);
    findings.set(attribute::HOST_IMAGE_ID, image.as_deref());
    findings.finish()
}

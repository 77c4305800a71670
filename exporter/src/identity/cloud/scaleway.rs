//! Scaleway.

use evenkeel_semconv::attribute;
use serde::Deserialize;

use super::{
    client::{Client, MetadataError},
    findings::{Findings, region_of_zone},
    provider::Provider,
};
use crate::identity::attributes::SourcedAttributes;

#[derive(Deserialize)]
struct Server {
    id: String,
    name: Option<String>,
    commercial_type: Option<String>,
    organization: Option<String>,
    location: Option<Location>,
    image: Option<Image>,
}

#[derive(Deserialize)]
struct Location {
    zone_id: Option<String>,
}

#[derive(Deserialize)]
struct Image {
    id: Option<String>,
}

pub(super) async fn identify(client: &Client) -> Result<SourcedAttributes, MetadataError> {
    let server: Server = client.document("/conf?format=json", &[]).await?;
    let mut findings = Findings::new(Provider::Scaleway);
    findings.set(attribute::HOST_ID, &*server.id);
    findings.set(attribute::HOST_NAME, server.name.as_deref());
    findings.set(attribute::HOST_TYPE, server.commercial_type.as_deref());
    findings.set(attribute::CLOUD_ACCOUNT_ID, server.organization.as_deref());
    let zone = server.location.and_then(|location| location.zone_id);
    findings.set(attribute::CLOUD_AVAILABILITY_ZONE, zone.as_deref());
    findings.set(
        attribute::CLOUD_REGION,
        zone.as_deref().and_then(region_of_zone),
    );
    let image = server.image.and_then(|image| image.id);
    findings.set(attribute::HOST_IMAGE_ID, image.as_deref());
    findings.finish()
}

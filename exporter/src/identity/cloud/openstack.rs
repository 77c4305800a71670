//! Clouds made with OpenStack: Nova's metadata service, and the type from its imitation of EC2's.

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
    uuid: String,
    hostname: Option<String>,
    availability_zone: Option<String>,
    project_id: Option<String>,
}

pub(super) async fn identify(client: &Client) -> Result<SourcedAttributes, MetadataError> {
    let server: Server = client
        .document("/openstack/latest/meta_data.json", &[])
        .await?;
    let kind = client.text("/latest/meta-data/instance-type", &[]).await?;
    let mut findings = Findings::new(Provider::OpenStack);
    findings.set(attribute::HOST_ID, &*server.uuid);
    findings.set(attribute::HOST_NAME, server.hostname.as_deref());
    findings.set(attribute::HOST_TYPE, kind.as_deref());
    findings.set(
        attribute::CLOUD_AVAILABILITY_ZONE,
        server.availability_zone.as_deref(),
    );
    findings.set(attribute::CLOUD_ACCOUNT_ID, server.project_id.as_deref());
    findings.finish()
}

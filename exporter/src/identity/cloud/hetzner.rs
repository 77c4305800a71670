//! Hetzner Cloud. It does not tell the type of the server.

use evenkeel_semconv::attribute;

use super::{
    client::{Client, MetadataError},
    findings::Findings,
    provider::Provider,
};
use crate::identity::attributes::SourcedAttributes;

const VALUES: &[(&str, &str)] = &[
    ("instance-id", attribute::HOST_ID),
    ("hostname", attribute::HOST_NAME),
    ("region", attribute::CLOUD_REGION),
    ("availability-zone", attribute::CLOUD_AVAILABILITY_ZONE),
];

pub(super) async fn identify(client: &Client) -> Result<SourcedAttributes, MetadataError> {
    let mut findings = Findings::new(Provider::Hetzner);
    for (name, key) in VALUES {
        let path = format!("/hetzner/v1/metadata/{name}");
        let value = client.text(&path, &[]).await?;
        findings.set(key, value.as_deref());
    }
    findings.finish()
}

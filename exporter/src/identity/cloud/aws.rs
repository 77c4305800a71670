//! Amazon EC2, by version 2 of its metadata service ("Use the Instance Metadata Service" in the EC2
//! User Guide).

use evenkeel_semconv::attribute::{self, value::evenkeel_host_life_cycle as life_cycle};
use serde::Deserialize;

use super::{
    client::{Client, MetadataError},
    findings::Findings,
    provider::Provider,
    token::{TokenScheme, TokenSession},
};
use crate::identity::attributes::SourcedAttributes;

const TOKEN: TokenScheme = TokenScheme {
    path: "/latest/api/token",
    lifetime: ("x-aws-ec2-metadata-token-ttl-seconds", "21600"),
    header: "x-aws-ec2-metadata-token",
};

/// Families of which an instance earns credits for more than its baseline.
const BURSTABLE: &[&str] = &["t1.", "t2.", "t3.", "t3a.", "t4g."];

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Document {
    instance_id: String,
    account_id: Option<String>,
    region: Option<String>,
    availability_zone: Option<String>,
    image_id: Option<String>,
    instance_type: Option<String>,
}

pub(super) async fn identify(client: &Client) -> Result<SourcedAttributes, MetadataError> {
    let mut session = TokenSession::open(client, &TOKEN).await?;
    let document = session
        .text("/latest/dynamic/instance-identity/document", &[])
        .await?
        .ok_or(MetadataError::NoInstance)?;
    let document: Document = serde_json::from_str(&document)?;
    let name = session.text("/latest/meta-data/hostname", &[]).await?;
    let cycle = session
        .text("/latest/meta-data/instance-life-cycle", &[])
        .await?;
    let mut findings = Findings::new(Provider::Aws);
    findings.set(attribute::HOST_ID, &*document.instance_id);
    findings.set(attribute::CLOUD_ACCOUNT_ID, document.account_id.as_deref());
    findings.set(attribute::CLOUD_REGION, document.region.as_deref());
    findings.set(
        attribute::CLOUD_AVAILABILITY_ZONE,
        document.availability_zone.as_deref(),
    );
    findings.set(attribute::HOST_IMAGE_ID, document.image_id.as_deref());
    findings.set(attribute::HOST_NAME, name.as_deref());
    findings.set(
        attribute::EVENKEEL_HOST_LIFE_CYCLE,
        match cycle.as_deref().map(str::trim) {
            Some("spot") => Some(life_cycle::SPOT),
            Some("on-demand") => Some(life_cycle::ON_DEMAND),
            _ => None,
        },
    );
    if let Some(kind) = &document.instance_type {
        findings.set(attribute::HOST_TYPE, &**kind);
        findings.set_burstable(BURSTABLE.iter().any(|family| kind.starts_with(family)));
    }
    findings.finish()
}

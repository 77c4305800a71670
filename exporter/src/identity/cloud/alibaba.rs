//! Alibaba Cloud ECS, with a token ("security hardening mode").

use evenkeel_semconv::attribute;

use super::{
    client::{Client, MetadataError},
    findings::Findings,
    provider::Provider,
    token::{TokenScheme, TokenSession},
};
use crate::identity::attributes::SourcedAttributes;

const TOKEN: TokenScheme = TokenScheme {
    path: "/latest/api/token",
    lifetime: ("x-aliyun-ecs-metadata-token-ttl-seconds", "21600"),
    header: "x-aliyun-ecs-metadata-token",
};

const VALUES: &[(&str, &str)] = &[
    ("instance-id", attribute::HOST_ID),
    ("hostname", attribute::HOST_NAME),
    ("image-id", attribute::HOST_IMAGE_ID),
    ("owner-account-id", attribute::CLOUD_ACCOUNT_ID),
    ("region-id", attribute::CLOUD_REGION),
    ("zone-id", attribute::CLOUD_AVAILABILITY_ZONE),
];

/// Families that earn credits.
const BURSTABLE: &[&str] = &["ecs.t5-", "ecs.t6-"];

pub(super) async fn identify(client: &Client) -> Result<SourcedAttributes, MetadataError> {
    let mut session = TokenSession::open(client, &TOKEN).await?;
    let mut findings = Findings::new(Provider::Alibaba);
    for (name, key) in VALUES {
        let path = format!("/latest/meta-data/{name}");
        let value = session.text(&path, &[]).await?;
        findings.set(key, value.as_deref());
    }
    let kind = session
        .text("/latest/meta-data/instance/instance-type", &[])
        .await?;
    if let Some(kind) = &kind {
        findings.set(attribute::HOST_TYPE, &**kind);
        findings.set_burstable(BURSTABLE.iter().any(|family| kind.starts_with(family)));
    }
    findings.finish()
}

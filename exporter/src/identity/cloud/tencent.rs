//! Tencent Cloud CVM.

use evenkeel_semconv::attribute;

use super::{
    client::{Client, MetadataError},
    findings::Findings,
    provider::Provider,
};
use crate::identity::attributes::SourcedAttributes;

const VALUES: &[(&str, &str)] = &[
    ("instance-id", attribute::HOST_ID),
    ("instance-name", attribute::HOST_NAME),
    ("instance/image-id", attribute::HOST_IMAGE_ID),
    ("instance/instance-type", attribute::HOST_TYPE),
    ("app-id", attribute::CLOUD_ACCOUNT_ID),
    ("placement/region", attribute::CLOUD_REGION),
    ("placement/zone", attribute::CLOUD_AVAILABILITY_ZONE),
];

pub(super) async fn identify(client: &Client) -> Result<SourcedAttributes, MetadataError> {
    let mut findings = Findings::new(Provider::Tencent);
    for (name, key) in VALUES {
        let path = format!("/latest/meta-data/{name}");
        let value = client.text(&path, &[]).await?;
        findings.set(key, value.as_deref());
    }
    findings.finish()
}

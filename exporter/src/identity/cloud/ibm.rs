//! IBM Cloud VPC. Its service is off until the user turns it on for the instance.

use evenkeel_semconv::attribute;
use http::Method;
use serde::Deserialize;

use super::{
    client::{Client, MetadataError},
    findings::{Findings, region_of_zone},
    provider::Provider,
};
use crate::identity::attributes::SourcedAttributes;

const TOKEN: &str = "/identity/v1/token?version=2026-01-30";
const INSTANCE: &str = "/metadata/v1/instance?version=2026-01-30";

#[derive(Deserialize)]
struct Token {
    access_token: String,
}

#[derive(Deserialize)]
struct Instance {
    id: String,
    name: Option<String>,
    crn: Option<String>,
    profile: Option<Named>,
    zone: Option<Named>,
    image: Option<Image>,
}

#[derive(Deserialize)]
struct Named {
    name: Option<String>,
}

#[derive(Deserialize)]
struct Image {
    id: Option<String>,
}

/// The account in a cloud resource name: `crn:v1:bluemix:public:is:us-south-1:a/ACCOUNT::...`.
fn account(crn: &str) -> Option<&str> {
    crn.split(':').find_map(|part| part.strip_prefix("a/"))
}

pub(super) async fn identify(client: &Client) -> Result<SourcedAttributes, MetadataError> {
    let headers = [
        ("metadata-flavor", "ibm"),
        ("content-type", "application/json"),
    ];
    let token = client
        .send(Method::PUT, TOKEN, &headers, r#"{"expires_in":300}"#)
        .await?;
    let token: Token = serde_json::from_str(&token)?;
    let bearer = format!("Bearer {}", token.access_token);
    let instance: Instance = client
        .document(INSTANCE, &[("authorization", &bearer)])
        .await?;
    let mut findings = Findings::new(Provider::Ibm);
    findings.set(attribute::HOST_ID, &*instance.id);
    findings.set(attribute::HOST_NAME, instance.name.as_deref());
    findings.set(attribute::CLOUD_RESOURCE_ID, instance.crn.as_deref());
    findings.set(
        attribute::CLOUD_ACCOUNT_ID,
        instance.crn.as_deref().and_then(account),
    );
    let name = |named: Option<Named>| named.and_then(|named| named.name);
    let (profile, zone) = (name(instance.profile), name(instance.zone));
    findings.set(attribute::HOST_TYPE, profile.as_deref());
    findings.set(attribute::CLOUD_AVAILABILITY_ZONE, zone.as_deref());
    findings.set(
        attribute::CLOUD_REGION,
        zone.as_deref().and_then(region_of_zone),
    );
    let image = instance.image.and_then(|image| image.id);
    findings.set(attribute::HOST_IMAGE_ID, image.as_deref());
    findings.finish()
}

//! Which cloud the host runs in, and as what: from the provider's metadata service, in the
//! background.

mod akamai;
mod alibaba;
mod aws;
mod azure;
mod client;
mod detection;
mod digitalocean;
mod findings;
mod gcp;
mod hetzner;
mod ibm;
mod openstack;
mod oracle;
mod provider;
mod scaleway;
mod settings;
mod signs;
mod tencent;
#[cfg(test)]
mod tests;
mod token;
mod vultr;

use self::client::{Client, MetadataError};
pub use self::{
    client::{ENDPOINT_VARIABLE, Endpoint, EndpointError},
    detection::Detection,
    provider::{Provider, UnknownProvider},
    settings::{CLOUD_VARIABLE, Choice, CloudSettings},
};
use super::attributes::SourcedAttributes;

/// Asks the metadata service of a provider once.
async fn identify(provider: Provider, client: &Client) -> Result<SourcedAttributes, MetadataError> {
    match provider {
        Provider::Aws => aws::identify(client).await,
        Provider::Gcp => gcp::identify(client).await,
        Provider::Azure => azure::identify(client).await,
        Provider::Oracle => oracle::identify(client).await,
        Provider::Alibaba => alibaba::identify(client).await,
        Provider::Tencent => tencent::identify(client).await,
        Provider::Ibm => ibm::identify(client).await,
        Provider::Hetzner => hetzner::identify(client).await,
        Provider::DigitalOcean => digitalocean::identify(client).await,
        Provider::Vultr => vultr::identify(client).await,
        Provider::Scaleway => scaleway::identify(client).await,
        Provider::Akamai => akamai::identify(client).await,
        Provider::OpenStack => openstack::identify(client).await,
    }
}

//! The providers that are known, and where each answers.

use std::{fmt, net::Ipv4Addr, str::FromStr};

use evenkeel_semconv::attribute::value::{cloud_platform as platform, cloud_provider as provider};

/// Where most providers answer.
const LINK_LOCAL: Ipv4Addr = Ipv4Addr::new(169, 254, 169, 254);

/// A cloud with a metadata service.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Provider {
    /// Amazon EC2.
    Aws,
    /// Google Compute Engine.
    Gcp,
    /// Microsoft Azure.
    Azure,
    /// Oracle Cloud Infrastructure.
    Oracle,
    /// Alibaba Cloud ECS.
    Alibaba,
    /// Tencent Cloud CVM.
    Tencent,
    /// IBM Cloud VPC.
    Ibm,
    /// Hetzner Cloud.
    Hetzner,
    /// DigitalOcean.
    DigitalOcean,
    /// Vultr.
    Vultr,
    /// Scaleway.
    Scaleway,
    /// Akamai (Linode).
    Akamai,
    /// Any cloud made with OpenStack.
    OpenStack,
}

/// The text names no provider.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("this is no provider")]
pub struct UnknownProvider;

impl Provider {
    /// All of them.
    pub const ALL: [Self; 13] = [
        Self::Aws,
        Self::Gcp,
        Self::Azure,
        Self::Oracle,
        Self::Alibaba,
        Self::Tencent,
        Self::Ibm,
        Self::Hetzner,
        Self::DigitalOcean,
        Self::Vultr,
        Self::Scaleway,
        Self::Akamai,
        Self::OpenStack,
    ];

    /// Its name in settings.
    pub fn name(self) -> &'static str {
        match self {
            Self::Aws => "aws",
            Self::Gcp => "gcp",
            Self::Azure => "azure",
            Self::Oracle => "oracle",
            Self::Alibaba => "alibaba",
            Self::Tencent => "tencent",
            Self::Ibm => "ibm",
            Self::Hetzner => "hetzner",
            Self::DigitalOcean => "digitalocean",
            Self::Vultr => "vultr",
            Self::Scaleway => "scaleway",
            Self::Akamai => "akamai",
            Self::OpenStack => "openstack",
        }
    }

    /// `cloud.provider`.
    pub(super) fn attribute(self) -> &'static str {
        match self {
            Self::Aws => provider::AWS,
            Self::Gcp => provider::GCP,
            Self::Azure => provider::AZURE,
            Self::Oracle => provider::ORACLE_CLOUD,
            Self::Alibaba => provider::ALIBABA_CLOUD,
            Self::Tencent => provider::TENCENT_CLOUD,
            Self::Ibm => provider::IBM_CLOUD,
            Self::Hetzner => provider::HETZNER,
            Self::DigitalOcean => provider::DIGITALOCEAN,
            Self::Vultr => provider::VULTR,
            Self::Scaleway => provider::SCALEWAY_CLOUD,
            Self::Akamai => provider::AKAMAI_CLOUD,
            Self::OpenStack => provider::OPENSTACK,
        }
    }

    /// `cloud.platform`, where there is a name for it.
    pub(super) fn platform(self) -> Option<&'static str> {
        Some(match self {
            Self::Aws => platform::AWS_EC2,
            Self::Gcp => platform::GCP_COMPUTE_ENGINE,
            Self::Azure => platform::AZURE_VM,
            Self::Oracle => platform::ORACLE_CLOUD_COMPUTE,
            Self::Alibaba => platform::ALIBABA_CLOUD_ECS,
            Self::Tencent => platform::TENCENT_CLOUD_CVM,
            Self::Ibm => platform::IBM_CLOUD_VPC,
            Self::Hetzner => platform::HETZNER_CLOUD_SERVER,
            Self::Vultr => platform::VULTR_CLOUD_COMPUTE,
            Self::Scaleway => platform::SCALEWAY_CLOUD_COMPUTE,
            Self::Akamai => platform::AKAMAI_CLOUD_COMPUTE,
            Self::DigitalOcean | Self::OpenStack => return None,
        })
    }

    /// Where its metadata service answers: an address and never a name, so that no name server can
    /// send the requests elsewhere.
    pub(super) fn address(self) -> Ipv4Addr {
        match self {
            Self::Alibaba => Ipv4Addr::new(100, 100, 100, 200),
            Self::Tencent => Ipv4Addr::new(169, 254, 0, 23),
            Self::Scaleway => Ipv4Addr::new(169, 254, 42, 42),
            _ => LINK_LOCAL,
        }
    }

    /// The name that its metadata service wants to be called by, where it has one.
    pub(super) fn host(self) -> Option<&'static str> {
        match self {
            Self::Gcp => Some("metadata.google.internal"),
            Self::Tencent => Some("metadata.tencentyun.com"),
            Self::Ibm => Some("api.metadata.cloud.ibm.com"),
            _ => None,
        }
    }

    /// Where its attributes come from, for people.
    pub(super) fn source(self) -> &'static str {
        match self {
            Self::Aws => "metadata service of AWS",
            Self::Gcp => "metadata service of Google Cloud",
            Self::Azure => "metadata service of Azure",
            Self::Oracle => "metadata service of Oracle Cloud",
            Self::Alibaba => "metadata service of Alibaba Cloud",
            Self::Tencent => "metadata service of Tencent Cloud",
            Self::Ibm => "metadata service of IBM Cloud",
            Self::Hetzner => "metadata service of Hetzner",
            Self::DigitalOcean => "metadata service of DigitalOcean",
            Self::Vultr => "metadata service of Vultr",
            Self::Scaleway => "metadata service of Scaleway",
            Self::Akamai => "metadata service of Akamai",
            Self::OpenStack => "metadata service of OpenStack",
        }
    }
}

impl fmt::Display for Provider {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.name())
    }
}

impl FromStr for Provider {
    type Err = UnknownProvider;

    fn from_str(text: &str) -> Result<Self, UnknownProvider> {
        let mut all = Self::ALL.into_iter();
        all.find(|provider| provider.name() == text)
            .ok_or(UnknownProvider)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every request of ours stays in the host's own network: link-local addresses (RFC 3927), or
    /// the shared ones of RFC 6598 that Alibaba uses.
    #[test]
    fn addresses_are_local() {
        for provider in Provider::ALL {
            let address = provider.address();
            let [first, second, ..] = address.octets();
            let shared = first == 100 && (64..128).contains(&second);
            assert!(address.is_link_local() || shared, "{provider}: {address}");
        }
    }

    /// Names lead back to their provider.
    #[test]
    fn names() {
        for provider in Provider::ALL {
            assert_eq!(provider.name().parse(), Ok(provider));
        }
        assert_eq!("AWS".parse::<Provider>(), Err(UnknownProvider));
    }
}

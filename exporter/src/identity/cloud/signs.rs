//! Which provider the host's own files point to. Nothing is asked over a network where they point
//! to none.

use super::provider::Provider;
use crate::identity::{file::read_line, roots::Roots};

/// A file below `class/dmi/id`, how its text begins, and whose it is. The first that fits counts,
/// so the software that several providers run comes last.
const FIRMWARE: &[(&str, &str, Provider)] = &[
    ("sys_vendor", "Amazon EC2", Provider::Aws),
    ("bios_vendor", "Amazon EC2", Provider::Aws),
    ("board_asset_tag", "i-", Provider::Aws),
    // `Google` alone is on laptops too.
    ("product_name", "Google Compute Engine", Provider::Gcp),
    // `Microsoft Corporation` is on every Hyper-V; this tag is Azure's alone.
    (
        "chassis_asset_tag",
        "7783-7084-3265-9085-8269-3286-77",
        Provider::Azure,
    ),
    ("chassis_asset_tag", "OracleCloud.com", Provider::Oracle),
    ("sys_vendor", "Alibaba Cloud", Provider::Alibaba),
    ("product_name", "Alibaba Cloud", Provider::Alibaba),
    ("sys_vendor", "Tencent Cloud", Provider::Tencent),
    ("chassis_vendor", "IBM:Cloud Compute Server", Provider::Ibm),
    ("sys_vendor", "Hetzner", Provider::Hetzner),
    ("sys_vendor", "DigitalOcean", Provider::DigitalOcean),
    ("sys_vendor", "Vultr", Provider::Vultr),
    ("sys_vendor", "Scaleway", Provider::Scaleway),
    ("sys_vendor", "Akamai", Provider::Akamai),
    ("sys_vendor", "Linode", Provider::Akamai),
    ("product_name", "OpenStack ", Provider::OpenStack),
    ("chassis_asset_tag", "OpenTelekomCloud", Provider::OpenStack),
    ("chassis_asset_tag", "HUAWEICLOUD", Provider::OpenStack),
    ("chassis_asset_tag", "SAP CCloud VM", Provider::OpenStack),
];

/// The provider and the file that told.
pub(super) fn provider(roots: &Roots) -> Option<(Provider, &'static str)> {
    let directory = roots.sys.join("class/dmi/id");
    let found = FIRMWARE.iter().find_map(|(file, prefix, provider)| {
        let text = read_line(&directory.join(file))?;
        text.starts_with(prefix).then_some((*provider, *file))
    });
    found.or_else(|| old_aws(roots))
}

/// The Xen instances of EC2 have no firmware text of Amazon's but these two.
fn old_aws(roots: &Roots) -> Option<(Provider, &'static str)> {
    let version = read_line(&roots.sys.join("class/dmi/id/bios_version"));
    if version.is_some_and(|version| version.ends_with(".amazon")) {
        return Some((Provider::Aws, "bios_version"));
    }
    let id = read_line(&roots.sys.join("hypervisor/uuid"))?;
    // Other users of Xen have random identifiers: one in four thousand begins like this, so the rest
    // of the hypervisor must be Amazon's too.
    let release = read_line(&roots.sys.join("hypervisor/version/extra"))?;
    (id.starts_with("ec2") && release.ends_with(".amazon"))
        .then_some((Provider::Aws, "/sys/hypervisor/uuid"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::identity::test_support::FakeProc;

    fn seen(files: &[(&str, &str)]) -> Option<Provider> {
        let fake = FakeProc::new();
        for (file, text) in files {
            fake.write(&format!("sys/{file}"), text);
        }
        provider(&fake.roots()).map(|(provider, _)| provider)
    }

    fn firmware(file: &str, text: &str) -> Option<Provider> {
        seen(&[(&format!("class/dmi/id/{file}"), text)])
    }

    /// What providers write into their firmware leads to them.
    #[test]
    fn providers_are_told_apart() {
        for (file, text, expected) in [
            ("sys_vendor", "Amazon EC2\n", Provider::Aws),
            ("board_asset_tag", "i-0123456789abcdef0", Provider::Aws),
            ("bios_version", "4.11.amazon", Provider::Aws),
            ("product_name", "Google Compute Engine", Provider::Gcp),
            (
                "chassis_asset_tag",
                "7783-7084-3265-9085-8269-3286-77",
                Provider::Azure,
            ),
            ("chassis_asset_tag", "OracleCloud.com", Provider::Oracle),
            ("sys_vendor", "Alibaba Cloud", Provider::Alibaba),
            ("sys_vendor", "Tencent Cloud", Provider::Tencent),
            (
                "chassis_vendor",
                "IBM:Cloud Compute Server 1.0:bx2-2x8",
                Provider::Ibm,
            ),
            ("sys_vendor", "Hetzner", Provider::Hetzner),
            ("sys_vendor", "DigitalOcean", Provider::DigitalOcean),
            ("sys_vendor", "Vultr", Provider::Vultr),
            ("sys_vendor", "Scaleway", Provider::Scaleway),
            ("sys_vendor", "Linode", Provider::Akamai),
            ("product_name", "OpenStack Nova", Provider::OpenStack),
        ] {
            assert_eq!(firmware(file, text), Some(expected), "{text}");
        }
    }

    /// A laptop of Google's, a Hyper-V at home, any Xen and plain KVM are no clouds.
    #[test]
    fn other_machines_have_no_provider() {
        for (file, text) in [
            ("sys_vendor", "Google"),
            ("sys_vendor", "Microsoft Corporation"),
            ("product_name", "Virtual Machine"),
            ("sys_vendor", "QEMU"),
            ("sys_vendor", "Xen"),
            ("sys_vendor", "Dell Inc."),
            ("sys_vendor", ""),
            ("chassis_asset_tag", "7783"),
        ] {
            assert_eq!(firmware(file, text), None, "{text}");
        }
        assert_eq!(seen(&[]), None);
        assert_eq!(seen(&[("hypervisor/uuid", "ec2f0000-1111")]), None);
    }

    /// What OpenStack writes loses to the name of the provider that runs it.
    #[test]
    fn provider_before_its_software() {
        let both = [
            ("class/dmi/id/product_name", "OpenStack Compute"),
            ("class/dmi/id/sys_vendor", "Vultr"),
        ];
        assert_eq!(seen(&both), Some(Provider::Vultr));
        let xen = [
            ("hypervisor/uuid", "ec2e1916-9099-7caf-fd21-012345abcdef"),
            ("hypervisor/version/extra", ".11.amazon"),
        ];
        assert_eq!(seen(&xen), Some(Provider::Aws));
    }
}

//! Which hypervisor the host runs on, told without privileges and without `cpuid`.

use evenkeel_semconv::attribute::value::evenkeel_host_hypervisor_name as name;

use super::{
    file::{read_bounded, read_line},
    roots::Roots,
};

/// `/proc/cpuinfo` repeats itself for each CPU; the flags of the first are within this.
const CPUINFO_BYTES: usize = 16 << 10;

/// Vendor and product of the firmware tables that tell a hypervisor, compared by prefix; the table
/// of systemd (`src/basic/virt.c`) reduced to the names of the registry.
const FIRMWARE: &[(&str, &str)] = &[
    ("Amazon EC2", name::NITRO),
    ("KVM", name::KVM),
    ("QEMU", name::KVM),
    ("OpenStack", name::KVM),
    ("KubeVirt", name::KVM),
    ("Google", name::KVM),
    ("Alibaba Cloud", name::KVM),
    ("VMware", name::VMWARE),
    ("VMW", name::VMWARE),
    ("Xen", name::XEN),
    ("innotek GmbH", name::OTHER),
    ("VirtualBox", name::OTHER),
    ("Parallels", name::OTHER),
    ("BHYVE", name::OTHER),
    ("Bochs", name::OTHER),
    ("Apple Virtualization", name::OTHER),
];

/// The hypervisor and the file that told; `None` when it cannot be told, which is not `none`.
pub(super) fn detect(roots: &Roots) -> Option<(&'static str, &'static str)> {
    if let Some(kind) = read_line(&roots.sys.join("hypervisor/type")) {
        let found = if kind == "xen" {
            name::XEN
        } else {
            name::OTHER
        };
        return Some((found, "/sys/hypervisor/type"));
    }
    let flagged = cpu_flag(roots);
    if flagged == Some(false) {
        return Some((name::NONE, "no hypervisor flag in /proc/cpuinfo"));
    }
    if let Some(found) = firmware(roots) {
        return Some((found, "/sys/class/dmi/id"));
    }
    // Registered by a guest only where the hypervisor offers the clock; small virtual machine
    // monitors (Firecracker) have no firmware tables and are told by this.
    let clocks = read_line(
        &roots
            .sys
            .join("devices/system/clocksource/clocksource0/available_clocksource"),
    )?;
    clocks
        .split_ascii_whitespace()
        .find_map(|clock| match clock {
            "kvm-clock" => Some(name::KVM),
            "xen" => Some(name::XEN),
            _ if clock.starts_with("hyperv_clocksource") => Some(name::HYPERV),
            _ => None,
        })
        .map(|found| (found, "available_clocksource"))
}

/// Whether an x86 guest's `hypervisor` flag is set; `None` where there is no such flag (arm64).
fn cpu_flag(roots: &Roots) -> Option<bool> {
    let bytes = read_bounded(&roots.proc.join("cpuinfo"), CPUINFO_BYTES).ok()?;
    let text = String::from_utf8_lossy(&bytes);
    let flags = text.lines().find_map(|line| {
        let (key, value) = line.split_once(':')?;
        (key.trim() == "flags").then_some(value)
    })?;
    Some(
        flags
            .split_ascii_whitespace()
            .any(|flag| flag == "hypervisor"),
    )
}

fn firmware(roots: &Roots) -> Option<&'static str> {
    let read = |file| read_line(&roots.sys.join("class/dmi/id").join(file)).unwrap_or_default();
    let (vendor, product) = (read("sys_vendor"), read("product_name"));
    if product.ends_with(".metal") {
        return Some(name::NONE);
    }
    // Microsoft's vendor name is on its laptops too.
    if vendor == "Microsoft Corporation" && product == "Virtual Machine" {
        return Some(name::HYPERV);
    }
    [product, vendor].iter().find_map(|text| {
        let entry = FIRMWARE.iter().find(|(prefix, _)| text.starts_with(prefix));
        entry.map(|(_, found)| *found)
    })
}

#[cfg(test)]
mod tests {
    use std::{fs, path::Path};

    use super::*;

    fn host(files: &[(&str, &str)]) -> (tempfile::TempDir, Roots) {
        let directory = tempfile::tempdir().unwrap();
        for (path, text) in files {
            let path = directory.path().join(path);
            fs::create_dir_all(path.parent().unwrap_or(Path::new("/"))).unwrap();
            fs::write(path, text).unwrap();
        }
        let roots = Roots {
            proc: directory.path().join("proc"),
            sys: directory.path().join("sys"),
            ..Roots::default()
        };
        (directory, roots)
    }

    fn seen(files: &[(&str, &str)]) -> Option<&'static str> {
        let (_directory, roots) = host(files);
        detect(&roots).map(|(found, _)| found)
    }

    const GUEST: (&str, &str) = ("proc/cpuinfo", "flags\t\t: fpu hypervisor lm\n");
    const VENDOR: &str = "sys/class/dmi/id/sys_vendor";
    const PRODUCT: &str = "sys/class/dmi/id/product_name";

    /// The providers' firmware names lead to their hypervisors.
    #[test]
    fn firmware_names() {
        for (vendor, product, expected) in [
            ("Amazon EC2", "m7i.large", name::NITRO),
            ("Microsoft Corporation", "Virtual Machine", name::HYPERV),
            ("Google", "Google Compute Engine", name::KVM),
            ("QEMU", "Standard PC (Q35 + ICH9, 2009)", name::KVM),
            ("VMware, Inc.", "VMware Virtual Platform", name::VMWARE),
            ("Xen", "HVM domU", name::XEN),
        ] {
            assert_eq!(
                seen(&[GUEST, (VENDOR, vendor), (PRODUCT, product)]),
                Some(expected)
            );
        }
    }

    /// `none` is said only on evidence: x86 without the flag, or a bare-metal instance.
    #[test]
    fn none_needs_evidence() {
        assert_eq!(
            seen(&[("proc/cpuinfo", "flags : fpu\n"), (VENDOR, "Dell Inc.")]),
            Some(name::NONE)
        );
        assert_eq!(
            seen(&[(VENDOR, "Amazon EC2"), (PRODUCT, "c7g.metal")]),
            Some(name::NONE)
        );
        assert_eq!(seen(&[GUEST]), None);
        assert_eq!(seen(&[]), None);
        assert_eq!(
            seen(&[
                ("proc/cpuinfo", "Features : fp asimd\n"),
                (VENDOR, "Dell Inc.")
            ]),
            None
        );
    }

    /// Guests without firmware tables are told by their clocks; Xen by its own directory, even when
    /// the firmware says EC2.
    #[test]
    fn other_evidence() {
        let clocks = "sys/devices/system/clocksource/clocksource0/available_clocksource";
        assert_eq!(
            seen(&[GUEST, (clocks, "tsc kvm-clock \n")]),
            Some(name::KVM)
        );
        assert_eq!(
            seen(&[GUEST, (clocks, "tsc hyperv_clocksource_tsc_page")]),
            Some(name::HYPERV)
        );
        assert_eq!(seen(&[GUEST, (clocks, "tsc acpi_pm")]), None);
        assert_eq!(
            seen(&[
                GUEST,
                ("sys/hypervisor/type", "xen\n"),
                (VENDOR, "Amazon EC2")
            ]),
            Some(name::XEN)
        );
    }
}

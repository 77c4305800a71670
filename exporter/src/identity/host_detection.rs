//! What the host's own files tell of it. The agent may run in a container: the files are those of
//! the host's first process.

use std::path::Path;

use evenkeel_semconv::attribute::{self, value};

use super::{
    attributes::SourcedAttributes,
    file::{read_bounded, read_in_root, read_line},
    hypervisor,
    os_release::OsRelease,
    roots::{OS_RELEASE_VARIABLE, Roots},
};
use crate::kernel::pid_namespace::PidNamespace;

/// `os-release` files have a few hundred bytes.
const MAX_OS_RELEASE_BYTES: usize = 64 << 10;

/// A node with a hundred pods has a few thousand mounts of some 200 bytes; the root is among the
/// first.
const MAX_MOUNTINFO_BYTES: usize = 1 << 20;

/// The kernel's first UTS namespace: `PROC_UTS_INIT_INO` (include/linux/proc_ns.h).
const INITIAL_UTS_NAMESPACE: &str = "uts:[4026531838]";

/// The attributes of the host, each with its source; what cannot be told is absent.
pub(super) fn detect(roots: &Roots) -> SourcedAttributes {
    let mut attributes = SourcedAttributes::default();
    attributes.insert(attribute::OS_TYPE, value::os_type::LINUX, "built in");
    let machine = rustix::system::uname();
    let arch = match machine.machine().to_bytes() {
        b"x86_64" => Some(value::host_arch::AMD64),
        b"aarch64" => Some(value::host_arch::ARM64),
        _ => None,
    };
    if let Some(arch) = arch {
        attributes.insert(attribute::HOST_ARCH, arch, "uname");
    }
    for (key, file, source) in [
        (
            attribute::EVENKEEL_KERNEL_RELEASE,
            "sys/kernel/osrelease",
            "/proc/sys/kernel/osrelease",
        ),
        (
            attribute::EVENKEEL_KERNEL_VERSION,
            "sys/kernel/version",
            "/proc/sys/kernel/version",
        ),
    ] {
        if let Some(text) = read_line(&roots.proc.join(file)) {
            attributes.insert(key, text, source);
        }
    }
    if let Some((name, source)) = hypervisor::detect(roots) {
        attributes.insert(attribute::EVENKEEL_HOST_HYPERVISOR_NAME, name, source);
    }
    if let Some((name, source)) = host_name(roots) {
        attributes.insert(attribute::HOST_NAME, name, source);
    }
    let own_root_is_hosts = has_hosts_root(roots);
    if let Some((id, source)) = machine_id(roots, own_root_is_hosts) {
        attributes.insert(attribute::HOST_ID, id, source);
    }
    if let Some((release, source)) = os_release(roots, own_root_is_hosts) {
        if let Some(name) = release.name {
            attributes.insert(attribute::OS_NAME, name, source);
        }
        if let Some(version) = release.version_id {
            attributes.insert(attribute::OS_VERSION, version, source);
        }
    }
    attributes
}

/// The host's name: the kernel's, unless we have a UTS namespace of our own (a pod without
/// `hostNetwork`), whose name is the pod's.
fn host_name(roots: &Roots) -> Option<(String, &'static str)> {
    let namespace =
        |process: &str| std::fs::read_link(roots.proc.join(process).join("ns/uts")).ok();
    let own = namespace("self");
    // The first process of a pod's PID namespace is not the host's.
    if PidNamespace::of(&roots.proc).is_some() {
        let is_hosts = own.is_some_and(|own| own.as_os_str() == INITIAL_UTS_NAMESPACE);
        let name = read_line(&roots.proc.join("sys/kernel/hostname")).filter(|_| is_hosts)?;
        return Some((name, "/proc/sys/kernel/hostname"));
    }
    if let (Some(own), Some(hosts)) = (own, namespace("1"))
        && own != hosts
    {
        let bytes = read_in_root(&roots.host_root(), Path::new("etc/hostname"), 256).ok()?;
        let name = String::from_utf8(bytes).ok()?.trim().to_owned();
        return (!name.is_empty()).then_some((name, "the host's /etc/hostname"));
    }
    let name = read_line(&roots.proc.join("sys/kernel/hostname"))?;
    Some((name, "/proc/sys/kernel/hostname"))
}

/// The host's machine id; never the DMI UUID, which the semantic conventions forbid.
fn machine_id(roots: &Roots, own_root_is_hosts: bool) -> Option<(String, &'static str)> {
    if PidNamespace::of(&roots.proc).is_some() {
        return None;
    }
    let valid = |bytes: Vec<u8>| {
        let id = String::from_utf8(bytes).ok()?.trim().to_ascii_lowercase();
        // An image that was not booted yet has `uninitialized` there.
        (id.len() == 32
            && id.bytes().all(|byte| byte.is_ascii_hexdigit())
            && id.bytes().any(|byte| byte != b'0'))
        .then_some(id)
    };
    let files = [
        ("etc/machine-id", "the host's /etc/machine-id"),
        (
            "var/lib/dbus/machine-id",
            "the host's /var/lib/dbus/machine-id",
        ),
    ];
    let mut directories = vec![roots.host_root()];
    if own_root_is_hosts {
        directories.push("/".into());
    }
    directories.iter().find_map(|directory| {
        files.iter().find_map(|(file, source)| {
            let bytes = read_in_root(directory, Path::new(file), 64).ok()?;
            valid(bytes).map(|id| (id, *source))
        })
    })
}

fn os_release(roots: &Roots, own_root_is_hosts: bool) -> Option<(OsRelease, &'static str)> {
    let parse = |bytes: Vec<u8>| OsRelease::parse(&String::from_utf8_lossy(&bytes));
    if roots.os_release_is_set() {
        let bytes = read_bounded(&roots.os_release, MAX_OS_RELEASE_BYTES).ok()?;
        return Some((parse(bytes), OS_RELEASE_VARIABLE));
    }
    if PidNamespace::of(&roots.proc).is_some() {
        return None;
    }
    let hosts = [
        ("etc/os-release", "the host's /etc/os-release"),
        ("usr/lib/os-release", "the host's /usr/lib/os-release"),
    ];
    let found = hosts.iter().find_map(|(file, source)| {
        read_in_root(&roots.host_root(), Path::new(file), MAX_OS_RELEASE_BYTES)
            .ok()
            .map(|bytes| (parse(bytes), *source))
    });
    found.or_else(|| {
        own_root_is_hosts.then_some(())?;
        let bytes = read_bounded(&roots.os_release, MAX_OS_RELEASE_BYTES).ok()?;
        Some((parse(bytes), "/etc/os-release"))
    })
}

/// Whether our root is that of the host's first process, whose own root may be closed to us: then
/// both have the same mount there. Mount ids are unique over all mount namespaces.
fn has_hosts_root(roots: &Roots) -> bool {
    let root_mount = |process: &str| {
        let path = roots.proc.join(process).join("mountinfo");
        let text = read_bounded(&path, MAX_MOUNTINFO_BYTES).ok()?;
        // `ID PARENT DEVICE ROOT MOUNT_POINT ...`, proc_pid_mountinfo(5).
        text.split(|byte| *byte == b'\n').find_map(|line| {
            let mut fields = line.split(|byte| *byte == b' ');
            let id = fields.next()?.to_vec();
            (fields.nth(3)? == b"/").then_some(id)
        })
    };
    root_mount("1").is_some_and(|mount| Some(mount) == root_mount("self"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::identity::test_support::{FakeProc, MACHINE_ID, fake_host};

    /// Kernel releases of all vendors pass through untouched.
    #[test]
    fn kernel_releases_are_kept() {
        let fake = fake_host();
        let cases = include_str!("../../tests/cases/kernel_release.tsv");
        let mut seen = 0;
        for line in cases.lines().skip(1).filter(|line| !line.is_empty()) {
            let release = line.split('\t').next().unwrap();
            fake.write("proc/sys/kernel/osrelease", format!("{release}\n"));
            let shared = detect(&fake.roots());
            assert_eq!(
                shared.value(attribute::EVENKEEL_KERNEL_RELEASE),
                Some(release)
            );
            seen += 1;
        }
        assert_eq!(seen, 10);
    }

    /// A machine id that is none is not sent; the D-Bus one stands in.
    #[test]
    fn machine_id_must_be_one() {
        let fake = fake_host();
        for bad in [
            "uninitialized\n",
            "",
            "0000000000000000000000000000000\n",
            &"0".repeat(32),
        ] {
            fake.write("proc/1/root/etc/machine-id", bad);
            let shared = detect(&fake.roots());
            assert_eq!(shared.get(attribute::HOST_ID), None);
        }
        fake.write("proc/1/root/var/lib/dbus/machine-id", MACHINE_ID);
        let shared = detect(&fake.roots());
        assert_eq!(shared.value(attribute::HOST_ID), Some(MACHINE_ID));
    }

    /// Our own root stands in for one that is closed to us only when it is the same.
    #[test]
    fn own_root_must_be_the_hosts() {
        let fake = FakeProc::new();
        let mounts = |id: u32| {
            format!(
                "22 {id} 0:21 / /proc rw - proc proc rw\n{id} 1 254:0 / / rw - ext4 /dev/vda rw\n"
            )
        };
        assert!(!has_hosts_root(&fake.roots()));
        fake.write("proc/1/mountinfo", mounts(27));
        assert!(!has_hosts_root(&fake.roots()));
        fake.write("proc/self/mountinfo", mounts(431));
        assert!(!has_hosts_root(&fake.roots()));
        fake.write("proc/self/mountinfo", mounts(27));
        assert!(has_hosts_root(&fake.roots()));
    }
}

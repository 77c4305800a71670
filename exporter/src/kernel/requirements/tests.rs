use std::{fs, path::Path};

use super::*;

/// Everything that root has here but CAP_SYS_RESOURCE.
const ALL: u64 = 0x1ff_feff_ffff;
const SYS_ADMIN: u64 = 1 << 21;

/// A host where nothing is missing; tests then take something away.
struct Host {
    proc_root: tempfile::TempDir,
    sys_root: tempfile::TempDir,
}

impl Host {
    fn new(capabilities: u64) -> Self {
        let host = Self {
            proc_root: tempfile::tempdir().unwrap(),
            sys_root: tempfile::tempdir().unwrap(),
        };
        host.proc(
            "self/status",
            &format!("Name:\tevenkeel\nCapEff:\t{capabilities:016x}\n"),
        );
        host.proc("self/uid_map", "         0          0 4294967295\n");
        host.proc("sys/kernel/perf_event_paranoid", "2\n");
        host.proc("sys/kernel/kptr_restrict", "1\n");
        host.proc("sys/kernel/unprivileged_bpf_disabled", "2\n");
        host.sys("kernel/btf/vmlinux", "x");
        host.sys("kernel/tracing/events/enable", "0\n");
        host.sys(
            "kernel/security/lockdown",
            "[none] integrity confidentiality\n",
        );
        host
    }

    fn proc(&self, path: &str, text: &str) {
        write(self.proc_root.path(), path, text);
    }

    fn link(&self, path: &str, target: &str) {
        let path = self.proc_root.path().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::os::unix::fs::symlink(target, path).unwrap();
    }

    fn sys(&self, path: &str, text: &str) {
        write(self.sys_root.path(), path, text);
    }

    fn diagnose(&self) -> Requirements {
        Requirements::diagnose(self.proc_root.path(), self.sys_root.path())
    }
}

fn write(root: &Path, path: &str, text: &str) {
    let path = root.join(path);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, text).unwrap();
}

/// The only lack, with its parts non-empty.
fn only(requirements: &Requirements) -> &Lack {
    let [lack] = requirements.lacks() else {
        panic!("one lack expected: {requirements:#?}");
    };
    assert!(!lack.what.is_empty() && !lack.lost.is_empty() && !lack.remedy.is_empty());
    lack
}

/// Root without CAP_SYS_RESOURCE lacks nothing.
#[test]
fn nothing_is_missing_for_root() {
    assert_eq!(Host::new(ALL).diagnose().lacks(), []);
}

/// Each capability taken away alone is named, with its weight (case K40). With CAP_SYS_ADMIN the
/// kernel accepts that instead of three of them.
#[test]
fn each_missing_capability_is_named() {
    for (bit, name, weight) in [
        (39, "CAP_BPF", Weight::Fatal),
        (38, "CAP_PERFMON", Weight::Fatal),
        (34, "CAP_SYSLOG", Weight::Loss),
        (19, "CAP_SYS_PTRACE", Weight::Loss),
        (40, "CAP_CHECKPOINT_RESTORE", Weight::Loss),
    ] {
        let without = ALL & !SYS_ADMIN & !(1 << bit);
        let requirements = Host::new(without).diagnose();
        let lack = only(&requirements);
        assert!(
            lack.what.contains(name) && lack.remedy.contains(name),
            "{lack}"
        );
        assert_eq!(lack.weight, weight);
        assert_eq!(requirements.fatal(), weight == Weight::Fatal);
        let accepted = matches!(bit, 38..=40);
        let with_admin = Host::new(ALL & !(1 << bit)).diagnose();
        assert_eq!(with_admin.lacks().is_empty(), accepted, "{name}");
    }
    // CAP_DAC_OVERRIDE opens everything that CAP_DAC_READ_SEARCH opens.
    assert_eq!(Host::new(ALL & !(1 << 2)).diagnose().lacks(), []);
    let requirements = Host::new(ALL & !0b110).diagnose();
    assert!(only(&requirements).what.contains("CAP_DAC_READ_SEARCH"));
}

/// Without any privilege the fatal lacks come first, and a lax sysctl is not mistaken for help.
#[test]
fn without_privileges_the_fatal_ones_come_first() {
    let host = Host::new(0);
    host.proc("sys/kernel/unprivileged_bpf_disabled", "0\n");
    let requirements = host.diagnose();
    assert!(requirements.fatal());
    assert_eq!(requirements.lacks()[0].weight, Weight::Fatal);
    assert_eq!(requirements.lacks().last().unwrap().weight, Weight::Note);
    assert!(
        requirements
            .lacks()
            .iter()
            .any(|lack| lack.what.contains("unprivileged_bpf_disabled"))
    );
}

/// In a pod's PID namespace nothing fatal is lacking; what is not seen is said.
#[test]
fn a_pid_namespace_is_named() {
    let host = Host::new(ALL);
    host.link("self/ns/pid", "pid:[4026532200]");
    let requirements = host.diagnose();
    assert!(!requirements.fatal());
    assert!(only(&requirements).lost.contains("[outside]"));
    host.link("1/ns/pid", "pid:[4026531836]");
    assert_eq!(host.diagnose().lacks(), []);
}

/// Capabilities inside a user namespace are full and worthless.
#[test]
fn a_user_namespace_is_named() {
    let host = Host::new(ALL);
    host.proc("self/uid_map", "         0       1000          1\n");
    let requirements = host.diagnose();
    assert!(only(&requirements).what.contains("user namespace"));
    assert!(requirements.fatal());
}

/// A kernel without type information and a sysfs that is not there are different faults.
#[test]
fn missing_type_information_is_fatal() {
    let host = Host::new(ALL);
    fs::remove_file(host.sys_root.path().join(btf::VMLINUX)).unwrap();
    let requirements = host.diagnose();
    assert!(only(&requirements).remedy.contains("CONFIG_DEBUG_INFO_BTF"));
    assert!(requirements.fatal());
    fs::remove_dir_all(host.sys_root.path().join("kernel")).unwrap();
    let requirements = host.diagnose();
    assert!(requirements.fatal());
    assert!(requirements.lacks()[0].remedy.contains("EVENKEEL_SYS_ROOT"));
}

/// Only the lockdown mode in brackets counts, and only confidentiality costs something.
#[test]
fn lockdown_is_read_from_its_brackets() {
    let host = Host::new(ALL);
    host.sys(
        "kernel/security/lockdown",
        "none [integrity] confidentiality\n",
    );
    assert_eq!(host.diagnose().lacks(), []);
    host.sys(
        "kernel/security/lockdown",
        "none integrity [confidentiality]\n",
    );
    let requirements = host.diagnose();
    assert!(only(&requirements).what.contains("confidentiality"));
    assert!(!requirements.fatal());
}

/// An unmounted tracefs is a note: nothing here needs it.
#[test]
fn tracefs_is_a_note() {
    let host = Host::new(ALL);
    fs::remove_dir_all(host.sys_root.path().join("kernel/tracing")).unwrap();
    let requirements = host.diagnose();
    assert_eq!(only(&requirements).weight, Weight::Note);
}

/// Hidden kernel addresses are told apart by their cause.
#[test]
fn hidden_kernel_addresses_are_named() {
    let host = Host::new(ALL);
    host.proc("sys/kernel/kptr_restrict", "2\n");
    assert!(only(&host.diagnose()).what.contains("kptr_restrict"));
    // Without CAP_SYSLOG they show only where both sysctls are open.
    let host = Host::new(ALL & !(1 << 34));
    host.proc("sys/kernel/kptr_restrict", "0\n");
    host.proc("sys/kernel/perf_event_paranoid", "1\n");
    assert_eq!(host.diagnose().lacks(), []);
}

/// A distribution's stricter perf level is a note where only CAP_PERFMON is held.
#[test]
fn a_strict_perf_level_is_a_note() {
    let host = Host::new(ALL & !SYS_ADMIN);
    host.proc("sys/kernel/perf_event_paranoid", "4\n");
    let requirements = host.diagnose();
    assert!(only(&requirements).what.contains("perf_event_paranoid"));
    assert!(!requirements.fatal());
}

/// An unreadable or absurd status is a note, never a false alarm.
#[test]
fn unreadable_status_is_a_note() {
    let host = Host::new(ALL);
    for status in ["", "CapEff:\tzz\n", "CapEff:\t1ffffffffffffffffffff\n"] {
        host.proc("self/status", status);
        assert_eq!(only(&host.diagnose()).weight, Weight::Note);
    }
}

/// The kernel that runs the tests has every feature, found by name in its types; one without any
/// of these names has none.
#[test]
fn features_are_found_by_name() {
    let mut requirements = Requirements::default();
    let Ok(btf) = Btf::from_sys(Path::new("/sys")) else {
        eprintln!("SKIPPED: no type information of the running kernel here");
        return;
    };
    requirements.add_features(&btf);
    assert_eq!(requirements.lacks(), []);
    let mut empty = vec![0x9f, 0xeb, 1, 0];
    for word in [24_u32, 0, 0, 0, 1] {
        empty.extend_from_slice(&word.to_le_bytes());
    }
    empty.push(0);
    requirements.add_features(&Btf::parse(empty).unwrap());
    assert_eq!(requirements.lacks().len(), FEATURES.len());
    assert!(requirements.fatal());
}

/// Raising the limit, allowed or refused, never lowers it.
#[test]
fn locked_memory_is_never_lowered() {
    let current = || getrlimit(Resource::Memlock).current.unwrap_or(u64::MAX);
    let before = current();
    raise_locked_memory();
    assert!(current() >= before);
}

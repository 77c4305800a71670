//! What this host withholds from the kernel programs, in plain words and with the remedy.
//!
//! Kernels are judged by what they have, never by their version number.

mod capability;

use std::{fmt, fs, path::Path};

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

use self::capability::{Capabilities, Capability};
use super::{
    btf::{self, Btf},
    pid_namespace::PidNamespace,
};

/// How much a lack costs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Weight {
    /// Nothing is lost; worth knowing when something else fails.
    Note,
    /// Part of a signal is lost.
    Loss,
    /// No kernel program can be loaded: nothing is measured.
    Fatal,
}

/// Something that is missing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Lack {
    /// How much it costs.
    pub weight: Weight,
    /// What is missing.
    pub what: String,
    /// What does not work without it.
    pub lost: String,
    /// What to do.
    pub remedy: String,
}

impl fmt::Display for Lack {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}: {} ({})", self.what, self.lost, self.remedy)
    }
}

/// Everything that is missing, the heaviest first.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Requirements {
    lacks: Vec<Lack>,
}

/// Helpers and maps of the kernel that the programs call, with what is lost without them. The
/// kernel lists them as enumerators in its type information.
const FEATURES: [(&str, &str, &str, Weight); 5] = [
    (
        "bpf_map_type",
        "BPF_MAP_TYPE_RINGBUF",
        "samples cannot reach user space",
        Weight::Fatal,
    ),
    (
        "bpf_map_type",
        "BPF_MAP_TYPE_TASK_STORAGE",
        "run-queue waits are not measured",
        Weight::Loss,
    ),
    (
        "bpf_func_id",
        "BPF_FUNC_get_current_task_btf",
        "fields of the current task cannot be read",
        Weight::Loss,
    ),
    (
        "bpf_func_id",
        "BPF_FUNC_task_pt_regs",
        "samples that hit the kernel have no user stack",
        Weight::Loss,
    ),
    (
        "bpf_func_id",
        "BPF_FUNC_loop",
        "nothing is sampled: user stacks are walked with it (Linux 5.17)",
        Weight::Loss,
    ),
];

impl Requirements {
    /// Looks at this process and host.
    #[must_use]
    pub fn diagnose(proc_root: &Path, sys_root: &Path) -> Self {
        let mut found = Self::default();
        found.privileges(proc_root);
        found.type_information(sys_root);
        found.lockdown(sys_root);
        found.tracefs(sys_root);
        found.sort();
        found
    }

    /// Adds what the running kernel is too old for, or was built without.
    pub fn add_features(&mut self, btf: &Btf) {
        for (enumeration, name, lost, weight) in FEATURES {
            if btf.enum_value(enumeration, name).is_none() {
                self.push(
                    weight,
                    format!("this kernel has no {name}"),
                    lost,
                    "run a newer kernel",
                );
            }
        }
        self.sort();
    }

    /// All lacks, the heaviest first.
    #[must_use]
    pub fn lacks(&self) -> &[Lack] {
        &self.lacks
    }

    /// Whether nothing at all can be measured in the kernel.
    #[must_use]
    pub fn fatal(&self) -> bool {
        self.lacks.iter().any(|lack| lack.weight == Weight::Fatal)
    }

    fn push(
        &mut self,
        weight: Weight,
        what: impl Into<String>,
        lost: impl Into<String>,
        remedy: impl Into<String>,
    ) {
        self.lacks.push(Lack {
            weight,
            what: what.into(),
            lost: lost.into(),
            remedy: remedy.into(),
        });
    }

    fn sort(&mut self) {
        self.lacks
            .sort_by_key(|lack| std::cmp::Reverse(lack.weight));
    }

    fn privileges(&mut self, proc_root: &Path) {
        let Some(capabilities) = Capabilities::of_self(proc_root) else {
            self.push(
                Weight::Note,
                format!("{} cannot be read", proc_root.join("self/status").display()),
                "missing privileges cannot be named beforehand",
                "mount procfs there",
            );
            return;
        };
        if in_user_namespace(proc_root) {
            self.push(
                Weight::Fatal,
                "this process is in a user namespace",
                "its capabilities do not count for the kernel, so no kernel program can be loaded",
                "run it in the host's user namespace",
            );
        }
        if PidNamespace::of(proc_root).is_some() {
            self.push(
                Weight::Note,
                "this process is in a PID namespace of its own",
                "processes outside of it are counted together, as [outside], without names",
                "for the whole node run it in the host's PID namespace (hostPID: true, --pid=host)",
            );
        }
        for capability in Capability::ALL {
            if !capabilities.grants(capability) {
                self.push(
                    capability.weight(),
                    format!("no {}", capability.name()),
                    capability.lost(),
                    format!(
                        "run as root, or grant {} to the service or container",
                        capability.name()
                    ),
                );
            }
        }
        self.kernel_symbols(proc_root, &capabilities);
        let paranoid = sysctl(proc_root, "perf_event_paranoid");
        // Above 2 is a distribution's own patch; some versions of it ask for CAP_SYS_ADMIN.
        if let Some(level) = paranoid
            && level > 2
            && !capabilities.grants(Capability::SysAdmin)
        {
            self.push(
                Weight::Note,
                format!("kernel.perf_event_paranoid is {level} and there is no CAP_SYS_ADMIN"),
                "some distributions' kernels then refuse perf events, and with them on_cpu",
                "if on_cpu fails: sysctl kernel.perf_event_paranoid=2",
            );
        }
        let unprivileged = sysctl(proc_root, "unprivileged_bpf_disabled");
        if !capabilities.grants(Capability::Bpf) && unprivileged == Some(0) {
            self.push(
                Weight::Note,
                "kernel.unprivileged_bpf_disabled is 0",
                "this allows socket filters only and does not replace CAP_BPF",
                "grant CAP_BPF",
            );
        }
    }

    /// Whether `/proc/kallsyms` shows addresses (`kallsyms_show_value` of the kernel).
    fn kernel_symbols(&mut self, proc_root: &Path, capabilities: &Capabilities) {
        let restrict = sysctl(proc_root, "kptr_restrict").unwrap_or(0);
        let paranoid = sysctl(proc_root, "perf_event_paranoid").unwrap_or(2);
        let lost = "kernel frames have addresses but no names";
        if restrict > 1 {
            self.push(
                Weight::Loss,
                format!("kernel.kptr_restrict is {restrict}"),
                lost,
                "sysctl kernel.kptr_restrict=1",
            );
        } else if !capabilities.grants(Capability::Syslog) && (restrict == 1 || paranoid > 1) {
            self.push(
                Weight::Loss,
                "no CAP_SYSLOG",
                lost,
                "run as root, or grant CAP_SYSLOG to the service or container",
            );
        }
    }

    fn type_information(&mut self, sys_root: &Path) {
        if sys_root.join(btf::VMLINUX).exists() {
            return;
        }
        let lost = "field offsets are unknown, so no kernel program can be loaded";
        if sys_root.join("kernel").exists() {
            self.push(
                Weight::Fatal,
                "this kernel has no type information (/sys/kernel/btf/vmlinux)",
                lost,
                "run a kernel built with CONFIG_DEBUG_INFO_BTF=y",
            );
        } else {
            self.push(
                Weight::Fatal,
                format!("no sysfs at {}", sys_root.display()),
                lost,
                "mount sysfs there, or set EVENKEEL_SYS_ROOT",
            );
        }
    }

    fn lockdown(&mut self, sys_root: &Path) {
        let Ok(text) = fs::read_to_string(sys_root.join("kernel/security/lockdown")) else {
            // Kernels without the lockdown module have no such file.
            return;
        };
        // `none integrity [confidentiality]`: the brackets mark the mode in force. Integrity only
        // forbids what we never do (writing to user memory).
        if text.contains("[confidentiality]") {
            self.push(
                Weight::Loss,
                "kernel lockdown is in confidentiality mode",
                "the kernel refuses programs that copy kernel memory; their signals are off, and \
                 their status says so",
                "boot without lockdown=confidentiality (integrity mode is enough for Secure Boot)",
            );
        }
    }

    fn tracefs(&mut self, sys_root: &Path) {
        let mounted = ["kernel/tracing/events", "kernel/debug/tracing/events"]
            .iter()
            .any(|path| sys_root.join(path).exists());
        if !mounted {
            self.push(
                Weight::Note,
                "tracefs is not mounted",
                "nothing is lost: the probes attach through the kernel's type information",
                "none needed",
            );
        }
    }
}

/// Whether user ids are mapped: the initial namespace maps all of them to themselves.
fn in_user_namespace(proc_root: &Path) -> bool {
    let Ok(map) = fs::read_to_string(proc_root.join("self/uid_map")) else {
        return false;
    };
    let mut words = map.split_ascii_whitespace();
    let first = [words.next(), words.next(), words.next()];
    first != [Some("0"), Some("0"), Some("4294967295")]
}

fn sysctl(proc_root: &Path, name: &str) -> Option<i64> {
    let path = proc_root.join("sys/kernel").join(name);
    fs::read_to_string(path).ok()?.trim().parse().ok()
}

/// Lifts the limit on locked memory, to which kernels before 5.11 charged maps. Later kernels do
/// not look at it, so that a refusal is only a debug line.
pub fn raise_locked_memory() {
    let unlimited = Rlimit {
        current: None,
        maximum: None,
    };
    if let Err(refused) = setrlimit(Resource::Memlock, unlimited) {
        let maximum = getrlimit(Resource::Memlock).maximum;
        let within = Rlimit {
            current: maximum,
            maximum,
        };
        let raised = setrlimit(Resource::Memlock, within).is_ok();
        tracing::debug!(
            %refused,
            ?maximum,
            raised,
            "the limit on locked memory cannot be lifted; only kernels before 5.11 need that"
        );
    }
}

#[cfg(test)]
mod tests;

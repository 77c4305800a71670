//! Whether the platform tells this host how much time it was not given.
//!
//! A zero in the steal column means "nothing was stolen" only where somebody counts. Where nobody
//! does, the signal is absent.

use std::{fs, path::Path};

/// What is known of the steal clock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StealClock {
    /// The hypervisor counts stolen time and the kernel reads it.
    Counted {
        /// Who counts.
        by: &'static str,
    },
    /// Nobody counts.
    Absent {
        /// Why.
        reason: &'static str,
    },
    /// It cannot be told from here: stolen time is believed once it is above zero.
    Unknown {
        /// Why.
        reason: &'static str,
    },
}

impl StealClock {
    /// Looks at the kernel command line, the firmware's names and the hypervisor's own leaves.
    #[must_use]
    pub fn detect(proc_root: &Path, sys_root: &Path) -> Self {
        let command_line = fs::read_to_string(proc_root.join("cmdline")).unwrap_or_default();
        if command_line
            .split_ascii_whitespace()
            .any(|word| word == "no-steal-acc")
        {
            return Self::Absent {
                reason: "the kernel was booted with no-steal-acc",
            };
        }
        // Hyper-V has no steal clock, and tells of itself in the firmware on x86 and on Arm.
        let dmi = |name: &str| {
            fs::read_to_string(sys_root.join("class/dmi/id").join(name)).unwrap_or_default()
        };
        if dmi("sys_vendor").trim() == "Microsoft Corporation"
            && dmi("product_name").trim() == "Virtual Machine"
        {
            return HYPER_V;
        }
        processor()
    }

    /// Whether a reading of so many stolen ticks since boot is a measurement.
    #[must_use]
    pub fn believes(&self, ticks: u64) -> bool {
        match self {
            Self::Counted { .. } => true,
            Self::Absent { .. } => false,
            Self::Unknown { .. } => ticks > 0,
        }
    }
}

const HYPER_V: StealClock = StealClock::Absent {
    reason: "Hyper-V has no steal clock",
};

/// What the CPUID leaves of hypervisors say, which any process may read.
#[cfg(target_arch = "x86_64")]
fn processor() -> StealClock {
    use std::arch::x86_64::__cpuid;

    /// Leaf 1, ECX: running under a hypervisor.
    const HYPERVISOR: u32 = 1 << 31;
    /// `KVM_FEATURE_STEAL_TIME` (Linux `Documentation/virt/kvm/x86/cpuid.rst`).
    const KVM_STEAL_TIME: u32 = 1 << 5;

    if __cpuid(1).ecx & HYPERVISOR == 0 {
        return StealClock::Absent {
            reason: "not a virtual machine: there is nobody to steal",
        };
    }
    // A hypervisor that also poses as another has several blocks of leaves, 0x100 apart.
    let mut found = StealClock::Unknown {
        reason: "a hypervisor that this version of Evenkeel does not know",
    };
    for base in (0x4000_0000..0x4000_1000_u32).step_by(0x100) {
        let leaf = __cpuid(base);
        let mut name = [0; 12];
        for (part, register) in name.chunks_exact_mut(4).zip([leaf.ebx, leaf.ecx, leaf.edx]) {
            part.copy_from_slice(&register.to_le_bytes());
        }
        let features = || __cpuid(base + 1).eax;
        match &name {
            b"KVMKVMKVM\0\0\0" if features() & KVM_STEAL_TIME != 0 => {
                return StealClock::Counted { by: "KVM" };
            }
            b"KVMKVMKVM\0\0\0" => {
                return StealClock::Absent {
                    reason: "this KVM host does not offer its steal clock",
                };
            }
            b"XenVMMXenVMM" => return StealClock::Counted { by: "Xen" },
            // vSphere 7 can offer one, if the administrator enabled it.
            b"VMwareVMware" => {
                return StealClock::Unknown {
                    reason: "VMware offers a steal clock only where it was enabled",
                };
            }
            // Kept: KVM may stand behind it.
            b"Microsoft Hv" => found = HYPER_V,
            _ => {}
        }
    }
    found
}

#[cfg(not(target_arch = "x86_64"))]
fn processor() -> StealClock {
    StealClock::Unknown {
        reason: "this architecture does not tell a process whether stolen time is counted",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn write(root: &Path, path: &str, text: &str) {
        let path = root.join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    /// Hyper-V is known by its firmware names, and a kernel that was told not to count is known by
    /// its command line.
    #[test]
    fn absent_clocks_are_known_by_their_files() {
        let root = tempfile::tempdir().unwrap();
        let plain = StealClock::detect(root.path(), root.path());
        write(
            root.path(),
            "class/dmi/id/sys_vendor",
            "Microsoft Corporation\n",
        );
        // A laptop of the same maker is no Hyper-V.
        write(root.path(), "class/dmi/id/product_name", "Surface Laptop\n");
        assert_eq!(StealClock::detect(root.path(), root.path()), plain);
        write(
            root.path(),
            "class/dmi/id/product_name",
            "Virtual Machine\n",
        );
        assert_eq!(StealClock::detect(root.path(), root.path()), HYPER_V);
        write(root.path(), "cmdline", "quiet no-steal-acc ro\n");
        let told = StealClock::detect(root.path(), root.path());
        assert!(matches!(told, StealClock::Absent { reason } if reason.contains("no-steal-acc")));
    }

    /// A zero is believed only where somebody counts.
    #[test]
    fn zero_is_believed_where_somebody_counts() {
        assert!(StealClock::Counted { by: "KVM" }.believes(0));
        let unknown = StealClock::Unknown { reason: "" };
        assert!(!unknown.believes(0) && unknown.believes(1));
        assert!(!HYPER_V.believes(1));
    }

    /// On the host that runs the tests, a clock that is said to be absent has counted nothing.
    #[test]
    fn agrees_with_this_host() {
        let clock = StealClock::detect(Path::new("/proc"), Path::new("/sys"));
        eprintln!("{clock:?}");
        let stat = super::super::Stat::parse(&fs::read("/proc/stat").unwrap());
        let stolen = stat.total.unwrap().steal().unwrap_or(0);
        assert!(
            !matches!(clock, StealClock::Absent { .. }) || stolen == 0,
            "{stolen}"
        );
    }
}

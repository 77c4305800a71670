//! The capabilities of this process and what each is for.

use std::{fs, path::Path};

use super::Weight;

/// A capability that something here needs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Capability {
    Bpf,
    Perfmon,
    SysAdmin,
    SysPtrace,
    DacReadSearch,
    CheckpointRestore,
    Syslog,
}

impl Capability {
    /// Those whose absence is a lack by itself. CAP_SYS_ADMIN is only another way to have some of
    /// them, and what CAP_SYSLOG is for depends on two sysctls.
    pub(super) const ALL: [Self; 5] = [
        Self::Bpf,
        Self::Perfmon,
        Self::SysPtrace,
        Self::DacReadSearch,
        Self::CheckpointRestore,
    ];

    /// Bit in the masks of `/proc/PID/status` (`include/uapi/linux/capability.h`).
    fn bit(self) -> u32 {
        match self {
            Self::DacReadSearch => 2,
            Self::SysPtrace => 19,
            Self::SysAdmin => 21,
            Self::Syslog => 34,
            Self::Perfmon => 38,
            Self::Bpf => 39,
            Self::CheckpointRestore => 40,
        }
    }

    /// A broader capability that the kernel accepts in its place.
    fn instead(self) -> Option<u32> {
        /// CAP_DAC_OVERRIDE
        const DAC_OVERRIDE: u32 = 1;
        match self {
            // `bpf_capable`, `perfmon_capable`, `checkpoint_restore_ns_capable`
            Self::Bpf | Self::Perfmon | Self::CheckpointRestore => Some(Self::SysAdmin.bit()),
            Self::DacReadSearch => Some(DAC_OVERRIDE),
            Self::SysAdmin | Self::SysPtrace | Self::Syslog => None,
        }
    }

    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Bpf => "CAP_BPF",
            Self::Perfmon => "CAP_PERFMON",
            Self::SysAdmin => "CAP_SYS_ADMIN",
            Self::SysPtrace => "CAP_SYS_PTRACE",
            Self::DacReadSearch => "CAP_DAC_READ_SEARCH",
            Self::CheckpointRestore => "CAP_CHECKPOINT_RESTORE",
            Self::Syslog => "CAP_SYSLOG",
        }
    }

    /// All programs here are tracing programs, for which the kernel asks for CAP_PERFMON too.
    pub(super) fn weight(self) -> Weight {
        match self {
            Self::Bpf | Self::Perfmon => Weight::Fatal,
            _ => Weight::Loss,
        }
    }

    pub(super) fn lost(self) -> &'static str {
        match self {
            Self::Bpf | Self::SysAdmin => "no kernel program can be loaded",
            Self::Perfmon => "no kernel program can watch events, and perf events are refused",
            Self::SysPtrace => {
                "executables and memory maps of other users' processes cannot be read, so their \
                 frames have no names"
            }
            Self::DacReadSearch => {
                "executables in directories closed to this user cannot be read, so their frames \
                 have no names"
            }
            Self::CheckpointRestore => {
                "executables that were deleted or replaced while they run cannot be read, so their \
                 frames have no names"
            }
            Self::Syslog => "kernel frames have addresses but no names",
        }
    }
}

/// The effective set of this process.
#[derive(Clone, Copy, Debug)]
pub(super) struct Capabilities(u64);

impl Capabilities {
    /// Reads `<proc_root>/self/status`; `None` where that cannot be read.
    pub(super) fn of_self(proc_root: &Path) -> Option<Self> {
        let status = fs::read_to_string(proc_root.join("self/status")).ok()?;
        let mask = status
            .lines()
            .find_map(|line| line.strip_prefix("CapEff:"))?;
        u64::from_str_radix(mask.trim(), 16).ok().map(Self)
    }

    /// Whether the kernel would let this process do what the capability is for.
    pub(super) fn grants(&self, capability: Capability) -> bool {
        let has = |bit: u32| (self.0 >> bit) & 1 == 1;
        has(capability.bit()) || capability.instead().is_some_and(has)
    }
}

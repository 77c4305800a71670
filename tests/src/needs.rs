//! What a test needs from the machine, and whether it is there.

use std::path::Path;

use rustix::process::geteuid;

/// Something a test can't do without.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Need {
    /// Root, with the capabilities that the capturing half asks for.
    Root,
    /// A kernel with BTF that isn't locked down.
    Bpf,
    /// At least this many CPUs.
    Cpus(usize),
    /// A program in `PATH`.
    Program(&'static str),
}

/// What every test that records needs.
pub const RECORDING: &[Need] = &[Need::Root, Need::Bpf];

/// Capabilities without which nothing can be recorded, by bit (`linux/capability.h`).
const CAPABILITIES: [(u32, &str); 3] = [(19, "SYS_PTRACE"), (38, "PERFMON"), (39, "BPF")];

impl Need {
    /// Why the need isn't met; `None` where it is.
    pub fn lacking(self) -> Option<String> {
        match self {
            Self::Root => lacking_root(),
            Self::Bpf => lacking_bpf(),
            Self::Cpus(wanted) => {
                let seen = std::thread::available_parallelism().map_or(1, usize::from);
                (seen < wanted).then(|| format!("needs {wanted} CPUs, has {seen}"))
            }
            Self::Program(name) => {
                let found = std::env::var_os("PATH").is_some_and(|path| {
                    std::env::split_paths(&path).any(|folder| folder.join(name).is_file())
                });
                (!found).then(|| format!("needs the program {name}"))
            }
        }
    }
}

fn lacking_root() -> Option<String> {
    if !geteuid().is_root() {
        return Some("needs root".to_owned());
    }
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let effective = effective_capabilities(&status)?;
    let missing: Vec<&str> = CAPABILITIES
        .iter()
        .filter(|(bit, _)| effective >> bit & 1 == 0)
        .map(|(_, name)| *name)
        .collect();
    (!missing.is_empty()).then(|| format!("root without the capabilities {}", missing.join(", ")))
}

fn effective_capabilities(status: &str) -> Option<u64> {
    let line = status
        .lines()
        .find_map(|line| line.strip_prefix("CapEff:"))?;
    u64::from_str_radix(line.trim(), 16).ok()
}

/// Only what can be seen without loading a program: the load itself is what the tests try, and a kernel
/// that has all of this and still refuses is a failure, not a lack.
fn lacking_bpf() -> Option<String> {
    if !Path::new("/sys/kernel/btf/vmlinux").exists() {
        return Some("the kernel has no BTF (/sys/kernel/btf/vmlinux)".to_owned());
    }
    let lockdown = std::fs::read_to_string("/sys/kernel/security/lockdown").unwrap_or_default();
    lockdown
        .contains("[confidentiality]")
        .then(|| "kernel lockdown is at [confidentiality]".to_owned())
}

/// The first need of `needs` that isn't met.
pub fn first_lacking(needs: &[Need]) -> Option<String> {
    needs.iter().find_map(|need| need.lacking())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A program that can't exist is lacking, `sh` is not.
    #[test]
    fn programs_are_looked_up() {
        assert_eq!(Need::Program("sh").lacking(), None);
        assert!(Need::Program("no-such-program-here").lacking().is_some());
    }

    /// The capability mask of a status file is read as hex.
    #[test]
    fn capabilities_are_hex() {
        let status = "Name:\tx\nCapEff:\t000000c000080000\n";
        assert_eq!(effective_capabilities(status), Some(0xc0_0008_0000));
        assert_eq!(effective_capabilities("Name:\tx\n"), None);
    }
}

//! Where facts about the host are read from.

use std::{ffi::OsString, path::PathBuf};

/// Moves `/proc`.
pub const PROC_ROOT_VARIABLE: &str = "EVENKEEL_PROC_ROOT";
/// Moves `/sys`.
pub const SYS_ROOT_VARIABLE: &str = "EVENKEEL_SYS_ROOT";
/// Moves `/sys/fs/cgroup`.
pub const CGROUP_ROOT_VARIABLE: &str = "EVENKEEL_CGROUP_ROOT";
/// Moves `/etc/os-release`.
pub const OS_RELEASE_VARIABLE: &str = "EVENKEEL_OS_RELEASE";

const DEFAULT_OS_RELEASE: &str = "/etc/os-release";

/// The places that facts are read from, so that tests and odd hosts (the host's `/proc` mounted
/// elsewhere in a container) can move them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Roots {
    /// `procfs`; `/proc` by default.
    pub proc: PathBuf,
    /// `sysfs`; `/sys` by default.
    pub sys: PathBuf,
    /// The cgroup hierarchy; `/sys/fs/cgroup` by default.
    pub cgroup: PathBuf,
    /// The `os-release` file; `/etc/os-release` by default.
    pub os_release: PathBuf,
}

impl Default for Roots {
    fn default() -> Self {
        Self::from_environment(|_| None)
    }
}

impl Roots {
    /// Reads the variables through `lookup` (`std::env::var_os` outside tests). An empty variable
    /// is an unset one, as in the OpenTelemetry specification.
    pub fn from_environment(lookup: impl Fn(&str) -> Option<OsString>) -> Self {
        let path = |variable, default| {
            lookup(variable)
                .filter(|value| !value.is_empty())
                .map_or_else(|| PathBuf::from(default), PathBuf::from)
        };
        Self {
            proc: path(PROC_ROOT_VARIABLE, "/proc"),
            sys: path(SYS_ROOT_VARIABLE, "/sys"),
            cgroup: path(CGROUP_ROOT_VARIABLE, "/sys/fs/cgroup"),
            os_release: path(OS_RELEASE_VARIABLE, DEFAULT_OS_RELEASE),
        }
    }

    /// Whether the `os-release` file was named by the user, who then means exactly that one.
    pub(super) fn os_release_is_set(&self) -> bool {
        self.os_release.as_os_str() != DEFAULT_OS_RELEASE
    }

    /// The root directory of the host, seen through its first process. Needs ptrace access to it.
    pub(super) fn host_root(&self) -> PathBuf {
        self.proc.join("1/root")
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    /// Each variable moves its own place and no other; empty ones move nothing.
    #[test]
    fn variables_move_places() {
        let roots = Roots::from_environment(|name| match name {
            PROC_ROOT_VARIABLE => Some("/host/proc".into()),
            SYS_ROOT_VARIABLE => Some("".into()),
            OS_RELEASE_VARIABLE => Some("/host/os-release".into()),
            _ => None,
        });
        assert_eq!(roots.proc, Path::new("/host/proc"));
        assert_eq!(roots.sys, Path::new("/sys"));
        assert_eq!(roots.cgroup, Path::new("/sys/fs/cgroup"));
        assert!(roots.os_release_is_set());
        assert_eq!(roots.host_root(), Path::new("/host/proc/1/root"));
        assert!(!Roots::default().os_release_is_set());
    }
}

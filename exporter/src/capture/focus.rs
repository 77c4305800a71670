//! Which processes belong to the services and containers in focus.
//!
//! The kernel programs know groups by process (`exporter-ebpf/src/focus.rs`). A child is in its parent's group
//! from its birth; here each process is put where it belongs when it is identified: all that there are
//! at the start, and each that runs another program.

use std::path::Path;

use aya::maps::{Array, HashMap, Map, MapData};

use crate::identity::{Process, ProcessKey, ProcessTable};

/// A service or container in focus.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FocusTarget {
    /// By `service.name`.
    Service(String),
    /// By the beginning of `container.id`.
    Container(String),
}

/// Fewest digits of a container id: what tools show.
const CONTAINER_DIGITS: usize = 12;

/// A text that is no target.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("not service=NAME or container=ID with at least 12 hexadecimal digits")]
pub struct FocusTargetError;

impl std::str::FromStr for FocusTarget {
    type Err = FocusTargetError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let is_hex = |id: &str| id.bytes().all(|byte| byte.is_ascii_hexdigit());
        match text.split_once('=') {
            Some(("service", name)) if !name.is_empty() => Ok(Self::Service(name.into())),
            Some(("container", id)) if id.len() >= CONTAINER_DIGITS && is_hex(id) => {
                Ok(Self::Container(id.to_ascii_lowercase()))
            }
            _ => Err(FocusTargetError),
        }
    }
}

impl std::fmt::Display for FocusTarget {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Service(name) => write!(formatter, "service={name}"),
            Self::Container(id) => write!(formatter, "container={id}"),
        }
    }
}

impl FocusTarget {
    fn has(&self, process: &Process) -> bool {
        let owner = &process.owner;
        match self {
            Self::Service(name) => *owner.service_name == **name,
            Self::Container(id) => owner
                .container_id
                .as_ref()
                .is_some_and(|own| own.starts_with(id.as_str())),
        }
    }
}

/// The processes in focus.
pub(super) struct Focus {
    targets: Vec<FocusTarget>,
    groups: HashMap<MapData, u32, u32>,
    generations: Array<MapData, u64>,
    generation: u64,
    refused: u64,
}

impl Focus {
    /// Nobody is in focus yet; `None` without targets or maps.
    pub(super) fn new(
        targets: &[FocusTarget],
        groups: Option<Map>,
        generations: Option<Map>,
    ) -> Option<Self> {
        if targets.is_empty() {
            return None;
        }
        let mut focus = Self {
            targets: targets.to_vec(),
            groups: HashMap::try_from(groups?).ok()?,
            generations: Array::try_from(generations?).ok()?,
            generation: 0,
            refused: 0,
        };
        focus.announce();
        Some(focus)
    }

    /// Processes for which there was no room.
    pub(super) fn refused(&self) -> u64 {
        self.refused
    }

    /// Puts all processes that there are in their groups.
    pub(super) fn scan(&mut self, proc_root: &Path, processes: &mut ProcessTable) {
        let Ok(entries) = std::fs::read_dir(proc_root) else {
            return;
        };
        for entry in entries.flatten() {
            let name = entry.file_name();
            let Some(pid) = name.to_str().and_then(|name| name.parse().ok()) else {
                continue;
            };
            if let Some(key) = ProcessKey::current(proc_root, pid) {
                let process = processes.observe(key, b"");
                self.assign(&process);
            }
        }
    }

    /// Puts a process where it belongs.
    pub(super) fn assign(&mut self, process: &Process) {
        let pid = process.key.pid;
        let group = self.targets.iter().position(|target| target.has(process));
        let before = self.groups.get(&pid, 0).ok();
        let after = group.and_then(|group| u32::try_from(group + 1).ok());
        if before == after {
            return;
        }
        let changed = match after {
            Some(group) => self.groups.insert(pid, group, 0),
            None => self.groups.remove(&pid),
        };
        match changed {
            Ok(()) => self.announce(),
            Err(error) => {
                self.refused += 1;
                tracing::debug!(pid, %error, "A process is not in focus.");
            }
        }
    }

    /// A process is gone.
    pub(super) fn forget(&mut self, pid: u32) {
        // It may not have been in focus.
        let _ = self.groups.remove(&pid);
    }

    /// Tells the kernel programs that what they remember of tasks is out of date.
    fn announce(&mut self) {
        self.generation += 1;
        if let Err(error) = self.generations.set(0, self.generation, 0) {
            tracing::debug!(%error, "Tasks may be in the wrong group in focus.");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Targets are services by name and containers by the beginning of their id.
    #[test]
    fn targets_are_parsed() {
        let parsed = |text: &str| text.parse::<FocusTarget>();
        assert_eq!(
            parsed("service=checkout=2"),
            Ok(FocusTarget::Service("checkout=2".into()))
        );
        assert_eq!(
            parsed("container=0123456789AB"),
            Ok(FocusTarget::Container("0123456789ab".into()))
        );
        for bad in [
            "",
            "checkout",
            "service=",
            "container=0123",
            "container=0123456789xy",
            "pod=a",
        ] {
            assert_eq!(parsed(bad), Err(FocusTargetError), "{bad}");
        }
    }
}

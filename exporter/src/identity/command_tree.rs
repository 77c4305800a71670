//! The recorded command and its descendants.

use std::collections::HashMap;

use super::{process::ProcessKey, process_directory::ProcessReader};

/// Most ancestors that are asked for in `/proc`.
const MAX_ANCESTORS: usize = 32;

/// The living members of the tree. Births reach it by fork events; a process whose birth was not
/// seen is asked for its ancestors.
#[derive(Debug, Default)]
pub(super) struct CommandTree {
    /// Id of the command's process and its start in clock ticks, if it lived when it was named.
    root: Option<(u32, Option<u64>)>,
    /// The process whose next child is the command.
    parent: Option<u32>,
    /// Living members that the process table holds, by id.
    members: HashMap<u32, ProcessKey>,
}

impl CommandTree {
    pub(super) fn set_root(&mut self, pid: u32, start_ticks: Option<u64>) {
        self.root = Some((pid, start_ticks));
        self.members.clear();
    }

    /// The next child of a process is the command.
    pub(super) fn expect_child_of(&mut self, parent: u32) {
        self.parent = Some(parent);
    }

    /// A process was born; it may be the one that was expected.
    pub(super) fn birth(&mut self, parent: ProcessKey, child: ProcessKey) {
        if self.parent == Some(parent.pid) {
            self.parent = None;
            self.set_root(child.pid, Some(child.start_ticks()));
        }
    }

    pub(super) fn is_root(&self, key: ProcessKey) -> bool {
        self.root.is_some_and(|(pid, ticks)| {
            pid == key.pid && ticks.is_none_or(|ticks| ticks == key.start_ticks())
        })
    }

    pub(super) fn join(&mut self, key: ProcessKey) {
        self.members.insert(key.pid, key);
    }

    pub(super) fn leave(&mut self, key: ProcessKey) {
        if self.members.get(&key.pid) == Some(&key) {
            self.members.remove(&key.pid);
        }
    }

    /// Whether the process that has this id now is a member or descends from one.
    pub(super) fn reaches(&self, pid: u32, reader: &mut ProcessReader) -> bool {
        let Some((root, root_ticks)) = self.root else {
            return false;
        };
        let mut pid = pid;
        for _ in 0..MAX_ANCESTORS {
            if pid <= 1 {
                return false;
            }
            let Some((parent, ticks)) = reader.parent_and_start(pid) else {
                return false;
            };
            let is_member = self
                .members
                .get(&pid)
                .is_some_and(|key| key.start_ticks() == ticks);
            if is_member || pid == root && root_ticks == Some(ticks) {
                return true;
            }
            pid = parent;
        }
        false
    }
}

//! Whose a process is can change: the cluster tells of a pod after its containers run, and a process
//! can be put into another cgroup.

use std::{collections::HashMap, sync::Arc};

use super::ProcessTable;
use crate::identity::{owner::Owner, process::Process};

/// Processes whose cgroup is read at the end of a window, 12 us each: 0.03 % of a CPU at 10 s.
const CGROUPS_READ: usize = 256;

/// Windows in which a process is new: a runtime starts what it puts into a container.
const NEW: u64 = 2;

/// Processes and owners about which more is known at the end of a window than when they were sampled.
#[derive(Debug, Default)]
pub struct Renewal {
    /// By address of the old one, which lives here so that no other takes its place.
    processes: HashMap<*const Process, (Arc<Process>, Arc<Process>)>,
    owners: HashMap<*const Owner, (Arc<Owner>, Arc<Owner>)>,
    moved: Vec<Arc<Process>>,
}

impl Renewal {
    /// Whether the samples of the window stay with the owners they have.
    pub fn is_empty(&self) -> bool {
        self.owners.is_empty()
    }

    /// The processes that have another owner from now on.
    pub fn changed(&self) -> impl Iterator<Item = &Arc<Process>> {
        let renewed = self.processes.values().map(|(_, new)| new);
        renewed.chain(&self.moved)
    }

    /// The process as it is known now.
    pub fn process(&self, process: &mut Arc<Process>) {
        if let Some((_, new)) = self.processes.get(&Arc::as_ptr(process)) {
            *process = Arc::clone(new);
        } else if let Some((_, new)) = self.owners.get(&Arc::as_ptr(&process.owner)) {
            Arc::make_mut(process).owner = Arc::clone(new);
        }
    }

    /// The owner as it is known now.
    pub fn owner(&self, owner: &Arc<Owner>) -> Option<&Arc<Owner>> {
        self.owners.get(&Arc::as_ptr(owner)).map(|(_, new)| new)
    }
}

impl ProcessTable {
    pub(super) fn renew(&mut self) -> Renewal {
        let mut renewal = Renewal::default();
        self.read_cgroups(&mut renewal.moved);
        let revision = self.identification.pods.revision();
        if revision != self.pods_revision {
            self.pods_revision = revision;
            self.ask_for_pods(&mut renewal);
        }
        renewal
    }

    /// What the cluster has told since was so before: the samples of the window go with it.
    fn ask_for_pods(&mut self, renewal: &mut Renewal) {
        for entry in self.entries.values_mut() {
            let Some(process) = &mut entry.process else {
                continue;
            };
            if process.cgroup.container_id.is_none() {
                continue;
            }
            let cgroup = Arc::clone(&process.cgroup);
            let (owner, source) = self.identification.owner_now(process, &cgroup);
            if Arc::ptr_eq(&owner, &process.owner) {
                continue;
            }
            let old = Arc::clone(process);
            let changed = Arc::make_mut(process);
            changed.owner = Arc::clone(&owner);
            changed.service_name_source = source;
            renewal
                .owners
                .entry(Arc::as_ptr(&old.owner))
                .or_insert_with(|| (Arc::clone(&old.owner), owner));
            renewal
                .processes
                .insert(Arc::as_ptr(&old), (old, Arc::clone(process)));
        }
    }

    /// Looks whether processes were moved: new ones each time, the others in turn. Earlier samples stay with
    /// the owner they had.
    fn read_cgroups(&mut self, moved: &mut Vec<Arc<Process>>) {
        let window = self.window;
        let is_new = |table: &Self, key| {
            let entry = table.entries.get(key);
            entry.is_some_and(|entry| entry.first_window + NEW > window)
        };
        let mut keys: Vec<_> = self
            .clock
            .iter()
            .rev()
            .take(CGROUPS_READ)
            .filter(|key| is_new(self, key))
            .copied()
            .collect();
        let start = self
            .cgroup_cursor
            .checked_rem(self.clock.len())
            .unwrap_or(0);
        let turn = (CGROUPS_READ - keys.len()).min(self.clock.len());
        let in_turn = self.clock.iter().cycle().skip(start).take(turn);
        keys.extend(in_turn.filter(|key| !is_new(self, key)).copied());
        self.cgroup_cursor = start + turn;
        for key in keys {
            let known = self.entries.get(&key).is_some_and(|entry| {
                let process = entry.process.as_ref();
                !entry.exited && process.is_some_and(|process| !process.kernel_thread)
            });
            let facts = if known { self.reader.cgroup(key) } else { None };
            let Some(process) = self
                .entries
                .get_mut(&key)
                .and_then(|entry| entry.process.as_mut())
            else {
                continue;
            };
            let Some(facts) = facts.filter(|facts| *facts != *process.cgroup) else {
                continue;
            };
            self.identification.statistics.cgroup_moves += 1;
            let (owner, source) = self.identification.owner_now(process, &facts);
            let changed = Arc::make_mut(process);
            changed.cgroup = Arc::new(facts);
            changed.owner = owner;
            changed.service_name_source = source;
            moved.push(Arc::clone(process));
        }
    }
}

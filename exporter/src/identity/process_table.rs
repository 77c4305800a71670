//! All processes that samples may refer to.

mod renewal;
#[cfg(test)]
mod tests;

use std::{
    collections::{HashMap, VecDeque},
    sync::Arc,
};

use super::{
    command_tree::CommandTree,
    host::HostIdentity,
    identification::{Exec, Identification, Inherited, ProcessTableStatistics, idle, outside},
    kubernetes::Pods,
    owner::{MAX_OWNERS, Owners},
    process::{Process, ProcessKey},
    process_directory::{ProcessReader, Reading},
    roots::Roots,
};

pub use self::renewal::Renewal;

/// Most generations that are looked back for what a process inherited.
const MAX_GENERATIONS: usize = 8;

/// Windows that a process is kept for after its end, so that late samples find it.
const WINDOWS_KEPT: u64 = 2;

#[derive(Debug, Default)]
struct Entry {
    parent: Option<ProcessKey>,
    /// The parent's image at the fork.
    parent_image: u32,
    image: u32,
    /// The last program started, by this process or, with `image` 0, by the parent before the fork.
    exec: Option<Arc<Exec>>,
    inherited: Option<Inherited>,
    /// Set when it was first seen with its present image.
    process: Option<Arc<Process>>,
    /// The window in which its present image was first seen.
    first_window: u64,
    exited: bool,
    command_tree: bool,
    /// Whether it belongs to the command's tree can be told only by asking for its ancestors.
    ancestry_unknown: bool,
    /// Seen since the clock hand of eviction passed.
    used: bool,
}

/// The processes of the host, driven by the kernel's events in their order.
///
/// Events cost one or two look-ups in a map and no system call. `/proc` is read when a sample's
/// process is first seen, and again after an exec; its owner is decided then.
#[derive(Debug)]
pub struct ProcessTable {
    entries: HashMap<ProcessKey, Entry>,
    /// Live processes in the order they came; may name some that are gone.
    clock: VecDeque<ProcessKey>,
    /// Ended processes in the order they ended, and the window they ended in.
    exited: VecDeque<(ProcessKey, u64)>,
    window: u64,
    capacity: usize,
    reader: ProcessReader,
    identification: Identification,
    command_tree: CommandTree,
    /// [`Pods::revision`] that the owners have seen.
    pods_revision: u64,
    /// Where the reading of cgroups goes on.
    cgroup_cursor: usize,
}

impl ProcessTable {
    /// A table of at most `capacity` processes, ended ones that are still kept included. `host`
    /// gives the attributes that every owner carries.
    pub fn new(roots: &Roots, host: &HostIdentity, capacity: usize) -> Self {
        Self {
            entries: HashMap::new(),
            clock: VecDeque::new(),
            exited: VecDeque::new(),
            window: 0,
            capacity: capacity.max(1),
            reader: ProcessReader::new(&roots.proc),
            identification: Identification::new(Owners::new(host, MAX_OWNERS)),
            command_tree: CommandTree::default(),
            pods_revision: 0,
            cgroup_cursor: 0,
        }
    }

    /// Asks `pods` whose containers these are.
    #[must_use]
    pub fn with_pods(mut self, pods: Pods) -> Self {
        self.identification.pods = pods;
        self
    }

    /// A process was born. Threads are not processes and must not come here.
    pub fn fork(&mut self, parent: ProcessKey, child: ProcessKey) {
        self.identification.statistics.forks += 1;
        if parent.pid == child.pid {
            return;
        }
        self.command_tree.birth(parent, child);
        let mut entry = Entry {
            parent: Some(parent),
            command_tree: self.command_tree.is_root(child) || self.command_tree.is_root(parent),
            ancestry_unknown: true,
            ..Entry::default()
        };
        if let Some(parent) = self.entries.get(&parent) {
            entry.ancestry_unknown = parent.ancestry_unknown;
            entry.parent_image = parent.image;
            entry.command_tree |= parent.command_tree;
            if let Some(process) = &parent.process {
                entry.inherited = Some(Inherited {
                    process: Arc::clone(process),
                    same_image: true,
                });
            } else {
                entry.exec.clone_from(&parent.exec);
                entry.inherited.clone_from(&parent.inherited);
            }
        }
        self.insert(child, entry);
    }

    /// A process started a program: `filename` as the kernel's event has it (for a script the
    /// script's name), `comm` its new name.
    pub fn exec(&mut self, key: ProcessKey, filename: &[u8], comm: &[u8]) {
        self.identification.statistics.execs += 1;
        let exec = Arc::new(Exec::new(filename, comm));
        if !self.entries.contains_key(&key) {
            self.insert_new(key);
        }
        if let Some(entry) = self.entries.get_mut(&key) {
            entry.image = entry.image.saturating_add(1);
            entry.exec = Some(exec);
            if let Some(process) = entry.process.take() {
                entry.inherited = Some(Inherited {
                    process,
                    same_image: false,
                });
            } else if let Some(inherited) = &mut entry.inherited {
                inherited.same_image = false;
            }
        }
    }

    /// A process ended: its last thread did.
    pub fn exit(&mut self, key: ProcessKey) {
        self.identification.statistics.exits += 1;
        if let Some(entry) = self.entries.get_mut(&key)
            && !entry.exited
        {
            entry.exited = true;
            self.exited.push_back((key, self.window));
            self.command_tree.leave(key);
        }
    }

    /// The process of a sample. `comm` is the name of the sample's thread, used where nothing
    /// better is known.
    pub fn observe(&mut self, key: ProcessKey, comm: &[u8]) -> Arc<Process> {
        if let Some(entry) = self.entries.get_mut(&key) {
            entry.used = true;
            if let Some(process) = &entry.process {
                return Arc::clone(process);
            }
        } else {
            self.insert_new(key);
        }
        self.first_sight(key, comm, 0)
    }

    /// Ends a window: whose a process is, is decided anew where something was learnt since, and what ended
    /// before the window that has just ended is forgotten. What it gives is for the samples of this window.
    pub fn end_window(&mut self) -> Renewal {
        let renewal = self.renew();
        self.window += 1;
        while let Some((key, window)) = self.exited.front().copied()
            && window + WINDOWS_KEPT <= self.window
        {
            self.exited.pop_front();
            self.entries.remove(&key);
        }
        self.clock
            .retain(|key| self.entries.get(key).is_some_and(|entry| !entry.exited));
        self.identification.owners.forget_unused();
        renewal
    }

    /// The next child of a process will be the recorded command: it is marked from its birth on, so
    /// that no sample of it is missed.
    pub fn expect_command(&mut self, parent: u32) {
        self.command_tree.expect_child_of(parent);
    }

    /// Marks the process that has this id now, and all its descendants, as the recorded command.
    pub fn mark_command_tree(&mut self, pid: u32) {
        let ticks = self.reader.parent_and_start(pid).map(|(_, ticks)| ticks);
        self.command_tree.set_root(pid, ticks);
        let mut children: HashMap<ProcessKey, Vec<ProcessKey>> = HashMap::new();
        for (key, entry) in &self.entries {
            if let Some(parent) = entry.parent {
                children.entry(parent).or_default().push(*key);
            }
        }
        // The command itself may be known only as the parent of others.
        let mut marked: Vec<ProcessKey> = self
            .entries
            .iter()
            .filter(|(_, entry)| !entry.exited)
            .map(|(key, _)| *key)
            .chain(children.keys().copied())
            .filter(|key| self.command_tree.is_root(*key))
            .collect();
        while let Some(key) = marked.pop() {
            if let Some(entry) = self.entries.get_mut(&key) {
                entry.command_tree = true;
                if let Some(process) = &mut entry.process {
                    Arc::make_mut(process).command_tree = true;
                }
                if !entry.exited {
                    self.command_tree.join(key);
                }
            }
            // A process has one parent, so nothing is visited twice.
            marked.extend(children.remove(&key).unwrap_or_default());
        }
    }

    /// Takes new facts about the host (a cloud's metadata service answered): processes known
    /// already get owners with them.
    pub fn set_host(&mut self, host: &HostIdentity) {
        let refused = self.identification.owners.refused;
        self.identification.owners = Owners::new(host, MAX_OWNERS);
        self.identification.owners.refused = refused;
        for entry in self.entries.values_mut() {
            let inherited = entry
                .inherited
                .as_mut()
                .map(|inherited| &mut inherited.process);
            for process in entry.process.iter_mut().chain(inherited) {
                let owner = self.identification.owners.renew(&process.owner);
                Arc::make_mut(process).owner = owner;
            }
        }
    }

    /// The owner of the same claim on what is known of the host now.
    pub fn renewed_owner(&mut self, owner: &super::Owner) -> Arc<super::Owner> {
        self.identification.owners.renew(owner)
    }

    /// Processes in the table.
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// Whether the table holds nothing.
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// Owners that are known.
    pub fn owner_count(&self) -> usize {
        self.identification.owners.len()
    }

    /// What happened so far.
    pub fn statistics(&self) -> ProcessTableStatistics {
        ProcessTableStatistics {
            owners_refused: self.identification.owners.refused,
            ..self.identification.statistics
        }
    }

    fn insert_new(&mut self, key: ProcessKey) {
        let entry = Entry {
            command_tree: self.command_tree.is_root(key),
            ancestry_unknown: true,
            used: true,
            ..Entry::default()
        };
        self.insert(key, entry);
    }

    fn insert(&mut self, key: ProcessKey, entry: Entry) {
        if !self.entries.contains_key(&key) {
            self.make_room();
        }
        if entry.command_tree {
            self.command_tree.join(key);
        }
        if self.entries.insert(key, entry).is_none() {
            self.clock.push_back(key);
        }
        if self.clock.len() > 2 * self.capacity {
            self.clock
                .retain(|key| self.entries.get(key).is_some_and(|entry| !entry.exited));
        }
    }

    /// Forgets the process that ended first or, when all live, one that was not seen for long: its
    /// exit may have been lost.
    fn make_room(&mut self) {
        while self.entries.len() >= self.capacity {
            if let Some((key, _)) = self.exited.pop_front() {
                if self.entries.remove(&key).is_some() {
                    self.identification.statistics.evicted_exited += 1;
                }
                continue;
            }
            let Some(key) = self.clock.pop_front() else {
                return;
            };
            match self.entries.get_mut(&key) {
                Some(entry) if entry.used => {
                    entry.used = false;
                    self.clock.push_back(key);
                }
                Some(_) => {
                    self.entries.remove(&key);
                    self.command_tree.leave(key);
                    self.identification.statistics.evicted_alive += 1;
                }
                None => {}
            }
        }
    }

    /// Learns what there is to learn of a process that is in the table.
    fn first_sight(&mut self, key: ProcessKey, comm: &[u8], generation: usize) -> Arc<Process> {
        let entry = self.entries.get(&key);
        let parent = entry.and_then(|entry| entry.parent);
        let parent_image = entry.map_or(0, |entry| entry.parent_image);
        let exec = entry.and_then(|entry| entry.exec.clone());
        let mut inherited = entry.and_then(|entry| entry.inherited.clone());
        let image = entry.map_or(0, |entry| entry.image);

        let same_program = inherited
            .as_ref()
            .filter(|inherited| inherited.same_image)
            .map(|inherited| &*inherited.process);
        let reading = if key.pid == 0 {
            idle(comm)
        } else if key.is_outside() {
            outside()
        } else {
            self.reader.read(key, same_program)
        };
        let mut process = match reading {
            Reading::Alive(seen) => {
                self.identification.statistics.read += 1;
                self.identification.alive(key, seen, exec.as_deref())
            }
            gone => {
                if matches!(gone, Reading::Recycled) {
                    self.identification.statistics.recycled += 1;
                }
                if inherited.is_none()
                    && generation < MAX_GENERATIONS
                    && let Some(parent) = parent
                {
                    inherited = self.inherit(parent, parent_image, generation + 1);
                }
                self.identification
                    .gone(key, gone, exec.as_deref(), inherited.as_ref(), comm)
            }
        };
        process.image = image;
        process.parent = parent.map(|parent| parent.pid).or(process.parent);
        let (in_tree, ask) = self.entries.get(&key).map_or((false, true), |entry| {
            (entry.command_tree, entry.ancestry_unknown)
        });
        process.command_tree = in_tree
            || ask
                && process
                    .parent
                    .is_some_and(|parent| self.command_tree.reaches(parent, &mut self.reader));
        let process = Arc::new(process);
        self.remember(key, &process);
        process
    }

    fn remember(&mut self, key: ProcessKey, process: &Arc<Process>) {
        let Some(entry) = self.entries.get_mut(&key) else {
            return;
        };
        entry.process = Some(Arc::clone(process));
        entry.first_window = self.window;
        entry.ancestry_unknown = false;
        if process.command_tree && !entry.command_tree {
            entry.command_tree = true;
            self.command_tree.join(key);
        }
        // Its exit was lost, or came before we knew it.
        if process.exited && !entry.exited {
            entry.exited = true;
            self.exited.push_back((key, self.window));
            self.command_tree.leave(key);
        }
    }

    fn inherit(
        &mut self,
        parent: ProcessKey,
        parent_image: u32,
        generation: usize,
    ) -> Option<Inherited> {
        let known = self.entries.get(&parent).map(|entry| entry.process.clone());
        let process = match known {
            Some(Some(process)) => process,
            Some(None) => self.first_sight(parent, b"", generation),
            None => {
                self.insert_new(parent);
                self.first_sight(parent, b"", generation)
            }
        };
        (!process.is_unidentified()).then(|| Inherited {
            same_image: process.image == parent_image,
            process,
        })
    }
}

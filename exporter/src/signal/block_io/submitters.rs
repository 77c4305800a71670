//! Which programs hand bytes to disks, from the charges of the kernel programs.

use std::{
    collections::{BTreeMap, HashMap},
    fs,
    os::unix::ffi::OsStrExt as _,
    path::{Path, PathBuf},
    sync::Arc,
};

use aya::maps::HashMap as BpfHashMap;
use evenkeel_abi::{DiskSubmitted, DiskSubmitter};
use evenkeel_otlp::model::{Attribute, Metric, Point};
use evenkeel_semconv::{
    attribute::{self, value::disk_io_direction as direction},
    metric,
};

use crate::{
    identity::{ContainerFacts, ProcessKey, kernel_thread},
    kernel::Kernel,
    signal::{int, metric, point},
};

/// The map of charges.
const SUBMITTERS: &str = "SUBMITTERS";

/// Programs with series of their own.
const MAX_OWNERS: usize = 64;

/// The name of all others.
const OTHER: &str = "other";

type Key = [u64; size_of::<DiskSubmitter>() / 8];
type Value = [u64; size_of::<DiskSubmitted>() / 8];

/// A program, in a container or not.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Owner {
    name: Arc<str>,
    container_id: Option<Arc<str>>,
}

/// Bytes read and written.
type Bytes = [u64; 2];

/// Charges by process and by program.
#[derive(Debug)]
pub(super) struct Submitters {
    proc: PathBuf,
    processes: HashMap<Key, (Owner, Bytes)>,
    owners: BTreeMap<Owner, Bytes>,
    refused: u64,
}

impl Submitters {
    /// Nobody was charged yet; processes are looked up below `proc`.
    pub(super) fn new(proc: &Path) -> Self {
        Self {
            proc: proc.to_owned(),
            processes: HashMap::new(),
            owners: BTreeMap::new(),
            refused: 0,
        }
    }

    /// Charges that went to the series of all others, as there were too many programs.
    pub(super) fn owners_refused(&self) -> u64 {
        self.refused
    }

    /// Reads the charges. A process is looked up when it is charged first.
    pub(super) fn read(&mut self, kernel: &Kernel) {
        let Some(Ok(map)) = kernel
            .map(SUBMITTERS)
            .map(BpfHashMap::<_, Key, Value>::try_from)
        else {
            return;
        };
        for (key, value) in map.iter().flatten() {
            self.charge(key, value);
        }
    }

    fn charge(&mut self, key: Key, value: Value) {
        let [read, written, comm @ ..] = value;
        let proc = &self.proc;
        let (owner, seen) = self
            .processes
            .entry(key)
            .or_insert_with(|| (identify(proc, key, &comm), [0; 2]));
        let bytes = [read, written];
        let grown = [0, 1].map(|index| bytes[index].saturating_sub(seen[index]));
        *seen = bytes;
        if grown == [0, 0] {
            return;
        }
        let is_full = self.owners.len() >= MAX_OWNERS && !self.owners.contains_key(owner);
        let owner = if is_full {
            self.refused += 1;
            Owner {
                name: OTHER.into(),
                container_id: None,
            }
        } else {
            owner.clone()
        };
        let sums = self.owners.entry(owner).or_default();
        for (sum, more) in sums.iter_mut().zip(grown) {
            *sum += more;
        }
    }

    /// Makes room for others where processes have ended.
    pub(super) fn forget_dead(&mut self, kernel: &mut Kernel) {
        let Some(Ok(mut map)) = kernel
            .map_mut(SUBMITTERS)
            .map(BpfHashMap::<_, Key, Value>::try_from)
        else {
            return;
        };
        self.processes.retain(|key, _| {
            let [pid, start_time_nanos] = *key;
            let process = ProcessKey {
                pid: u32::try_from(pid).unwrap_or(0),
                start_time_nanos,
            };
            process.is_current(&self.proc) || map.remove(key).is_err()
        });
    }

    /// The sums since the start.
    pub(super) fn metric(&self, attached_unix_nanos: u64) -> Option<Metric> {
        let points = self.owners.iter().flat_map(|(owner, bytes)| {
            [direction::READ, direction::WRITE]
                .into_iter()
                .zip(bytes)
                .filter(|(_, bytes)| **bytes > 0)
                .map(|(direction, bytes)| owner.point(direction, *bytes, attached_unix_nanos))
        });
        metric(&metric::EVENKEEL_PROCESS_DISK_IO, points.collect())
    }
}

impl Owner {
    fn point(&self, direction: &'static str, bytes: u64, start_unix_nanos: u64) -> Point {
        let mut attributes = vec![
            Attribute::new(attribute::PROCESS_EXECUTABLE_NAME, &*self.name),
            Attribute::new(attribute::DISK_IO_DIRECTION, direction),
        ];
        if let Some(container_id) = &self.container_id {
            attributes.push(Attribute::new(attribute::CONTAINER_ID, &**container_id));
        }
        point(attributes, start_unix_nanos, int(bytes))
    }
}

/// The program that a process runs. Of one that has ended only the name of its task is known.
fn identify(proc: &Path, key: Key, comm: &[u64; 2]) -> Owner {
    let [pid, start_time_nanos] = key;
    let directory = proc.join(pid.to_string());
    let executable = fs::read_link(directory.join("exe")).ok();
    let cgroup = fs::read(directory.join("cgroup")).unwrap_or_default();
    let key = ProcessKey {
        pid: u32::try_from(pid).unwrap_or(0),
        start_time_nanos,
    };
    let comm: Vec<u8> = comm.iter().flat_map(|word| word.to_ne_bytes()).collect();
    let length = comm
        .iter()
        .position(|byte| *byte == 0)
        .unwrap_or(comm.len());
    let unknown = || Owner {
        name: kernel_thread::fold_name(&comm[..length]).into(),
        container_id: None,
    };
    // Asked last: what was read before belongs to this process then.
    if !key.is_current(proc) {
        return unknown();
    }
    let Some(name) = executable.as_deref().and_then(Path::file_name) else {
        return unknown();
    };
    let name = name.as_bytes();
    let name = name.strip_suffix(b" (deleted)").unwrap_or(name);
    Owner {
        name: String::from_utf8_lossy(name).into(),
        container_id: ContainerFacts::parse(&cgroup).container_id.map(Arc::from),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn value(read: u64, written: u64, comm: &[u8]) -> Value {
        let mut name = [0; 16];
        name[..comm.len()].copy_from_slice(comm);
        let word = |half: usize| {
            let mut bytes = [0; 8];
            bytes.copy_from_slice(&name[half * 8..][..8]);
            u64::from_ne_bytes(bytes)
        };
        [read, written, word(0), word(1)]
    }

    fn owner(name: &str) -> Owner {
        Owner {
            name: name.into(),
            container_id: None,
        }
    }

    /// Processes of one program add up, growth is counted once, and a process that has ended keeps the
    /// name of its task, folded for the kernel's workers.
    #[test]
    fn charges_add_up_by_program() {
        let empty = tempfile::tempdir().unwrap();
        let mut submitters = Submitters::new(empty.path());
        submitters.charge([7, 70], value(100, 0, b"dd"));
        submitters.charge([8, 80], value(0, 5, b"dd"));
        submitters.charge([7, 70], value(150, 0, b"dd"));
        submitters.charge([9, 90], value(0, 1, b"kworker/u8:1"));
        assert_eq!(submitters.owners[&owner("dd")], [150, 5]);
        assert_eq!(submitters.owners[&owner("kworker")], [0, 1]);
    }

    /// Beyond the bound, programs share a series and the charges are counted.
    #[test]
    fn programs_are_bounded() {
        let empty = tempfile::tempdir().unwrap();
        let mut submitters = Submitters::new(empty.path());
        for pid in 0..MAX_OWNERS as u64 + 3 {
            let name = format!("p{pid}");
            submitters.charge([pid, 1], value(10, 0, name.as_bytes()));
        }
        assert_eq!(submitters.owners.len(), MAX_OWNERS + 1);
        assert_eq!(submitters.owners[&owner(OTHER)], [30, 0]);
        assert_eq!(submitters.owners_refused(), 3);
    }
}

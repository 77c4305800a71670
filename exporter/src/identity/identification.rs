//! From what could be read of a process, or was told of it, to the process.

use std::sync::Arc;

use super::{
    kernel_thread::{KERNEL_SERVICE_NAME, fold_name},
    kubernetes::Pods,
    owner::{Claim, Owner, Owners},
    process::{Process, ProcessKey},
    process_directory::{CgroupFacts, Executable, Reading, Seen, base_name, executable},
    service::{OtelEnvironment, ServiceName, ServiceNameSource, service_name},
    text::{MAX_NAME_BYTES, printable},
};

/// `service.name` of processes that had exited before anything could be learnt of them.
pub const EXITED_SERVICE_NAME: &str = "[exited]";

/// Name and `service.name` of all processes outside of our PID namespace.
pub const OUTSIDE_NAME: &str = "[outside]";

/// The name of a process that has none: a thread may be called nothing at all.
pub const UNKNOWN_NAME: &str = "[unknown]";

/// Longest file name of an exec event that is kept, in bytes.
const MAX_EXEC_BYTES: usize = 512;

/// What happened in a table, counted since it was made.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ProcessTableStatistics {
    /// Fork events.
    pub forks: u64,
    /// Exec events.
    pub execs: u64,
    /// Exit events.
    pub exits: u64,
    /// Processes that were read from `/proc` when first seen.
    pub read: u64,
    /// Processes that had gone by then and are known from events and their parents.
    pub inherited: u64,
    /// Processes that had gone by then and of which nothing is known.
    pub unidentified: u64,
    /// Processes whose id was another process's by then.
    pub recycled: u64,
    /// Ended processes that were forgotten early because the table was full.
    pub evicted_exited: u64,
    /// Live processes that were forgotten because the table was full; they are read again.
    pub evicted_alive: u64,
    /// Processes whose environment we may not read.
    pub environment_denied: u64,
    /// Processes whose `OTEL_RESOURCE_ATTRIBUTES` could not be decoded.
    pub environment_invalid: u64,
    /// Resource attributes of processes that were not taken: reserved names or one too many.
    pub attributes_refused: u64,
    /// Processes that got no owner of their own because there were too many.
    pub owners_refused: u64,
    /// Processes that were found in another cgroup than before.
    pub cgroup_moves: u64,
}

/// A program that was started, as the event told.
#[derive(Debug)]
pub(super) struct Exec {
    filename: Box<[u8]>,
    comm: Box<[u8]>,
}

/// What a process has from its parent, or from the program that it ran before.
#[derive(Clone, Debug)]
pub(super) struct Inherited {
    pub(super) process: Arc<Process>,
    /// Its program is still the one that `process` runs.
    pub(super) same_image: bool,
}

/// Turns readings and events into processes, and counts what it could not tell.
#[derive(Debug)]
pub(super) struct Identification {
    pub(super) owners: Owners,
    /// What the cluster says of containers; empty without a cluster.
    pub(super) pods: Pods,
    pub(super) statistics: ProcessTableStatistics,
}

impl Identification {
    pub(super) fn new(owners: Owners) -> Self {
        Self {
            owners,
            pods: Pods::default(),
            statistics: ProcessTableStatistics::default(),
        }
    }

    pub(super) fn alive(&mut self, key: ProcessKey, seen: Seen, exec: Option<&Exec>) -> Process {
        let Seen {
            ppid,
            kernel_thread,
            comm,
            executable,
            cgroup,
            environment,
            denied,
        } = seen;
        self.statistics.environment_denied += u64::from(denied);
        self.statistics.environment_invalid += u64::from(environment.invalid);
        self.statistics.attributes_refused += environment.refused as u64;
        let executable = executable
            .filter(|executable| !executable.name.is_empty())
            .or_else(|| exec.and_then(Exec::executable))
            .unwrap_or_else(|| named(Arc::clone(&comm)));
        let known = if kernel_thread {
            Known::Kernel
        } else {
            Known::Program(&executable.name)
        };
        let (owner, service_name_source) = self.owner(known, &cgroup, &environment);
        Process {
            key,
            image: 0,
            executable_path: executable.path,
            executable_name: executable.name,
            comm,
            parent: Some(ppid),
            kernel_thread,
            owner,
            service_name_source,
            exited: false,
            command_tree: false,
            cgroup,
            environment,
        }
    }

    /// A process that ended before it was read: the exec event and the parent speak for it.
    pub(super) fn gone(
        &mut self,
        key: ProcessKey,
        reading: Reading,
        exec: Option<&Exec>,
        inherited: Option<&Inherited>,
        comm: &[u8],
    ) -> Process {
        let (read_cgroup, ppid) = match reading {
            Reading::Gone { cgroup, ppid } => (cgroup, ppid),
            Reading::Alive(_) | Reading::Recycled => (None, None),
        };
        let comm: Arc<str> = match exec {
            Some(exec) if comm.is_empty() => printable(&exec.comm, MAX_NAME_BYTES),
            _ => printable(comm, MAX_NAME_BYTES),
        }
        .into();
        let parent = inherited.map(|inherited| &inherited.process);
        let same_program = inherited
            .filter(|inherited| inherited.same_image)
            .map(|inherited| &inherited.process);
        let kernel_thread =
            exec.is_none() && same_program.is_some_and(|parent| parent.kernel_thread);
        let executable = if kernel_thread {
            Some(named(fold_name(comm.as_bytes()).into()))
        } else {
            exec.and_then(Exec::executable).or_else(|| {
                same_program.map(|parent| Executable {
                    path: parent.executable_path.clone(),
                    name: Arc::clone(&parent.executable_name),
                })
            })
        };
        let known = executable.is_some() || parent.is_some() || read_cgroup.is_some();
        let cgroup = read_cgroup
            .filter(|_| !kernel_thread)
            .or_else(|| parent.map(|parent| Arc::clone(&parent.cgroup)))
            .unwrap_or_default();
        let environment = parent
            .filter(|parent| !parent.kernel_thread)
            .map(|parent| Arc::clone(&parent.environment))
            .unwrap_or_default();
        let executable = executable.unwrap_or_else(|| {
            let name = if comm.is_empty() {
                EXITED_SERVICE_NAME.into()
            } else {
                Arc::clone(&comm)
            };
            named(name)
        });
        if known {
            self.statistics.inherited += 1;
        } else {
            self.statistics.unidentified += 1;
        }
        let known = match (kernel_thread, known) {
            (true, _) => Known::Kernel,
            (false, true) => Known::Program(&executable.name),
            (false, false) => Known::Nothing,
        };
        let (owner, service_name_source) = self.owner(known, &cgroup, &environment);
        Process {
            key,
            image: 0,
            executable_path: executable.path,
            executable_name: executable.name,
            comm,
            parent: ppid,
            kernel_thread,
            owner,
            service_name_source,
            exited: true,
            command_tree: false,
            cgroup,
            environment,
        }
    }

    /// The owner of a process by what is known now of its cgroup and of its container's pod.
    pub(super) fn owner_now(
        &mut self,
        process: &Process,
        cgroup: &CgroupFacts,
    ) -> (Arc<Owner>, ServiceNameSource) {
        let known = if process.kernel_thread {
            Known::Kernel
        } else if process.is_unidentified() {
            Known::Nothing
        } else {
            Known::Program(&process.executable_name)
        };
        self.owner(known, cgroup, &process.environment)
    }

    fn owner(
        &mut self,
        known: Known<'_>,
        cgroup: &CgroupFacts,
        environment: &OtelEnvironment,
    ) -> (Arc<Owner>, ServiceNameSource) {
        let id = cgroup.container_id.as_deref();
        let pod = id.and_then(|id| self.pods.container(id));
        let name = match known {
            Known::Kernel => kernel_service(),
            Known::Program(name) => {
                service_name(environment, pod.as_deref(), cgroup.unit.as_ref(), name)
            }
            Known::Nothing => ServiceName {
                value: EXITED_SERVICE_NAME.into(),
                source: ServiceNameSource::Exited,
            },
        };
        self.owners.intern(name, |service_name| Claim {
            service_name,
            container_id: cgroup.container_id.clone(),
            runtime: cgroup.runtime,
            attributes: Arc::clone(&environment.attributes),
            pod,
        })
    }
}

/// What can name the service of a process besides its environment, pod and unit.
enum Known<'a> {
    /// It is the kernel's.
    Kernel,
    /// The name of its executable.
    Program(&'a Arc<str>),
    /// It had exited.
    Nothing,
}

impl Exec {
    pub(super) fn new(filename: &[u8], comm: &[u8]) -> Self {
        Self {
            filename: bounded(filename, MAX_EXEC_BYTES),
            comm: bounded(comm, MAX_NAME_BYTES),
        }
    }

    /// The program, as far as its name tells: `/dev/fd/N` (`execveat`, `fexecve`) says nothing, a
    /// relative name gives no path.
    fn executable(&self) -> Option<Executable> {
        if self.filename.starts_with(b"/dev/fd/") || base_name(&self.filename).is_empty() {
            let name = printable(&self.comm, MAX_NAME_BYTES);
            return (!name.is_empty()).then(|| named(name.into()));
        }
        if self.filename.starts_with(b"/") && self.filename.len() < MAX_EXEC_BYTES {
            return Some(executable(&self.filename));
        }
        Some(named(base_name(&self.filename).into()))
    }
}

fn named(name: Arc<str>) -> Executable {
    let name = if name.is_empty() {
        UNKNOWN_NAME.into()
    } else {
        name
    };
    Executable { path: None, name }
}

fn kernel_service() -> ServiceName {
    ServiceName {
        value: KERNEL_SERVICE_NAME.into(),
        source: ServiceNameSource::Kernel,
    }
}

/// A process that is none of our PID namespace's: those who may look into a pod need not know the names of its
/// neighbours.
pub(super) fn outside() -> Reading {
    Reading::Alive(Seen {
        ppid: 0,
        kernel_thread: false,
        comm: OUTSIDE_NAME.into(),
        executable: Some(named(OUTSIDE_NAME.into())),
        cgroup: Arc::default(),
        environment: Arc::default(),
        denied: false,
    })
}

/// The idle task, which `/proc` does not have.
pub(super) fn idle(comm: &[u8]) -> Reading {
    let comm = if comm.is_empty() { b"swapper" } else { comm };
    Reading::Alive(Seen {
        ppid: 0,
        kernel_thread: true,
        comm: fold_name(comm).into(),
        executable: None,
        cgroup: Arc::default(),
        environment: Arc::default(),
        denied: false,
    })
}

fn bounded(bytes: &[u8], limit: usize) -> Box<[u8]> {
    bytes.get(..limit).unwrap_or(bytes).into()
}

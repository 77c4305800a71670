//! Where the maps of a process's run-time code are.

use std::{
    fs::File,
    io,
    os::fd::AsRawFd as _,
    path::Path,
    sync::Arc,
    time::{Duration, SystemTime},
};

use rustix::{
    fd::OwnedFd,
    fs::{Mode, OFlags},
    time::{ClockId, clock_gettime},
};

use crate::{
    identity::{ProcessKey, file::read_bounded},
    symbol::{address_space::AddressSpace, executable::FileIdentity, process_files::ProcessFiles},
};

/// Bytes of `/proc/PID/status`, of which half are lists of CPUs and memory nodes.
const MAX_STATUS_BYTES: usize = 16 << 10;

/// How much older than its process a map may look: file systems have coarse clocks, and the
/// system's clock is set.
const SLACK: Duration = Duration::from_secs(2);

/// What makes the code of a process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Runtime {
    /// HotSpot: `libjvm.so` is mapped.
    Jvm,
    /// Something else; V8 is known by the names that it writes.
    Other,
}

/// The code that a process makes at run time: which process, and where its maps are. The root of
/// the process is held open, so that maps can be read when the process has ended, which often is
/// before the window does.
#[derive(Debug)]
pub struct ProcessCode {
    /// Unique for the life of the agent.
    pub id: u64,
    pub(super) runtime: Runtime,
    root: Option<OwnedFd>,
    /// Its id as it sees it itself, by which the perf map is named.
    namespace_pid: u32,
    /// Real, effective, saved and file system user: one of them owns its files.
    users: Vec<u32>,
    started: SystemTime,
    /// A jitdump that it has mapped.
    pub(super) dump: Option<Arc<File>>,
}

impl ProcessCode {
    /// What is known of a process whose mappings are `space`. Where nothing can be read of the
    /// process any more, its code stays without names.
    pub fn new(id: u64, proc_root: &Path, process: ProcessKey, space: &AddressSpace) -> Self {
        let is_jvm = space
            .executables()
            .any(|executable| &*executable.name == "libjvm.so");
        let status = proc_root.join(process.pid.to_string()).join("status");
        let status = read_bounded(&status, MAX_STATUS_BYTES).unwrap_or_default();
        let status = String::from_utf8_lossy(&status);
        let root = ProcessFiles::open(proc_root, process.pid)
            .ok()
            .and_then(|files| files.root().ok());
        Self {
            id,
            runtime: if is_jvm { Runtime::Jvm } else { Runtime::Other },
            root,
            namespace_pid: numbers(&status, "NSpid:").last().unwrap_or(process.pid),
            users: numbers(&status, "Uid:").collect(),
            started: start_time(process),
            dump: space.code_dump().cloned(),
        }
    }

    /// Whether there is a jitdump that was not there at the time.
    pub fn lacks_dump_of(&self, space: &AddressSpace) -> bool {
        self.dump.is_none() && space.code_dump().is_some()
    }

    /// Opens the perf map of the process, if there is one of its own.
    pub(super) fn perf_map(&self) -> Result<File, PerfMapError> {
        let root = self.root.as_ref().ok_or(PerfMapError::Missing)?;
        let path = format!("tmp/perf-{}.map", self.namespace_pid);
        let found = ProcessFiles::in_root(root, path.as_bytes()).map_err(io::Error::from)?;
        let stat = rustix::fs::fstat(&found).map_err(io::Error::from)?;
        if FileIdentity::of_regular(&stat).is_none() || !self.users.contains(&stat.st_uid) {
            return Err(PerfMapError::Foreign);
        }
        // What was found may be a device only if it was exchanged since, which it cannot be.
        let file: File = rustix::fs::open(
            format!("/proc/self/fd/{}", found.as_raw_fd()),
            OFlags::RDONLY | OFlags::CLOEXEC | OFlags::NONBLOCK | OFlags::NOCTTY,
            Mode::empty(),
        )
        .map_err(io::Error::from)?
        .into();
        if file.metadata()?.modified()? + SLACK < self.started {
            return Err(PerfMapError::Stale);
        }
        Ok(file)
    }
}

/// Why there is no perf map.
#[derive(Debug, thiserror::Error)]
pub(super) enum PerfMapError {
    /// The process was gone before its root could be held.
    #[error("the process is gone")]
    Missing,
    /// There is none, or it cannot be opened.
    #[error("cannot be opened: {0}")]
    Io(#[from] io::Error),
    /// Something else than a file, or of another user: anybody may write into `/tmp`.
    #[error("not of the process's user")]
    Foreign,
    /// It was last written before the process started: it is of another with the same id.
    #[error("older than the process")]
    Stale,
}

/// The numbers on a line of `status`.
fn numbers<'a>(status: &'a str, label: &str) -> impl Iterator<Item = u32> + 'a {
    status
        .lines()
        .find_map(|line| line.strip_prefix(label))
        .unwrap_or("")
        .split_ascii_whitespace()
        .filter_map(|number| number.parse().ok())
}

/// When the process started, by the clock that files have their times from.
fn start_time(process: ProcessKey) -> SystemTime {
    let since_boot = clock_gettime(ClockId::Boottime);
    let since_boot = Duration::new(
        u64::try_from(since_boot.tv_sec).unwrap_or(0),
        u32::try_from(since_boot.tv_nsec).unwrap_or(0),
    );
    let age = since_boot.saturating_sub(Duration::from_nanos(process.start_time_nanos));
    SystemTime::now()
        .checked_sub(age)
        .unwrap_or(SystemTime::UNIX_EPOCH)
}

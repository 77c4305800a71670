//! The executables that are mapped on this node, each opened once.

use std::sync::Arc;

use lru::LruCache;
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

use super::{
    executable::{Executable, ExecutableError, FileIdentity},
    maps::{Backing, MapsEntry},
    process_files::ProcessFiles,
    symbolizer::Evictions,
    vdso::own_vdso,
};

/// Executables kept when nothing else bounds them: room for a hundred images of twenty executable
/// files each. One costs a descriptor and its entry here.
pub const DEFAULT_CAPACITY: usize = 2048;

/// Raises the soft limit of open files to the hard one, and returns what it then is.
pub fn raise_file_limit() -> u64 {
    let limit = getrlimit(Resource::Nofile);
    let wanted = Rlimit {
        current: limit.maximum,
        maximum: limit.maximum,
    };
    // `None` is "no limit".
    match setrlimit(Resource::Nofile, wanted) {
        Ok(()) => limit.maximum.unwrap_or(u64::MAX),
        Err(_) => limit.current.unwrap_or(u64::MAX),
    }
}

/// Files that this process may have open.
pub(crate) fn open_file_limit() -> usize {
    getrlimit(Resource::Nofile)
        .current
        .map_or(usize::MAX, |limit| {
            usize::try_from(limit).unwrap_or(usize::MAX)
        })
}

/// What happened to the table since it was made.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ExecutableTableCounters {
    /// Files opened.
    pub opened: u64,
    /// Files closed to make room.
    pub evicted: u64,
    /// Mappings whose file could not be found or read.
    pub unreadable: u64,
}

/// Executables by device, inode, size and time of change; the least recently seen one is closed
/// when there are too many.
#[derive(Debug)]
pub struct ExecutableTable {
    executables: LruCache<FileIdentity, Arc<Executable>>,
    capacity: usize,
    next_id: u32,
    vdso: Option<(Arc<Executable>, u64)>,
    evictions: Option<Evictions>,
    counters: ExecutableTableCounters,
}

impl ExecutableTable {
    /// A table of at most `capacity` files, and at most half of the files that this process may
    /// have open; [`raise_file_limit`] comes first. `evictions` tells the symbolizer which
    /// executables to forget.
    pub fn new(capacity: usize, evictions: Option<Evictions>) -> Self {
        let mut table = Self {
            executables: LruCache::unbounded(),
            capacity: capacity.min(open_file_limit() / 2).max(1),
            next_id: 1,
            vdso: None,
            evictions,
            counters: ExecutableTableCounters::default(),
        };
        let id = table.take_id();
        match own_vdso(id) {
            Ok((executable, length)) => table.vdso = Some((Arc::new(executable), length)),
            Err(error) => tracing::debug!(%error, "No names for [vdso] frames."),
        }
        table
    }

    /// Executables held.
    pub fn len(&self) -> usize {
        self.executables.len()
    }

    /// Whether none is held.
    pub fn is_empty(&self) -> bool {
        self.executables.is_empty()
    }

    /// What happened so far.
    pub fn counters(&self) -> ExecutableTableCounters {
        self.counters
    }

    /// The executable behind a mapping of a process, opened if it was not known.
    pub(crate) fn executable(
        &mut self,
        process: &ProcessFiles,
        entry: &MapsEntry<'_>,
    ) -> Result<Arc<Executable>, ExecutableError> {
        let result = self.find_or_open(process, entry);
        if result.is_err() {
            self.counters.unreadable += 1;
        }
        result
    }

    /// The virtual shared object, if the process has the same one as we: a 32-bit process has
    /// another, which the length tells.
    pub(crate) fn vdso(&self, length: u64) -> Option<&Arc<Executable>> {
        self.vdso
            .as_ref()
            .filter(|(_, own_length)| *own_length == length)
            .map(|(executable, _)| executable)
    }

    fn find_or_open(
        &mut self,
        process: &ProcessFiles,
        entry: &MapsEntry<'_>,
    ) -> Result<Arc<Executable>, ExecutableError> {
        let found = process.find(entry)?;
        if let Some(executable) = self.executables.get(&found.identity) {
            return Ok(Arc::clone(executable));
        }
        let file = process.open_found(entry, &found)?;
        let path = process.display_path(entry);
        let id = self.take_id();
        let executable = Arc::new(Executable::from_file(id, file, &path, found.provenance)?);
        self.counters.opened += 1;
        if executable.segments.is_empty() && entry.backing() == Backing::MemoryFile {
            // The code of a just-in-time compiler grows and would be another file each time.
            return Ok(executable);
        }
        self.executables
            .put(executable.identity, Arc::clone(&executable));
        while self.executables.len() > self.capacity {
            let Some((_, evicted)) = self.executables.pop_lru() else {
                break;
            };
            evicted.close();
            self.counters.evicted += 1;
            if let Some(evictions) = &self.evictions {
                evictions.forget(evicted.id);
            }
        }
        Ok(executable)
    }

    /// Ids do not come back within 4 thousand million files.
    fn take_id(&mut self) -> u32 {
        let id = self.next_id;
        self.next_id = self.next_id.wrapping_add(1).max(1);
        id
    }
}

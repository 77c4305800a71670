//! Which file is mapped where in one process.

use std::{
    fs::File,
    io,
    path::{Path, PathBuf},
    sync::Arc,
    time::{Duration, Instant},
};

use super::{
    executable::Executable,
    executable_table::ExecutableTable,
    maps::{Backing, MapsEntry, MapsParser, base_name, read_maps, without_deleted},
    process_files::ProcessFiles,
};

/// Most executable mappings kept of one process: the default `vm.max_map_count` is 65,530, and a
/// process needs at least two mappings for each executable one that it can name.
pub const MAX_MAPPINGS: usize = 65_536;

/// Why the mappings of a process could not be read.
#[derive(Debug, thiserror::Error)]
pub enum AddressSpaceError {
    /// The process has ended.
    #[error("process {pid} has ended")]
    Ended {
        /// Process id.
        pid: u32,
    },
    /// `maps` cannot be read (without `CAP_SYS_PTRACE`: `EACCES`).
    #[error("cannot read {path}: {source}")]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// What the kernel said.
        source: io::Error,
    },
}

/// What is at an address.
#[derive(Clone, Copy, Debug)]
pub enum Location<'a> {
    /// Code of a file (or of the virtual shared object).
    File {
        /// The file.
        executable: &'a Arc<Executable>,
        /// ELF virtual address.
        address: u64,
    },
    /// Code made at run time: no file is behind it.
    Anonymous {
        /// First address of the region.
        start: u64,
        /// One past its last address.
        end: u64,
    },
    /// A region of the kernel's own making, such as `[vsyscall]`.
    Special {
        /// Its name.
        name: &'a Arc<str>,
    },
    /// Code of a file that could not be opened.
    Unreadable {
        /// Base name of the file.
        name: &'a Arc<str>,
        /// File offset.
        offset: u64,
    },
    /// Nothing executable was mapped there when the mappings were read.
    Unmapped,
}

#[derive(Clone, Debug)]
enum Content {
    File(Arc<Executable>),
    Anonymous,
    Special(Arc<str>),
    Unreadable(Arc<str>),
}

#[derive(Clone, Debug)]
struct Region {
    start: u64,
    end: u64,
    offset: u64,
    content: Content,
}

/// The executable mappings of a process at one moment.
#[derive(Clone, Debug)]
pub struct AddressSpace {
    regions: Vec<Region>,
    read_at: Instant,
    code_dump: Option<Arc<File>>,
    dropped: u64,
    malformed: u64,
}

impl AddressSpace {
    /// Reads the mappings of `pid` below `proc_root`, and opens the files that `table` does not
    /// hold yet.
    ///
    /// # Errors
    /// [`AddressSpaceError`]; a single file that cannot be opened is no error but a
    /// [`Location::Unreadable`].
    pub fn read(
        proc_root: &Path,
        pid: u32,
        table: &mut ExecutableTable,
    ) -> Result<Self, AddressSpaceError> {
        let failed = |source: io::Error| {
            // ESRCH: the process ended between open and read.
            const ESRCH: i32 = 3;
            if source.kind() == io::ErrorKind::NotFound || source.raw_os_error() == Some(ESRCH) {
                AddressSpaceError::Ended { pid }
            } else {
                AddressSpaceError::Unreadable {
                    path: proc_root.join(pid.to_string()).join("maps"),
                    source,
                }
            }
        };
        let read_at = Instant::now();
        let process = ProcessFiles::open(proc_root, pid).map_err(failed)?;
        let mut bytes = Vec::new();
        read_maps(proc_root, pid, &mut bytes).map_err(failed)?;
        let mut space = Self {
            regions: Vec::new(),
            read_at,
            code_dump: None,
            dropped: 0,
            malformed: 0,
        };
        let mut parser = MapsParser::new(&bytes);
        for entry in parser.by_ref() {
            if !entry.permissions.execute {
                continue;
            }
            if space.regions.len() >= MAX_MAPPINGS {
                space.dropped += 1;
                continue;
            }
            if is_code_dump(&entry) {
                space.code_dump = process.open_growing(&entry).ok().map(Arc::new);
                continue;
            }
            let content = content_of(&entry, &process, table);
            space.add(&entry, content);
        }
        space.malformed = parser.malformed();
        // The kernel sorts by address; the search below depends on it.
        if !space
            .regions
            .is_sorted_by(|left, right| left.end <= right.start)
        {
            space.regions.sort_by_key(|region| region.start);
        }
        Ok(space)
    }

    /// What was mapped at `address`.
    pub fn locate(&self, address: u64) -> Location<'_> {
        let after = self
            .regions
            .partition_point(|region| region.start <= address);
        let Some(region) = after
            .checked_sub(1)
            .and_then(|index| self.regions.get(index))
            .filter(|region| address < region.end)
        else {
            return Location::Unmapped;
        };
        let offset = region.offset.wrapping_add(address - region.start);
        match &region.content {
            Content::File(executable) => Location::File {
                executable,
                // An address beside every segment keeps its offset: better than no place at all.
                address: executable.address_of(offset).unwrap_or(offset),
            },
            Content::Anonymous => Location::Anonymous {
                start: region.start,
                end: region.end,
            },
            Content::Special(name) => Location::Special { name },
            Content::Unreadable(name) => Location::Unreadable { name, offset },
        }
    }

    /// Executable mappings known.
    pub fn len(&self) -> usize {
        self.regions.len()
    }

    /// Whether there are none: a kernel thread.
    pub fn is_empty(&self) -> bool {
        self.regions.is_empty()
    }

    /// How long ago the mappings were read. An unmapped address in an old address space is a
    /// reason to read it again; a young one has the truth.
    pub fn age(&self) -> Duration {
        self.read_at.elapsed()
    }

    /// Executable mappings beyond [`MAX_MAPPINGS`], and lines that had no known form.
    pub fn dropped(&self) -> u64 {
        self.dropped + self.malformed
    }

    /// The executable mappings in order of address: first address, one past the last, and the file with
    /// what is taken from an address to get its ELF virtual address.
    pub fn code(
        &self,
    ) -> impl ExactSizeIterator<Item = (u64, u64, Option<(&Arc<Executable>, u64)>)> {
        self.regions.iter().map(|region| {
            let file = match &region.content {
                Content::File(executable) => {
                    let address = executable.address_of(region.offset);
                    let bias = region.start.wrapping_sub(address.unwrap_or(region.offset));
                    Some((executable, bias))
                }
                _ => None,
            };
            (region.start, region.end, file)
        })
    }

    /// The jitdump that the process has mapped.
    pub(crate) fn code_dump(&self) -> Option<&Arc<File>> {
        self.code_dump.as_ref()
    }

    /// The executables that are mapped, in order of address, repeated as they are mapped.
    pub fn executables(&self) -> impl Iterator<Item = &Arc<Executable>> {
        self.regions
            .iter()
            .filter_map(|region| match &region.content {
                Content::File(executable) => Some(executable),
                _ => None,
            })
    }

    /// Adjoining anonymous regions are one: just-in-time compilers protect page by page.
    fn add(&mut self, entry: &MapsEntry<'_>, content: Content) {
        if let (Content::Anonymous, Some(last)) = (&content, self.regions.last_mut())
            && matches!(last.content, Content::Anonymous)
            && last.end == entry.start
        {
            last.end = entry.end;
            return;
        }
        self.regions.push(Region {
            start: entry.start,
            end: entry.end,
            offset: entry.offset,
            content,
        });
    }
}

fn content_of(
    entry: &MapsEntry<'_>,
    process: &ProcessFiles,
    table: &mut ExecutableTable,
) -> Content {
    match entry.backing() {
        Backing::Anonymous => Content::Anonymous,
        Backing::Special => Content::Special(text(&entry.path())),
        Backing::Vdso => match table.vdso(entry.end - entry.start) {
            Some(executable) => Content::File(Arc::clone(executable)),
            None => Content::Special(text(entry.raw_path)),
        },
        Backing::File => match table.executable(process, entry) {
            Ok(executable) => Content::File(executable),
            Err(error) => {
                tracing::debug!(%error, "A mapped file cannot be read.");
                Content::Unreadable(text(base_name(&without_suffix(entry))))
            }
        },
        // A cloned container runtime is an ELF file in memory; what is not ELF was compiled here.
        Backing::MemoryFile => match table.executable(process, entry) {
            Ok(executable) if !executable.segments.is_empty() => Content::File(executable),
            _ => Content::Anonymous,
        },
    }
}

/// Whether a mapping is there for a jitdump to be found by: one page of it is mapped as if it were
/// code.
fn is_code_dump(entry: &MapsEntry<'_>) -> bool {
    let name = base_name(entry.raw_path);
    entry.backing() == Backing::File && name.starts_with(b"jit-") && name.ends_with(b".dump")
}

fn without_suffix(entry: &MapsEntry<'_>) -> Vec<u8> {
    let path = entry.path();
    match without_deleted(&path) {
        Some(stripped) => stripped.to_vec(),
        None => path,
    }
}

fn text(bytes: &[u8]) -> Arc<str> {
    String::from_utf8_lossy(bytes).into()
}

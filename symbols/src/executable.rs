//! An executable file, held open.

use std::{
    ffi::OsString,
    fs::File,
    io,
    os::unix::ffi::{OsStrExt as _, OsStringExt as _},
    path::{Path, PathBuf},
    sync::{Arc, Mutex, PoisonError},
};

use evenkeel_otlp::model::{BuildIds, Mapping};
use rustix::fs::{FileType, Mode, OFlags, Stat};

use super::{
    build_id::htlhash,
    elf_image::{ElfImage, Segment},
};

/// Page size that segments are rounded to when an address falls beside one: the largest in use
/// (arm64 with 64 KiB pages), and the alignment that linkers give segments there.
const LARGEST_PAGE: u64 = 64 << 10;

/// The part of a path after its last slash.
fn file_name(path: &[u8]) -> &[u8] {
    path.rsplit(|byte| *byte == b'/').next().unwrap_or(path)
}

/// Why a file could not be made an [`Executable`].
#[derive(Debug, thiserror::Error)]
pub enum ExecutableError {
    /// The file could not be opened or read.
    #[error("cannot read {path}: {source}")]
    Io {
        /// The path as it was tried.
        path: String,
        /// What the kernel said.
        source: io::Error,
    },
    /// What stands at the path is not the file that was mapped.
    #[error("{path} is no longer the file that was mapped")]
    Replaced {
        /// The path as it was tried.
        path: String,
    },
    /// A device, a directory or a pipe.
    #[error("{path} is not a regular file")]
    NotRegular {
        /// The path as it was tried.
        path: String,
    },
}

/// How it is known that this is the file that was mapped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Provenance {
    /// Opened through `/proc/PID/map_files`: the mapped file itself, deleted or not.
    MapFiles,
    /// Opened through `/proc/PID/exe`, same inode.
    ProcessExecutable,
    /// Opened by its path inside the process's root, same device and inode.
    Path,
    /// As `Path`, but the device differs from the one in `maps`: overlayfs and btrfs report
    /// different device numbers in `maps` and in `stat`. Only the inode was compared.
    PathOtherDevice,
    /// The virtual shared object, read from our own memory.
    Vdso,
    /// Named by the user.
    Named,
}

/// What tells two states of a file apart. The change time is left out: unlinking changes it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct FileIdentity {
    /// Device, as `stat` gives it.
    pub device: u64,
    /// Inode.
    pub inode: u64,
    /// Length in bytes.
    pub size: u64,
    /// Time of the last change of contents: seconds.
    pub modified_seconds: i64,
    /// Time of the last change of contents: nanoseconds.
    pub modified_nanos: i64,
}

impl FileIdentity {
    /// The identity of a regular file, or `None` for anything else.
    pub fn of_regular(stat: &Stat) -> Option<Self> {
        #[expect(
            clippy::unnecessary_cast,
            reason = "the types of the fields differ between architectures"
        )]
        FileType::from_raw_mode(stat.st_mode)
            .is_file()
            .then_some(Self {
                device: stat.st_dev as u64,
                inode: stat.st_ino as u64,
                size: u64::try_from(stat.st_size).unwrap_or(0),
                modified_seconds: stat.st_mtime as i64,
                modified_nanos: stat.st_mtime_nsec as i64,
            })
    }
}

/// An executable file that some process has mapped.
///
/// The file is held open, so that names can be read after the process ended and after the file was
/// deleted or replaced. When the exporter's table of executables evicts it, the file is
/// closed, and what is left gives module and offset but no names.
#[derive(Debug)]
pub struct Executable {
    /// Unique for the life of the process; from 1.
    pub id: u32,
    /// Base name of the path, without ` (deleted)`; `[vdso]` for the virtual shared object.
    pub name: Arc<str>,
    /// Path in the mount namespace of the first process it was seen in.
    pub path: PathBuf,
    /// Which file, in which state.
    pub identity: FileIdentity,
    /// How the file was found.
    pub provenance: Provenance,
    /// Executable segments; empty when the file is not ELF, where address = file offset.
    pub segments: Vec<Segment>,
    /// Identity of the contents; the hash is always there.
    pub build_ids: BuildIds,
    /// The mapping that frames of this file carry.
    pub mapping: Arc<Mapping>,
    /// Why there are no segments or no symbols, if so.
    pub reason: Option<&'static str>,
    /// Which of [`NAME_TABLES`](super::elf_image::NAME_TABLES) the file has.
    pub tables: Vec<&'static str>,
    /// Bytes of symbol and string tables.
    pub symbol_bytes: u64,
    /// Bytes of DWARF.
    pub debug_bytes: u64,
    /// Whether the symbol tables may be read at all.
    pub readable: bool,
    /// Whether to look for Go's tables of functions.
    pub may_be_go: bool,
    /// Whether its debug information may be read.
    pub has_safe_debug_links: bool,
    /// Name of the file with its debug information.
    pub(crate) debug_link: Option<Vec<u8>>,
    file: Mutex<Option<Arc<File>>>,
}

impl Executable {
    /// Opens a file that the user named.
    ///
    /// # Errors
    /// [`ExecutableError::Io`] and [`ExecutableError::NotRegular`].
    pub fn open(id: u32, path: &Path) -> Result<Self, ExecutableError> {
        let io = |source| ExecutableError::Io {
            path: path.display().to_string(),
            source,
        };
        // Without NONBLOCK, a pipe without a writer would be waited for.
        let file: File = rustix::fs::open(
            path,
            OFlags::RDONLY | OFlags::CLOEXEC | OFlags::NONBLOCK | OFlags::NOCTTY,
            Mode::empty(),
        )
        .map_err(|errno| io(errno.into()))?
        .into();
        Self::from_file(id, file, path.as_os_str().as_bytes(), Provenance::Named)
    }

    /// Reads the headers of an open file.
    ///
    /// # Errors
    /// [`ExecutableError::NotRegular`], and [`ExecutableError::Io`] when the file cannot be read.
    pub fn from_file(
        id: u32,
        file: File,
        path: &[u8],
        provenance: Provenance,
    ) -> Result<Self, ExecutableError> {
        let shown = || String::from_utf8_lossy(path).into_owned();
        let io = |source| ExecutableError::Io {
            path: shown(),
            source,
        };
        let stat = rustix::fs::fstat(&file).map_err(|errno| io(errno.into()))?;
        let identity = FileIdentity::of_regular(&stat)
            .ok_or_else(|| ExecutableError::NotRegular { path: shown() })?;
        let hash = htlhash(&file, identity.size).map_err(io)?;
        let (image, reason) = match ElfImage::read(&file, identity.size) {
            Ok(image) => {
                let reason = image.refused;
                (image, reason)
            }
            Err(reason) => (
                ElfImage {
                    refused: Some(reason),
                    ..ElfImage::default()
                },
                Some(reason),
            ),
        };
        let name: Arc<str> = String::from_utf8_lossy(file_name(path)).into();
        let build_ids = BuildIds {
            gnu: image.build_ids.gnu,
            go: image.build_ids.go,
            htlhash: Some(hash),
        };
        let mapping = mapping_of(&name, &image.segments, identity.size, &build_ids);
        Ok(Self {
            id,
            name,
            path: OsString::from_vec(path.to_vec()).into(),
            identity,
            provenance,
            segments: image.segments,
            build_ids,
            mapping: Arc::new(mapping),
            reason,
            tables: image.tables,
            symbol_bytes: image.symbol_bytes,
            debug_bytes: image.debug_bytes,
            readable: image.refused.is_none(),
            may_be_go: image.may_be_go,
            has_safe_debug_links: !image.has_strange_debug_link,
            debug_link: image.debug_link,
            file: Mutex::new(Some(Arc::new(file))),
        })
    }

    /// The ELF virtual address of a file offset; the offset itself where the file is not ELF.
    /// `None` when no executable segment holds it.
    pub fn address_of(&self, file_offset: u64) -> Option<u64> {
        if self.segments.is_empty() {
            return Some(file_offset);
        }
        let exact = self.segments.iter().find(|segment| {
            file_offset >= segment.offset && file_offset - segment.offset < segment.size
        });
        // Whole pages are mapped: what lies just before or after a segment is executable too.
        exact
            .or_else(|| {
                self.segments.iter().find(|segment| {
                    let start = segment.offset & !(LARGEST_PAGE - 1);
                    let end = (segment.offset + segment.size).next_multiple_of(LARGEST_PAGE);
                    (start..end).contains(&file_offset)
                })
            })
            .map(|segment| {
                segment
                    .address
                    .wrapping_add(file_offset)
                    .wrapping_sub(segment.offset)
            })
    }

    /// The open file, or `None` once it was closed by eviction.
    pub fn file(&self) -> Option<Arc<File>> {
        self.file
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clone()
    }

    /// Why an address of this file has no name, in words.
    pub fn why_unnamed(&self) -> &'static str {
        let has = |table| self.tables.contains(&table);
        match self.reason {
            Some(reason) => reason,
            None if has(".symtab") || has(".debug_info") => "no symbol covers the address",
            None if has(".gnu_debugdata") => "stripped; its MiniDebugInfo is not read",
            None if has(".gnu_debuglink") => {
                "stripped; its debug file does not cover the address or is missing"
            }
            None if has(".dynsym") => "stripped; no dynamic symbol covers the address",
            None => "stripped of all symbols",
        }
    }

    /// Lets go of the file.
    pub fn close(&self) {
        *self.file.lock().unwrap_or_else(PoisonError::into_inner) = None;
    }

    /// Whether the file still has the contents that were mapped, as far as length and time of
    /// change tell. A file written over in place keeps its inode but not its names.
    pub fn is_unchanged(&self, file: &File) -> bool {
        rustix::fs::fstat(file)
            .ok()
            .and_then(|stat| FileIdentity::of_regular(&stat))
            .is_some_and(|now| now == self.identity)
    }
}

fn mapping_of(name: &Arc<str>, segments: &[Segment], size: u64, build_ids: &BuildIds) -> Mapping {
    let first = segments.iter().min_by_key(|segment| segment.address);
    let limit = segments
        .iter()
        .map(|segment| segment.address + segment.size)
        .max();
    let (start, limit, file_offset) = match (first, limit) {
        (Some(first), Some(limit)) => (first.address, limit, first.offset),
        _ => (0, size, 0),
    };
    Mapping {
        start,
        limit,
        file_offset,
        filename: Arc::clone(name),
        build_ids: build_ids.clone(),
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;

    use super::*;

    /// A file that is no ELF still has an identity, and its addresses are its offsets.
    #[test]
    fn not_elf() {
        let mut file = tempfile::NamedTempFile::new().expect("temporary file");
        file.write_all(b"#!/bin/sh\n").expect("write");
        let executable = Executable::open(1, file.path()).expect("executable");
        assert_eq!(executable.reason, Some("not an ELF file"));
        assert_eq!(executable.address_of(77), Some(77));
        assert!(executable.build_ids.htlhash.is_some());
        assert_eq!(
            (executable.mapping.start, executable.mapping.limit),
            (0, 10)
        );
    }

    /// A file says which tables it has, and why it lacks a name.
    #[test]
    fn tables() {
        let own = Executable::open(1, Path::new("/proc/self/exe")).expect("executable");
        assert!(own.tables.contains(&".symtab") && own.tables.contains(&".debug_info"));
        assert_eq!(own.why_unnamed(), "no symbol covers the address");
        let stripped = Executable::open(1, Path::new("/bin/true")).expect("executable");
        assert!(!stripped.tables.contains(&".symtab"));
        assert!(stripped.why_unnamed().starts_with("stripped"));
    }

    /// A named pipe is refused and not waited for.
    #[test]
    fn pipe() {
        let directory = tempfile::tempdir().expect("temporary directory");
        let path = directory.path().join("pipe");
        rustix::fs::mknodat(rustix::fs::CWD, &path, FileType::Fifo, Mode::RUSR, 0).expect("mkfifo");
        assert!(matches!(
            Executable::open(1, &path),
            Err(ExecutableError::NotRegular { .. })
        ));
    }

    /// Offsets map to addresses segment by segment, the rounded pages included.
    #[test]
    fn addresses() {
        let mut executable = Executable::open(1, Path::new("/proc/self/exe")).expect("executable");
        executable.segments = vec![
            Segment {
                address: 0x40_1000,
                offset: 0x1000,
                size: 0x500,
            },
            Segment {
                address: 0x80_0000,
                offset: 0x40_0000,
                size: 0x10,
            },
        ];
        assert_eq!(executable.address_of(0x1234), Some(0x40_1234));
        assert_eq!(executable.address_of(0x40_000f), Some(0x80_000f));
        assert_eq!(executable.address_of(0x1600), Some(0x40_1600));
        assert_eq!(executable.address_of(0x20_0000), None);
    }

    /// Writing over the file in place is noticed; unlinking it is not a change.
    #[test]
    fn changed_in_place() {
        let mut file = tempfile::NamedTempFile::new().expect("temporary file");
        file.write_all(b"one").expect("write");
        let executable = Executable::open(1, file.path()).expect("executable");
        let held = executable.file().expect("open file");
        std::fs::remove_file(file.path()).expect("unlink");
        assert!(executable.is_unchanged(&held));
        file.write_all(b"two").expect("write");
        assert!(!executable.is_unchanged(&held));
    }
}

//! Opens the files that a process has mapped: the very ones, not what stands at their paths now.

use std::{fs::File, io, path::Path};

use rustix::{
    fd::{AsRawFd as _, OwnedFd},
    fs::{AtFlags, Mode, OFlags, ResolveFlags, Stat},
};

use super::{
    executable::{ExecutableError, FileIdentity, Provenance},
    maps::{Device, MapsEntry, without_deleted},
};

/// A process's directory in procfs, held open: when the process ends, look-ups fail instead of
/// reaching another process with the same id.
#[derive(Debug)]
pub(crate) struct ProcessFiles {
    directory: OwnedFd,
}

/// A mapped file that was found but not yet opened for reading.
#[derive(Debug)]
pub(crate) struct MappedFile {
    pub(crate) identity: FileIdentity,
    pub(crate) provenance: Provenance,
    /// The file as an `O_PATH` descriptor, where finding it took opening it.
    found: Option<OwnedFd>,
}

impl ProcessFiles {
    /// # Errors
    /// As `open`: `ENOENT` when there is no such process.
    pub(crate) fn open(proc_root: &Path, pid: u32) -> io::Result<Self> {
        let directory = rustix::fs::open(
            proc_root.join(pid.to_string()),
            OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC,
            Mode::empty(),
        )?;
        Ok(Self { directory })
    }

    /// Finds the file behind a mapping. Costs one `stat` where `map_files` may be followed
    /// (`CAP_SYS_ADMIN` or `CAP_CHECKPOINT_RESTORE`).
    pub(crate) fn find(&self, entry: &MapsEntry<'_>) -> Result<MappedFile, ExecutableError> {
        let link = map_files_link(entry);
        match self.stat(&link) {
            Ok(stat) => return mapped(&stat, Provenance::MapFiles, None, entry),
            Err(rustix::io::Errno::PERM | rustix::io::Errno::ACCESS | rustix::io::Errno::NOENT) => {
            }
            Err(errno) => return Err(failed(entry, errno)),
        }
        if let Ok(stat) = self.stat("exe")
            && FileIdentity::of_regular(&stat).is_some_and(|found| found.inode == entry.inode)
        {
            return mapped(&stat, Provenance::ProcessExecutable, None, entry);
        }
        self.find_by_path(entry)
    }

    /// Opens what [`ProcessFiles::find`] found, and makes sure that it still is the same file.
    pub(crate) fn open_found(
        &self,
        entry: &MapsEntry<'_>,
        found: &MappedFile,
    ) -> Result<File, ExecutableError> {
        let (file, identity) = self.open_file(entry, found)?;
        if identity != found.identity {
            return Err(ExecutableError::Replaced { path: shown(entry) });
        }
        Ok(file)
    }

    /// Finds and opens the file behind a mapping where it grows all the time: the same file, of
    /// any length.
    pub(crate) fn open_growing(&self, entry: &MapsEntry<'_>) -> Result<File, ExecutableError> {
        let found = self.find(entry)?;
        let (file, identity) = self.open_file(entry, &found)?;
        let before = &found.identity;
        if (identity.device, identity.inode) != (before.device, before.inode) {
            return Err(ExecutableError::Replaced { path: shown(entry) });
        }
        Ok(file)
    }

    fn open_file(
        &self,
        entry: &MapsEntry<'_>,
        found: &MappedFile,
    ) -> Result<(File, FileIdentity), ExecutableError> {
        // NONBLOCK and NOCTTY matter when the file was exchanged for a device in between.
        let flags = OFlags::RDONLY | OFlags::CLOEXEC | OFlags::NONBLOCK | OFlags::NOCTTY;
        let opened = match (&found.found, found.provenance) {
            (Some(path_descriptor), _) => rustix::fs::open(
                format!("/proc/self/fd/{}", path_descriptor.as_raw_fd()),
                flags,
                Mode::empty(),
            ),
            (None, Provenance::ProcessExecutable) => {
                rustix::fs::openat(&self.directory, "exe", flags, Mode::empty())
            }
            (None, _) => {
                rustix::fs::openat(&self.directory, map_files_link(entry), flags, Mode::empty())
            }
        };
        let file: File = opened.map_err(|errno| failed(entry, errno))?.into();
        let stat = rustix::fs::fstat(&file).map_err(|errno| failed(entry, errno))?;
        let identity = FileIdentity::of_regular(&stat)
            .ok_or_else(|| ExecutableError::Replaced { path: shown(entry) })?;
        Ok((file, identity))
    }

    /// The path for people: ` (deleted)` goes, unless a file of that very name is the mapped one.
    pub(crate) fn display_path(&self, entry: &MapsEntry<'_>) -> Vec<u8> {
        let path = entry.path();
        let Some(stripped) = without_deleted(&path) else {
            return path;
        };
        let is_its_name = self
            .root()
            .and_then(|root| Self::in_root(&root, &path))
            .ok()
            .and_then(|descriptor| rustix::fs::fstat(descriptor).ok())
            .is_some_and(|stat| inode_of(&stat) == entry.inode);
        if is_its_name { path } else { stripped.to_vec() }
    }

    fn find_by_path(&self, entry: &MapsEntry<'_>) -> Result<MappedFile, ExecutableError> {
        let descriptor = self
            .root()
            .and_then(|root| Self::in_root(&root, &entry.path()))
            .map_err(|errno| failed(entry, errno))?;
        let stat = rustix::fs::fstat(&descriptor).map_err(|errno| failed(entry, errno))?;
        if entry.inode == 0 || inode_of(&stat) != entry.inode {
            return Err(ExecutableError::Replaced { path: shown(entry) });
        }
        let device = Device {
            major: rustix::fs::major(stat.st_dev),
            minor: rustix::fs::minor(stat.st_dev),
        };
        let provenance = if device == entry.device {
            Provenance::Path
        } else {
            Provenance::PathOtherDevice
        };
        mapped(&stat, provenance, Some(descriptor), entry)
    }

    /// The process's root directory. It can be held beyond the end of the process.
    pub(crate) fn root(&self) -> rustix::io::Result<OwnedFd> {
        rustix::fs::openat(
            &self.directory,
            "root",
            OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC,
            Mode::empty(),
        )
    }

    /// An `O_PATH` descriptor of a path inside the root of a process. No link leads out of that
    /// root, and nothing is opened in the sense of a device or a pipe. Needs Linux 5.6.
    pub(crate) fn in_root(root: &OwnedFd, path: &[u8]) -> rustix::io::Result<OwnedFd> {
        rustix::fs::openat2(
            root,
            path,
            OFlags::PATH | OFlags::CLOEXEC,
            Mode::empty(),
            ResolveFlags::IN_ROOT | ResolveFlags::NO_MAGICLINKS,
        )
    }

    fn stat(&self, path: &str) -> rustix::io::Result<Stat> {
        rustix::fs::statat(&self.directory, path, AtFlags::empty())
    }
}

/// `map_files/START-END`: the kernel prints both without leading zeros there.
fn map_files_link(entry: &MapsEntry<'_>) -> String {
    format!("map_files/{:x}-{:x}", entry.start, entry.end)
}

fn mapped(
    stat: &Stat,
    provenance: Provenance,
    found: Option<OwnedFd>,
    entry: &MapsEntry<'_>,
) -> Result<MappedFile, ExecutableError> {
    let identity = FileIdentity::of_regular(stat)
        .ok_or_else(|| ExecutableError::NotRegular { path: shown(entry) })?;
    Ok(MappedFile {
        identity,
        provenance,
        found,
    })
}

#[expect(
    clippy::unnecessary_cast,
    reason = "the type of the field differs between architectures"
)]
fn inode_of(stat: &Stat) -> u64 {
    stat.st_ino as u64
}

fn failed(entry: &MapsEntry<'_>, errno: rustix::io::Errno) -> ExecutableError {
    ExecutableError::Io {
        path: shown(entry),
        source: errno.into(),
    }
}

fn shown(entry: &MapsEntry<'_>) -> String {
    String::from_utf8_lossy(entry.raw_path).into_owned()
}

#[cfg(test)]
mod tests {
    use std::os::unix::{ffi::OsStrExt as _, fs::MetadataExt as _};

    use super::*;
    use crate::symbol::maps::Permissions;

    fn entry(path: &[u8], inode: u64) -> MapsEntry<'_> {
        MapsEntry {
            // No mapping is there, so that only the path is left.
            start: 0x1000,
            end: 0x2000,
            permissions: Permissions::default(),
            offset: 0,
            device: Device::default(),
            inode,
            raw_path: path,
        }
    }

    fn own() -> ProcessFiles {
        ProcessFiles::open(Path::new("/proc"), std::process::id()).expect("own process")
    }

    /// A file found by its path must have the inode that was mapped.
    #[test]
    fn replaced_file_is_refused() {
        let file = tempfile::NamedTempFile::new().expect("temporary file");
        let inode = file.as_file().metadata().expect("metadata").ino();
        let path = file.path().as_os_str().as_bytes();
        let found = own().find(&entry(path, inode)).expect("found by path");
        assert_eq!(found.provenance, Provenance::PathOtherDevice);
        own()
            .open_found(&entry(path, inode), &found)
            .expect("opened");
        assert!(matches!(
            own().find(&entry(path, inode + 1)),
            Err(ExecutableError::Replaced { .. })
        ));
    }

    /// A name that really ends in ` (deleted)` is kept; the kernel's suffix is not.
    #[test]
    fn deleted_suffix() {
        let directory = tempfile::tempdir().expect("temporary directory");
        let real = directory.path().join("my  prog (deleted)");
        std::fs::write(&real, b"x").expect("write");
        let inode = std::fs::metadata(&real).expect("metadata").ino();
        let real = real.as_os_str().as_bytes();
        assert_eq!(own().display_path(&entry(real, inode)), real);
        assert_eq!(
            own().display_path(&entry(real, inode + 1)),
            real.strip_suffix(b" (deleted)").expect("suffix")
        );
    }

    /// A link inside a root cannot lead out of it, and a pipe is not opened.
    #[test]
    fn pipe_behind_a_path() {
        let directory = tempfile::tempdir().expect("temporary directory");
        let path = directory.path().join("pipe");
        rustix::fs::mknodat(
            rustix::fs::CWD,
            &path,
            rustix::fs::FileType::Fifo,
            Mode::RUSR,
            0,
        )
        .expect("mkfifo");
        let inode = std::fs::metadata(&path).expect("metadata").ino();
        assert!(matches!(
            own().find(&entry(path.as_os_str().as_bytes(), inode)),
            Err(ExecutableError::NotRegular { .. })
        ));
    }
}

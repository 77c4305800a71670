//! Reading files of unknown origin: bounded in size, never waiting.

use std::{io, path::Path};

use rustix::{
    fd::{AsFd, OwnedFd},
    fs::{CWD, Mode, OFlags, ResolveFlags, openat, openat2},
    io::{Errno, read},
};

/// `O_NONBLOCK` so that a FIFO in place of a file cannot stop us.
pub(super) const READ: OFlags = OFlags::RDONLY
    .union(OFlags::CLOEXEC)
    .union(OFlags::NOCTTY)
    .union(OFlags::NONBLOCK);

/// Fills `buffer` from the start of the file; a longer file is cut. Gives what was read.
pub(super) fn fill(file: impl AsFd, buffer: &mut [u8]) -> Result<&[u8], Errno> {
    let mut length = 0;
    while length < buffer.len() {
        match read(&file, &mut buffer[length..]) {
            Ok(0) => break,
            Ok(count) => length += count,
            Err(Errno::INTR) => {}
            Err(error) => return Err(error),
        }
    }
    Ok(&buffer[..length])
}

/// The first `limit` bytes of a file.
pub(crate) fn read_bounded(path: &Path, limit: usize) -> io::Result<Vec<u8>> {
    read_to_vec(openat(CWD, path, READ, Mode::empty())?, limit)
}

/// The first `limit` bytes of a file below `root`, whose symbolic links are resolved as a process
/// rooted there would (`/etc/os-release` may be an absolute link).
pub(super) fn read_in_root(root: &Path, path: &Path, limit: usize) -> io::Result<Vec<u8>> {
    let directory = openat(
        CWD,
        root,
        OFlags::PATH | OFlags::CLOEXEC | OFlags::DIRECTORY,
        Mode::empty(),
    )?;
    match openat2(
        &directory,
        path,
        READ,
        Mode::empty(),
        ResolveFlags::IN_ROOT | ResolveFlags::NO_MAGICLINKS,
    ) {
        Ok(file) => read_to_vec(file, limit),
        // Seccomp profiles older than the call (Linux 5.6) refuse it with EPERM.
        Err(Errno::NOSYS | Errno::PERM) => read_bounded(&root.join(path), limit),
        Err(error) => Err(error.into()),
    }
}

/// A short text file with the white space around it removed; `None` when it is missing, unreadable,
/// empty or not UTF-8.
pub(super) fn read_line(path: &Path) -> Option<String> {
    let bytes = read_bounded(path, 4096).ok()?;
    let text = std::str::from_utf8(&bytes).ok()?.trim();
    (!text.is_empty()).then(|| text.to_owned())
}

fn read_to_vec(file: OwnedFd, limit: usize) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    let mut chunk = vec![0; limit.min(16 << 10)];
    while bytes.len() < limit {
        let room = chunk.len().min(limit - bytes.len());
        match read(&file, &mut chunk[..room]) {
            Ok(0) => break,
            Ok(count) => bytes.extend_from_slice(&chunk[..count]),
            Err(Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
    }
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use std::{fs, os::unix::fs::symlink};

    use super::*;

    /// Reading stops at the bound.
    #[test]
    fn reading_is_bounded() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("big");
        fs::write(&path, vec![b'x'; 100_000]).unwrap();
        assert_eq!(read_bounded(&path, 70_000).unwrap().len(), 70_000);
        assert_eq!(read_bounded(&path, 200_000).unwrap().len(), 100_000);
    }

    /// An absolute link below a root leads to a file below that root.
    #[test]
    fn links_stay_in_the_root() {
        let root = tempfile::tempdir().unwrap();
        fs::create_dir_all(root.path().join("etc/static")).unwrap();
        fs::write(root.path().join("etc/static/os-release"), "NAME=x").unwrap();
        symlink("/etc/static/os-release", root.path().join("etc/os-release")).unwrap();
        let bytes = read_in_root(root.path(), Path::new("etc/os-release"), 100).unwrap();
        assert_eq!(bytes, b"NAME=x");
    }

    /// A FIFO without a writer reads as empty instead of waiting.
    #[test]
    fn fifo_does_not_hang() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("fifo");
        rustix::fs::mknodat(
            CWD,
            &path,
            rustix::fs::FileType::Fifo,
            Mode::RUSR | Mode::WUSR,
            0,
        )
        .unwrap();
        assert_eq!(read_bounded(&path, 10).unwrap(), b"");
    }
}

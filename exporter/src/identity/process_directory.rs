//! Reading `/proc/PID`.
//!
//! All files are opened below one handle of the directory, which stays bound to the process it was
//! opened for: when that has gone, reads fail, and a process that was given the same id since is
//! never read by mistake.

use std::{
    ffi::OsStr,
    os::unix::ffi::OsStrExt as _,
    path::{Path, PathBuf},
    sync::Arc,
};

use rustix::{
    fd::OwnedFd,
    fs::{AtFlags, CWD, Mode, OFlags, openat, readlinkat, statat},
    io::Errno,
};

use super::{
    container::{ContainerFacts, MAX_CGROUP_BYTES},
    file::{READ, fill},
    kernel_thread::fold_name,
    process::{Process, ProcessKey},
    service::{MAX_ENVIRONMENT_BYTES, OtelEnvironment},
    stat::Stat,
    systemd_unit::service_unit,
    text::{MAX_NAME_BYTES, printable},
};

/// The file has about 350 bytes.
const MAX_STAT_BYTES: usize = 4096;

const DELETED: &[u8] = b" (deleted)";

/// What the cgroup of a process says.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct CgroupFacts {
    pub(super) container_id: Option<Arc<str>>,
    pub(super) runtime: Option<&'static str>,
    pub(super) unit: Option<Arc<str>>,
}

impl CgroupFacts {
    fn parse(text: &[u8]) -> Self {
        let container = ContainerFacts::parse(text);
        let unit = service_unit(text, container.container_id.as_deref());
        Self {
            // Without a container the runtime is that of a monitor beside it.
            runtime: container
                .runtime
                .filter(|_| container.container_id.is_some()),
            container_id: container.container_id.map(Arc::from),
            unit: unit.map(Arc::from),
        }
    }
}

/// A program file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Executable {
    pub(super) path: Option<Arc<Path>>,
    pub(super) name: Arc<str>,
}

/// A live process.
#[derive(Debug)]
pub(super) struct Seen {
    pub(super) ppid: u32,
    pub(super) kernel_thread: bool,
    pub(super) comm: Arc<str>,
    /// `None` when we may not see it.
    pub(super) executable: Option<Executable>,
    pub(super) cgroup: Arc<CgroupFacts>,
    pub(super) environment: Arc<OtelEnvironment>,
    /// Reading its environment was not permitted.
    pub(super) denied: bool,
}

/// What became of reading a process.
#[derive(Debug)]
pub(super) enum Reading {
    /// It lives.
    Alive(Seen),
    /// It has gone, or waits to be collected: then its cgroup can still be read.
    Gone {
        cgroup: Option<Arc<CgroupFacts>>,
        ppid: Option<u32>,
    },
    /// Another process has its id now.
    Recycled,
}

/// Reads processes, with buffers that are used again.
#[derive(Debug)]
pub(super) struct ProcessReader {
    proc: PathBuf,
    buffer: Vec<u8>,
}

impl ProcessReader {
    pub(super) fn new(proc: &Path) -> Self {
        Self {
            proc: proc.to_owned(),
            buffer: vec![0; MAX_ENVIRONMENT_BYTES],
        }
    }

    /// Reads a process. `parent` is the program that it was forked from and should still run: when
    /// the executable is the same, the environment is not read again.
    pub(super) fn read(&mut self, key: ProcessKey, parent: Option<&Process>) -> Reading {
        self.try_read(key, parent).unwrap_or(Reading::Gone {
            cgroup: None,
            ppid: None,
        })
    }

    /// Parent and start time of whatever process has the id now.
    pub(super) fn parent_and_start(&mut self, pid: u32) -> Option<(u32, u64)> {
        let directory = self.open(pid).ok()?;
        let buffer = self.buffer.get_mut(..MAX_STAT_BYTES)?;
        let stat = Stat::parse(read_file(&directory, "stat", buffer).ok()?)?;
        Some((stat.ppid, stat.start_ticks))
    }

    /// The cgroup that a process is in now; `None` when it has gone.
    pub(super) fn cgroup(&mut self, key: ProcessKey) -> Option<CgroupFacts> {
        let directory = self.open(key.pid).ok()?;
        let buffer = self.buffer.get_mut(..MAX_STAT_BYTES)?;
        let stat = Stat::parse(read_file(&directory, "stat", buffer).ok()?)?;
        // A dead process is moved to the root of version 1 hierarchies, which says nothing.
        if stat.start_ticks != key.start_ticks() || stat.is_dead() {
            return None;
        }
        let buffer = self.buffer.get_mut(..MAX_CGROUP_BYTES)?;
        let text = read_file(&directory, "cgroup", buffer).ok()?;
        Some(CgroupFacts::parse(text))
    }

    fn open(&self, pid: u32) -> Result<OwnedFd, Errno> {
        let mut path = self.proc.clone();
        path.push(pid.to_string());
        // `O_PATH` skips the permission check of reading the directory, which we do not need.
        openat(
            CWD,
            &path,
            OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC,
            Mode::empty(),
        )
    }

    fn try_read(&mut self, key: ProcessKey, parent: Option<&Process>) -> Result<Reading, Errno> {
        let directory = self.open(key.pid)?;
        let buffer = self.buffer.get_mut(..MAX_STAT_BYTES).ok_or(Errno::NOMEM)?;
        let stat = Stat::parse(read_file(&directory, "stat", buffer)?).ok_or(Errno::INVAL)?;
        if stat.start_ticks != key.start_ticks() {
            return Ok(Reading::Recycled);
        }
        let dead = stat.is_dead();
        let (ppid, kernel_thread) = (stat.ppid, stat.is_kernel_thread());
        let comm = if kernel_thread {
            fold_name(stat.comm)
        } else {
            printable(stat.comm, MAX_NAME_BYTES)
        };
        let mut seen = Seen {
            ppid,
            kernel_thread,
            comm: comm.into(),
            executable: None,
            cgroup: Arc::default(),
            environment: Arc::default(),
            denied: false,
        };
        if kernel_thread {
            return Ok(Reading::Alive(seen));
        }
        let buffer = self
            .buffer
            .get_mut(..MAX_CGROUP_BYTES)
            .ok_or(Errno::NOMEM)?;
        let cgroup = read_file(&directory, "cgroup", buffer)
            .ok()
            .map(|text| Arc::new(CgroupFacts::parse(text)));
        let gone = |cgroup: Option<Arc<CgroupFacts>>| Reading::Gone {
            // A dead process is moved to the root of version 1 hierarchies, which says nothing.
            cgroup: cgroup.filter(|facts| **facts != CgroupFacts::default()),
            ppid: Some(ppid),
        };
        if dead {
            return Ok(gone(cgroup));
        }
        match readlinkat(&directory, "exe", Vec::new()) {
            Ok(link) => {
                let path = without_deleted(&directory, link.as_bytes());
                let known = parent.filter(|parent| {
                    let known = parent.executable_path.as_deref();
                    known.is_some_and(|known| known.as_os_str().as_bytes() == path)
                });
                if let Some(parent) = known {
                    seen.executable = Some(Executable {
                        path: parent.executable_path.clone(),
                        name: Arc::clone(&parent.executable_name),
                    });
                    seen.environment = Arc::clone(&parent.environment);
                    seen.cgroup = cgroup.unwrap_or_default();
                    return Ok(Reading::Alive(seen));
                }
                seen.executable = Some(executable(path));
            }
            // Its memory has gone already: it is exiting.
            Err(Errno::NOENT | Errno::SRCH) => return Ok(gone(cgroup)),
            Err(_) => {}
        }
        seen.cgroup = cgroup.unwrap_or_default();
        match read_file(&directory, "environ", &mut self.buffer) {
            Ok(text) => seen.environment = Arc::new(OtelEnvironment::parse(text)),
            Err(Errno::ACCESS | Errno::PERM) => seen.denied = true,
            Err(_) => {}
        }
        Ok(Reading::Alive(seen))
    }
}

/// A program by its path.
pub(super) fn executable(path: &[u8]) -> Executable {
    Executable {
        path: Some(Arc::from(Path::new(OsStr::from_bytes(path)))),
        name: base_name(path).into(),
    }
}

/// The last component of a path, printable.
pub(super) fn base_name(path: &[u8]) -> String {
    let name = path.rsplit(|byte| *byte == b'/').next().unwrap_or(path);
    printable(name, MAX_NAME_BYTES)
}

fn read_file<'a>(directory: &OwnedFd, name: &str, buffer: &'a mut [u8]) -> Result<&'a [u8], Errno> {
    fill(openat(directory, name, READ, Mode::empty())?, buffer)
}

/// The link's text without the mark that the kernel adds to the name of a deleted file (`d_path` in
/// `fs/d_path.c`), unless the file really is called so: then that name leads to the same inode.
fn without_deleted<'a>(directory: &OwnedFd, link: &'a [u8]) -> &'a [u8] {
    let Some(path) = link.strip_suffix(DELETED) else {
        return link;
    };
    let mut in_root = b"root".to_vec();
    in_root.extend_from_slice(link);
    let named = statat(directory, OsStr::from_bytes(&in_root), AtFlags::empty());
    let mapped = statat(directory, "exe", AtFlags::empty());
    match (named, mapped) {
        (Ok(named), Ok(mapped))
            if (named.st_dev, named.st_ino) == (mapped.st_dev, mapped.st_ino) =>
        {
            link
        }
        _ => path,
    }
}

#[cfg(test)]
mod tests {
    use std::{fs, os::unix::fs::symlink, process::Command};

    use super::*;
    use crate::identity::test_support::{FakeProc, FakeProcess};

    fn read(reader: &mut ProcessReader, pid: u32) -> Reading {
        let (_, ticks) = reader.parent_and_start(pid).unwrap();
        reader.read(ProcessKey::from_ticks(pid, ticks), None)
    }

    fn seen(reader: &mut ProcessReader, pid: u32) -> Seen {
        match read(reader, pid) {
            Reading::Alive(seen) => seen,
            other => panic!("{other:?}"),
        }
    }

    /// This process is read from the real `/proc` as what it is.
    #[test]
    fn reads_ourselves() {
        let mut reader = ProcessReader::new(Path::new("/proc"));
        let pid = std::process::id();
        let seen = seen(&mut reader, pid);
        let executable = seen.executable.unwrap();
        assert_eq!(
            executable.path.as_deref(),
            std::env::current_exe().ok().as_deref()
        );
        assert_eq!(seen.ppid, std::os::unix::process::parent_id());
        assert!(!seen.kernel_thread && !seen.denied);
        let (_, ticks) = reader.parent_and_start(pid).unwrap();
        let other = ProcessKey::from_ticks(pid, ticks + 1);
        assert!(matches!(reader.read(other, None), Reading::Recycled));
    }

    /// A real child's variables are read, and a deleted program keeps its name. One that is really
    /// called `... (deleted)` does too.
    #[test]
    fn deleted_programs() {
        let directory = tempfile::tempdir().unwrap();
        for (name, delete) in [
            ("gone", true),
            ("kept (deleted)", false),
            ("both (deleted)", true),
        ] {
            let path = directory.path().join(name);
            // Copied by another process: a descriptor open for writing that a test beside this one
            // inherits across its fork would make the file busy.
            let copied = Command::new("cp").arg("/bin/sleep").arg(&path).status();
            assert!(copied.unwrap().success());
            let mut child = Command::new(&path)
                .arg("30")
                .env("OTEL_SERVICE_NAME", "sleeper")
                .spawn()
                .unwrap();
            if delete {
                fs::remove_file(&path).unwrap();
            }
            let mut reader = ProcessReader::new(Path::new("/proc"));
            // The kernel sets the bounds of the environment last, after `spawn` has returned.
            let mut seen = seen(&mut reader, child.id());
            for _ in 0..200 {
                if seen.environment.service_name.is_some() {
                    break;
                }
                std::thread::sleep(std::time::Duration::from_millis(10));
                seen = self::seen(&mut reader, child.id());
            }
            child.kill().unwrap();
            child.wait().unwrap();
            let executable = seen.executable.unwrap();
            assert_eq!(&*executable.name, name);
            assert_eq!(executable.path.as_deref(), Some(&*path));
            let service = seen.environment.service_name.as_ref().unwrap();
            assert_eq!(&*service.value, "sleeper");
        }
    }

    /// A child that ended and was not collected is gone, not alive.
    #[test]
    fn zombies_are_gone() {
        let mut child = Command::new("/bin/true").spawn().unwrap();
        let mut reader = ProcessReader::new(Path::new("/proc"));
        let mut reading = read(&mut reader, child.id());
        for _ in 0..200 {
            if matches!(reading, Reading::Gone { .. }) {
                break;
            }
            std::thread::sleep(std::time::Duration::from_millis(10));
            reading = read(&mut reader, child.id());
        }
        assert!(
            matches!(reading, Reading::Gone { ppid: Some(_), .. }),
            "{reading:?}"
        );
        child.wait().unwrap();
    }

    /// Paths are kept byte for byte; names are made printable and bounded.
    #[test]
    fn hostile_paths() {
        let fake = FakeProc::new();
        let path: &[u8] = b"/srv/sp ace/my  \xff\nprog";
        fake.add(&FakeProcess {
            exe: None,
            ..FakeProcess::default()
        });
        symlink(OsStr::from_bytes(path), fake.roots().proc.join("100/exe")).unwrap();
        let mut reader = ProcessReader::new(&fake.roots().proc);
        let executable = seen(&mut reader, 100).executable.unwrap();
        assert_eq!(executable.path.unwrap().as_os_str().as_bytes(), path);
        assert_eq!(&*executable.name, "my  \\xff\\x0aprog");
    }
}

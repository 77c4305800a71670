//! Block devices that tests make and take away again, and what the kernel says of them.

use std::{
    fs::{self, File},
    io::Write as _,
    os::unix::fs::MetadataExt as _,
    path::{Path, PathBuf},
    process::Command,
    thread,
    time::Duration,
};

use anyhow::{Context as _, Result, ensure};

use crate::child::run;

/// Longest run of a program that sets up a device.
const LIMIT: Duration = Duration::from_secs(30);

/// How a loop device reads and writes its file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    /// Through the page cache, in a kernel thread of its own.
    Cached,
    /// Past the page cache, so that each operation is one of the disk below.
    Direct,
}

/// A loop device on a file of its own. Detached already, it stays for as long as somebody has it open: the
/// kernel takes it away with this value or with the test program, however that ends.
#[derive(Debug)]
pub struct LoopDevice {
    /// Its name, such as `loop3`.
    pub name: String,
    file: PathBuf,
    /// The last to close it. Before the folder, which holds its file.
    _open: File,
    _folder: tempfile::TempDir,
}

impl LoopDevice {
    /// A device of so many bytes, all of them written.
    pub fn new(bytes: usize, access: Access) -> Result<Self> {
        let folder = tempfile::tempdir()?;
        Self::on(&folder.path().join("disk"), bytes, access, folder)
    }

    fn on(path: &Path, bytes: usize, access: Access, folder: tempfile::TempDir) -> Result<Self> {
        let mut file = File::create(path)?;
        // Not zeros and not a hole, so that a read is one below, too.
        file.write_all(&vec![0x5a; bytes])?;
        file.sync_all()?;
        let mut command = Command::new("losetup");
        command.args(["--find", "--show"]);
        if access == Access::Direct {
            command.arg("--direct-io=on");
        }
        let shown = run(command.arg(path), LIMIT)?.succeeded()?.stdout;
        let device = shown.trim();
        let open = File::open(device).with_context(|| device.to_owned())?;
        run(Command::new("losetup").args(["--detach", device]), LIMIT)?.succeeded()?;
        Ok(Self {
            name: device.trim_start_matches("/dev/").to_owned(),
            file: path.to_owned(),
            _open: open,
            _folder: folder,
        })
    }

    /// Its path below `/dev`.
    pub fn path(&self) -> String {
        format!("/dev/{}", self.name)
    }

    /// Cuts its file, so that the end of the device has nothing behind it.
    pub fn cut_file(&self, bytes: u64) -> Result<()> {
        let file = File::options().write(true).open(&self.file)?;
        Ok(file.set_len(bytes)?)
    }

    /// Sets one of its attributes in `/sys/block/NAME/queue`.
    pub fn set_queue(&self, attribute: &str, value: &str) -> Result<()> {
        let path = format!("/sys/block/{}/queue/{attribute}", self.name);
        fs::write(&path, value).with_context(|| format!("writing {value} to {path}"))
    }
}

/// A compressed disk in memory. It has no requests: its driver takes bios. Taken away when dropped.
#[derive(Debug)]
pub struct Zram {
    /// Its name, such as `zram1`.
    pub name: String,
}

impl Zram {
    /// A device of so many bytes; `None` where the kernel has none to give.
    pub fn new(bytes: u64) -> Result<Option<Self>> {
        let Ok(number) = fs::read_to_string("/sys/class/zram-control/hot_add") else {
            return Ok(None);
        };
        let zram = Self {
            name: format!("zram{}", number.trim()),
        };
        let size = format!("/sys/block/{}/disksize", zram.name);
        fs::write(&size, bytes.to_string()).with_context(|| size.clone())?;
        Ok(Some(zram))
    }

    /// Its path below `/dev`.
    pub fn path(&self) -> String {
        format!("/dev/{}", self.name)
    }

    /// The command that takes it away, for a shell; it may run before the drop.
    pub fn removal(&self) -> String {
        let number = self.name.trim_start_matches("zram");
        format!("echo {number} > /sys/class/zram-control/hot_remove")
    }
}

impl Drop for Zram {
    fn drop(&mut self) {
        // Whoever looks at new disks may still have it open.
        for _ in 0..50 {
            if !Path::new("/sys/block").join(&self.name).exists()
                || fs::write(
                    "/sys/class/zram-control/hot_remove",
                    self.name.trim_start_matches("zram"),
                )
                .is_ok()
            {
                return;
            }
            thread::sleep(Duration::from_millis(100));
        }
    }
}

/// Name of the whole disk that holds a file; `None` where its file system is on none, or on several.
pub fn disk_of(path: &Path) -> Result<Option<String>> {
    let device = fs::metadata(path)?.dev();
    let (major, minor) = (rustix::fs::major(device), rustix::fs::minor(device));
    let Ok(link) = fs::canonicalize(format!("/sys/dev/block/{major}:{minor}")) else {
        return Ok(None);
    };
    // A partition is a folder in that of its disk.
    let whole = if link.join("partition").exists() {
        link.parent()
    } else {
        Some(link.as_path())
    };
    Ok(whole
        .and_then(Path::file_name)
        .map(|name| name.to_string_lossy().into_owned()))
}

/// What the kernel counted of a disk since boot (`Documentation/admin-guide/iostats.rst`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Diskstats {
    /// Reads completed.
    pub reads: u64,
    /// Bytes read.
    pub read_bytes: u64,
    /// Writes completed, an empty one for each flush that was asked for among them.
    pub writes: u64,
    /// Bytes written.
    pub written_bytes: u64,
    /// Flushes completed.
    pub flushes: u64,
}

impl Diskstats {
    /// Of a disk now.
    pub fn read(name: &str) -> Result<Self> {
        let text = fs::read_to_string("/proc/diskstats")?;
        Self::parse(&text, name)
    }

    fn parse(text: &str, name: &str) -> Result<Self> {
        let line = text
            .lines()
            .find(|line| line.split_whitespace().nth(2) == Some(name))
            .with_context(|| format!("/proc/diskstats has no {name}"))?;
        let numbers: Vec<u64> = line
            .split_whitespace()
            .skip(3)
            .map(|word| Ok(word.parse()?))
            .collect::<Result<_>>()?;
        ensure!(numbers.len() >= 17, "no flushes in /proc/diskstats: {line}");
        Ok(Self {
            reads: numbers[0],
            read_bytes: numbers[2] * 512,
            writes: numbers[4],
            written_bytes: numbers[6] * 512,
            flushes: numbers[15],
        })
    }

    /// What was counted since.
    pub fn since(self, earlier: Self) -> Self {
        Self {
            reads: self.reads - earlier.reads,
            read_bytes: self.read_bytes - earlier.read_bytes,
            writes: self.writes - earlier.writes,
            written_bytes: self.written_bytes - earlier.written_bytes,
            flushes: self.flushes - earlier.flushes,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The columns are those of the kernel's documentation, and names are compared as a whole.
    #[test]
    fn parses_diskstats() {
        let text = "   7 1 loop10 9 9 9 9 9 9 9 9 9 9 9 9 9 9 9 9 9\n\
                    7 0 loop1 1 2 3 4 5 6 7 8 0 10 11 12 13 14 15 16 17\n";
        assert_eq!(
            Diskstats::parse(text, "loop1").unwrap(),
            Diskstats {
                reads: 1,
                read_bytes: 3 * 512,
                writes: 5,
                written_bytes: 7 * 512,
                flushes: 16,
            }
        );
        assert!(Diskstats::parse(text, "loop").is_err());
    }
}

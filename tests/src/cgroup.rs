//! Cgroups of the cpu controller, version 1 or 2, made for a test.

use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
    sync::atomic::{AtomicU32, Ordering},
    thread,
    time::Duration,
};

use anyhow::{Context as _, Result};

use crate::suite::Skip;

/// Where version 1 is mounted, by itself and with cpuacct.
const VERSION_1: [&str; 2] = ["/sys/fs/cgroup/cpu", "/sys/fs/cgroup/cpu,cpuacct"];
const VERSION_2: &str = "/sys/fs/cgroup";

/// Length of a quota's period in microseconds, the kernel's default.
const PERIOD: u64 = 100_000;

/// A cgroup; gone when dropped, with what runs in it moved to the root.
#[derive(Debug)]
pub struct CpuGroup {
    root: PathBuf,
    path: PathBuf,
    is_version_2: bool,
}

/// What the kernel says of a quota.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Throttling {
    /// Periods in which it was used up.
    pub periods: f64,
    /// Seconds, for each CPU, in which tasks were held back.
    pub seconds: f64,
}

impl CpuGroup {
    /// Makes a cgroup below the root. An error [`Skip`] where there is no cpu controller to be had.
    pub fn new() -> Result<Self> {
        static MADE: AtomicU32 = AtomicU32::new(0);
        let (root, is_version_2) = root().map_err(Skip)?;
        let number = MADE.fetch_add(1, Ordering::Relaxed);
        let path = root.join(format!("evenkeel-test-{}-{number}", std::process::id()));
        fs::create_dir(&path).map_err(|error| {
            Skip(format!(
                "no cgroup can be made: {}: {error}",
                path.display()
            ))
        })?;
        Ok(Self {
            root,
            path,
            is_version_2,
        })
    }

    fn write(&self, file: &str, value: impl AsRef<str>) -> Result<()> {
        let path = self.path.join(file);
        fs::write(&path, value.as_ref()).with_context(|| path.display().to_string())
    }

    /// Limits it to a share of one CPU.
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        clippy::cast_precision_loss,
        reason = "microseconds of a tenth of a second"
    )]
    pub fn limit(&self, share: f64) -> Result<()> {
        let quota = (PERIOD as f64 * share) as u64;
        if self.is_version_2 {
            return self.write("cpu.max", format!("{quota} {PERIOD}"));
        }
        self.write("cpu.cfs_period_us", PERIOD.to_string())?;
        self.write("cpu.cfs_quota_us", quota.to_string())
    }

    /// Gives it the largest weight there is, so that the rest of the machine hardly takes a CPU from it.
    pub fn prefer(&self) -> Result<()> {
        if self.is_version_2 {
            self.write("cpu.weight", "10000")
        } else {
            self.write("cpu.shares", "262144")
        }
    }

    /// What the kernel says of its quota.
    pub fn throttling(&self) -> Result<Throttling> {
        let path = self.path.join("cpu.stat");
        let text = fs::read_to_string(&path).with_context(|| path.display().to_string())?;
        throttling(&text)
    }

    /// A command that runs `program` in it, from its first moment.
    pub fn command(&self, program: &Path, arguments: &[&str]) -> Command {
        let mut command = Command::new("sh");
        command.args(self.words());
        command.arg(program).args(arguments);
        command
    }

    /// Arguments of `sh` that begin such a command line.
    pub fn words(&self) -> [String; 3] {
        let processes = self.path.join("cgroup.procs");
        [
            "-c".to_owned(),
            "echo $$ >\"$0\" && exec \"$@\"".to_owned(),
            processes.to_string_lossy().into_owned(),
        ]
    }
}

impl Drop for CpuGroup {
    fn drop(&mut self) {
        // What was killed may take a moment to go; what is left belongs to the root again.
        for _ in 0..200 {
            let processes = fs::read_to_string(self.path.join("cgroup.procs")).unwrap_or_default();
            for pid in processes.lines() {
                let _ = fs::write(self.root.join("cgroup.procs"), pid);
            }
            if fs::remove_dir(&self.path).is_ok() {
                return;
            }
            thread::sleep(Duration::from_millis(10));
        }
    }
}

/// The root of the hierarchy that has the cpu controller, and whether it is version 2.
fn root() -> Result<(PathBuf, bool), String> {
    for path in VERSION_1 {
        if Path::new(path).join("cpu.shares").exists() {
            return Ok((path.into(), false));
        }
    }
    let path = PathBuf::from(VERSION_2);
    let control = path.join("cgroup.subtree_control");
    let has_cpu = || fs::read_to_string(&control).is_ok_and(|text| text.contains("cpu"));
    if !has_cpu() {
        let _ = fs::write(&control, "+cpu");
    }
    if has_cpu() {
        return Ok((path, true));
    }
    Err("no cpu controller can be written".to_owned())
}

/// `nr_throttled`, and `throttled_time` in nanoseconds (version 1) or `throttled_usec` (version 2).
fn throttling(text: &str) -> Result<Throttling> {
    let value = |key: &str| {
        text.lines()
            .find_map(|line| line.strip_prefix(key)?.trim().parse::<f64>().ok())
    };
    let nanos = value("throttled_time ");
    let micros = value("throttled_usec ");
    Ok(Throttling {
        periods: value("nr_throttled ").context("no nr_throttled")?,
        seconds: nanos
            .map(|nanos| nanos / 1e9)
            .or(micros.map(|micros| micros / 1e6))
            .context("no throttled time")?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Both versions are read.
    #[test]
    fn throttling_is_read() {
        let expected = Throttling {
            periods: 3.0,
            seconds: 1.5,
        };
        let first = "nr_periods 9\nnr_throttled 3\nthrottled_time 1500000000\n";
        assert_eq!(throttling(first).unwrap(), expected);
        let second = "usage_usec 1\nnr_periods 9\nnr_throttled 3\nthrottled_usec 1500000\n";
        assert_eq!(throttling(second).unwrap(), expected);
        assert!(throttling("usage_usec 1\n").is_err());
    }
}

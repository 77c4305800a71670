//! What the kernel itself says about CPU time, to compare with.

use std::{
    fs, thread,
    time::{Duration, Instant, SystemTime, UNIX_EPOCH},
};

use anyhow::{Context as _, Result, ensure};

use crate::log;

/// Clock ticks a second in procfs (`USER_HZ`), 100 on every architecture that we build for.
pub const TICKS_PER_SECOND: f64 = 100.0;

/// How often a [`Log`] looks. Two ticks: finer would only repeat values.
const LOG_INTERVAL: Duration = Duration::from_millis(20);

/// CPU time of all CPUs since boot, in ticks: the first line of `/proc/stat`.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct CpuTicks {
    /// user, nice, system, irq and softirq: what a CPU did. `user` holds guest time already.
    pub busy: f64,
    /// What the hypervisor took.
    pub steal: f64,
}

impl CpuTicks {
    /// Reads `/proc/stat`.
    pub fn read() -> Result<Self> {
        Self::parse(&fs::read_to_string("/proc/stat").context("/proc/stat")?)
    }

    fn parse(text: &str) -> Result<Self> {
        let line = text.lines().next().unwrap_or_default();
        let fields: Vec<f64> = line
            .strip_prefix("cpu ")
            .context("/proc/stat does not begin with `cpu `")?
            .split_whitespace()
            .map(|field| field.parse().context("a field of /proc/stat"))
            .collect::<Result<_>>()?;
        ensure!(fields.len() >= 8, "/proc/stat has no steal field: {line}");
        Ok(Self {
            busy: fields[0] + fields[1] + fields[2] + fields[5] + fields[6],
            steal: fields[7],
        })
    }
}

/// User and system time of a process in seconds: fields 14 and 15 of `/proc/PID/stat`.
pub fn process_cpu_seconds(pid: u32) -> Result<f64> {
    let path = format!("/proc/{pid}/stat");
    parse_process_stat(&fs::read_to_string(&path).with_context(|| path.clone())?)
}

fn parse_process_stat(text: &str) -> Result<f64> {
    // The second field is the name in parentheses and may hold anything; field 3 follows the last `)`.
    let (_, rest) = text.rsplit_once(") ").context("no name in parentheses")?;
    let fields: Vec<&str> = rest.split_whitespace().collect();
    let ticks = |field: usize| -> Result<f64> {
        let text = fields.get(field - 3).context("too few fields")?;
        Ok(text.parse()?)
    };
    Ok((ticks(14)? + ticks(15)?) / TICKS_PER_SECOND)
}

/// Resident memory of a process in bytes (`VmRSS`).
pub fn resident_bytes(pid: u32) -> Result<u64> {
    let status = fs::read_to_string(format!("/proc/{pid}/status"))?;
    let line = status
        .lines()
        .find_map(|line| line.strip_prefix("VmRSS:"))
        .context("no VmRSS")?;
    let kib: u64 = line.trim().trim_end_matches(" kB").trim().parse()?;
    Ok(kib * 1024)
}

/// Waits, for three minutes at most, until the machine is quiet. For tests whose figure has the whole machine in
/// it; where other work goes on, they run all the same.
pub fn wait_until_quiet() -> Result<()> {
    if !is_quiet_within(Duration::from_secs(180))? {
        println!("the machine has other work to do: figures of the whole machine may be off");
    }
    Ok(())
}

/// Waits until all CPUs together were less than a fifth busy for half a second, and says whether that was within
/// `limit`.
pub fn is_quiet_within(limit: Duration) -> Result<bool> {
    let deadline = Instant::now() + limit;
    while Instant::now() < deadline {
        let (start, before) = (Instant::now(), CpuTicks::read()?);
        thread::sleep(Duration::from_millis(500));
        let busy = (CpuTicks::read()?.busy - before.busy) / TICKS_PER_SECOND;
        if busy < 0.2 * start.elapsed().as_secs_f64() {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Time that all threads of a process were on a CPU, in seconds, to the nanosecond (field 1 of their
/// `schedstat`); threads that have ended are not in it.
pub fn threads_cpu_seconds(pid: u32) -> Result<f64> {
    let folder = format!("/proc/{pid}/task");
    let mut nanos = 0.0;
    for task in fs::read_dir(&folder).with_context(|| folder.clone())? {
        let Ok(text) = fs::read_to_string(task?.path().join("schedstat")) else {
            continue;
        };
        let field = text.split_whitespace().next().unwrap_or_default();
        nanos += field.parse::<f64>()?;
    }
    Ok(nanos / 1e9)
}

/// Nanoseconds since the Unix epoch.
pub fn unix_nanos() -> u64 {
    let since = SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .unwrap_or_default();
    u64::try_from(since.as_nanos()).unwrap_or(u64::MAX)
}

/// `/proc/stat` and, if asked for, one process's CPU time over time.
#[derive(Debug)]
pub struct Log(log::Log<3>);

/// A finished [`Log`].
#[derive(Debug)]
pub struct Logged(log::Logged<3>);

/// What grew over a span.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Growth {
    /// Busy time of all CPUs in seconds.
    pub busy_seconds: f64,
    /// Stolen time of all CPUs in seconds.
    pub steal_seconds: f64,
    /// CPU time of the watched process in seconds; 0 without one.
    pub process_seconds: f64,
}

impl Log {
    /// Starts to log, with the CPU time of `process` if there is one. The process must outlive the log.
    pub fn start(process: Option<u32>) -> Self {
        Self(log::Log::start(LOG_INTERVAL, move || {
            let cpu = CpuTicks::read()?;
            let process_seconds = process.map_or(Ok(0.0), process_cpu_seconds)?;
            Ok([
                cpu.busy / TICKS_PER_SECOND,
                cpu.steal / TICKS_PER_SECOND,
                process_seconds,
            ])
        }))
    }

    /// Ends the log.
    pub fn finish(self) -> Result<Logged> {
        Ok(Logged(self.0.finish()?))
    }
}

impl Logged {
    /// The growth between two instants (Unix nanoseconds), which the log must cover.
    pub fn growth(&self, start: u64, end: u64) -> Result<Growth> {
        let [busy_seconds, steal_seconds, process_seconds] = self.0.growth(start, end)?;
        Ok(Growth {
            busy_seconds,
            steal_seconds,
            process_seconds,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Busy leaves out idle, iowait, steal and the guest fields that `user` holds already.
    #[test]
    fn busy_is_what_a_cpu_did() {
        let ticks = CpuTicks::parse("cpu  1 2 4 100 200 8 16 32 64 128\ncpu0 0\n").unwrap();
        assert_eq!(
            ticks,
            CpuTicks {
                busy: 31.0,
                steal: 32.0
            }
        );
        assert!(CpuTicks::parse("cpu  1 2 4\n").is_err());
    }

    /// A name with spaces and parentheses does not shift the fields.
    #[test]
    fn process_names_do_not_shift_fields() {
        let text = "7 (a) R (b) S 1 1 1 0 -1 0 0 0 0 0 250 50 0 0 20 0 1 0 5\n";
        assert_eq!(parse_process_stat(text).unwrap(), 3.0);
    }
}

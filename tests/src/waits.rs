//! How long the tasks of the node waited for a CPU, by the scheduler's own account.

use std::{collections::HashMap, fs, path::Path, time::Duration};

use anyhow::{Context as _, Result};

use crate::log::{Log, Logged};

/// A sweep over 200 threads takes 3 ms. Spinners that end between two sweeps, each after at most this, are
/// what blurs the account most.
const INTERVAL: Duration = Duration::from_millis(100);

/// Waits of all tasks over time: `/proc/schedstat` where the kernel has it (`CONFIG_SCHEDSTATS`), else
/// what the `schedstat` files of all threads grew by.
#[derive(Debug)]
pub struct WaitLog(Log<2>);

/// A finished [`WaitLog`].
#[derive(Debug)]
pub struct WaitLogged(Logged<2>);

/// Waits over a span.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Waits {
    /// Seconds.
    pub seconds: f64,
    /// Seconds that may be missing: threads that ended took with them what they had waited since they were
    /// last looked at, at most one interval each.
    pub missing: f64,
}

impl WaitLog {
    /// Starts to log.
    pub fn start() -> Self {
        let whole = Path::new("/proc/schedstat");
        if whole.exists() {
            return Self(Log::start(INTERVAL, move || {
                let text = fs::read_to_string(whole).context("/proc/schedstat")?;
                Ok([of_cpus(&text)?, 0.0])
            }));
        }
        let mut threads = Threads::default();
        Self(Log::start(INTERVAL, move || {
            threads.update(sweep()?, forks()?);
            let missing = threads.unseen * INTERVAL.as_secs_f64();
            Ok([threads.waited, missing])
        }))
    }

    /// Ends the log.
    pub fn finish(self) -> Result<WaitLogged> {
        Ok(WaitLogged(self.0.finish()?))
    }
}

impl WaitLogged {
    /// The waits between two instants (Unix nanoseconds), which the log must cover.
    pub fn waits(&self, start: u64, end: u64) -> Result<Waits> {
        let [seconds, missing] = self.0.growth(start, end)?;
        Ok(Waits { seconds, missing })
    }
}

/// The sum of field 8 of the `cpu` lines (`kernel/sched/stats.c`), in seconds.
fn of_cpus(text: &str) -> Result<f64> {
    let waits = text.lines().filter(|line| line.starts_with("cpu"));
    let nanos: Vec<f64> = waits
        .map(|line| {
            let field = line.split_whitespace().nth(8).context("a short line")?;
            Ok(field.parse()?)
        })
        .collect::<Result<_>>()?;
    Ok(nanos.iter().sum::<f64>() / 1e9)
}

/// Field 2 of the `schedstat` of every thread there is, in seconds.
fn sweep() -> Result<HashMap<u32, f64>> {
    let mut threads = HashMap::new();
    for process in fs::read_dir("/proc")? {
        let process = process?;
        if !process.file_name().as_encoded_bytes()[0].is_ascii_digit() {
            continue;
        }
        // Processes and threads may be gone at any moment.
        let Ok(tasks) = fs::read_dir(process.path().join("task")) else {
            continue;
        };
        for task in tasks.flatten() {
            let Ok(text) = fs::read_to_string(task.path().join("schedstat")) else {
                continue;
            };
            let id = task.file_name().to_string_lossy().parse();
            let waited = text.split_whitespace().nth(1).map(str::parse::<f64>);
            if let (Ok(id), Some(Ok(nanos))) = (id, waited) {
                threads.insert(id, nanos / 1e9);
            }
        }
    }
    Ok(threads)
}

/// Processes and threads made since boot.
fn forks() -> Result<f64> {
    let text = fs::read_to_string("/proc/stat")?;
    let line = text
        .lines()
        .find_map(|line| line.strip_prefix("processes "));
    Ok(line
        .context("no `processes` in /proc/stat")?
        .trim()
        .parse()?)
}

/// What is known of all threads.
#[derive(Debug, Default)]
struct Threads {
    last: HashMap<u32, f64>,
    forks: Option<f64>,
    waited: f64,
    /// Threads that ended since the first sweep; each may have waited unseen.
    unseen: f64,
}

impl Threads {
    fn update(&mut self, now: HashMap<u32, f64>, forks: f64) {
        if let Some(forks_before) = self.forks {
            let mut born = 0.0;
            for (id, waited) in &now {
                match self.last.get(id).filter(|before| *before <= waited) {
                    Some(before) => self.waited += waited - before,
                    None => {
                        self.waited += waited;
                        born += 1.0;
                    }
                }
            }
            let ended = self.last.keys().filter(|id| !now.contains_key(id)).count();
            let never_seen = (forks - forks_before - born).max(0.0);
            #[expect(clippy::cast_precision_loss, reason = "threads of one machine")]
            let ended = ended as f64;
            self.unseen += ended + never_seen;
        }
        self.forks = Some(forks);
        self.last = now;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Version 15 and later have the same first nine fields; domains are passed over.
    #[test]
    fn cpus_are_summed() {
        let text = "version 17\ntimestamp 4294892316\n\
                    cpu0 0 0 1 2 3 4 5000000000 1500000000 9\n\
                    domain0 MC 03 9 9 9 9 9 9 9 9 9 9 9\n\
                    cpu1 0 0 1 2 3 4 5000000000 500000000 9\n";
        assert_eq!(of_cpus(text).unwrap(), 2.0);
        assert!(of_cpus("cpu0 1 2\n").is_err());
    }

    /// Growth counts, also of threads that came in between; those that went are said to be uncertain, and
    /// so are those that came and went unseen.
    #[test]
    fn threads_are_followed() {
        let mut threads = Threads::default();
        threads.update(HashMap::from([(1, 10.0), (2, 5.0)]), 100.0);
        assert_eq!((threads.waited, threads.unseen), (0.0, 0.0));
        threads.update(HashMap::from([(1, 10.5), (3, 0.25)]), 103.0);
        assert_eq!((threads.waited, threads.unseen), (0.75, 3.0));
        // The number was given to another thread.
        threads.update(HashMap::from([(1, 0.5), (3, 0.25)]), 104.0);
        assert_eq!(threads.waited, 1.25);
    }

    /// This very thread is found.
    #[test]
    fn sweeps_this_machine() {
        assert!(sweep().unwrap().contains_key(&std::process::id()));
        assert!(forks().unwrap() > 0.0);
    }
}

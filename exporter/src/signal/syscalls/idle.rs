//! How busy each CPU was lately, from `/proc/stat`.

use std::{
    fs,
    path::{Path, PathBuf},
    time::Instant,
};

use crate::signal::host::Stat;

/// Columns of idle and iowait.
const IDLE: [usize; 2] = [3, 4];

/// The idle times at the last look.
#[derive(Debug)]
pub(super) struct IdleTimes {
    path: PathBuf,
    looked: Instant,
    last: Option<Vec<(u32, Ticks)>>,
}

/// Ticks of a CPU since boot.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Ticks {
    idle: u64,
    all: u64,
}

impl IdleTimes {
    /// Looks for the first time.
    pub(super) fn new(proc_root: &Path) -> Self {
        let path = proc_root.join("stat");
        Self {
            last: read(&path),
            path,
            looked: Instant::now(),
        }
    }

    /// Seconds since the last look.
    pub(super) fn age(&self) -> f64 {
        self.looked.elapsed().as_secs_f64()
    }

    /// Share of the time since the last look for which each CPU was busy, by CPU; 1 where that is not
    /// known. A look takes 40 µs here.
    pub(super) fn busy(&mut self) -> Option<Vec<f64>> {
        let now = read(&self.path)?;
        let busy = self.last.as_ref().map(|last| shares(last, &now));
        self.last = Some(now);
        self.looked = Instant::now();
        busy
    }
}

fn read(path: &Path) -> Option<Vec<(u32, Ticks)>> {
    let stat = Stat::parse(&fs::read(path).ok()?);
    let ticks = stat.cpus.iter().map(|(cpu, ticks)| {
        let column = |column: usize| ticks.columns[column].unwrap_or(0);
        // Guest time is in the first two columns already.
        let all = (0..8).map(column).sum();
        let idle = IDLE.into_iter().map(column).sum();
        (*cpu, Ticks { idle, all })
    });
    Some(ticks.collect())
}

fn shares(last: &[(u32, Ticks)], now: &[(u32, Ticks)]) -> Vec<f64> {
    let highest = now.last().map_or(0, |(cpu, _)| *cpu as usize + 1);
    let mut busy = vec![1.0; highest];
    for (cpu, now) in now {
        let Some((_, last)) = last.iter().find(|(number, _)| number == cpu) else {
            continue;
        };
        let all = now.all.saturating_sub(last.all);
        let idle = now.idle.saturating_sub(last.idle);
        if all > 0
            && let Some(busy) = busy.get_mut(*cpu as usize)
        {
            *busy = (1.0 - idle as f64 / all as f64).clamp(0.0, 1.0);
        }
    }
    busy
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A CPU that was idle for a quarter of its ticks was busy for the rest; of one that is new nothing
    /// is known.
    #[test]
    fn busy_is_what_was_not_idle() {
        let ticks = |idle, all| Ticks { idle, all };
        let last = [(0, ticks(100, 1000))];
        let now = [(0, ticks(125, 1100)), (2, ticks(5, 10))];
        assert_eq!(shares(&last, &now), [0.75, 1.0, 1.0]);
        assert_eq!(shares(&now, &now)[0], 1.0);
    }
}

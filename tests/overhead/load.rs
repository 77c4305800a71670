//! The workloads: a fixed amount of work, so that what the agent costs shows as time.

use std::{cell::Cell, path::PathBuf, time::Duration};

use anyhow::{Result, bail, ensure};
use evenkeel_tests::{
    child::Running,
    workload::{Workload, printed, target_folder},
};

/// Longest run, agent included, before something is wrong.
const RUN_LIMIT: Duration = Duration::from_secs(180);

/// How long a run must take for its rate to be believed.
const ENOUGH: f64 = 0.3;

/// Switches a second on each CPU under [`Kind::Mixed`].
const MIXED_SWITCHES: f64 = 20_000.0;

/// Additions, in thousands a pass of the byte, by which the cost of an addition is found.
const PROBE: f64 = 200.0;

/// What a workload does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// Arithmetic on every CPU.
    Cpu,
    /// Two processes on one CPU that pass a byte through pipes: a switch a pass and nothing else.
    Switches,
    /// The cheapest system calls, one after the other.
    Syscalls,
    /// Direct reads and writes of 4 KiB, one after the other.
    Io,
    /// On every CPU two processes that pass a byte and compute between the passes.
    Mixed,
}

impl Kind {
    pub(crate) const ALL: [Self; 5] = [
        Self::Cpu,
        Self::Switches,
        Self::Syscalls,
        Self::Io,
        Self::Mixed,
    ];

    /// Its name on the command line.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Cpu => "cpu",
            Self::Switches => "switches",
            Self::Syscalls => "syscalls",
            Self::Io => "io",
            Self::Mixed => "mixed",
        }
    }

    pub(crate) fn parse(name: &str) -> Result<Self> {
        match Self::ALL.into_iter().find(|kind| kind.name() == name) {
            Some(kind) => Ok(kind),
            None => bail!("no workload is called {name:?}"),
        }
    }

    /// Its name for readers.
    pub(crate) fn title(self) -> &'static str {
        match self {
            Self::Cpu => "CPU-bound: arithmetic on every CPU",
            Self::Switches => "Switch-bound: pipe ping-pong on one CPU",
            Self::Syscalls => "System-call-bound: getppid and read of /dev/zero",
            Self::Io => "I/O-bound: direct reads and writes of 4 KiB",
            Self::Mixed => "Mixed: computing and passing a byte on every CPU",
        }
    }

    /// What one operation of it is called, and several; `None` where there is nothing to count.
    pub(crate) fn operation(self) -> Option<(&'static str, &'static str)> {
        match self {
            Self::Cpu => None,
            Self::Switches => Some(("round trip", "round trips")),
            Self::Syscalls => Some(("call", "calls")),
            Self::Io => Some(("I/O", "I/Os")),
            Self::Mixed => Some(("switch", "switches")),
        }
    }

    /// Operations of one unit of its work, on all CPUs together.
    fn operations(self, cpus: usize) -> f64 {
        match self {
            Self::Cpu | Self::Switches | Self::Io => 1.0,
            Self::Syscalls => 2.0,
            // Two switches a round trip.
            #[expect(clippy::cast_precision_loss, reason = "CPUs of one machine")]
            Self::Mixed => 2.0 * cpus as f64,
        }
    }
}

/// One run of a workload.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Run {
    pub(crate) seconds: f64,
    pub(crate) operations: f64,
}

/// A workload whose speed here is known.
#[derive(Debug)]
pub(crate) struct Load {
    pub(crate) kind: Kind,
    cpus: usize,
    /// Additions between two passes, in thousands ([`Kind::Mixed`]).
    work: u32,
    /// Units of work a second, without the agent.
    rate: Cell<f64>,
    file: PathBuf,
}

impl Load {
    /// Builds it and finds out how fast it is.
    pub(crate) fn prepare(kind: Kind, cpus: usize) -> Result<Self> {
        let mut load = Self {
            kind,
            cpus,
            work: 0,
            rate: Cell::new(0.0),
            file: target_folder()?.join("workloads/ek-direct-io.data"),
        };
        if kind == Kind::Mixed {
            let bare = 1.0 / load.measured_rate()?;
            load.work = as_count(PROBE);
            let probed = 1.0 / load.measured_rate()?;
            let wanted = 2.0 / MIXED_SWITCHES;
            load.work = as_count(work_for(bare, probed, wanted));
        }
        let rate = load.measured_rate()?;
        load.rate.set(rate);
        Ok(load)
    }

    /// Operations a second without the agent.
    pub(crate) fn operations_per_second(&self) -> f64 {
        self.rate.get() * self.kind.operations(self.cpus)
    }

    /// Runs it for about so long, by the speed that it had in the beginning: the same work each time.
    pub(crate) fn run(&self, about_seconds: f64) -> Result<Run> {
        self.run_units((self.rate.get() * about_seconds).max(1.0))
    }

    /// Units of work a second.
    fn measured_rate(&self) -> Result<f64> {
        let mut units = 100.0;
        loop {
            let run = self.run_units(units)?;
            if run.seconds >= ENOUGH {
                return Ok(units / run.seconds);
            }
            units *= 4.0;
        }
    }

    fn run_units(&self, units: f64) -> Result<Run> {
        let units = as_count(units).to_string();
        let file = self.file.to_string_lossy();
        let work = self.work.to_string();
        let cpus = self.cpus.to_string();
        let mut running = Vec::new();
        let mut start = |workload: Workload, arguments: &[&str]| -> Result<()> {
            running.push(Running::start(&mut workload.command(arguments)?)?);
            Ok(())
        };
        match self.kind {
            Kind::Cpu => start(Workload::FixedWork, &[&cpus, &units])?,
            Kind::Switches => start(Workload::PingPong, &[&units, "0"])?,
            Kind::Syscalls => start(Workload::Syscalls, &[&units, "0"])?,
            Kind::Io => start(Workload::DirectIo, &[&file, &units, "0"])?,
            Kind::Mixed => {
                for cpu in 0..self.cpus {
                    start(Workload::PingPong, &[&units, &cpu.to_string(), &work])?;
                }
            }
        }
        let mut seconds = 0.0_f64;
        for running in running {
            let finished = running.finish(RUN_LIMIT)?.succeeded()?;
            seconds = seconds.max(printed(&finished, "elapsed_seconds")?[0][0]);
        }
        ensure!(seconds > 0.0, "a run that took no time");
        let operations = units.parse::<f64>()? * self.kind.operations(self.cpus);
        Ok(Run {
            seconds,
            operations,
        })
    }
}

impl Drop for Load {
    fn drop(&mut self) {
        if self.kind == Kind::Io {
            // Left behind it takes 4 MiB of the target directory.
            let _ = std::fs::remove_file(&self.file);
        }
    }
}

/// The work after each pass with which a round trip takes `wanted` seconds, when it takes `bare` without any
/// and `probed` with [`PROBE`].
fn work_for(bare: f64, probed: f64, wanted: f64) -> f64 {
    ((wanted - bare) / (probed - bare) * PROBE).max(0.0)
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a rounded amount of work is what is wanted"
)]
fn as_count(number: f64) -> u32 {
    number.round() as u32
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Work is in proportion to the time that it is to take, and never below none.
    #[test]
    fn work_is_interpolated() {
        assert!((work_for(10e-6, 60e-6, 110e-6) - 2.0 * PROBE).abs() < 1e-9);
        assert_eq!(work_for(10e-6, 60e-6, 5e-6), 0.0);
    }

    /// Each name leads to its kind.
    #[test]
    fn names_are_read() {
        for kind in Kind::ALL {
            assert_eq!(Kind::parse(kind.name()).unwrap(), kind);
        }
        assert!(Kind::parse("all").is_err());
    }
}

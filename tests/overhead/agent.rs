//! The agent under measurement.

use std::time::Duration;

use anyhow::{Result, ensure};
use evenkeel_tests::{
    child::{Running, wait_until},
    collector::{Collector, Protocol},
    evenkeel,
    procfs::threads_cpu_seconds,
};
use rustix::process::Signal;

use crate::{kernel::Programs, options::Set};

/// The agent attaches everything within this.
const START_LIMIT: Duration = Duration::from_secs(30);
/// It flushes its last window within this.
const STOP_LIMIT: Duration = Duration::from_secs(60);
/// What it does once, at its start, is over after this.
const SETTLE: Duration = Duration::from_secs(2);
/// The last thing it says before it runs.
const READY: &str = "Capturing and exporting";

/// A running agent.
pub(crate) struct Agent {
    process: Running,
}

/// What it has used since its start.
pub(crate) struct Reading {
    pub(crate) cpu_seconds: f64,
    pub(crate) programs: Programs,
}

impl Agent {
    /// Starts it and waits until its programs are attached.
    pub(crate) fn start(set: &Set, collector: &Collector, more: &[String]) -> Result<Self> {
        let mut command = evenkeel::command(&["agent", "--log-level", "info"])?;
        command.args(&set.arguments).args(more);
        collector.configure(&mut command, Protocol::Grpc);
        let mut process = Running::start(&mut command)?;
        wait_until("the agent has attached its programs", START_LIMIT, || {
            let said = process.stderr_so_far()?;
            let ready = said.contains(READY);
            let reason = said.lines().last().unwrap_or_default().to_owned();
            ensure!(ready || process.is_running()?, "{reason}");
            Ok(ready)
        })?;
        std::thread::sleep(SETTLE);
        Ok(Self { process })
    }

    pub(crate) fn pid(&self) -> u32 {
        self.process.pid()
    }

    /// What it has used so far.
    pub(crate) fn reading(&self) -> Result<Reading> {
        Ok(Reading {
            cpu_seconds: threads_cpu_seconds(self.pid())?,
            programs: Programs::of(self.pid())?,
        })
    }

    pub(crate) fn stop(self) -> Result<()> {
        self.process.signal(Signal::TERM)?;
        self.process.finish(STOP_LIMIT)?.succeeded()?;
        Ok(())
    }
}

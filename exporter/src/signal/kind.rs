//! The signals of this version and their names in `--enable`, `--disable` and the status.

use std::{fmt, str::FromStr};

/// A signal that can be turned on or off.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Signal {
    /// What runs, sampled.
    OnCpu,
    /// What blocked tasks wait for, sampled.
    OffCpu,
    /// Where ready tasks wait for a CPU, sampled.
    RunQueue,
    /// Which code was running when the hypervisor took the CPU away.
    Stolen,
    /// Run-queue waits, switches, and whose fault a wait is.
    Scheduler,
    /// Hard and soft interrupts.
    Interrupts,
    /// What packets cost and where they wait.
    Network,
    /// How long system calls take.
    Syscalls,
    /// Block I/O by request.
    BlockIo,
    /// The host's own counters, from procfs.
    Host,
}

/// No signal of this version has that name.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
#[error("no signal is called {name:?}; there are: {}", Signal::names())]
pub struct UnknownSignal {
    name: String,
}

impl Signal {
    /// All signals, in the order in which they are shown.
    pub const ALL: [Self; 10] = [
        Self::OnCpu,
        Self::OffCpu,
        Self::RunQueue,
        Self::Stolen,
        Self::Scheduler,
        Self::Interrupts,
        Self::Network,
        Self::Syscalls,
        Self::BlockIo,
        Self::Host,
    ];

    /// Whether it is on unless it is turned off. System calls are not: merely being attached puts
    /// each of them on the kernel's slow path, at 130 ns a call.
    pub const fn is_default(self) -> bool {
        !matches!(self, Self::Syscalls)
    }

    /// Name, as on the command line and in `evenkeel.signal.name`.
    pub const fn name(self) -> &'static str {
        match self {
            Self::OnCpu => "on_cpu",
            Self::OffCpu => "off_cpu",
            Self::RunQueue => "run_queue",
            Self::Stolen => "stolen",
            Self::Scheduler => "scheduler",
            Self::Interrupts => "interrupts",
            Self::Network => "network",
            Self::Syscalls => "syscalls",
            Self::BlockIo => "block_io",
            Self::Host => "host",
        }
    }

    /// The names of all signals, separated by spaces.
    pub fn names() -> String {
        Self::ALL.map(Self::name).join(" ")
    }
}

impl fmt::Display for Signal {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.name())
    }
}

impl FromStr for Signal {
    type Err = UnknownSignal;

    fn from_str(name: &str) -> Result<Self, Self::Err> {
        Self::ALL
            .into_iter()
            .find(|signal| signal.name() == name)
            .ok_or_else(|| UnknownSignal { name: name.into() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every signal is found by its own name, and an unknown name lists them all.
    #[test]
    fn names_lead_back() {
        for signal in Signal::ALL {
            assert_eq!(signal.name().parse(), Ok(signal));
        }
        let error = "cpu".parse::<Signal>().unwrap_err().to_string();
        assert!(
            error.contains("on_cpu off_cpu run_queue stolen scheduler"),
            "{error}"
        );
    }
}

//! The signals of this version and their names in `--enable`, `--disable` and the status.

use std::{fmt, str::FromStr};

/// A signal that can be turned on or off.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Signal {
    /// What runs, sampled.
    OnCpu,
    /// Which code was running when the hypervisor took the CPU away.
    Stolen,
    /// Run-queue waits.
    Scheduler,
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
    /// All signals, in the order in which they are shown. All are on by default.
    pub const ALL: [Self; 4] = [Self::OnCpu, Self::Stolen, Self::Scheduler, Self::Host];

    /// Name, as on the command line and in `evenkeel.signal.name`.
    pub const fn name(self) -> &'static str {
        match self {
            Self::OnCpu => "on_cpu",
            Self::Stolen => "stolen",
            Self::Scheduler => "scheduler",
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
        assert!(error.contains("on_cpu stolen scheduler host"), "{error}");
    }
}

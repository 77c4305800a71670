//! The command line.

use std::time::Duration;

use anyhow::{Context as _, Result, bail, ensure};

use crate::load::Kind;

pub(crate) const USAGE: &str = "usage: overhead [--signals LIST] [--workloads LIST] [--rounds N] [--minutes N] \
     [-- AGENT OPTIONS]\n  LIST of signals: names as in --enable, `all` (the defaults), `all+syscalls`\n  \
     LIST of workloads: cpu, switches, syscalls, io, mixed";

/// Which signals the agent has on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Set {
    pub(crate) name: String,
    /// What makes the agent so.
    pub(crate) arguments: Vec<String>,
}

impl Set {
    /// `all`, `all+NAME`, or one signal alone.
    pub(crate) fn new(name: &str) -> Self {
        let arguments = match name.split_once('+') {
            Some(("all", more)) => vec!["--enable", more],
            _ if name == "all" => vec![],
            _ => vec!["--disable", "all", "--enable", name],
        };
        Self {
            name: name.to_owned(),
            arguments: arguments.into_iter().map(str::to_owned).collect(),
        }
    }
}

/// What to measure, and for how long at most.
#[derive(Debug)]
pub(crate) struct Options {
    /// Pairs of runs with and without the agent.
    pub(crate) rounds: usize,
    /// No round is begun after this.
    pub(crate) budget: Duration,
    /// `None` for each signal that there is, and all of them.
    pub(crate) sets: Option<Vec<Set>>,
    pub(crate) workloads: Vec<Kind>,
    /// Further options of the agent.
    pub(crate) agent: Vec<String>,
}

impl Options {
    pub(crate) fn parse(mut words: impl Iterator<Item = String>) -> Result<Self> {
        let mut options = Self {
            rounds: 3,
            budget: Duration::from_secs(27 * 60),
            sets: None,
            workloads: Kind::ALL.to_vec(),
            agent: Vec::new(),
        };
        while let Some(word) = words.next() {
            if word == "--" {
                options.agent = words.by_ref().collect();
                break;
            }
            let value = words.next().context(USAGE)?;
            match word.as_str() {
                "--rounds" => options.rounds = value.parse().context(USAGE)?,
                "--minutes" => {
                    let minutes: u64 = value.parse().context(USAGE)?;
                    options.budget = Duration::from_secs(minutes * 60);
                }
                "--signals" => options.sets = Some(value.split(',').map(Set::new).collect()),
                "--workloads" => {
                    options.workloads = value.split(',').map(Kind::parse).collect::<Result<_>>()?;
                }
                _ => bail!(USAGE),
            }
        }
        ensure!(options.rounds <= 200, "--rounds must be 0 to 200");
        Ok(options)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(line: &str) -> Result<Options> {
        Options::parse(line.split_whitespace().map(str::to_owned))
    }

    /// Lists are taken apart, and what stands behind `--` is the agent's.
    #[test]
    fn options_are_read() {
        let options =
            parse("--signals on_cpu,all+syscalls --workloads io,cpu --rounds 7 -- --window 5s")
                .unwrap();
        assert_eq!(options.rounds, 7);
        assert_eq!(options.workloads, [Kind::Io, Kind::Cpu]);
        assert_eq!(options.agent, ["--window", "5s"]);
        let sets = options.sets.unwrap();
        assert_eq!(
            sets[0].arguments,
            ["--disable", "all", "--enable", "on_cpu"]
        );
        assert_eq!(sets[1].arguments, ["--enable", "syscalls"]);
        assert!(Set::new("all").arguments.is_empty());
        assert_eq!(parse("").unwrap().workloads, Kind::ALL);
    }

    /// What is not known is refused.
    #[test]
    fn others_are_refused() {
        for line in [
            "--rounds",
            "--rounds x",
            "--rounds 201",
            "--workloads gpu",
            "--fast 1",
        ] {
            assert!(parse(line).is_err(), "{line}");
        }
    }
}

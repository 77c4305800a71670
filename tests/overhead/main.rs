//! What the agent costs: fixed workloads with and without it, by turns, for each signal and for all of them.
//!
//! `cargo run --release -p evenkeel-tests --bin overhead`, as root. Prints Markdown for `docs/performance.md`,
//! its progress on standard error. Not a test: its figures depend on the machine and are read by people.

mod agent;
mod bpf;
mod cost;
mod kernel;
mod load;
mod options;
mod report;
mod statistics;

use std::{
    process::ExitCode,
    thread,
    time::{Duration, Instant},
};

use anyhow::{Context as _, Result, bail, ensure};
use evenkeel_tests::{
    child::run,
    collector::Collector,
    evenkeel,
    needs::{RECORDING, first_lacking},
    procfs::{is_quiet_within, resident_bytes},
};

use crate::{
    agent::Agent,
    bpf::RunStatistics,
    cost::{Cost, Pair},
    load::{Kind, Load, Run},
    options::{Options, Set},
};

/// Length of a run whose throughput is compared.
const THROUGHPUT_SECONDS: f64 = 2.0;

/// Length of a run whose costs are counted: a window of the agent, so that the end of one is in it.
const COST_SECONDS: f64 = 10.0;

/// Idle time over which the agent's own cost is measured: three windows.
const IDLE: Duration = Duration::from_secs(30);

/// How long to wait for a quiet machine before each pass.
const QUIET_LIMIT: Duration = Duration::from_secs(10);

fn main() -> ExitCode {
    match Options::parse(std::env::args().skip(1)).and_then(measure) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("overhead: {error:#}");
            ExitCode::FAILURE
        }
    }
}

/// What was measured of one set of signals.
#[derive(Debug)]
pub(crate) struct Measured {
    pub(crate) set: Set,
    /// Why it could not be measured.
    pub(crate) failure: Option<String>,
    /// By workload, as in [`Results::loads`].
    pub(crate) costs: Vec<Cost>,
    /// By workload.
    pub(crate) pairs: Vec<Vec<Pair>>,
    /// Resident memory of the agent at the end, in bytes.
    pub(crate) resident: u64,
    /// Kernel memory of its maps, in bytes.
    pub(crate) maps: u64,
}

/// What the agent uses while nothing goes on.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Idle {
    /// Share of one CPU, in percent.
    pub(crate) agent_percent: f64,
    pub(crate) programs_percent: f64,
}

/// Everything.
#[derive(Debug)]
pub(crate) struct Results {
    pub(crate) cpus: usize,
    pub(crate) loads: Vec<Load>,
    pub(crate) measured: Vec<Measured>,
    pub(crate) bias_nanos: f64,
    pub(crate) idle: Option<Idle>,
    /// Passes that began although other work went on.
    pub(crate) noisy: usize,
    pub(crate) passes: usize,
}

fn measure(options: Options) -> Result<()> {
    let begin = Instant::now();
    if let Some(lacking) = first_lacking(RECORDING) {
        bail!("it {lacking}");
    }
    let cpus = thread::available_parallelism()?.get();
    let sets = match &options.sets {
        Some(sets) => sets.clone(),
        None => every_set()?,
    };
    // It runs in both arms, so that what it costs cancels out.
    let collector = Collector::start()?;
    let loads: Vec<Load> = options
        .workloads
        .iter()
        .map(|kind| prepare(*kind, cpus))
        .collect::<Result<_>>()?;
    let switching = match loads.iter().find(|load| load.kind == Kind::Switches) {
        Some(_) => None,
        None => Some(prepare(Kind::Switches, cpus)?),
    };
    let switching = switching
        .as_ref()
        .or_else(|| loads.iter().find(|load| load.kind == Kind::Switches));
    let bias_nanos = bpf::bias_nanos(switching.context("no load of switches")?)?;
    eprintln!("an empty program counts {bias_nanos:.0} ns a run");
    let mut results = Results {
        cpus,
        loads,
        measured: sets.into_iter().map(Measured::new).collect(),
        bias_nanos,
        idle: None,
        noisy: 0,
        passes: 0,
    };
    results.count_costs(&collector, &options)?;
    results.idle = results.measure_idle(&collector, &options);
    for round in 0..options.rounds {
        if !results.compare(&collector, &options, round, begin)? {
            eprintln!("the time is over in round {}", round + 1);
            break;
        }
    }
    report::print(&results);
    eprintln!("{:.1} minutes", begin.elapsed().as_secs_f64() / 60.0);
    Ok(())
}

fn prepare(kind: Kind, cpus: usize) -> Result<Load> {
    let load = Load::prepare(kind, cpus).with_context(|| format!("workload {}", kind.name()))?;
    if let Some((_, operations)) = kind.operation() {
        let rate = load.operations_per_second();
        eprintln!("{}: {rate:.0} {operations} a second", kind.name());
    }
    Ok(load)
}

/// Each signal of the binary, the defaults, and the defaults with system calls.
fn every_set() -> Result<Vec<Set>> {
    let mut command = evenkeel::command(&["version", "--format", "json"])?;
    let version = run(&mut command, Duration::from_secs(30))?.succeeded()?;
    let version: serde_json::Value = serde_json::from_str(&version.stdout)?;
    let signals = version["signals"].as_array().context("no signals")?;
    let names = signals.iter().filter_map(|name| name.as_str());
    let mut sets: Vec<Set> = names.map(Set::new).collect();
    ensure!(!sets.is_empty(), "the binary has no signals");
    sets.push(Set::new("all"));
    sets.push(Set::new("all+syscalls"));
    Ok(sets)
}

impl Measured {
    fn new(set: Set) -> Self {
        Self {
            set,
            failure: None,
            costs: Vec::new(),
            pairs: Vec::new(),
            resident: 0,
            maps: 0,
        }
    }
}

impl Results {
    /// Waits for a quiet machine and notes where there was none.
    fn begin_pass(&mut self) -> Result<()> {
        self.passes += 1;
        self.noisy += usize::from(!is_quiet_within(QUIET_LIMIT)?);
        Ok(())
    }

    /// One pass for each set of signals, with the kernel's statistics on: they cost two clock reads for each
    /// run of a program, and are off where throughput is compared.
    fn count_costs(&mut self, collector: &Collector, options: &Options) -> Result<()> {
        for index in 0..self.measured.len() {
            self.begin_pass()?;
            let set = self.measured[index].set.clone();
            eprintln!("{}: costs", set.name);
            let _statistics = RunStatistics::enable()?;
            let agent = match Agent::start(&set, collector, &options.agent) {
                Ok(agent) => agent,
                Err(error) => {
                    eprintln!("{}: {error:#}", set.name);
                    self.measured[index].failure = Some(format!("{error:#}"));
                    continue;
                }
            };
            for load in &self.loads {
                let before = agent.reading()?;
                let run = load.run(COST_SECONDS)?;
                let after = agent.reading()?;
                self.measured[index].costs.push(Cost {
                    run,
                    agent_seconds: after.cpu_seconds - before.cpu_seconds,
                    programs: after.programs.since(&before.programs),
                });
            }
            self.measured[index].resident = resident_bytes(agent.pid())?;
            self.measured[index].maps = kernel::map_memory(agent.pid())?;
            self.measured[index].pairs = vec![Vec::new(); self.loads.len()];
            agent.stop()?;
        }
        Ok(())
    }

    /// What the defaults cost while nothing goes on; `None` if they are not measured.
    fn measure_idle(&mut self, collector: &Collector, options: &Options) -> Option<Idle> {
        let set = Set::new("all");
        self.measured.iter().find(|measured| measured.set == set)?;
        eprintln!("idle");
        let measure = || -> Result<Idle> {
            let _statistics = RunStatistics::enable()?;
            let agent = Agent::start(&set, collector, &options.agent)?;
            let (start, before) = (Instant::now(), agent.reading()?);
            thread::sleep(IDLE);
            let after = agent.reading()?;
            let seconds = start.elapsed().as_secs_f64();
            let programs = after.programs.since(&before.programs);
            agent.stop()?;
            Ok(Idle {
                agent_percent: (after.cpu_seconds - before.cpu_seconds) / seconds * 100.0,
                programs_percent: programs.iter().map(kernel::Runs::seconds).sum::<f64>() / seconds
                    * 100.0,
            })
        };
        measure()
            .inspect_err(|error| eprintln!("idle: {error:#}"))
            .ok()
    }

    /// One round: all workloads without the agent, then with one set after the other, each time followed by
    /// a pass without, so that each is compared with what was before and after it and a drift of the machine
    /// falls on neither. The order of the sets turns from round to round. Returns whether the round was
    /// finished in time.
    fn compare(
        &mut self,
        collector: &Collector,
        options: &Options,
        round: usize,
        begin: Instant,
    ) -> Result<bool> {
        let mut order: Vec<usize> = (0..self.measured.len())
            .filter(|index| self.measured[*index].failure.is_none())
            .collect();
        if round % 2 == 1 {
            order.reverse();
        }
        let mut before = self.pass()?;
        for index in order {
            if begin.elapsed() >= options.budget {
                return Ok(false);
            }
            let set = self.measured[index].set.clone();
            let agent = Agent::start(&set, collector, &options.agent)?;
            let with = self.pass()?;
            agent.stop()?;
            let after = self.pass()?;
            let losses: Vec<String> = (0..self.loads.len())
                .map(|load| {
                    let pair = Pair {
                        without: f64::midpoint(before[load].seconds, after[load].seconds),
                        with: with[load].seconds,
                        operations: with[load].operations,
                    };
                    self.measured[index].pairs[load].push(pair);
                    format!("{:+.1} %", (1.0 - pair.without / pair.with) * 100.0)
                })
                .collect();
            eprintln!("{}, round {}: {}", set.name, round + 1, losses.join(", "));
            before = after;
        }
        Ok(true)
    }

    /// Each workload once.
    fn pass(&mut self) -> Result<Vec<Run>> {
        self.begin_pass()?;
        self.loads
            .iter()
            .map(|load| load.run(THROUGHPUT_SECONDS))
            .collect()
    }
}

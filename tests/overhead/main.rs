//! What the agent costs: a fixed workload with and without it, by turns.
//!
//! `cargo run --release -p evenkeel-tests --bin overhead -- --rounds 10 [-- AGENT OPTIONS]`, as root. Prints
//! Markdown for `docs/performance.md`. Not a test: its figures depend on the machine and are read by people.

mod kernel;
mod statistics;

use std::{
    process::ExitCode,
    thread,
    time::{Duration, Instant},
};

use anyhow::{Context as _, Result, bail, ensure};
use evenkeel_tests::{
    child::{Running, run, wait_until},
    collector::{Collector, Protocol},
    evenkeel,
    needs::{RECORDING, first_lacking},
    procfs::{process_cpu_seconds, resident_bytes, wait_until_quiet},
    workload::{Workload, printed},
};
use rustix::process::Signal;

use crate::{kernel::Programs, statistics::Interval};

/// How long one run of a workload should take without the agent.
const RUN_SECONDS: f64 = 10.0;

/// Longest run, agent included, before something is wrong.
const RUN_LIMIT: Duration = Duration::from_secs(120);

/// Idle time over which the agent's own cost is measured: three windows of 10 s.
const IDLE: Duration = Duration::from_secs(30);

/// The agent attaches everything and exports its first window within this; 10 s are the window.
const START_LIMIT: Duration = Duration::from_secs(60);

const USAGE: &str = "usage: overhead [--rounds N] [-- AGENT OPTIONS]";

fn main() -> ExitCode {
    match measure() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("overhead: {error:#}");
            ExitCode::FAILURE
        }
    }
}

struct Options {
    rounds: usize,
    agent: Vec<String>,
}

impl Options {
    fn parse() -> Result<Self> {
        let mut options = Self {
            rounds: 10,
            agent: Vec::new(),
        };
        let mut words = std::env::args().skip(1);
        while let Some(word) = words.next() {
            match word.as_str() {
                "--rounds" => {
                    options.rounds = words.next().context(USAGE)?.parse().context(USAGE)?
                }
                "--" => options.agent = words.by_ref().collect(),
                _ => bail!(USAGE),
            }
        }
        ensure!(
            (2..=200).contains(&options.rounds),
            "--rounds must be 2 to 200"
        );
        Ok(options)
    }
}

/// A workload and the argument by which its amount of work is set.
struct Load {
    title: &'static str,
    kind: Kind,
    rounds: u64,
}

enum Kind {
    /// On so many threads.
    Arithmetic { threads: String },
    /// Both ends on one CPU, so that every pass of the byte is a switch, with so many thousand additions a
    /// pass.
    Switches { work: &'static str },
}

impl Load {
    fn seconds(&self) -> Result<f64> {
        wait_until_quiet()?;
        let rounds = self.rounds.to_string();
        let (workload, arguments) = match &self.kind {
            Kind::Arithmetic { threads } => (Workload::FixedWork, vec![threads.as_str(), &rounds]),
            Kind::Switches { work } => (Workload::PingPong, vec![rounds.as_str(), "0", work]),
        };
        let finished = run(&mut workload.command(&arguments)?, RUN_LIMIT)?.succeeded()?;
        Ok(printed(&finished, "elapsed_seconds")?[0][0])
    }

    /// Sets the amount of work so that a run takes [`RUN_SECONDS`] here.
    #[expect(
        clippy::cast_precision_loss,
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "a rounded, positive number of rounds is what is wanted"
    )]
    fn calibrate(&mut self) -> Result<()> {
        while self.seconds()? < 1.0 {
            self.rounds *= 4;
        }
        let seconds = self.seconds()?;
        self.rounds = (self.rounds as f64 * RUN_SECONDS / seconds) as u64;
        Ok(())
    }
}

/// The agent, started and past its first export.
struct Agent {
    process: Running,
}

/// What the agent used while something ran.
#[derive(Clone, Copy)]
struct Usage {
    cpu_percent: f64,
    resident: u64,
}

impl Agent {
    fn start(collector: &Collector, options: &Options) -> Result<Self> {
        let mut command = evenkeel::command(&["agent"])?;
        command.args(&options.agent);
        collector.configure(&mut command, Protocol::Grpc);
        let before = std::fs::metadata(collector.json_file()).map_or(0, |metadata| metadata.len());
        let mut process = Running::start(&mut command)?;
        wait_until(
            "the agent has exported its first window",
            START_LIMIT,
            || {
                ensure!(
                    process.is_running()?,
                    "the agent ended: {}",
                    process.stderr_so_far()?
                );
                let now =
                    std::fs::metadata(collector.json_file()).map_or(0, |metadata| metadata.len());
                Ok(now > before)
            },
        )?;
        Ok(Self { process })
    }

    /// Runs `work` and says what the agent used meanwhile, in percent of one CPU.
    fn used_during<T>(&self, work: impl FnOnce() -> Result<T>) -> Result<(T, Usage)> {
        let pid = self.process.pid();
        let (start, before) = (Instant::now(), process_cpu_seconds(pid)?);
        let result = work()?;
        let spent = process_cpu_seconds(pid)? - before;
        let usage = Usage {
            cpu_percent: spent / start.elapsed().as_secs_f64() * 100.0,
            resident: resident_bytes(pid)?,
        };
        Ok((result, usage))
    }

    fn stop(self) -> Result<()> {
        self.process.signal(Signal::TERM)?;
        self.process.finish(RUN_LIMIT)?.succeeded()?;
        Ok(())
    }
}

fn measure() -> Result<()> {
    let options = Options::parse()?;
    if let Some(lacking) = first_lacking(RECORDING) {
        bail!("it {lacking}");
    }
    let cpus = thread::available_parallelism()?.get();
    let mut loads = [
        Load {
            title: "arithmetic on every CPU",
            kind: Kind::Arithmetic {
                threads: cpus.to_string(),
            },
            rounds: 1000,
        },
        Load {
            title: "pipe ping-pong with work, one CPU",
            kind: Kind::Switches { work: "200" },
            rounds: 5000,
        },
        Load {
            title: "bare pipe ping-pong, one CPU",
            kind: Kind::Switches { work: "0" },
            rounds: 20_000,
        },
    ];
    // It runs in both arms, so that what it costs cancels out.
    let collector = Collector::start()?;

    println!("| workload | without | with | loss, 95 % interval | agent CPU | agent memory |");
    println!("|---|---|---|---|---|---|");
    for load in &mut loads {
        load.calibrate()?;
        print_losses(load, &collector, &options)?;
    }
    let agent = Agent::start(&collector, &options)?;
    let ((), idle) = agent.used_during(|| {
        thread::sleep(IDLE);
        Ok(())
    })?;
    println!(
        "| idle | | | | {:.2} % of one CPU | {:.1} MiB |",
        idle.cpu_percent,
        mebibytes(idle.resident)
    );
    let maps = kernel::map_memory(agent.process.pid())?;
    println!(
        "\n{} rounds; a run takes about {RUN_SECONDS:.0} s.",
        options.rounds
    );
    println!(
        "Kernel memory of the maps: {:.1} MiB; with the agent's own {:.1} MiB.\n",
        mebibytes(maps),
        mebibytes(maps + idle.resident)
    );
    agent.stop()?;

    for load in &loads {
        print_programs(load, &collector, &options)?;
    }
    Ok(())
}

/// Runs the workload with and without the agent, the order changing from round to round so that a drift of
/// the machine falls on both.
#[expect(clippy::cast_precision_loss, reason = "rounds are far below 2^53")]
fn print_losses(load: &Load, collector: &Collector, options: &Options) -> Result<()> {
    let (mut without, mut with, mut losses) = (Vec::new(), Vec::new(), Vec::new());
    let mut usages = Vec::new();
    for round in 0..options.rounds {
        let mut pair = [0.0; 2];
        let order = if round % 2 == 0 {
            [false, true]
        } else {
            [true, false]
        };
        for measured in order {
            if measured {
                let agent = Agent::start(collector, options)?;
                let (seconds, usage) = agent.used_during(|| load.seconds())?;
                agent.stop()?;
                usages.push(usage);
                pair[1] = seconds;
            } else {
                pair[0] = load.seconds()?;
            }
        }
        eprintln!(
            "{}, round {}: {:.3} s without, {:.3} s with",
            load.title,
            round + 1,
            pair[0],
            pair[1]
        );
        without.push(pair[0]);
        with.push(pair[1]);
        losses.push((pair[1] / pair[0] - 1.0) * 100.0);
    }
    let loss = Interval::of(&losses);
    let cpu = Interval::of(
        &usages
            .iter()
            .map(|usage| usage.cpu_percent)
            .collect::<Vec<_>>(),
    );
    let rate = match load.kind {
        Kind::Arithmetic { .. } => String::new(),
        Kind::Switches { .. } => {
            let rate = load.rounds as f64 * 2.0 / Interval::of(&without).mean;
            format!(", {rate:.0} switches/s")
        }
    };
    let resident = usages
        .iter()
        .map(|usage| usage.resident)
        .max()
        .unwrap_or_default();
    println!(
        "| {}{rate} | {:.3} s | {:.3} s | {:+.2} % ({:+.2} to {:+.2}) | {:.2} % of one CPU | {:.1} MiB |",
        load.title,
        Interval::of(&without).mean,
        Interval::of(&with).mean,
        loss.mean,
        loss.low,
        loss.high,
        cpu.mean,
        mebibytes(resident),
    );
    Ok(())
}

/// One more run with the kernel's own counting of each program's run time, which is off above because
/// it costs two clock reads a run itself.
fn print_programs(load: &Load, collector: &Collector, options: &Options) -> Result<()> {
    let statistics = kernel::RunStatistics::enable()?;
    let agent = Agent::start(collector, options)?;
    let pid = agent.process.pid();
    let before = Programs::of(pid)?;
    let seconds = load.seconds()?;
    let after = Programs::of(pid)?;
    agent.stop()?;
    drop(statistics);
    println!("Kernel programs during {seconds:.1} s of {}:\n", load.title);
    println!("| program | runs | mean run | share of one CPU |");
    println!("|---|---|---|---|");
    for row in after.since(&before) {
        println!(
            "| {} | {} | {:.0} ns | {:.3} % |",
            row.name,
            row.runs,
            row.mean_nanos(),
            row.seconds() / seconds * 100.0,
        );
    }
    println!();
    Ok(())
}

#[expect(
    clippy::cast_precision_loss,
    reason = "memory sizes are far below 2^53"
)]
fn mebibytes(bytes: u64) -> f64 {
    bytes as f64 / f64::from(1 << 20)
}

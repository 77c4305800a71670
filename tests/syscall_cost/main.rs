//! What watching system calls costs a program that does nothing else: a loop of the cheapest call and one of
//! one-byte reads, with and without the agent, one after the other and in turn, as Markdown.
//!
//! Two budgets: 100 % of the node, at which all calls are watched all the time, and the default. The first
//! gives the nanoseconds that a call takes longer, the second the share that is lost over time. The loop is
//! pinned to the last CPU, so that on a node with n CPUs its share of the node's loss is a 1/n of its own.

use std::{thread, time::Duration};

use anyhow::{Context as _, Result, bail, ensure};
use evenkeel_semconv::metric::{
    EVENKEEL_SYSCALL_SAMPLING_ATTACHED_TIME, EVENKEEL_SYSCALL_SAMPLING_COST_TIME,
};
use evenkeel_tests::{
    child::{Running, run},
    evenkeel::Recording,
    needs::{RECORDING, first_lacking},
    received::Received,
    workload::{Workload, printed},
};
use rustix::process::Signal;

const LIMIT: Duration = Duration::from_secs(300);

/// Time that the recorder gets to see the load of the loop before, and to settle.
const SETTLE: Duration = Duration::from_secs(2);

const USAGE: &str = "usage: syscall-cost [--pairs N] [--calls N]";

/// A loop and a budget.
struct Arm {
    kind: &'static str,
    budget: &'static str,
}

const ARMS: [Arm; 4] = [
    Arm {
        kind: "getppid",
        budget: "100%",
    },
    Arm {
        kind: "preadv",
        budget: "100%",
    },
    Arm {
        kind: "getppid",
        budget: "1%",
    },
    Arm {
        kind: "preadv",
        budget: "1%",
    },
];

fn main() -> Result<()> {
    if let Some(lacking) = first_lacking(RECORDING) {
        bail!("it {lacking}");
    }
    let (mut pairs, mut calls) = (5_usize, 40_000_000_u64);
    let mut words = std::env::args().skip(1);
    while let Some(word) = words.next() {
        let number = words.next().context(USAGE)?;
        match word.as_str() {
            "--pairs" => pairs = number.parse().context(USAGE)?,
            "--calls" => calls = number.parse().context(USAGE)?,
            _ => bail!(USAGE),
        }
    }
    ensure!((2..=100).contains(&pairs), "--pairs must be 2 to 100");
    println!(
        "| loop | budget | ns a call without | with | added ns (each pair) | lost | watched | cost by our account |"
    );
    println!("|---|---|---|---|---|---|---|---|");
    for arm in &ARMS {
        measure(arm, pairs, calls)?;
    }
    Ok(())
}

/// Nanoseconds of CPU time a call.
#[expect(clippy::cast_precision_loss, reason = "calls are far below 2^53")]
fn nanos(kind: &str, calls: u64) -> Result<f64> {
    let cpu = thread::available_parallelism()?.get() - 1;
    let mut command = Workload::Calls.command(&[kind, &calls.to_string(), &cpu.to_string()])?;
    let finished = run(&mut command, LIMIT)?.succeeded()?;
    Ok(printed(&finished, "cpu_seconds")?[0][0] * 1e9 / calls as f64)
}

fn measure(arm: &Arm, pairs: usize, calls: u64) -> Result<()> {
    let (mut without, mut with, mut added) = (Vec::new(), Vec::new(), Vec::new());
    let (mut watched, mut cost, mut seconds) = (0.0, 0.0, 0.0);
    for pair in 0..pairs {
        let bare = |without: &mut Vec<f64>| -> Result<()> {
            without.push(nanos(arm.kind, calls)?);
            Ok(())
        };
        if pair % 2 == 0 {
            bare(&mut without)?;
        }
        let recording = Recording::empty()?;
        let arguments = [
            "--disable",
            "all",
            "--enable",
            "syscalls",
            "--syscalls-budget",
            arm.budget,
            "--duration",
            "290s",
        ];
        let recorder = Running::start(&mut recording.recorder_command(&arguments)?)?;
        thread::sleep(SETTLE);
        // It pays back what it took to see the load, which a loop that runs for long hardly notices.
        with.push(nanos(arm.kind, calls)?);
        recorder.signal(Signal::INT)?;
        let elapsed = recorder.finish(LIMIT)?.succeeded()?.elapsed;
        let received = Received::from_recording(&recording)?;
        watched += received.last_sum(&EVENKEEL_SYSCALL_SAMPLING_ATTACHED_TIME, &[])?;
        cost += received.last_sum(&EVENKEEL_SYSCALL_SAMPLING_COST_TIME, &[])?;
        seconds += elapsed.as_secs_f64();
        if pair % 2 == 1 {
            bare(&mut without)?;
        }
        added.push(with[pair] - without[pair]);
    }
    let median = |values: &[f64]| {
        let mut sorted = values.to_vec();
        sorted.sort_by(f64::total_cmp);
        sorted[sorted.len() / 2]
    };
    let cpus = thread::available_parallelism()?.get();
    #[expect(clippy::cast_precision_loss, reason = "few CPUs")]
    let share = cost / seconds / cpus as f64 * 100.0;
    let each: Vec<String> = added.iter().map(|nanos| format!("{nanos:.0}")).collect();
    println!(
        "| {} | {} | {:.1} | {:.1} | {:.1} ({}) | {:.1} % | {:.1} % | {share:.2} % of the node |",
        arm.kind,
        arm.budget,
        median(&without),
        median(&with),
        median(&added),
        each.join(" "),
        (1.0 - median(&without) / median(&with)) * 100.0,
        watched / seconds * 100.0,
    );
    Ok(())
}

//! A recorder in a PID namespace of its own, as the sidecar of a pod is.

use std::{process::Command, time::Duration};

use anyhow::{Context as _, Result, ensure};
use evenkeel_tests::{
    evenkeel::Recording, folded::sum, needs::Need, suite::Test, workload::Workload,
};

pub(crate) const TESTS: &[Test] = &[Test::new(
    "pid_namespace::own_processes_are_named_and_others_are_not",
    &[Need::Root, Need::Bpf, Need::Program("unshare")],
    sidecar,
)];

/// Says how much CPU time it took.
const WORK: &str = "i=0; while [ $i -lt 2000000 ]; do i=$((i+1)); done; times >&2";

/// The processes that its `/proc` has are sampled under their ids there, with names and service; those outside are one
/// service without names.
fn sidecar() -> Result<()> {
    let mut recording = Recording::empty()?;
    let inner = recording.recorder_command(&["--", "sh", "-c", WORK])?;
    let _outside = Workload::Spinner.start(&["60"])?;
    let mut command = Command::new("unshare");
    command
        .args(["--pid", "--fork", "--mount-proc"])
        .arg(inner.get_program())
        .args(inner.get_args())
        .env("OTEL_SERVICE_NAME", "ek-inside");
    recording.run(&mut command, Duration::from_secs(60))?;
    let stderr = &recording.recorder.as_ref().context("the recorder")?.stderr;
    let used = stderr
        .lines()
        .find_map(|line| {
            line.strip_prefix("0m")?
                .split_once('s')?
                .0
                .parse::<f64>()
                .ok()
        })
        .with_context(|| format!("what `times` printed: {stderr}"))?;

    let report = recording.json()?;
    let rows = report["profiles"]["on_cpu"]["by_process"]
        .as_array()
        .context("by_process")?;
    println!("{used:.2} s of CPU time inside; sampled: {rows:?}");
    let text = report.to_string();
    let name = Workload::Spinner.name();
    ensure!(!text.contains(name), "{name} is outside and named");
    let stacks = recording.folded("on_cpu")?;
    let sampled = |process: &str| {
        let samples = sum(&stacks, |stack| stack.process == process);
        Duration::from_nanos(samples * 1_000_000_000 / 99).as_secs_f64()
    };
    let shell = rows
        .iter()
        .filter_map(|row| row["process"].as_str())
        .find(|name| ["sh", "dash", "bash"].contains(name))
        .with_context(|| format!("no shell in {rows:?}"))?;
    let inside = sampled(shell);
    ensure!(
        (inside - used).abs() < 0.1 * used + 0.1,
        "{inside} s of {used} s"
    );
    let outside = sampled("[outside]");
    ensure!(outside > 0.5 * used, "{outside} s outside");
    Ok(())
}

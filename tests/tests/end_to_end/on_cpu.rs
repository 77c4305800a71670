//! The on-CPU profile against the kernel's own account of CPU time.

use std::time::Duration;

use anyhow::{Result, ensure};
use evenkeel_tests::{
    evenkeel::Recording,
    folded::{processes, sum},
    needs::{Need, RECORDING},
    procfs::{Log, wait_until_quiet},
    received::Received,
    suite::Test,
    workload::Workload,
};

pub(crate) const TESTS: &[Test] = &[
    Test::new(
        "on_cpu::spinner_is_sampled_as_the_kernel_accounts_it",
        RECORDING,
        spinner,
    ),
    Test::new(
        "on_cpu::all_samples_equal_the_busy_time_of_mixed_load",
        &[Need::Root, Need::Bpf, Need::Cpus(2)],
        mixed_load,
    ),
];

const HERTZ: f64 = 99.0;

#[expect(
    clippy::cast_precision_loss,
    reason = "sample counts are far below 2^53"
)]
fn seconds(samples: u64) -> f64 {
    samples as f64 / HERTZ
}

/// Fails unless `seen` is within `tolerance` (a fraction) of `expected`.
fn ensure_near(what: &str, seen: f64, expected: f64, tolerance: f64) -> Result<()> {
    println!("{what}: {seen:.3} s, the kernel says {expected:.3} s");
    ensure!(
        (seen - expected).abs() <= expected * tolerance,
        "{what}: {seen:.3} s instead of {expected:.3} s, off by {:+.2} %, more than {:.0} %",
        (seen / expected - 1.0) * 100.0,
        tolerance * 100.0,
    );
    Ok(())
}

/// What chance adds to the bound of a process that had only this share of its CPU: each sample then finds
/// it or another, so three standard deviations of a binomial count, as a fraction. Nothing is added as long
/// as it had nearly all of it, as it has on a machine that does nothing else.
fn chance(share: f64, length: f64) -> f64 {
    if share >= 0.95 {
        return 0.0;
    }
    let samples = length * HERTZ * share;
    3.0 * ((1.0 - share) / samples).sqrt()
}

/// A pinned spinner's samples are its CPU time within 3 %, 99 % of them in its chain, and all samples
/// together are the busy time of `/proc/stat` over the span of the recording within 5 %.
fn spinner() -> Result<()> {
    wait_until_quiet()?;
    let spinner = Workload::Spinner.start(&["60", "0"])?;
    let log = Log::start(Some(spinner.pid()));
    let recording = Recording::make(
        &["--frequency", "99", "--duration", "10s"],
        Duration::from_secs(60),
    )?;
    let logged = log.finish()?;
    drop(spinner);

    let span = Received::from_recording(&recording)?.profiled_span("samples")?;
    let length = span.seconds();
    ensure!(
        (9.5..=10.6).contains(&length),
        "10 s were asked for, {length:.2} s profiled"
    );
    let kernel = logged.growth(span.start, span.end)?;

    let stacks = recording.folded("on_cpu")?;
    let name = Workload::Spinner.name();
    let own = sum(&stacks, |stack| stack.process == name);
    let in_chain = sum(&stacks, |stack| {
        stack.process == name && stack.has_chain(&["main", "outer", "inner"])
    });
    println!("by process: {}", processes(&stacks));
    ensure_near(
        "the spinner",
        seconds(own),
        kernel.process_seconds,
        0.03 + chance(kernel.process_seconds / length, length),
    )?;
    ensure!(
        in_chain * 100 >= own * 99,
        "{in_chain} of {own} samples are in main;outer;inner, fewer than 99 %"
    );
    ensure_near(
        "all samples",
        seconds(sum(&stacks, |_| true)),
        kernel.busy_seconds,
        0.05,
    )
}

/// Competing processes, forks and a kernel-heavy reader: still all samples are the busy time within 5 %.
fn mixed_load() -> Result<()> {
    let competing = Workload::Spinners.start(&["3", "60", "2"])?;
    let mut command = std::process::Command::new("sh");
    // Bounded by itself: 2000 rounds are at least a minute.
    let script =
        "i=0; while [ $i -lt 2000 ]; do head -c 50000000 /dev/zero | wc -c; i=$((i+1)); done";
    command.args(["-c", script]);
    let reading = evenkeel_tests::child::Running::start(&mut command)?;
    let log = Log::start(None);
    let recording = Recording::make(
        &["--frequency", "99", "--duration", "10s"],
        Duration::from_secs(60),
    )?;
    let logged = log.finish()?;
    drop((competing, reading));

    let span = Received::from_recording(&recording)?.profiled_span("samples")?;
    let kernel = logged.growth(span.start, span.end)?;
    let stacks = recording.folded("on_cpu")?;
    println!("by process: {}", processes(&stacks));
    let in_kernel = sum(&stacks, |stack| {
        matches!(stack.process.as_str(), "head" | "wc")
            && stack.has_frame(|frame| frame.ends_with("_[k]"))
    });
    ensure!(in_kernel > 0, "no sample of head or wc has a kernel frame");
    ensure_near(
        "all samples",
        seconds(sum(&stacks, |_| true)),
        kernel.busy_seconds,
        0.05,
    )
}

//! Storms of processes that live for milliseconds: builds, shell scripts, health checks.

use std::{
    process::Command,
    thread,
    time::{Duration, Instant},
};

use anyhow::{Context as _, Result, ensure};
use evenkeel_semconv::{
    attribute::{PROCESS_EXECUTABLE_NAME, SERVICE_NAME},
    metric::{EVENKEEL_UNWIND_BUILD_TIME, EVENKEEL_UNWIND_PROCESSES},
};
use evenkeel_tests::{
    child::Running,
    evenkeel::Recording,
    needs::Need,
    procfs::{Log, process_cpu_seconds, resident_bytes, wait_until_quiet},
    received::Received,
    suite::Test,
};

pub(crate) const TESTS: &[Test] = &[
    Test::new("storm::samples_names_and_costs_hold", NEEDS, short),
    Test::new("storm::five_minutes_add_nothing", NEEDS, long).only_in_all(),
];

const NEEDS: &[Need] = &[
    Need::Root,
    Need::Bpf,
    Need::Cpus(2),
    Need::Program("gcc"),
    Need::Program("timeout"),
];

/// Samples a second on each CPU.
const HERTZ: f64 = 99.0;

/// Smallest share of the busy time that is sampled.
const SAMPLED: f64 = 0.98;

/// Smallest share of the samples that know their program and its owner.
const NAMED: f64 = 0.90;

/// Largest share of one CPU that the recorder takes.
const COST: f64 = 0.05;

/// What the recorder's memory may grow by once it runs: windows in the making and caches that fill.
const GROWTH: u64 = 32 << 20;

/// Compilers one after the other, and programs that end at once as fast as the shell can start them. Both end by
/// themselves.
const LOADS: [&str; 3] = [
    "while :; do echo 'int f(int a) { int s = 0; for (int i = 0; i < a; i++) s += i * a; return s; }' | \
     gcc -O2 -xc -c -o /dev/null -; done",
    "while :; do echo '#include <stdio.h>\nint f(void) { return printf(\"%d\", 1); }' | \
     gcc -O2 -xc -c -o /dev/null -; done",
    "while :; do /bin/true; done",
];

fn short() -> Result<()> {
    wait_until_quiet()?;
    storm(Duration::from_secs(12))
}

fn long() -> Result<()> {
    wait_until_quiet()?;
    storm(Duration::from_secs(300))
}

/// At least 98 % of the busy time is sampled and 90 % of the samples have a program and an owner, for less than
/// 5 % of a CPU and with memory that stays as it is.
fn storm(length: Duration) -> Result<()> {
    let recording = Recording::empty()?;
    let seconds = length.as_secs();
    let log = Log::start(None);
    let loads: Vec<Running> = LOADS
        .iter()
        .map(|load| {
            let limit = (seconds + 30).to_string();
            Running::start(Command::new("timeout").args([&limit, "sh", "-c", load]))
        })
        .collect::<Result<_>>()?;
    let forks = forks()?;
    let duration = format!("{seconds}s");
    let mut recorder = Running::start(&mut recording.recorder_command(&[
        "--disable",
        "all",
        "--enable",
        "on_cpu",
        "--duration",
        &duration,
    ])?)?;
    // The start is paid once: the programs of the node are read.
    thread::sleep(Duration::from_secs(4));
    let (begin, cpu) = (Instant::now(), process_cpu_seconds(recorder.pid())?);
    let early = resident_bytes(recorder.pid())?;
    thread::sleep(length.saturating_sub(Duration::from_secs(6)));
    ensure!(recorder.is_running()?, "the recorder ended too early");
    let cost = (process_cpu_seconds(recorder.pid())? - cpu) / begin.elapsed().as_secs_f64();
    let late = resident_bytes(recorder.pid())?;
    #[expect(clippy::cast_precision_loss, reason = "far below 2^53")]
    let rate = (self::forks()? - forks) as f64 / begin.elapsed().as_secs_f64();
    let finished = recorder.finish(Duration::from_secs(60))?.succeeded()?;
    let logged = log.finish()?;
    drop(loads);

    let received = Received::from_recording(&recording)?;
    let span = received.profiled_span("samples")?;
    let kernel = logged.growth(span.start, span.end)?;
    let (mut all, mut named) = (0, 0);
    received.each_sample("samples", |sample| {
        all += sample.value;
        let knows = |name| {
            sample
                .attribute(name)
                .is_some_and(|value| !value.is_empty())
        };
        if knows(PROCESS_EXECUTABLE_NAME) && knows(SERVICE_NAME) {
            named += sample.value;
        }
    });
    #[expect(clippy::cast_precision_loss, reason = "far below 2^53")]
    let (all, named) = (all as f64, named as f64);
    let sampled = all / HERTZ / kernel.busy_seconds;
    println!(
        "{rate:.0} processes a second; {:.1} % of {:.1} busy seconds sampled, {:.1} % named; {:.1} % of a CPU, \
         {} to {} MiB; rows took {:.2} s, {} processes known at the end; {}",
        sampled * 100.0,
        kernel.busy_seconds,
        named / all * 100.0,
        cost * 100.0,
        early >> 20,
        late >> 20,
        received.last_sum(&EVENKEEL_UNWIND_BUILD_TIME, &[])?,
        received.last_sum(&EVENKEEL_UNWIND_PROCESSES, &[])?,
        finished.stderr.lines().last().unwrap_or_default(),
    );
    ensure!(rate > 100.0, "no storm: {rate:.0} processes a second");
    ensure!(sampled >= SAMPLED, "{:.1} % sampled", sampled * 100.0);
    ensure!(named >= all * NAMED, "{named} of {all} samples are named");
    ensure!(cost < COST, "{:.1} % of a CPU", cost * 100.0);
    ensure!(
        late.saturating_sub(early) < GROWTH,
        "memory grew from {early} to {late} bytes"
    );
    Ok(())
}

/// Processes and threads started on this machine since it was booted.
fn forks() -> Result<u64> {
    let text = std::fs::read_to_string("/proc/stat")?;
    let line = text
        .lines()
        .find_map(|line| line.strip_prefix("processes "));
    Ok(line.context("no processes in /proc/stat")?.trim().parse()?)
}

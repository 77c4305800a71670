//! `evenkeel agent` without a receiver: it must neither stop nor grow.

use std::{
    net::TcpListener,
    process::Command,
    thread,
    time::{Duration, Instant},
};

use anyhow::{Result, ensure};
use evenkeel_tests::{
    child::Running, evenkeel, needs::RECORDING, procfs::resident_bytes, suite::Test,
    workload::Workload,
};
use rustix::process::Signal;

pub(crate) const TESTS: &[Test] = &[
    Test::new(
        "agent::a_receiver_that_refuses_stops_nothing",
        RECORDING,
        refused,
    ),
    Test::new(
        "agent::a_receiver_that_never_answers_stops_nothing",
        RECORDING,
        black_hole,
    ),
];

/// Longest that a stop may take while nobody takes the last window: the export timeout set here and the
/// detaching of the programs.
const STOP_LIMIT: Duration = Duration::from_secs(15);

/// What fifteen windows may add to the agent's memory, caches and first growth of the heap included.
const GROWTH_LIMIT: u64 = 48 << 20;

fn start(port: u16) -> Result<Running> {
    let mut command: Command = evenkeel::command(&["agent", "--window", "1s"])?;
    command
        .env(
            "OTEL_EXPORTER_OTLP_ENDPOINT",
            format!("http://127.0.0.1:{port}"),
        )
        .env("OTEL_EXPORTER_OTLP_PROTOCOL", "grpc")
        .env("OTEL_EXPORTER_OTLP_TIMEOUT", "2000");
    Running::start(&mut command)
}

/// Fifteen seconds of windows that nobody takes: the agent runs on in bounded memory and ends in order when
/// asked.
fn endures(mut agent: Running) -> Result<()> {
    let _spinner = Workload::Spinner.start(&["60"])?;
    thread::sleep(Duration::from_secs(4));
    let early = resident_bytes(agent.pid())?;
    thread::sleep(Duration::from_secs(15));
    ensure!(
        agent.is_running()?,
        "the agent ended: {}",
        agent.stderr_so_far()?
    );
    let late = resident_bytes(agent.pid())?;
    println!(
        "resident: {} KiB, 15 windows later {} KiB",
        early >> 10,
        late >> 10
    );
    ensure!(
        late.saturating_sub(early) < GROWTH_LIMIT,
        "resident memory grew from {early} to {late} bytes in 15 windows"
    );
    let asked = Instant::now();
    agent.signal(Signal::TERM)?;
    let finished = agent.finish(STOP_LIMIT)?;
    println!("stopped in {:.2} s", asked.elapsed().as_secs_f64());
    let finished = finished.succeeded()?;
    let lines = finished.stderr.lines().count();
    ensure!(
        lines < 60,
        "{lines} lines of log in 20 s of failures:\n{}",
        finished.stderr
    );
    Ok(())
}

/// Nothing listens.
fn refused() -> Result<()> {
    let free = TcpListener::bind(("127.0.0.1", 0))?.local_addr()?.port();
    endures(start(free)?)
}

/// Connections are accepted by the kernel and nobody ever reads.
fn black_hole() -> Result<()> {
    let listener = TcpListener::bind(("127.0.0.1", 0))?;
    endures(start(listener.local_addr()?.port())?)
}

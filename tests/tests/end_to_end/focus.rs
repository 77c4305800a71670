//! Services in focus: distributions of their own.

use std::time::Duration;

use anyhow::{Context as _, Result, ensure};
use evenkeel_semconv::metric::{
    EVENKEEL_FOCUS_BLOCK_IO_DURATION, EVENKEEL_FOCUS_OFF_CPU_DURATION,
    EVENKEEL_FOCUS_RUN_QUEUE_WAIT_DURATION,
};
use evenkeel_tests::{evenkeel::Recording, needs::RECORDING, suite::Test, workload::target_folder};
use serde_json::Value;

pub(crate) const TESTS: &[Test] = &[
    Test::new(
        "focus::a_service_has_distributions_of_its_own",
        RECORDING,
        service,
    ),
    Test::new("focus::block_io_is_of_who_queued_it", RECORDING, block_io),
];

/// Sleeps of the service in focus, of children born with it and of a program it started.
const SLEEPS: u64 = 20;

/// The count of a metric for a target in a JSON report.
fn count(report: &Value, name: &str, target: &str) -> Result<u64> {
    report["metrics"]
        .as_array()
        .context("metrics")?
        .iter()
        .find(|metric| {
            metric["name"] == name && metric["attributes"]["evenkeel.focus.target"] == target
        })
        .and_then(|metric| metric["count"].as_u64())
        .with_context(|| format!("no {name} of {target}"))
}

/// Of two services that sleep as often, only the one in focus is counted, with all its sleeps, those
/// of its children and of the programs they start included; a target that matches nobody is
/// there, and empty.
fn service() -> Result<()> {
    let sleeps = format!("for i in $(seq {SLEEPS}); do sleep 0.05; done");
    let script = format!(
        "(export OTEL_SERVICE_NAME=ek-focus; sh -c '{sleeps}') & \
         (export OTEL_SERVICE_NAME=ek-other; sh -c '{sleeps}') & wait"
    );
    let recording = Recording::make(
        &[
            "--focus",
            "service=ek-focus,service=ek-nobody",
            "--",
            "sh",
            "-c",
            &script,
        ],
        Duration::from_secs(60),
    )?;
    let report = recording.json()?;
    let name = EVENKEEL_FOCUS_OFF_CPU_DURATION.name;
    let own = count(&report, name, "service=ek-focus")?;
    // Each sleep is a block of the child and one of the shell that waits for it.
    println!("{own} blocks of the service in focus");
    ensure!(
        (2 * SLEEPS..8 * SLEEPS).contains(&own),
        "{own} blocks for {SLEEPS} sleeps of children"
    );
    ensure!(count(&report, name, "service=ek-nobody")? == 0);
    let waits = count(
        &report,
        EVENKEEL_FOCUS_RUN_QUEUE_WAIT_DURATION.name,
        "service=ek-focus",
    )?;
    ensure!(waits >= own, "{waits} waits for a CPU after {own} blocks");
    Ok(())
}

/// Direct writes of the service in focus.
const WRITES: u64 = 32;

/// The direct writes of the service in focus are counted (its shell sleeps until it is identified), those of another one are not. A few more are its
/// shell's own: reading a program, say.
fn block_io() -> Result<()> {
    let folder = tempfile::tempdir_in(target_folder()?)?;
    let write = |service: &str| {
        format!(
            "(export OTEL_SERVICE_NAME={service}; sh -c 'sleep 0.3; dd if=/dev/zero of={}/{service} bs=4096 count={WRITES} \
             oflag=direct conv=notrunc status=none; true')",
            folder.path().display()
        )
    };
    let script = format!("{} ; {}", write("ek-focus"), write("ek-other"));
    let recording = Recording::make(
        &["--focus", "service=ek-focus", "--", "sh", "-c", &script],
        Duration::from_secs(60),
    )?;
    let name = EVENKEEL_FOCUS_BLOCK_IO_DURATION.name;
    let own = count(&recording.json()?, name, "service=ek-focus")?;
    println!("{own} operations of the service in focus");
    ensure!(
        (WRITES..WRITES + WRITES / 2).contains(&own),
        "{own} operations for {WRITES} direct writes"
    );
    Ok(())
}

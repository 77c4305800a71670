//! The distribution of run-queue waits against the scheduler's own account.

use std::time::Duration;

use anyhow::{Context as _, Result, ensure};
use evenkeel_semconv::metric::EVENKEEL_CPU_RUN_QUEUE_WAIT_DURATION;
use evenkeel_tests::{
    evenkeel::Recording,
    needs::{Need, RECORDING},
    procfs::wait_until_quiet,
    received::Received,
    suite::Test,
    workload::{Workload, printed},
};

pub(crate) const TESTS: &[Test] = &[
    Test::new(
        "run_queue::six_spinners_on_two_cpus_wait_as_schedstat_says",
        &[Need::Root, Need::Bpf, Need::Cpus(2)],
        six_spinners,
    ),
    Test::new(
        "run_queue::an_idle_machine_has_no_endless_waits",
        RECORDING,
        idle,
    ),
];

/// The sum of the waits is within 5 % of field 2 of the spinners' schedstat, and none is longer than the
/// run. Waits of the other processes of the machine are in the sum too; beside 40 s they are small.
fn six_spinners() -> Result<()> {
    wait_until_quiet()?;
    let program = Workload::Spinners.build()?;
    let recording = Recording::make(
        &["--", &program.to_string_lossy(), "6", "10", "2"],
        Duration::from_secs(90),
    )?;
    let recorder = recording.recorder.as_ref().context("the recorder")?;
    let waited: f64 = printed(recorder, "schedstat")?
        .iter()
        .map(|row| row[2])
        .sum::<f64>()
        / 1e9;
    let run = recorder.elapsed.as_secs_f64();

    let received = Received::from_recording(&recording)?;
    let waits = received.last_histogram(&EVENKEEL_CPU_RUN_QUEUE_WAIT_DURATION)?;
    println!(
        "{} waits, sum {:.3} s, schedstat says {waited:.3} s, longest at most {:.3} s",
        waits.count, waits.sum, waits.highest_bound
    );
    ensure!(
        waited > 35.0,
        "the spinners waited for {waited:.1} s only: not six on two CPUs"
    );
    ensure!(
        (waits.sum - waited).abs() <= waited * 0.05,
        "the sum of waits is {:.3} s instead of {waited:.3} s, off by {:+.2} %",
        waits.sum,
        (waits.sum / waited - 1.0) * 100.0
    );
    // The lower bound, since a wait may lie anywhere in its bucket.
    ensure!(
        waits.highest_lower_bound <= run,
        "a wait above {:.3} s in a run of {run:.3} s",
        waits.highest_lower_bound
    );
    Ok(())
}

/// After idling, waking CPUs must not be charged with the time since they last ran: no wait is longer than
/// the run, and the sum is below its length times the CPUs.
fn idle() -> Result<()> {
    wait_until_quiet()?;
    let recording = Recording::make(
        &[
            "--",
            "sh",
            "-c",
            "sleep 5; for i in 1 2 3 4; do sleep 0.2; done",
        ],
        Duration::from_secs(60),
    )?;
    let recorder = recording.recorder.as_ref().context("the recorder")?;
    let run = recorder.elapsed.as_secs_f64();
    let waits = Received::from_recording(&recording)?
        .last_histogram(&EVENKEEL_CPU_RUN_QUEUE_WAIT_DURATION)?;
    ensure!(waits.count > 0, "no wait in {run:.1} s");
    ensure!(
        waits.highest_lower_bound <= run,
        "a wait above {:.3} s in a run of {run:.3} s",
        waits.highest_lower_bound
    );
    ensure!(
        waits.sum <= run,
        "{:.3} s of waits in {run:.1} s on a machine that was nearly idle",
        waits.sum
    );
    Ok(())
}

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
    waits::WaitLog,
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

/// The sum of all waits is within 3 % of the scheduler's own account of all tasks over the same span, give or
/// take what that cannot know; the spinners' own waits are in it; and none is longer than the run.
fn six_spinners() -> Result<()> {
    wait_until_quiet()?;
    Workload::Spinners.build()?;
    let log = WaitLog::start();
    let recording = Recording::of(Workload::Spinners, &["6", "10", "2"])?;
    let logged = log.finish()?;
    let recorder = recording.recorder.as_ref().context("the recorder")?;
    let spinners: f64 = printed(recorder, "schedstat")?
        .iter()
        .map(|row| row[2])
        .sum::<f64>()
        / 1e9;
    let run = recorder.elapsed.as_secs_f64();

    let received = Received::from_recording(&recording)?;
    let waits = received.last_histogram(&EVENKEEL_CPU_RUN_QUEUE_WAIT_DURATION)?;
    let span = received.counted_span(&EVENKEEL_CPU_RUN_QUEUE_WAIT_DURATION)?;
    let kernel = logged.waits(span.start, span.end)?;
    println!(
        "{} waits, sum {:.3} s; the kernel says {:.3} s and at most {:.3} s more, {spinners:.3} s of it the \
         spinners'; longest at most {:.3} s",
        waits.count, waits.sum, kernel.seconds, kernel.missing, waits.highest_bound
    );
    ensure!(
        spinners > 35.0,
        "the spinners waited for {spinners:.1} s only: not six on two CPUs"
    );
    ensure!(
        waits.sum >= spinners * 0.97,
        "the sum of waits is {:.3} s, the spinners alone waited for {spinners:.3} s",
        waits.sum
    );
    let least = kernel.seconds * 0.97;
    let most = (kernel.seconds + kernel.missing) * 1.03;
    ensure!(
        (least..=most).contains(&waits.sum),
        "the sum of waits is {:.3} s, not in {least:.3} s to {most:.3} s: off by {:+.2} %",
        waits.sum,
        (waits.sum / kernel.seconds - 1.0) * 100.0
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

//! The distribution of run-queue waits against the scheduler's own account.

use std::{fs, thread, time::Duration};

use anyhow::{Context as _, Result, ensure};
use evenkeel_otlp::histogram::ExponentialHistogram;
use evenkeel_semconv::{
    attribute::{PROCESS_PID, THREAD_NAME},
    metric::{EVENKEEL_CPU_RUN_QUEUE_LENGTH, EVENKEEL_CPU_RUN_QUEUE_WAIT_DURATION},
};
use evenkeel_tests::{
    child::Running,
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
    Test::new(
        "run_queue::spinners_after_idling_wait_no_longer_than_they_run",
        &[Need::Root, Need::Bpf, Need::Cpus(2)],
        spinners_after_idling,
    ),
    Test::new(
        "run_queue::lengths_are_those_of_pinned_spinners",
        &[Need::Root, Need::Bpf, Need::Cpus(2)],
        lengths,
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

/// Two spinners after some seconds of idling: what they waited for a CPU is not the time that the CPUs idled, and
/// the idle task, which switches whenever they begin or end, waits for nothing and is nobody.
fn spinners_after_idling() -> Result<()> {
    let program = Workload::Spinners.build()?;
    let script = format!("sleep 4; exec '{}' 2 3 2", program.display());
    let recording = Recording::make(&["--", "sh", "-c", &script], Duration::from_secs(60))?;
    let recorder = recording.recorder.as_ref().context("the recorder")?;
    let spun = printed(recorder, "schedstat")?;
    let received = Received::from_recording(&recording)?;
    received.check()?;
    let run = recorder.elapsed.as_secs_f64();
    let waits = received.last_histogram(&EVENKEEL_CPU_RUN_QUEUE_WAIT_DURATION)?;
    ensure!(
        waits.highest_lower_bound <= run,
        "a wait above {:.3} s in a run of {run:.3} s",
        waits.highest_lower_bound
    );
    let (mut waited, mut strange) = (0, Vec::new());
    for kind in ["run_queue", "off_cpu", "samples"] {
        received.each_sample(kind, |sample| {
            let thread = sample.attribute(THREAD_NAME).unwrap_or_default();
            if sample.value <= 0
                || sample.number(PROCESS_PID) == Some(0)
                || thread.starts_with("swapper")
            {
                strange.push(format!("{kind}: {thread} {}", sample.value));
            }
            if kind == "run_queue" && sample.process == Some(Workload::Spinners.name()) {
                waited += sample.value;
            }
        });
    }
    ensure!(strange.is_empty(), "of the idle task: {strange:?}");
    let kernel: f64 = spun.iter().map(|row| row[2]).sum();
    #[expect(clippy::cast_precision_loss, reason = "seconds in nanoseconds")]
    let waited = waited as f64;
    println!(
        "the spinners waited for {:.3} s, the kernel says {:.3} s",
        waited / 1e9,
        kernel / 1e9
    );
    // Few waits: one period of sampling for each of the three processes, which may be stretched.
    ensure!(
        (waited - kernel).abs() <= 0.03 * kernel + 0.5e9,
        "{waited} ns, the kernel says {kernel} ns"
    );
    Ok(())
}

/// Threads that run or are ready on a CPU, by their states in `/proc`.
fn runnable_on(cpu: &str) -> Result<usize> {
    let mut runnable = 0;
    for process in fs::read_dir("/proc")? {
        // Processes and threads may be gone at any moment.
        let process = process?;
        let Ok(tasks) = fs::read_dir(process.path().join("task")) else {
            continue;
        };
        // Who asks runs.
        if process.file_name().to_str() == Some(&std::process::id().to_string()) {
            continue;
        }
        for task in tasks.flatten() {
            let text = fs::read_to_string(task.path().join("stat")).unwrap_or_default();
            // Fields 3 and 39, behind the name.
            let Some((_, rest)) = text.rsplit_once(") ") else {
                continue;
            };
            let mut fields = rest.split_whitespace();
            let is_ready = fields.next() == Some("R");
            runnable += usize::from(is_ready && fields.nth(35) == Some(cpu));
        }
    }
    Ok(runnable)
}

/// The number that is most often in a list, and how often it is.
fn mode(numbers: &[usize]) -> (usize, usize) {
    let count = |number: usize| numbers.iter().filter(|other| **other == number).count();
    let counted = numbers.iter().map(|number| (*number, count(*number)));
    counted.max_by_key(|(_, count)| *count).unwrap_or_default()
}

/// Twelve spinners on one CPU: that is the length found there more often than any other one. Where other programs
/// run on that CPU as well, the average is what their states say, as near as these can be read.
fn lengths() -> Result<()> {
    const SPINNERS: usize = 12;
    let spinners = Workload::Spinners.start(&[&SPINNERS.to_string(), "60", "1"])?;
    // What could go elsewhere has gone.
    thread::sleep(Duration::from_secs(2));
    let recording = Recording::empty()?;
    let recorder = Running::start(&mut recording.recorder_command(&["--duration", "6s"])?)?;
    let mut states = Vec::new();
    // Its own start is over then.
    thread::sleep(Duration::from_millis(1500));
    for _ in 0..40 {
        states.push(runnable_on("0")?);
        thread::sleep(Duration::from_millis(100));
    }
    recorder.finish(Duration::from_secs(60))?.succeeded()?;
    drop(spinners);
    let lengths =
        Received::from_recording(&recording)?.last_buckets(&EVENKEEL_CPU_RUN_QUEUE_LENGTH)?;
    let ticks_at = |length: usize| {
        #[expect(clippy::cast_precision_loss, reason = "a few tasks")]
        let length = length as f64;
        let wanted = i64::from(ExponentialHistogram::index(lengths.scale, length));
        let mut buckets = lengths.buckets();
        let found = buckets.find_map(|(index, count)| (index == wanted).then_some(count));
        found.unwrap_or(0)
    };
    let all = lengths.count();
    let listed: Vec<_> = (1..32).map(|length| (length, ticks_at(length))).collect();
    println!(
        "{} idle of {all} ticks; by length: {listed:?}; by state: {states:?}",
        lengths.zero_count
    );
    let (expected, times) = mode(&states);
    if times * 10 >= states.len() * 8 {
        let seen = (4..64).max_by_key(|length| ticks_at(*length));
        ensure!(
            seen == Some(expected),
            "{seen:?} is the mode of lengths, {expected} that of states"
        );
    } else {
        #[expect(clippy::cast_precision_loss, reason = "a few tasks and ticks")]
        let mean = |pairs: &mut dyn Iterator<Item = (usize, u64)>| {
            let (sum, count) = pairs.fold((0.0, 0.0), |(sum, count), (length, times)| {
                (sum + length as f64 * times as f64, count + times as f64)
            });
            sum / count
        };
        let seen = mean(&mut (SPINNERS..64).map(|length| (length, ticks_at(length))));
        let expected = mean(&mut states.iter().map(|length| (*length, 1)));
        println!("on average {seen:.2} by length, {expected:.2} by state");
        ensure!(
            (seen - expected).abs() <= 1.5,
            "{seen:.2} tasks on average by length, {expected:.2} by state"
        );
    }
    // Every tick of the CPU is there. Shorter queues are the other CPUs', which have no ticks while they idle.
    let on_the_cpu: u64 = (SPINNERS..64).map(ticks_at).sum();
    ensure!(
        (550..=750).contains(&on_the_cpu),
        "{on_the_cpu} ticks with {SPINNERS} tasks or more in 6 s at 99 Hz: {listed:?}"
    );
    Ok(())
}

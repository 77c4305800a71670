//! System calls of a known number: counted, timed, scaled back, and nothing left of who dies in one.

use std::{thread, time::Duration};

use anyhow::{Context as _, Result, ensure};
use evenkeel_otlp::histogram::ExponentialHistogram;
use evenkeel_semconv::{
    attribute::{
        EVENKEEL_LOSS_REASON, EVENKEEL_SIGNAL_NAME, EVENKEEL_SYSCALL_AGE,
        EVENKEEL_SYSCALL_ERROR_CLASS, EVENKEEL_SYSCALL_FAMILY, EVENKEEL_SYSCALL_NAME,
    },
    metric::{
        EVENKEEL_SIGNAL_LOSSES, EVENKEEL_SYSCALL_CALLS, EVENKEEL_SYSCALL_DURATION,
        EVENKEEL_SYSCALL_ERRORS, EVENKEEL_SYSCALL_IN_FLIGHT_COUNT, EVENKEEL_SYSCALL_LISTED_CALLS,
        EVENKEEL_SYSCALL_LISTED_DURATION, EVENKEEL_SYSCALL_SAMPLING_ATTACHED_TIME,
        EVENKEEL_SYSCALL_SAMPLING_COST_TIME, EVENKEEL_SYSCALL_SAMPLING_ERROR,
    },
};
use evenkeel_tests::{
    child::{Running, wait_until},
    evenkeel::Recording,
    needs::RECORDING,
    received::Received,
    suite::Test,
    workload::{Workload, printed},
};
use rustix::process::Signal;
use serde_json::Value;

pub(crate) const TESTS: &[Test] = &[
    Test::new(
        "syscalls::known_calls_have_their_count_family_duration_and_errors",
        RECORDING,
        known_calls,
    ),
    Test::new(
        "syscalls::a_tight_loop_is_scaled_back_within_the_budget",
        RECORDING,
        tight_loop,
    ),
    Test::new(
        "syscalls::a_thousand_readers_leave_nothing_when_they_are_killed",
        RECORDING,
        killed_readers,
    ),
];

/// Nothing but this signal.
const ONLY: [&str; 4] = ["--disable", "all", "--enable", "syscalls"];

const LIMIT: Duration = Duration::from_secs(120);

/// Calls that nobody else makes in numbers, how many, and their families.
const CALLS: [(&str, u32, &str); 5] = [
    ("nanosleep", 1_000, "time"),
    ("preadv", 50_000, "read"),
    ("pwritev", 60_000, "write"),
    ("flock", 70_000, "lock"),
    ("getppid", 200_000, "process"),
];

/// A listed call of the JSON report.
fn listed<'a>(report: &'a Value, name: &str) -> Result<&'a Value> {
    let metrics = report["metrics"].as_array().context("no metrics")?;
    metrics
        .iter()
        .find(|metric| {
            metric["name"] == EVENKEEL_SYSCALL_LISTED_DURATION.name
                && metric["attributes"][EVENKEEL_SYSCALL_NAME] == name
        })
        .with_context(|| format!("no durations of {name}"))
}

fn close(what: &str, seen: f64, expected: f64, tolerance: f64) -> Result<()> {
    println!("{what}: {seen:.6}, expected {expected:.6}");
    ensure!(
        (seen - expected).abs() <= expected * tolerance,
        "{what}: {seen} instead of {expected}, more than {:.0} % off",
        tolerance * 100.0
    );
    Ok(())
}

/// Watched all the time, 1,000 sleeps of 1 ms are counted and timed one by one, and faster calls by one
/// sample in 16 at most: 50,000 of them are known to 1 % then, so that 5 % is five standard errors. Each
/// is in its family, failing ones are errors of their family and class, and no duration is negative.
fn known_calls() -> Result<()> {
    let program = Workload::Calls.build()?;
    let program = program.to_string_lossy();
    let names = CALLS.map(|(name, ..)| name).join(",");
    let script = CALLS.map(|(name, count, _)| format!("{program} {name} {count}"));
    let script = script.join(" && ");
    let mut arguments = ONLY.to_vec();
    arguments.extend(["--syscalls", &names, "--syscalls-budget", "100%"]);
    arguments.extend(["--", "sh", "-c", &script]);
    let recording = Recording::make(&arguments, LIMIT)?;
    let recorder = recording.recorder.as_ref().context("the recorder")?;
    let elapsed = printed(recorder, "elapsed_seconds")?;
    let received = Received::from_recording(&recording)?;
    received.check()?;
    let report = recording.json()?;

    for (name, count, family) in CALLS {
        let count = f64::from(count);
        let made = received.last_sum(
            &EVENKEEL_SYSCALL_LISTED_CALLS,
            &[(EVENKEEL_SYSCALL_NAME, name)],
        )?;
        close(&format!("{name} calls"), made, count, 0.05)?;
        let timed = &listed(&report, name)?["count"];
        let timed = timed.as_f64().context("no count")?;
        close(&format!("{name} durations"), timed, count, 0.05)?;
        let of_family = received.last_sum(
            &EVENKEEL_SYSCALL_CALLS,
            &[(EVENKEEL_SYSCALL_FAMILY, family)],
        )?;
        ensure!(
            of_family >= made * 0.999,
            "{made} {name} but {of_family} calls of family {family}"
        );
    }
    let sleeps = listed(&report, "nanosleep")?;
    let median = sleeps["p50"].as_f64().context("no p50")?;
    ensure!(
        median >= 0.001,
        "the median of sleeps of 1 ms is {median} s"
    );
    let sum = sleeps["sum"].as_f64().context("no sum")?;
    close("seconds slept", sum, elapsed[0][0], 0.05)?;
    // The loops do nothing else: their calls take part of the elapsed time, and not all of it.
    for ((name, ..), elapsed) in CALLS.iter().zip(&elapsed).skip(1) {
        let sum = listed(&report, name)?["sum"].as_f64().context("no sum")?;
        ensure!(
            sum > 0.0 && sum < elapsed[0],
            "{name} took {sum} s of {} s",
            elapsed[0]
        );
    }
    let errors = received.last_sum(
        &EVENKEEL_SYSCALL_ERRORS,
        &[
            (EVENKEEL_SYSCALL_FAMILY, "lock"),
            (EVENKEEL_SYSCALL_ERROR_CLASS, "invalid"),
        ],
    )?;
    close("failed flocks", errors, 70_000.0, 0.05)?;
    let negative = received.last_sum(
        &EVENKEEL_SIGNAL_LOSSES,
        &[
            (EVENKEEL_SIGNAL_NAME, "syscalls"),
            (EVENKEEL_LOSS_REASON, "negative_interval"),
        ],
    )?;
    ensure!(negative == 0.0, "{negative} negative durations");
    Ok(())
}

/// As many calls as a CPU can make cannot be watched for 1 % of the node's time: bursts see a small part of
/// them, and the count is right within what the recording itself says it may be off (three standard
/// errors). Without putting right that watching slows the loop down, it would be off by more than half.
fn tight_loop() -> Result<()> {
    const CALLS: u32 = 60_000_000;
    let program = Workload::Calls.build()?;
    let count = CALLS.to_string();
    let mut arguments = ONLY.to_vec();
    let program = program.to_string_lossy();
    arguments.extend(["--syscalls", "getppid", "--", &program, "getppid", &count]);
    let recording = Recording::make(&arguments, LIMIT)?;
    let recorder = recording.recorder.as_ref().context("the recorder")?;
    let received = Received::from_recording(&recording)?;
    received.check()?;

    let made = received.last_sum(&EVENKEEL_SYSCALL_LISTED_CALLS, &[])?;
    let error = received.last_sum(&EVENKEEL_SYSCALL_SAMPLING_ERROR, &[])?;
    println!(
        "{made:.0} of {CALLS} calls, standard error {:.1} %",
        error * 100.0
    );
    ensure!(
        error < 0.25,
        "the estimate is off by {:.0} %",
        error * 100.0
    );
    ensure!(
        (made / f64::from(CALLS) - 1.0).abs() <= 3.0 * error,
        "{made} calls instead of {CALLS}, with a standard error of {error}"
    );

    // A recording of seconds has not paid back yet what it took to see that there was a load.
    let cpus = thread::available_parallelism()?.get() as f64;
    let seconds = recorder.elapsed.as_secs_f64();
    let cost = received.last_sum(&EVENKEEL_SYSCALL_SAMPLING_COST_TIME, &[])?;
    let watched = received.last_sum(&EVENKEEL_SYSCALL_SAMPLING_ATTACHED_TIME, &[])?;
    println!(
        "cost {:.2} % of the node, watched {:.1} % of {seconds:.1} s",
        cost / cpus / seconds * 100.0,
        watched / seconds * 100.0
    );
    ensure!(
        cost <= 0.02 * cpus * seconds,
        "watching cost {cost} s in {seconds} s"
    );
    ensure!(watched <= 0.3 * seconds, "watched {watched} of {seconds} s");
    Ok(())
}

/// Who waits in `read` before the recording begins is seen in flight, of unknown age; who begins to wait later
/// is seen with its age (those of them that are sampled, on a host with many calls). When they are killed, the calls in flight are back at what they were, and those
/// that were not seen beginning were not measured.
fn killed_readers() -> Result<()> {
    let first = readers()?;
    let recording = Recording::empty()?;
    let mut arguments = ONLY.to_vec();
    arguments.extend(["--syscalls-budget", "100%"]);
    arguments.extend(["--window", "1s", "--duration", "60s"]);
    let recorder = Running::start(&mut recording.recorder_command(&arguments)?)?;
    thread::sleep(Duration::from_secs(4));
    let second = readers()?;
    thread::sleep(Duration::from_secs(3));
    drop(first);
    drop(second);
    thread::sleep(Duration::from_secs(3));
    recorder.signal(Signal::INT)?;
    recorder.finish(LIMIT)?.succeeded()?;

    let received = Received::from_recording(&recording)?;
    received.check()?;
    let family = (EVENKEEL_SYSCALL_FAMILY, "read");
    let in_flight = received.sums(&EVENKEEL_SYSCALL_IN_FLIGHT_COUNT, &[family])?;
    println!("in flight: {in_flight:?}");
    let last = *in_flight.last().context("no calls in flight")?;
    let most = in_flight.iter().copied().fold(0.0, f64::max);
    ensure!(
        (most - 2000.0 - last).abs() < 200.0,
        "{most} calls in flight at most and {last} at the end, instead of 2,000 more"
    );
    let known: Vec<f64> = ["below_1s", "below_10s"]
        .iter()
        .map(|age| {
            let attributes = [family, (EVENKEEL_SYSCALL_AGE, age)];
            received.sums(&EVENKEEL_SYSCALL_IN_FLIGHT_COUNT, &attributes)
        })
        .collect::<Result<Vec<_>>>()?
        .concat();
    ensure!(
        known.iter().any(|count| *count >= 200.0),
        "no calls of known age: {known:?}"
    );
    let unknown = received.sums(
        &EVENKEEL_SYSCALL_IN_FLIGHT_COUNT,
        &[family, (EVENKEEL_SYSCALL_AGE, "unknown")],
    )?;
    ensure!(
        unknown.iter().any(|count| (1000.0..2000.0).contains(count)),
        "the readers from before are not of unknown age: {unknown:?}"
    );

    // Killed in `read`, all 2,000 end as interrupted; a thousand of them were seen beginning.
    let interrupted = received.last_sum(
        &EVENKEEL_SYSCALL_ERRORS,
        &[family, (EVENKEEL_SYSCALL_ERROR_CLASS, "interrupted")],
    )?;
    ensure!(
        (1900.0..2500.0).contains(&interrupted),
        "{interrupted} reads were interrupted instead of 2,000"
    );
    let durations = received.histogram(&EVENKEEL_SYSCALL_DURATION, &[family])?;
    let durations = durations.context("no durations of reads")?;
    let above = |seconds| -> u64 {
        let bound = |index| ExponentialHistogram::bound(durations.scale, index);
        let long = durations
            .buckets()
            .filter(|(index, _)| bound(*index) >= seconds);
        long.map(|(_, count)| count).sum()
    };
    let (long, longest) = (above(2.5), above(6.0));
    println!("{long} reads above 2.5 s, {longest} above 6 s");
    ensure!(
        (500..1600).contains(&long) && longest < 100,
        "{long} reads above 2.5 s instead of 1,000, and {longest} above 6 s instead of none"
    );
    Ok(())
}

/// A thousand threads that wait in `read`.
fn readers() -> Result<Running> {
    let mut readers = Workload::Readers.start(&["1000", "100"])?;
    wait_until("all readers wait", Duration::from_secs(30), || {
        ensure!(readers.is_running()?, "the readers ended");
        Ok(readers.stderr_so_far()?.contains("waiting 1000"))
    })?;
    Ok(readers)
}

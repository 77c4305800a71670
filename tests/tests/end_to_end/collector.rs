//! From the kernel to a real Collector's files.

use std::{
    fs, thread,
    time::{Duration, Instant},
};

use anyhow::{Context as _, Result, ensure};
use evenkeel_semconv::{
    attribute::{
        EVENKEEL_EXPORT_OUTCOME, EVENKEEL_EXPORT_SIGNAL,
        value::{
            evenkeel_export_outcome::{DROPPED, MADE, REJECTED, SENT},
            evenkeel_export_signal::{METRICS, PROFILES},
        },
    },
    metric::{EVENKEEL_EXPORT_QUEUE_LENGTH, EVENKEEL_EXPORT_WINDOWS, SYSTEM_CPU_TIME},
};
use evenkeel_tests::{
    child::{Running, wait_until},
    collector::{Collector, Protocol},
    evenkeel,
    folded::{self, sum},
    needs::Need,
    procfs::unix_nanos,
    received::Received,
    suite::Test,
    workload::Workload,
};
use rustix::process::Signal;

pub(crate) const TESTS: &[Test] = &[
    Test::new("collector::both_signals_arrive_over_grpc", NEEDS, over_grpc),
    Test::new("collector::both_signals_arrive_over_http", NEEDS, over_http),
    Test::new("collector::compressed_requests_arrive", NEEDS, compressed),
    Test::new(
        "collector::a_short_outage_loses_nothing",
        NEEDS,
        short_outage,
    ),
    Test::new(
        "collector::a_long_outage_loses_what_the_counters_say",
        NEEDS,
        long_outage,
    ),
];

const NEEDS: &[Need] = &[Need::Root, Need::Bpf, Need::Program("go")];

const STOP_LIMIT: Duration = Duration::from_secs(30);

fn start_agent(
    collector: &Collector,
    protocol: Protocol,
    window: &str,
    compression: &str,
) -> Result<Running> {
    let mut command = evenkeel::command(&["agent", "--window", window])?;
    collector.configure(&mut command, protocol);
    command.env("OTEL_EXPORTER_OTLP_COMPRESSION", compression);
    Running::start(&mut command)
}

fn size(collector: &Collector) -> u64 {
    fs::metadata(collector.json_file()).map_or(0, |metadata| metadata.len())
}

/// Waits for the first request, and gives it time to be written to its end.
fn wait_for_first(collector: &Collector, agent: &mut Running) -> Result<()> {
    wait_until(
        "the first request has arrived",
        Duration::from_secs(40),
        || {
            ensure!(
                agent.is_running()?,
                "the agent ended: {}",
                agent.stderr_so_far()?
            );
            Ok(size(collector) > 0)
        },
    )?;
    thread::sleep(Duration::from_millis(500));
    Ok(())
}

/// Both signals of one run arrive whole and well formed: every window without a gap, up to the moment the
/// agent was asked to stop, the spinner's chain in it, and `report` reads the Collector's file.
fn arrives(protocol: Protocol, compression: &str) -> Result<()> {
    let mut collector = Collector::start()?;
    let _spinner = Workload::Spinner.start(&["90"])?;
    let mut agent = start_agent(&collector, protocol, "2s", compression)?;
    wait_for_first(&collector, &mut agent)?;
    thread::sleep(Duration::from_millis(7300));
    let asked = unix_nanos();
    agent.signal(Signal::TERM)?;
    agent.finish(STOP_LIMIT)?.succeeded()?;
    collector.stop()?;

    let received = Received::from_file(&collector.json_file())?;
    received.check()?;
    let windows = received.windows("samples");
    println!(
        "windows: {:?}",
        windows
            .iter()
            .map(|span| span.seconds())
            .collect::<Vec<_>>()
    );
    ensure!(windows.len() >= 4, "{} windows in 9 s", windows.len());
    for pair in windows.windows(2) {
        ensure!(
            pair[0].end == pair[1].start,
            "{} ns lie between two windows",
            i128::from(pair[1].start) - i128::from(pair[0].end)
        );
    }
    let end = windows.last().map_or(0, |span| span.end);
    let missing = asked.saturating_sub(end);
    ensure!(
        missing < 300_000_000,
        "the last {} ms before the stop are missing",
        missing / 1_000_000
    );
    ensure!(
        received.last_sum(&SYSTEM_CPU_TIME, &[])? > 0.0,
        "no CPU time"
    );

    let path = collector.json_file();
    let report = evenkeel::report(&path, &["--profile", "on_cpu", "--format", "folded"])?;
    let stacks = folded::parse(&report.stdout)?;
    let name = Workload::Spinner.name();
    let own = sum(&stacks, |stack| stack.process == name);
    let in_chain = sum(&stacks, |stack| {
        stack.process == name && stack.has_chain(&["main", "outer", "inner"])
    });
    ensure!(own > 200, "{own} samples of the spinner in 9 s");
    ensure!(
        in_chain * 100 >= own * 99,
        "{in_chain} of {own} samples are in main;outer;inner"
    );
    #[expect(
        clippy::cast_precision_loss,
        reason = "sample counts are far below 2^53"
    )]
    let reported = sum(&stacks, |_| true) as f64;
    let total = received.profile_total("samples");
    ensure!(
        (reported - total).abs() < 0.5,
        "report has {reported} samples, the OTLP {total}"
    );
    Ok(())
}

fn over_grpc() -> Result<()> {
    arrives(Protocol::Grpc, "none")
}

fn over_http() -> Result<()> {
    arrives(Protocol::Http, "none")
}

/// gzip on both protocols, on a shorter run.
fn compressed() -> Result<()> {
    // An idle machine can pass a window of a second without a single sample.
    let _spinner = Workload::Spinner.start(&["60"])?;
    for protocol in [Protocol::Grpc, Protocol::Http] {
        let mut collector = Collector::start()?;
        let mut agent = start_agent(&collector, protocol, "1s", "gzip")?;
        wait_for_first(&collector, &mut agent)?;
        agent.signal(Signal::TERM)?;
        agent.finish(STOP_LIMIT)?.succeeded()?;
        collector.stop()?;
        let received = Received::from_file(&collector.json_file())?;
        received.check()?;
        ensure!(
            !received.windows("samples").is_empty(),
            "no profile over {}",
            protocol.name()
        );
        ensure!(
            !received.metrics.is_empty(),
            "no metrics over {}",
            protocol.name()
        );
    }
    Ok(())
}

/// Five windows fit the queue: all of them arrive in the end.
fn short_outage() -> Result<()> {
    let lost = outage(Duration::from_secs(5))?;
    ensure!(lost == 0, "{lost} windows were lost in an outage of five");
    Ok(())
}

/// The queue holds 32 windows; in 50 s of outage the oldest must go, and only as many as don't fit: those
/// of the outage and of the back-off behind it, of at most 30 s, less the queue.
fn long_outage() -> Result<()> {
    let lost = outage(Duration::from_secs(50))?;
    ensure!(
        (10..=55).contains(&lost),
        "{lost} windows were lost in an outage of 50"
    );
    Ok(())
}

/// The Collector is killed and comes back after `outage`, the agent making a window a second. Windows that
/// the files lack are windows that the agent and its counters call dropped, and both account for every window
/// made. Gives the number of windows lost.
fn outage(outage: Duration) -> Result<u64> {
    let mut collector = Collector::start()?;
    let _spinner = Workload::Spinner.start(&["180"])?;
    let mut agent = start_agent(&collector, Protocol::Grpc, "1s", "none")?;
    wait_for_first(&collector, &mut agent)?;
    thread::sleep(Duration::from_secs(3));
    wait_until_quiet(&collector)?;
    collector.kill()?;
    thread::sleep(outage);
    collector.restart()?;
    let back = size(&collector);
    wait_until("exports go on", Duration::from_secs(45), || {
        Ok(size(&collector) > back)
    })?;
    thread::sleep(Duration::from_secs(6));
    agent.signal(Signal::TERM)?;
    let finished = agent.finish(STOP_LIMIT)?.succeeded()?;
    collector.stop()?;

    let received = Received::from_file(&collector.json_file())?;
    received.check()?;
    // Each window has samples of the spinner.
    let arrived_profiles = received.windows("samples").len();
    let arrived_metrics = received.point_times(&SYSTEM_CPU_TIME).len();
    let mut lost = 0;
    let outcome = |signal: &str, outcome: &str| {
        received.last_sum(
            &EVENKEEL_EXPORT_WINDOWS,
            &[
                (EVENKEEL_EXPORT_SIGNAL, signal),
                (EVENKEEL_EXPORT_OUTCOME, outcome),
            ],
        )
    };
    for (signal, arrived) in [(PROFILES, arrived_profiles), (METRICS, arrived_metrics)] {
        let made = outcome(signal, MADE)?;
        let (sent, rejected, dropped) = (
            outcome(signal, SENT)?,
            outcome(signal, REJECTED)?,
            outcome(signal, DROPPED)?,
        );
        let waiting = received.last_sum(
            &EVENKEEL_EXPORT_QUEUE_LENGTH,
            &[(EVENKEEL_EXPORT_SIGNAL, signal)],
        )?;
        println!(
            "{signal}: made {made}, sent {sent}, rejected {rejected}, dropped {dropped}, waiting {waiting}"
        );
        ensure!(made >= 10.0, "{made} windows of {signal} in more than 14 s");
        ensure!(
            rejected == 0.0,
            "{rejected} windows of {signal} were rejected"
        );
        // The last counters that arrive are those of the last window: it and what waits with it are on
        // their way, and one more may be in the sender's hands.
        let open = made - sent - rejected - dropped;
        ensure!(
            (0.0..=waiting + 2.0).contains(&open),
            "{open} windows of {signal} are unaccounted for, {waiting} wait"
        );
        let last = last_account(&finished.stderr, signal)?;
        println!("{signal}: {arrived} windows arrived; at the end {last:?}");
        ensure!(
            last.sent == arrived && last.made == last.sent + last.dropped && last.rejected == 0,
            "{arrived} windows of {signal} arrived, the agent says {last:?}\n{}",
            finished.stderr
        );
        // Nothing is dropped any more once the Collector is back and the queue is being emptied.
        #[expect(clippy::cast_precision_loss, reason = "a few windows")]
        let dropped_in_all = last.dropped as f64;
        ensure!(
            (dropped_in_all - dropped).abs() < 0.5,
            "the counter of {signal} says {dropped} dropped, the agent {dropped_in_all}"
        );
        if signal == PROFILES {
            lost = last.dropped as u64;
        }
    }
    Ok(lost)
}

/// What the agent says of a signal as its last.
#[derive(Debug)]
struct LastAccount {
    made: usize,
    sent: usize,
    dropped: usize,
    rejected: usize,
}

fn last_account(stderr: &str, signal: &str) -> Result<LastAccount> {
    let line = stderr
        .lines()
        .rfind(|line| {
            line.contains("Windows delivered.") && line.contains(&format!("signal=\"{signal}\""))
        })
        .with_context(|| format!("no last account of {signal}:\n{stderr}"))?;
    let number = |name: &str| -> Result<usize> {
        let text = line
            .split_whitespace()
            .find_map(|word| word.strip_prefix(name)?.strip_prefix('='))
            .with_context(|| format!("no {name}: {line}"))?;
        Ok(text.parse()?)
    };
    Ok(LastAccount {
        made: number("made")?,
        sent: number("sent")?,
        dropped: number("dropped")?,
        rejected: number("rejected")?,
    })
}

/// Until the file has rested for 250 ms, more than twice the exporter's flush interval, so that a kill
/// takes nothing with it that was acknowledged. Windows are a second apart, so such a moment comes.
fn wait_until_quiet(collector: &Collector) -> Result<()> {
    let (mut last, mut since) = (size(collector), Instant::now());
    wait_until("the Collector is quiet", Duration::from_secs(20), || {
        let now = size(collector);
        if now != last {
            (last, since) = (now, Instant::now());
        }
        Ok(since.elapsed() >= Duration::from_millis(250))
    })
}

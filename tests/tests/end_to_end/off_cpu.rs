//! Where threads spend their time, against the kernel's own account of each.

use std::time::Duration;

use anyhow::{Context as _, Result};
use evenkeel_semconv::metric::EVENKEEL_WAIT_PERIOD;
use evenkeel_tests::{
    evenkeel::Recording,
    needs::Need,
    received::Received,
    suite::Test,
    threads::{Account, Recorded, accounts, ensure_near, recorded},
    workload::Workload,
};

pub(crate) const TESTS: &[Test] = &[Test::new(
    "off_cpu::threads_spend_their_time_as_schedstat_says",
    &[Need::Root, Need::Bpf, Need::Cpus(2)],
    thread_mix,
)];

/// A recording of a workload with options before it.
fn record(options: &[&str], workload: Workload, arguments: &[&str]) -> Result<Recording> {
    let program = workload.build()?;
    let program = program.to_string_lossy();
    let all = [options, &["--", &*program], arguments].concat();
    Recording::make(&all, Duration::from_secs(120))
}

/// Seconds that threads run, wait for a CPU and are blocked are each what the kernel says within 3 %, and
/// together the whole time within 5 %: for threads that spin, sleep, migrate, yield and block. At 999 samples a
/// second, because at 99 chance alone is 3 % of a thread that had its CPU for some seconds by turns with others.
fn thread_mix() -> Result<()> {
    let recording = record(&["--frequency", "999"], Workload::ThreadMix, &["20"])?;
    let received = Received::from_recording(&recording)?;
    received.check()?;
    let period = received.largest(&EVENKEEL_WAIT_PERIOD)?;
    println!("wait period: at most {period} s");
    let recorder = recording.recorder.as_ref().context("the recorder")?;
    let threads = recorded(&received, Workload::ThreadMix.name());
    for (name, account) in accounts(recorder)? {
        let thread = threads.get(&name).with_context(|| format!("no {name}"))?;
        compare(&name, *thread, account, period)?;
    }
    Ok(())
}

/// Totals of waits are off by at most one period whatever they are like, which is more than 3 % where there
/// is little of them; samples of running by chance.
fn compare(name: &str, thread: Recorded, account: Account, period: f64) -> Result<()> {
    let slack = |expected: f64, least: f64| {
        if expected > account.wall / 4.0 {
            0.0
        } else {
            least
        }
    };
    let on_cpu = account.run + thread.stolen;
    ensure_near(
        &format!("{name} on CPU"),
        thread.on_cpu,
        on_cpu,
        0.03,
        slack(on_cpu, 0.01 * account.wall),
    )?;
    ensure_near(
        &format!("{name} waiting for a CPU"),
        thread.run_queue,
        account.wait,
        0.03,
        slack(account.wait, period),
    )?;
    ensure_near(
        &format!("{name} blocked"),
        thread.off_cpu,
        account.blocked(),
        0.03,
        slack(account.blocked(), period),
    )?;
    ensure_near(
        &format!("{name} in all"),
        thread.on_cpu + thread.off_cpu + thread.run_queue,
        account.wall,
        0.05,
        0.0,
    )
}

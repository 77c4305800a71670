//! The programs around the one under test, so that a fault of theirs isn't taken for a fault of it.

use std::{fs, process::Command, time::Duration};

use anyhow::{Result, ensure};
use evenkeel_tests::{
    child::run,
    collector::Collector,
    needs::Need,
    suite::Test,
    threads::accounts,
    workload::{Workload, printed},
};

pub(crate) const TESTS: &[Test] = &[
    Test::new(
        "harness::c_workloads_account_for_themselves",
        &[Need::Program("cc")],
        c_workloads,
    ),
    Test::new(
        "harness::rust_and_go_workloads_run",
        &[Need::Program("go")],
        other_workloads,
    ),
    Test::new(
        "harness::a_collector_starts_dies_and_starts_again",
        &[Need::Program("go")],
        collector,
    ),
];

const LIMIT: Duration = Duration::from_secs(60);

/// A spinner has used nearly the time it was given; the others end with 0.
fn c_workloads() -> Result<()> {
    let spinner = run(&mut Workload::Spinner.command(&["1", "0"])?, LIMIT)?.succeeded()?;
    let seconds = printed(&spinner, "cpu_seconds")?[0][0];
    ensure!(
        (0.3..=1.1).contains(&seconds),
        "a spinner of 1 s used {seconds} s"
    );
    let spinners = run(&mut Workload::Spinners.command(&["3", "0.5", "1"])?, LIMIT)?.succeeded()?;
    let rows = printed(&spinners, "schedstat")?;
    ensure!(rows.len() == 3, "{rows:?}");
    ensure!(
        rows.iter().all(|row| row[2] > 1e8),
        "three on one CPU did not wait: {rows:?}"
    );
    run(&mut Workload::Recursion.command(&["5000", "0.1"])?, LIMIT)?.succeeded()?;
    run(&mut Workload::FixedWork.command(&["2", "100"])?, LIMIT)?.succeeded()?;
    run(&mut Workload::PingPong.command(&["1000", "0"])?, LIMIT)?.succeeded()?;
    for (workload, arguments) in [
        (Workload::ThreadMix, &["0.5"][..]),
        (Workload::Sleepers, &["2", "1000", "100", "5"]),
        (Workload::MutexPingPong, &["0.5"]),
        (Workload::ConditionQueue, &["0.5"]),
        (Workload::Duty, &["2", "1", "1", "0.5"]),
    ] {
        let finished = run(&mut workload.command(arguments)?, LIMIT)?.succeeded()?;
        for (name, account) in accounts(&finished)? {
            ensure!(
                account.blocked() > -0.01 && account.run > 0.0,
                "{workload:?}: {name}: {account:?}"
            );
        }
    }
    run(&mut Workload::Blocked.command(&["0.5", "10"])?, LIMIT)?.succeeded()?;
    run(&mut Workload::Syscalls.command(&["1000", "0"])?, LIMIT)?.succeeded()?;
    // Not every file system takes direct I/O: that is said, not hidden.
    let folder = tempfile::tempdir()?;
    let file = folder.path().join("file");
    let arguments = [&*file.to_string_lossy(), "100", "0"];
    let direct = run(&mut Workload::DirectIo.command(&arguments)?, LIMIT)?;
    ensure!(
        direct.code() == Some(0) || direct.stderr.contains("Invalid argument"),
        "{}",
        direct.stderr
    );
    Ok(())
}

fn other_workloads() -> Result<()> {
    for workload in [
        Workload::Rust,
        Workload::RustLocks,
        Workload::Go,
        Workload::GoStripped,
    ] {
        run(&mut workload.command(&["0.1"])?, LIMIT)?.succeeded()?;
    }
    let stripped = fs::metadata(Workload::GoStripped.build()?)?.len();
    let whole = fs::metadata(Workload::Go.build()?)?.len();
    ensure!(
        stripped < whole,
        "{stripped} bytes stripped, {whole} with symbols"
    );
    Ok(())
}

/// Ports and files stay the same over a kill, and a stop in good order ends with 0.
fn collector() -> Result<()> {
    let mut collector = Collector::start()?;
    let listed = run(Command::new("cat").arg(collector.json_file()), LIMIT)?;
    ensure!(
        listed.stdout.is_empty(),
        "it received something: {}",
        listed.stdout
    );
    collector.kill()?;
    collector.restart()?;
    collector.stop()
}

//! Runs tests one after the other and counts what was skipped.
//!
//! The standard harness can't skip at run time, and a test that quietly returns counts as passed. Here
//! a test whose needs aren't met, or that ends with [`Skip`], prints `SKIPPED`, is counted as ignored in
//! the closing line and is written to the file named by `EVENKEEL_TEST_SKIPS`. With `CI=true` or
//! `EVENKEEL_TEST_NO_SKIP=1` it fails instead.

use std::{
    fs::{File, OpenOptions, TryLockError},
    io::Write as _,
    process::ExitCode,
    thread,
    time::{Duration, Instant},
};

use anyhow::Result;
use libtest_mimic::{Arguments, Completion, Failed, Trial};

use crate::needs::{Need, first_lacking};

/// When a test is run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tier {
    /// By every `tests/run`.
    Default,
    /// By `tests/run --all` only (`EVENKEEL_TEST_TIER=all`): minutes long.
    All,
}

/// One end-to-end test.
#[derive(Clone, Copy, Debug)]
pub struct Test {
    /// Name, unique in its file.
    pub name: &'static str,
    /// What it can't do without.
    pub needs: &'static [Need],
    /// When it is run.
    pub tier: Tier,
    /// The test. It fails with any error but [`Skip`].
    pub run: fn() -> Result<()>,
}

impl Test {
    /// A test of the default tier.
    pub const fn new(name: &'static str, needs: &'static [Need], run: fn() -> Result<()>) -> Self {
        Self {
            name,
            needs,
            tier: Tier::Default,
            run,
        }
    }

    /// The same test, left to `tests/run --all`.
    pub const fn only_in_all(mut self) -> Self {
        self.tier = Tier::All;
        self
    }
}

/// The error by which a running test says that it can't be carried out here.
#[derive(Debug)]
pub struct Skip(
    /// Why, in a few words.
    pub String,
);

impl std::fmt::Display for Skip {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str(&self.0)
    }
}

impl std::error::Error for Skip {}

/// Longest wait for another run: three times what a whole run takes.
const TURN_LIMIT: Duration = Duration::from_secs(15 * 60);

/// Two runs on one machine would measure each other's load, so the second waits for its turn. The lock is
/// gone with the file's handle; `None` after the longest wait or where there is no place for the file.
fn wait_for_turn() -> Option<File> {
    let path = std::env::temp_dir().join("evenkeel-end-to-end.lock");
    let file = OpenOptions::new()
        .create(true)
        .append(true)
        .open(path)
        .ok()?;
    let start = Instant::now();
    loop {
        match file.try_lock() {
            Ok(()) => return Some(file),
            Err(TryLockError::WouldBlock) if start.elapsed() < TURN_LIMIT => {
                thread::sleep(Duration::from_secs(1));
            }
            Err(_) => return None,
        }
    }
}

/// Runs `tests` as the command line says. For `main` of a test file.
pub fn run(tests: &[Test]) -> ExitCode {
    let mut arguments = Arguments::from_args();
    // Timings of one test must not be the load of another.
    arguments.test_threads = Some(1);
    let all = std::env::var("EVENKEEL_TEST_TIER").is_ok_and(|tier| tier == "all");
    let mut trials = Vec::new();
    for test in tests {
        if test.tier == Tier::All && !all {
            if !arguments.list {
                println!("left to `tests/run --all`: {}", test.name);
            }
            continue;
        }
        let test = *test;
        trials.push(Trial::ignorable_test(test.name, move || conclude(&test)));
    }
    let _turn = (!arguments.list).then(wait_for_turn);
    libtest_mimic::run(&arguments, trials).exit_code()
}

fn conclude(test: &Test) -> Result<Completion, Failed> {
    // Ends the line that the harness began, so that what a test prints is legible.
    println!();
    if let Some(reason) = first_lacking(test.needs) {
        return skip(test.name, &reason);
    }
    let start = Instant::now();
    let result = (test.run)();
    println!("{}: {:.1} s", test.name, start.elapsed().as_secs_f64());
    match result {
        Ok(()) => Ok(Completion::Completed),
        Err(error) => match error.downcast_ref::<Skip>() {
            Some(Skip(reason)) => skip(test.name, reason),
            None => Err(Failed::from(format!("{error:#}"))),
        },
    }
}

fn skip(name: &str, reason: &str) -> Result<Completion, Failed> {
    println!("SKIPPED: {name}: {reason}");
    if skips_are_failures() {
        return Err(Failed::from(format!(
            "skipped, which CI doesn't accept: {reason}"
        )));
    }
    if let Some(path) = std::env::var_os("EVENKEEL_TEST_SKIPS") {
        let written = OpenOptions::new()
            .create(true)
            .append(true)
            .open(&path)
            .and_then(|mut file| writeln!(file, "{name}\t{reason}"));
        if let Err(error) = written {
            return Err(Failed::from(format!("the skip can't be recorded: {error}")));
        }
    }
    Ok(Completion::ignored_with(reason))
}

fn skips_are_failures() -> bool {
    let is = |name: &str, value: &str| std::env::var(name).is_ok_and(|seen| seen == value);
    is("CI", "true") || is("EVENKEEL_TEST_NO_SKIP", "1")
}

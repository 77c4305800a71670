//! The kernel programs on kernels that others run, with programs whose call chains are known.

use std::fmt::Write as _;

use anyhow::{Result, ensure};
use evenkeel_tests::{
    corpus::{self, Judgement},
    guest::{Guest, Kernel},
    needs::Need,
    suite::Test,
};

pub(crate) const TESTS: &[Test] = &[
    Test::new("other_kernels::stacks_are_whole_on_6_1", NEEDS, on_6_1),
    Test::new("other_kernels::stacks_are_whole_on_6_12", NEEDS, on_6_12).only_in_all(),
];

const NEEDS: &[Need] = &[
    Need::Program("qemu-system-x86_64"),
    Need::Program("busybox"),
    Need::Program("apt-get"),
    Need::Program("gcc"),
    Need::Program("g++"),
    Need::Program("rustc"),
    Need::Program("go"),
];

/// Each kind of rule and each language once.
const PROGRAMS: &[&str] = &[
    "ekc-o2",
    "ekc-static-pie",
    "ekc-frames",
    "ekc-altstack",
    "ekc-exceptions",
    "ekc-deep300",
    "ekc-rust-v0",
    "ekc-go-stripped",
];

/// Debian 12's own.
fn on_6_1() -> Result<()> {
    boot(Kernel("6.1"))
}

/// Debian 12's of the next stable release.
fn on_6_12() -> Result<()> {
    boot(Kernel("6.12"))
}

/// No more than 1 % of a program's stacks are another chain than its own, and at least 75 % are whole: what is
/// marked as cut comes from the time until the tables are read, which takes a second under emulation.
fn boot(kernel: Kernel) -> Result<()> {
    let programs = corpus::named(PROGRAMS)?;
    let mut script = String::new();
    let mut files = Vec::new();
    for pair in programs.chunks(2) {
        for program in pair {
            files.push(program.build()?);
            write!(script, "/programs/{} 6 & ", program.name)?;
        }
        script += "wait\n";
    }
    let (stacks, printed) = Guest::new(&files, &script)?.boot(kernel)?;
    let version = printed
        .lines()
        .find_map(|line| line.find(kernel.0).and_then(|at| line.get(at..)));
    println!("kernel: {}", version.unwrap_or("not the one asked for"));
    ensure!(version.is_some(), "another kernel was booted: {printed}");

    let mut failed = Vec::new();
    for program in &programs {
        let judgement = Judgement::of(program, &stacks)?;
        println!("{}: {judgement}", program.name);
        let different = judgement
            .rest
            .get(&corpus::Verdict::Different.to_string())
            .map_or(0, |(count, _)| *count);
        let is_good = judgement.reaches(75) && different * 100 <= judgement.samples;
        if judgement.samples < 100 || !is_good {
            failed.push(program.name);
        }
    }
    ensure!(failed.is_empty(), "not whole: {}", failed.join(", "));
    Ok(())
}

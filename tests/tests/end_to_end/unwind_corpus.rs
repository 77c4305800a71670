//! Stacks of programs whose call chains are known.

use std::time::Duration;

use anyhow::{Result, ensure};
use evenkeel_tests::{
    corpus::{self, Judgement, Program},
    evenkeel::Recording,
    needs::Need,
    perf::{Chains, Opinion},
    suite::Test,
};

pub(crate) const TESTS: &[Test] = &[
    Test::new(
        "unwind_corpus::every_program_has_its_whole_chain",
        NEEDS,
        whole,
    ),
    Test::new(
        "unwind_corpus::perf_proves_no_chain_wrong",
        NEEDS_PERF,
        compared,
    ),
];

const NEEDS: &[Need] = &[
    Need::Root,
    Need::Bpf,
    Need::Program("gcc"),
    Need::Program("g++"),
    Need::Program("musl-gcc"),
    Need::Program("objcopy"),
    Need::Program("rustc"),
    Need::Program("go"),
];

const NEEDS_PERF: &[Need] = &[
    Need::Root,
    Need::Bpf,
    Need::Program("gcc"),
    Need::Program("g++"),
    Need::Program("rustc"),
    Need::Program("perf"),
];

/// The programs that perf unwinds by the same tables: it has none for musl and for code without tables, takes a
/// minute for a deep stack, and a process of vfork has its parent's name.
const COMPARED: &[&str] = &[
    "ekc-o0",
    "ekc-o1",
    "ekc-o2",
    "ekc-o3",
    "ekc-static",
    "ekc-static-pie",
    "ekc-handler",
    "ekc-altstack",
    "ekc-noreturn",
    "ekc-tail",
    "ekc-longjmp",
    "ekc-thread",
    "ekc-frames",
    "ekc-frames-o0",
    "ekc-reads",
    "ekc-clock",
    "ekc-load",
    "ekc-lazy",
    "ekc-now",
    "ekc-exceptions",
    "ekc-templates",
    "ekc-rust-v0",
];

/// Each program runs for as long. A process is walked without tables for its first 20 to 40 ms, until they are
/// read: five seconds are enough for that to be less than 1 %.
const SECONDS: u32 = 5;

/// As many as the machine has CPUs at least, so that none waits for another.
const AT_ONCE: usize = 2;

/// Twice the usual rate, so that a hundredth is several samples.
const FREQUENCY: &str = "199";

/// Longest recording of all of them: three times what it takes.
const LIMIT: Duration = Duration::from_secs(400);

/// Smallest number of samples that can show a share of 99 %.
const MIN_SAMPLES: u64 = 100;

/// Smallest share of a program's samples, in percent, that are whole: some programs begin while the agent is
/// busy for 0.13 s, and the first samples of a process are cut until its tables are in place.
const LATE: u64 = 94;

/// At least 99 % of the samples of nine programs in ten are their whole expected chain, and 94 % of each one's; no
/// more than 1 % are anything but whole, or cut and marked.
fn whole() -> Result<()> {
    let programs = corpus::named(&[])?;
    let recording = record(&programs, SECONDS, "--lines")?;
    let stacks = recording.folded("on_cpu")?;
    let mut late = Vec::new();
    let mut failed = Vec::new();
    for program in &programs {
        let judgement = Judgement::of(program, &stacks)?;
        println!("{}: {judgement}", program.name);
        if judgement.samples < MIN_SAMPLES || !judgement.reaches(LATE) || judgement.others() > 1 {
            failed.push(program.name);
        } else if !judgement.reaches(99) {
            late.push(program.name);
        }
    }
    ensure!(failed.is_empty(), "wrong or cut: {}", failed.join(", "));
    ensure!(
        late.len() * 10 <= programs.len(),
        "fewer than 99 %: {}",
        late.join(", ")
    );
    Ok(())
}

/// Against `perf record --call-graph dwarf` of the same programs: no sample has a chain that perf has seen to be
/// another. A chain that perf hasn't seen at all is not wrong by that; it is printed.
fn compared() -> Result<()> {
    let programs = corpus::named(COMPARED)?;
    // Perf names what the linker names: no inlined functions.
    let recording = record(&programs, 2, "--no-lines")?;
    let script = corpus::script(&programs, AT_ONCE, recording.folder(), 2)?;
    let chains = Chains::record(&script, "499", recording.folder(), LIMIT)?;
    let stacks = recording.folded("on_cpu")?;
    let mut wrong = Vec::new();
    for program in &programs {
        let own = stacks.iter().filter(|stack| stack.process == program.name);
        let (mut agreed, mut not_seen) = (0, 0);
        for stack in own {
            match chains.opinion(stack) {
                Opinion::Compatible => agreed += stack.value,
                Opinion::NotSeen => not_seen += stack.value,
                Opinion::Wrong => wrong.push(format!(
                    "{}: {} {}",
                    program.name,
                    stack.value,
                    stack.frames.join(";")
                )),
            }
        }
        println!(
            "{}: {agreed} samples agree with one of {} chains, {not_seen} have none to compare",
            program.name,
            chains.count(program.name)
        );
        ensure!(agreed > 50, "{}: {agreed} samples compared", program.name);
    }
    ensure!(
        wrong.is_empty(),
        "perf has other chains than\n{}",
        wrong.join("\n")
    );
    Ok(())
}

fn record(programs: &[Program], seconds: u32, lines: &str) -> Result<Recording> {
    let mut recording = Recording::empty()?;
    let script = corpus::script(programs, AT_ONCE, recording.folder(), seconds)?;
    let mut command = recording.recorder_command(&[
        lines,
        "--frequency",
        FREQUENCY,
        "--",
        "sh",
        "-c",
        &script,
    ])?;
    recording.run(&mut command, LIMIT)?;
    Ok(recording)
}

//! Stacks of programs whose call chains are known.

use std::time::Duration;

use anyhow::{Result, ensure};
use evenkeel_tests::{
    corpus::{self, Judgement, Program},
    evenkeel::Recording,
    needs::Need,
    suite::Test,
};

pub(crate) const TESTS: &[Test] = &[Test::new(
    "unwind_corpus::every_program_has_its_whole_chain",
    NEEDS,
    whole,
)];

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

/// All programs share the CPUs for as long: on two of them, 40 programs have 400 samples each.
const SECONDS: u32 = 27;

/// Three times the usual rate, so that half a minute is enough for a share of 99 %.
const FREQUENCY: &str = "299";

/// Smallest number of samples that can show a share of 99 %.
const MIN_SAMPLES: u64 = 100;

/// At least 99 % of each program's samples are its whole expected chain.
fn whole() -> Result<()> {
    let programs = corpus::named(&[])?;
    let recording = record(&programs)?;
    let stacks = recording.folded("on_cpu")?;
    let mut failed = Vec::new();
    for program in &programs {
        let judgement = Judgement::of(program, &stacks)?;
        println!("{}: {judgement}", program.name);
        if judgement.samples < MIN_SAMPLES || !judgement.reaches(99) {
            failed.push(program.name);
        }
    }
    ensure!(failed.is_empty(), "fewer than 99 %: {}", failed.join(", "));
    Ok(())
}

fn record(programs: &[Program]) -> Result<Recording> {
    let mut recording = Recording::empty()?;
    let script = corpus::script(programs, recording.folder(), SECONDS)?;
    let mut command =
        recording.recorder_command(&["--frequency", FREQUENCY, "--", "sh", "-c", &script])?;
    recording.run(
        &mut command,
        Duration::from_secs(u64::from(SECONDS) * 3 + 30),
    )?;
    Ok(recording)
}

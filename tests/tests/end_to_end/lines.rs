//! Source lines of functions, on the host and later.

use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
    time::Duration,
};

use anyhow::{Context as _, Result, ensure};
use evenkeel_tests::{
    child::{Running, run},
    evenkeel::{Recording, report},
    folded::{Stack, parse, sum},
    needs::{Need, RECORDING},
    suite::Test,
    workload::{Workload, repository},
};

pub(crate) const TESTS: &[Test] = &[
    Test::new(
        "lines::a_recording_says_which_line_is_hot",
        RECORDING,
        by_line,
    ),
    Test::new(
        "lines::a_recording_is_named_from_debug_files_that_came_later",
        STRIPPING,
        later,
    ),
];

const STRIPPING: &[Need] = &[
    Need::Root,
    Need::Bpf,
    Need::Program("objcopy"),
    Need::Program("strip"),
];

const LIMIT: Duration = Duration::from_secs(60);

/// `report --by line` of a program with debug information begins with the hot line, and no option
/// was needed for it.
fn by_line() -> Result<()> {
    let recording = Recording::of(Workload::Spinner, &["5"])?;
    let text = recording.report(&["--by", "line"])?.stdout;
    ensure_sentence(&text)
}

/// `line 17 of .../workload.h: churn, 98.5 %`: the loop that the spinner spins in, which the compiler
/// put into `inner`, and a line of that loop.
fn ensure_sentence(text: &str) -> Result<()> {
    let sentence = text
        .lines()
        .find(|line| line.starts_with("  line ") && line.contains("workload.h: churn, "))
        .with_context(|| format!("no line of `churn` in {text}"))?;
    println!("{sentence}");
    let number: usize = sentence
        .split_whitespace()
        .nth(1)
        .and_then(|number| number.parse().ok())
        .context("a number")?;
    let source = fs::read_to_string(repository().join("examples/workloads/workload.h"))?;
    let in_churn = source
        .lines()
        .enumerate()
        .skip_while(|(_, line)| !line.contains(" churn("))
        .take_while(|(_, line)| *line != "}")
        .any(|(index, _)| index + 1 == number);
    ensure!(in_churn, "{sentence}: not a line of `churn`");
    Ok(())
}

/// A program without symbols, recorded where its debug file is not: its frames are addresses. With
/// the debug file at the report, function, file and line are there.
fn later() -> Result<()> {
    let recording = Recording::empty()?;
    let debug = recording.folder().join("debug");
    fs::create_dir(&debug)?;
    let name = "ek-stripped";
    let program = recording.folder().join(name);
    fs::copy(Workload::Spinner.build()?, &program)?;
    binutils(
        "objcopy",
        &["--only-keep-debug"],
        &program,
        Some(debug.join("any")),
    )?;
    binutils("strip", &[], &program, None)?;
    let running = Running::start(Command::new(&program).arg("60"))?;
    run(
        &mut recording.recorder_command(&["--duration", "5s"])?,
        LIMIT,
    )?
    .succeeded()?;
    drop(running);

    let debug = debug.to_str().context("a path in UTF-8")?;
    let filter = format!("process={name}");
    let stacks = |more: &[&str]| -> Result<Vec<Stack>> {
        let arguments = [&["--format", "folded", "--filter", &filter], more].concat();
        parse(&report(&recording.path(), &arguments)?.stdout)
    };
    let chain = |stack: &Stack| stack.has_chain(&["main", "outer", "inner"]);
    let before = stacks(&[])?;
    ensure!(sum(&before, chain) == 0, "names without a debug file");
    let after = stacks(&["--debug-dir", debug])?;
    let (named, whole) = (sum(&after, chain), sum(&after, |_| true));
    println!("{named} of {whole} samples in main;outer;inner");
    ensure!(
        whole > 100 && named * 100 >= whole * 95,
        "{named} of {whole}"
    );
    let arguments = ["--by", "line", "--filter", &filter, "--debug-dir", debug];
    ensure_sentence(&report(&recording.path(), &arguments)?.stdout)
}

fn binutils(
    program: &str,
    arguments: &[&str],
    input: &Path,
    output: Option<PathBuf>,
) -> Result<()> {
    run(
        Command::new(program)
            .args(arguments)
            .arg(input)
            .args(output),
        LIMIT,
    )?
    .succeeded()?;
    Ok(())
}

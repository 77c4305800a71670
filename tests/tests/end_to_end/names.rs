//! Names of functions and processes.

use std::{fs, process::Command, time::Duration};

use anyhow::{Context as _, Result, ensure};
use evenkeel_tests::{
    child::{Running, run},
    evenkeel::Recording,
    folded::{Stack, processes, sum},
    needs::{Need, RECORDING},
    received::Received,
    suite::Test,
    workload::Workload,
};

pub(crate) const TESTS: &[Test] = &[
    Test::new("names::rust_v0_is_demangled", RECORDING, rust),
    Test::new("names::go_functions_have_names", GO, go),
    Test::new("names::stripped_go_functions_have_names", GO, stripped_go),
    Test::new("names::go_and_c_call_each_other", GO, go_with_c),
    Test::new(
        "names::a_deleted_executable_keeps_its_names",
        RECORDING,
        deleted,
    ),
    Test::new(
        "names::a_replaced_executable_keeps_its_names",
        RECORDING,
        replaced,
    ),
    Test::new(
        "names::short_lived_processes_have_names",
        RECORDING,
        short_lived,
    ),
];

const GO: &[Need] = &[Need::Root, Need::Bpf, Need::Program("go")];

const LIMIT: Duration = Duration::from_secs(60);

/// Records `workload` for five seconds and gives its own stacks.
fn record(workload: Workload) -> Result<(Recording, Vec<Stack>)> {
    let recording = Recording::of(workload, &["5"])?;
    let mut stacks = recording.folded("on_cpu")?;
    println!("by process: {}", processes(&stacks));
    stacks.retain(|stack| stack.process == workload.name());
    ensure!(
        sum(&stacks, |_| true) > 100,
        "too few samples of {}",
        workload.name()
    );
    Ok((recording, stacks))
}

/// Fails unless at least `percent` of the samples satisfy `condition`.
fn ensure_share(
    what: &str,
    stacks: &[Stack],
    percent: u64,
    condition: impl Fn(&Stack) -> bool,
) -> Result<()> {
    let (part, whole) = (sum(stacks, condition), sum(stacks, |_| true));
    println!("{what}: {part} of {whole} samples");
    ensure!(
        part * 100 >= whole * percent,
        "{what}: {part} of {whole} samples, fewer than {percent} %; for example {:?}",
        stacks.iter().max_by_key(|stack| stack.value)
    );
    Ok(())
}

/// Whether a name ends in the `::h` and 16 hex digits of legacy Rust symbols.
fn has_hash(name: &str) -> bool {
    name.rsplit_once("::h")
        .is_some_and(|(_, hash)| hash.len() == 16 && hash.chars().all(|c| c.is_ascii_hexdigit()))
}

/// v0 symbols appear as paths, generic arguments spelt out; nothing mangled and no hash is left.
fn rust() -> Result<()> {
    let (_recording, stacks) = record(Workload::Rust)?;
    let function = |stack: &Stack| stack.has_frame(|frame| frame == "hot_crate::module::hot_rust");
    let method = |stack: &Stack| {
        stack.has_frame(|frame| frame == "<hot_crate::module::Mixer<u32>>::hot_method")
    };
    ensure_share("in hot_rust or hot_method", &stacks, 95, |stack| {
        function(stack) || method(stack)
    })?;
    ensure_share("in hot_rust", &stacks, 20, function)?;
    ensure_share("in hot_method", &stacks, 20, method)?;
    ensure_share("under main", &stacks, 95, |stack| {
        stack.has_frame(|frame| frame == "hot_crate::main")
    })?;
    for frame in stacks.iter().flat_map(|stack| &stack.frames) {
        ensure!(
            !frame.starts_with("_R") && !frame.starts_with("_ZN"),
            "mangled: {frame}"
        );
        ensure!(!has_hash(frame), "a hash is left: {frame}");
    }
    Ok(())
}

/// Go with symbols: the hot function under its caller. A Go function that calls nothing has no frame of its
/// own, and frame pointers would lead past `main.main`.
fn go() -> Result<()> {
    ensure_go(Workload::Go)
}

/// Go without symbols: its own tables have the names, and no frame is a bare address.
fn stripped_go() -> Result<()> {
    ensure_go(Workload::GoStripped)
}

/// C under the Go code that called it, and Go under the C code that called that: each call is on another
/// stack.
fn go_with_c() -> Result<()> {
    const TO_C: [&str; 3] = [
        "main._Cfunc_turnInC",
        "runtime.cgocall",
        "runtime.asmcgocall",
    ];
    let (_recording, mut stacks) = record(Workload::GoWithC)?;
    stacks.retain(|stack| stack.has_frame(|frame| frame == "turnInC" || frame == "main.turnInGo"));
    ensure_share(
        "the hot functions under runtime.main",
        &stacks,
        90,
        |stack| {
            let is_at = |name: &str| stack.frames.iter().position(|frame| frame == name);
            let from_go = stack.has_chain(&TO_C) && is_at("turnInC").is_some();
            let back = is_at("runtime.asmcgocall").zip(is_at("runtime.cgocallback"));
            let from_c = back.is_some_and(|(there, back)| there < back);
            stack.has_chain(&["runtime.goexit", "runtime.main", "main.main"]) && (from_go || from_c)
        },
    )
}

fn ensure_go(workload: Workload) -> Result<()> {
    let (_recording, stacks) = record(workload)?;
    ensure_share("main.hotGo under main.main", &stacks, 95, |stack| {
        stack.has_chain(&["runtime.main", "main.main", "main.hotGo"])
    })?;
    for frame in stacks.iter().flat_map(|stack| &stack.frames) {
        ensure!(!frame.contains("0x"), "an address: {frame}");
    }
    Ok(())
}

/// A copy of the spinner under another name, running.
fn copied_spinner(recording: &Recording, name: &str) -> Result<Running> {
    let copy = recording.folder().join(name);
    fs::copy(Workload::Spinner.build()?, &copy)?;
    Running::start(Command::new(copy).arg("60"))
}

/// Records for five seconds into a fresh recording's file.
fn record_node(recording: &Recording) -> Result<Vec<Stack>> {
    run(
        &mut recording.recorder_command(&["--duration", "5s"])?,
        LIMIT,
    )?
    .succeeded()?;
    let stacks = recording.folded("on_cpu")?;
    println!("by process: {}", processes(&stacks));
    Ok(stacks)
}

fn ensure_spinner_chain(stacks: &[Stack], name: &str) -> Result<()> {
    let own: Vec<Stack> = stacks
        .iter()
        .filter(|stack| stack.process == name)
        .cloned()
        .collect();
    ensure!(sum(&own, |_| true) > 100, "too few samples of {name}");
    ensure_share("in main;outer;inner", &own, 99, |stack| {
        stack.has_chain(&["main", "outer", "inner"])
    })
}

/// The mapped file is what is read, though its name is gone; ` (deleted)` is no part of the process's name.
fn deleted() -> Result<()> {
    let recording = Recording::empty()?;
    let _spinner = copied_spinner(&recording, "ek-deleted")?;
    fs::remove_file(recording.folder().join("ek-deleted"))?;
    ensure_spinner_chain(&record_node(&recording)?, "ek-deleted")
}

/// The mapped file is what is read, though another program has its name by now.
fn replaced() -> Result<()> {
    let recording = Recording::empty()?;
    let _spinner = copied_spinner(&recording, "ek-replaced")?;
    let other = recording.folder().join("other");
    fs::copy(Workload::Recursion.build()?, &other)?;
    fs::rename(&other, recording.folder().join("ek-replaced"))?;
    let stacks = record_node(&recording)?;
    ensure_spinner_chain(&stacks, "ek-replaced")?;
    let wrong = sum(&stacks, |stack| {
        stack.process == "ek-replaced" && stack.has_frame(|frame| frame == "descend")
    });
    ensure!(
        wrong == 0,
        "{wrong} samples have names of the file that took its place"
    );
    Ok(())
}

/// Children that the loop below starts, each for 30 ms of CPU time.
const CHILDREN: usize = 400;

/// 400 processes of 30 ms each: their samples are the CPU time that the shell says its children took, within
/// 10 %, and at least 90 % of the tree's samples have an executable and a service.
fn short_lived() -> Result<()> {
    let program = Workload::Spinner.build()?;
    let script = format!(
        "i=0; while [ $i -lt {CHILDREN} ]; do '{}' 0.03 >/dev/null; i=$((i+1)); done; times",
        program.display()
    );
    let recording = Recording::make(&["--", "sh", "-c", &script], Duration::from_secs(120))?;
    let recorder = recording.recorder.as_ref().context("the recorder")?;
    let children = children_seconds(&recorder.stdout)?;

    let stacks = recording.folded("on_cpu")?;
    println!("by process: {}", processes(&stacks));
    #[expect(
        clippy::cast_precision_loss,
        reason = "sample counts are far below 2^53"
    )]
    let seen = sum(&stacks, |stack| stack.process == Workload::Spinner.name()) as f64 / 99.0;
    println!("the children: {seen:.2} s, the shell says {children:.2} s");
    ensure!(
        (seen - children).abs() <= children * 0.1,
        "{seen:.2} s of the children are in the profile, the shell says {children:.2} s"
    );

    let (mut named, mut whole) = (0, 0);
    Received::from_recording(&recording)?.each_sample("samples", |sample| {
        if sample.in_command_tree {
            whole += sample.value;
            if sample.has_executable_and_service() {
                named += sample.value;
            }
        }
    });
    println!("{named} of {whole} samples of the command's tree have an executable and a service");
    ensure!(
        whole > 300,
        "only {whole} samples are marked as the command's"
    );
    ensure!(
        named * 100 >= whole * 90,
        "{named} of {whole} samples have an executable and a service"
    );
    Ok(())
}

/// The second line of the shell's `times`: user and system time of its children, as `0m1.23s`.
fn children_seconds(output: &str) -> Result<f64> {
    let line = output
        .lines()
        .rev()
        .find(|line| {
            line.split_whitespace()
                .all(|word| word.ends_with('s') && word.contains('m'))
        })
        .context("no output of `times`")?;
    line.split_whitespace()
        .map(|word| {
            let (minutes, seconds) = word
                .trim_end_matches('s')
                .split_once('m')
                .context("minutes")?;
            Ok(minutes.parse::<f64>()? * 60.0 + seconds.parse::<f64>()?)
        })
        .sum()
}

//! More large programs than there is room for.

use std::{
    fs::{self, OpenOptions},
    io::Write as _,
    path::Path,
    process::Command,
    time::Duration,
};

use anyhow::{Context as _, Result, ensure};
use evenkeel_semconv::{
    attribute::{EVENKEEL_UNWIND_REFUSAL, value::evenkeel_unwind_refusal::EVICTED},
    metric::{
        EVENKEEL_MAP_MEMORY_USAGE, EVENKEEL_UNWIND_REFUSALS, EVENKEEL_UNWIND_TABLE_LIMIT,
        EVENKEEL_UNWIND_TABLE_USAGE,
    },
};
use evenkeel_tests::{
    child::{Running, run, wait_until},
    evenkeel::Recording,
    folded::sum,
    needs::Need,
    procfs::resident_bytes,
    received::Received,
    suite::Test,
};
use rustix::process::Signal;

pub(crate) const TESTS: &[Test] = &[
    Test::new("many_binaries::six_fit_in_turn", NEEDS, six),
    Test::new("many_binaries::sixty_fit_in_turn", NEEDS, sixty).only_in_all(),
];

const NEEDS: &[Need] = &[Need::Root, Need::Bpf, Need::Program("node")];

/// Largest memory of the recorder: four times what it has with one such program.
const RESIDENT: u64 = 600 << 20;

/// Largest memory of the kernel's maps: that of all of them when full.
const MAPS: f64 = 256.0 * 1024.0 * 1024.0;

/// What one copy does, by itself: two seconds, so that most of them are after its tables are read.
const SPIN: &str = "const end = Date.now() + 2000; while (Date.now() < end);";

fn six() -> Result<()> {
    in_turn(6)
}

fn sixty() -> Result<()> {
    in_turn(60)
}

/// Copies of Node, each a file of its own of 90 MB, that spin one after the other: memory stays within its bounds,
/// what makes room is counted, and each copy has whole stacks: what has ended makes room at once.
fn in_turn(copies: u32) -> Result<()> {
    let recording = Recording::empty()?;
    let mut recorder = Running::start(&mut recording.recorder_command(&[
        "--disable",
        "all",
        "--enable",
        "on_cpu",
        "--no-lines",
        "--duration",
        "20m",
    ])?)?;
    let path = recording.path();
    wait_until("the recording is there", Duration::from_secs(20), || {
        Ok(path.exists())
    })?;
    let mut most = 0;
    for number in 0..copies {
        let copy = recording.folder().join(format!("ek-node-{number}"));
        copy_of_node(&copy)?;
        let mut command = Command::new(&copy);
        run(command.args(["-e", SPIN]), Duration::from_secs(60))?.succeeded()?;
        fs::remove_file(&copy)?;
        most = most.max(resident_bytes(recorder.pid())?);
    }
    ensure!(recorder.is_running()?, "the recorder ended too early");
    recorder.signal(Signal::INT)?;
    recorder.finish(Duration::from_secs(120))?.succeeded()?;

    let stacks = recording.folded("on_cpu")?;
    let mut shares = Vec::new();
    for number in 0..copies {
        let name = format!("ek-node-{number}");
        let all = sum(&stacks, |stack| stack.process == name);
        let whole = sum(&stacks, |stack| {
            stack.process == name
                && stack
                    .frames
                    .first()
                    .is_some_and(|frame| frame != "[truncated]")
        });
        ensure!(all > 50, "{name}: only {all} samples");
        shares.push(whole * 100 / all);
    }
    let received = Received::from_recording(&recording)?;
    let maps = received.last_sum(&EVENKEEL_MAP_MEMORY_USAGE, &[])?;
    let usage = received.last_sum(&EVENKEEL_UNWIND_TABLE_USAGE, &[])?;
    let limit = received.last_sum(&EVENKEEL_UNWIND_TABLE_LIMIT, &[])?;
    let evicted = [(EVENKEEL_UNWIND_REFUSAL, EVICTED)];
    let evicted = received.last_sum(&EVENKEEL_UNWIND_REFUSALS, &evicted)?;
    println!(
        "{copies} copies: {shares:?} % of their stacks are whole; {} MiB at most, maps {:.0} MiB, \
         {usage} of {limit} rows, {evicted} made room",
        most >> 20,
        maps / 1_048_576.0,
    );
    ensure!(most < RESIDENT, "{most} bytes are resident");
    ensure!(maps < MAPS, "{maps} bytes of maps");
    ensure!(usage <= limit, "{usage} rows of {limit}");
    // Sixty don't fit; six do where a node has 8 GiB.
    ensure!(copies < 60 || evicted > 0.0, "nothing made room");
    ensure!(
        shares.iter().all(|share| *share >= 50),
        "a copy found no room"
    );
    Ok(())
}

/// A copy that no cache can take for another: one byte longer.
fn copy_of_node(copy: &Path) -> Result<()> {
    let path = std::env::var_os("PATH").context("PATH")?;
    let node = std::env::split_paths(&path)
        .map(|folder| folder.join("node"))
        .find(|path| path.is_file())
        .context("no node")?;
    fs::copy(node, copy)?;
    OpenOptions::new()
        .append(true)
        .open(copy)?
        .write_all(b"\n")?;
    Ok(())
}

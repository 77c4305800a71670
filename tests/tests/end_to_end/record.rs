//! `evenkeel record`: codes, interruptions, the command's tree.

mod command;

use std::{
    fs, thread,
    time::{Duration, Instant},
};

use anyhow::{Result, ensure};
use evenkeel_tests::{
    child::{Running, run, wait_until},
    evenkeel::Recording,
    needs::{Need, RECORDING},
    received::Received,
    suite::Test,
    workload::Workload,
};
use rustix::process::Signal;

pub(crate) const TESTS: &[Test] = &[
    Test::new(
        "record::the_exit_code_of_the_command_is_passed_on",
        RECORDING,
        exit_code,
    ),
    Test::new(
        "record::a_command_that_does_not_exist_is_an_error",
        RECORDING,
        no_command,
    ),
    Test::new(
        "record::a_signal_of_the_command_is_passed_on",
        RECORDING,
        command_signal,
    ),
    Test::new(
        "record::sigkill_leaves_a_file_that_report_reads",
        RECORDING,
        sigkill,
    ),
    Test::new("record::sigint_writes_the_last_window", RECORDING, sigint),
    Test::new(
        "record::only_the_tree_of_the_command_is_marked",
        RECORDING,
        command_tree,
    ),
    Test::new(
        "record::the_default_file_is_named_by_host_and_time",
        RECORDING,
        default_file,
    ),
    Test::new(
        "record::a_failed_start_leaves_files_as_they_are",
        RECORDING,
        failed_start,
    ),
    Test::new(
        "record::a_file_that_cannot_be_is_refused_at_once",
        RECORDING,
        impossible_file,
    ),
    Test::new(
        "record::a_command_outlives_the_recording",
        RECORDING,
        command::outlived,
    ),
    Test::new(
        "record::after_the_recording_signals_go_to_the_command",
        RECORDING,
        command::signals_after,
    ),
    Test::new(
        "record::a_full_disk_ends_the_recording_not_the_command",
        &[Need::Root, Need::Bpf, Need::Program("unshare")],
        command::full_disk,
    ),
    Test::new(
        "record::the_command_has_the_limits_of_the_caller",
        RECORDING,
        command::limits,
    ),
    Test::new(
        "record::the_shortest_command_leaves_a_window",
        RECORDING,
        command::shortest,
    ),
    Test::new(
        "record::ctrl_c_reaches_the_command_once",
        &[Need::Root, Need::Bpf, Need::Program("setsid")],
        command::ctrl_c,
    ),
    Test::new(
        "record::kill_on_a_terminal_is_passed_on",
        &[Need::Root, Need::Bpf, Need::Program("setsid")],
        command::kill_on_terminal,
    ),
];

const LIMIT: Duration = Duration::from_secs(60);

/// `record -- COMMAND` ends with the command's code and leaves a recording.
fn exit_code() -> Result<()> {
    for code in [0, 7] {
        let recording = Recording::empty()?;
        let script = format!("sleep 1; exit {code}");
        run(
            &mut recording.recorder_command(&["--", "sh", "-c", &script])?,
            LIMIT,
        )?
        .ended_with(code)?;
        recording.report(&["--format", "json"])?;
    }
    Ok(())
}

/// A command that can't be started is named, and the code isn't 0.
fn no_command() -> Result<()> {
    let recording = Recording::empty()?;
    let finished = run(
        &mut recording.recorder_command(&["--", "no-such-command-here"])?,
        LIMIT,
    )?;
    ensure!(
        finished.code().is_some_and(|code| code != 0),
        "{:?}",
        finished.status
    );
    ensure!(
        finished.stderr.contains("no-such-command-here"),
        "{}",
        finished.stderr
    );
    ensure!(!recording.path().exists(), "an empty recording is left");
    Ok(())
}

/// A command that a signal ended gives 128 and the signal's number, as in a shell.
fn command_signal() -> Result<()> {
    let recording = Recording::empty()?;
    run(
        &mut recording.recorder_command(&["--", "sh", "-c", "sleep 1; kill -TERM $$"])?,
        LIMIT,
    )?
    .ended_with(128 + 15)?;
    Ok(())
}

/// Starts to record windows of a second and waits until two whole ones are in the file.
fn start(recording: &Recording) -> Result<Running> {
    let mut command = recording.recorder_command(&["--window", "1s", "--duration", "60s"])?;
    let mut recorder = Running::start(&mut command)?;
    wait_until(
        "two windows are in the file",
        Duration::from_secs(30),
        || {
            ensure!(
                recorder.is_running()?,
                "record ended: {}",
                recorder.stderr_so_far()?
            );
            // A file without even its head is no recording yet.
            let windows = Received::from_recording(recording)
                .map_or(0, |received| received.windows("samples").len());
            Ok(windows >= 2)
        },
    )?;
    Ok(recorder)
}

/// Killed outright, the recorder leaves every window but the last.
fn sigkill() -> Result<()> {
    let _spinner = Workload::Spinner.start(&["60"])?;
    let recording = Recording::empty()?;
    let recorder = start(&recording)?;
    recorder.signal(Signal::KILL)?;
    recorder.finish(LIMIT)?;
    let received = Received::from_recording(&recording)?;
    let windows = received.windows("samples").len();
    ensure!(windows >= 2, "{windows} windows are left");
    received.check()?;
    let stacks = recording.folded("on_cpu")?;
    let name = Workload::Spinner.name();
    ensure!(
        stacks.iter().any(|stack| stack.process == name),
        "no stack of the spinner"
    );
    recording.report(&[])?;

    // A file cut anywhere in its last window is what a kill at another moment leaves.
    let bytes = fs::read(recording.path())?;
    fs::write(recording.path(), &bytes[..bytes.len() - 7])?;
    recording.report(&[])?;
    let left = Received::from_recording(&recording)?
        .windows("samples")
        .len();
    ensure!(
        left + 1 >= windows,
        "{left} of {windows} windows are left after a cut of 7 bytes"
    );
    Ok(())
}

/// Interrupted, the recorder ends by itself with 0 and has recorded up to the interrupt.
fn sigint() -> Result<()> {
    let _spinner = Workload::Spinner.start(&["60"])?;
    let recording = Recording::empty()?;
    let recorder = start(&recording)?;
    thread::sleep(Duration::from_millis(500));
    let interrupted = evenkeel_tests::procfs::unix_nanos();
    let asked = Instant::now();
    recorder.signal(Signal::INT)?;
    recorder.finish(LIMIT)?.succeeded()?;
    let took = asked.elapsed();
    ensure!(
        took < Duration::from_secs(10),
        "it took {:.1} s to stop",
        took.as_secs_f64()
    );
    let span = Received::from_recording(&recording)?.profiled_span("samples")?;
    let missing = interrupted.saturating_sub(span.end);
    ensure!(
        missing < 300_000_000,
        "the last {} ms before the interrupt are missing",
        missing / 1_000_000
    );
    Ok(())
}

/// Samples of the command and its children are marked, those of other processes are not.
fn command_tree() -> Result<()> {
    let _other = Workload::Recursion.start(&["10", "60"])?;
    let spinner = Workload::Spinner.build()?;
    let script = format!("'{}' 4; true", spinner.display());
    let recording = Recording::make(&["--", "sh", "-c", &script], LIMIT)?;
    let (mut own, mut unmarked, mut foreign) = (0, 0, 0);
    Received::from_recording(&recording)?.each_sample("samples", |sample| {
        if sample.process == Some(Workload::Spinner.name()) {
            own += sample.value;
            if !sample.in_command_tree {
                unmarked += sample.value;
            }
        } else if sample.in_command_tree && sample.process == Some(Workload::Recursion.name()) {
            foreign += sample.value;
        }
    });
    ensure!(own > 50, "only {own} samples of the command's child in 4 s");
    ensure!(
        unmarked == 0,
        "{unmarked} of {own} samples of the command's child are not marked"
    );
    ensure!(
        foreign == 0,
        "{foreign} samples of another process are marked as the command's"
    );
    Ok(())
}

/// Without `-o` the file is `evenkeel-HOST-TIME.otlp` in the current folder.
fn default_file() -> Result<()> {
    let folder = tempfile::tempdir()?;
    let mut command = evenkeel_tests::evenkeel::command(&["record", "--duration", "1s"])?;
    run(command.current_dir(folder.path()), LIMIT)?.succeeded()?;
    let names: Vec<String> = fs::read_dir(folder.path())?
        .map(|entry| Ok(entry?.file_name().to_string_lossy().into_owned()))
        .collect::<Result<_>>()?;
    let [name] = &names[..] else {
        anyhow::bail!("not one file: {names:?}");
    };
    ensure!(
        name.starts_with("evenkeel-") && name.ends_with(".otlp"),
        "{name}"
    );
    evenkeel_tests::evenkeel::report(&folder.path().join(name), &[])?;
    Ok(())
}

/// Neither a capture nor a command that can't be started changes a file that was there, and none is made.
fn failed_start() -> Result<()> {
    let recording = Recording::empty()?;
    let object = recording.folder().join("object");
    fs::write(&object, "no kernel object")?;
    for there in [false, true] {
        if there {
            fs::write(recording.path(), "precious")?;
        }
        let mut no_capture = recording.recorder_command(&["--duration", "1s"])?;
        no_capture.env("EVENKEEL_BPF_OBJECT", &object);
        let no_command = recording.recorder_command(&["--", "no-such-command-here"])?;
        for mut command in [no_capture, no_command] {
            run(&mut command, LIMIT)?.ended_with(1)?;
            let left = fs::read(recording.path()).ok();
            let expected = there.then(|| b"precious".to_vec());
            ensure!(left == expected, "after {command:?}: {left:?}");
        }
    }
    Ok(())
}

/// A typo in the file's name is said before anything is attached or run.
fn impossible_file() -> Result<()> {
    let recording = Recording::empty()?;
    let marker = recording.folder().join("ran");
    let path = recording.folder().join("no-such-folder/x.otlp");
    let mut command = evenkeel_tests::evenkeel::command(&["record", "-o"])?;
    command.arg(&path).args(["--", "touch"]).arg(&marker);
    let finished = run(&mut command, LIMIT)?.ended_with(1)?;
    ensure!(
        finished.stderr.contains("no-such-folder/x.otlp"),
        "{}",
        finished.stderr
    );
    ensure!(!marker.exists(), "the command ran");
    ensure!(
        finished.elapsed < Duration::from_secs(1),
        "it took {:.1} s",
        finished.elapsed.as_secs_f64()
    );
    Ok(())
}

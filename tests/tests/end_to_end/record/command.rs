//! `evenkeel record -- COMMAND`: what becomes of the command, whatever becomes of the recording.

use std::{
    fs, fs::File, io::Write as _, os::unix::fs::FileTypeExt as _, process::Command, thread,
    time::Duration,
};

use anyhow::{Context as _, Result, ensure};
use evenkeel_tests::{
    child::{Finished, Running, run, wait_until},
    evenkeel::Recording,
    suite::Skip,
};
use rustix::{
    process::{Pid, Signal, kill_process},
    pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt},
};

use super::LIMIT;

/// Waits until the recorder has said what its file holds.
fn wait_for_summary(recorder: &mut Running) -> Result<()> {
    wait_until("the summary", Duration::from_secs(30), || {
        ensure!(
            recorder.is_running()?,
            "record ended: {}",
            recorder.stderr_so_far()?
        );
        Ok(recorder.stderr_so_far()?.contains("Next: evenkeel report"))
    })
}

/// How many descriptors of kernel programs and of timers a process has.
fn probes(pid: u32) -> Result<usize> {
    let mut probes = 0;
    for entry in fs::read_dir(format!("/proc/{pid}/fd"))? {
        let target = fs::read_link(entry?.path()).unwrap_or_default();
        let target = target.to_string_lossy();
        probes += usize::from(target.contains("bpf") || target.contains("perf_event"));
    }
    Ok(probes)
}

/// When the time is over, the recording is finished and nothing of it stays in the kernel; the command
/// runs on and its code counts.
pub(super) fn outlived() -> Result<()> {
    let recording = Recording::empty()?;
    let mut command =
        recording.recorder_command(&["--duration", "2s", "--", "sh", "-c", "sleep 8; exit 3"])?;
    let mut recorder = Running::start(&mut command)?;
    let pid = recorder.pid();
    wait_until("probes are attached", Duration::from_secs(30), || {
        Ok(probes(pid)? > 0)
    })?;
    wait_for_summary(&mut recorder)?;
    wait_until("no probe is left", Duration::from_secs(3), || {
        Ok(probes(pid)? == 0)
    })?;
    recording.report(&[])?;
    ensure!(recorder.is_running()?, "it did not wait for the command");
    recorder.finish(LIMIT)?.ended_with(3)?;
    Ok(())
}

/// A script that exits with the number of times that it was sent a signal, within two seconds of it. Its
/// `sleep` in the background is deaf to SIGINT, so that only the shell is counted.
fn counting(signal: &str) -> String {
    format!(
        "n=0; trap 'n=$((n+1))' {signal}; echo ready; sleep 10 & \
         wait; sleep 1 & p=$!; while kill -0 $p; do wait $p; done; exit $n"
    )
}

/// The first signal is passed on and the command decides; the second one doesn't wait for it.
pub(super) fn signals_after() -> Result<()> {
    let recording = Recording::empty()?;
    for (script, signals, code) in [
        (counting("TERM"), 1, 1),
        ("trap '' TERM; sleep 5".to_owned(), 2, 128 + 15),
    ] {
        let mut command =
            recording.recorder_command(&["--duration", "1s", "--", "sh", "-c", &script])?;
        let mut recorder = Running::start(&mut command)?;
        wait_for_summary(&mut recorder)?;
        for _ in 0..signals {
            ensure!(recorder.is_running()?, "the first signal ended it");
            recorder.signal(Signal::TERM)?;
            thread::sleep(Duration::from_millis(300));
        }
        recorder.finish(Duration::from_secs(10))?.ended_with(code)?;
    }
    Ok(())
}

/// When the disk is full the windows before are kept, the command runs to its end, and its code is passed
/// on unless it hides the failure. A device is neither removed nor replaced.
pub(super) fn full_disk() -> Result<()> {
    for (code, ours) in [(0, 1), (9, 9)] {
        let recording = Recording::empty()?;
        let marker = recording.folder().join("ran");
        let script = format!("sleep 1; touch '{}'; exit {code}", marker.display());
        let mut command = evenkeel_tests::evenkeel::command(&["record", "-o", "/dev/full"])?;
        run(command.args(["--", "sh", "-c", &script]), LIMIT)?.ended_with(ours)?;
        ensure!(marker.exists(), "the command did not run to its end");
        ensure!(
            fs::metadata("/dev/full")?.file_type().is_char_device(),
            "/dev/full is gone"
        );
    }

    // A file system of 32 KiB that only this command sees.
    let recording = Recording::empty()?;
    let disk = recording.folder().join("disk");
    fs::create_dir(&disk)?;
    let copy = recording.folder().join("copy.otlp");
    let evenkeel = evenkeel_tests::evenkeel::binary()?;
    let script = format!(
        "mount -t tmpfs -o size=32k none '{disk}' || exit 99
         '{evenkeel}' record --window 1s -o '{disk}/x.otlp' -- sh -c 'sleep 15; echo ended'
         code=$?
         cp '{disk}/x.otlp' '{copy}'
         exit $code",
        disk = disk.display(),
        evenkeel = evenkeel.display(),
        copy = copy.display(),
    );
    let mut command = Command::new("unshare");
    command.args(["--mount", "sh", "-c", &script]);
    let finished = run(&mut command, LIMIT)?;
    if finished.code() == Some(99) {
        return Err(Skip("a tmpfs can't be mounted".to_owned()).into());
    }
    let finished = finished.ended_with(1)?;
    ensure!(finished.stdout == "ended\n", "{}", finished.stdout);
    ensure!(
        finished.stderr.contains("cannot write window"),
        "{}",
        finished.stderr
    );
    evenkeel_tests::evenkeel::report(&copy, &[])?;
    let bytes = fs::metadata(&copy)?.len();
    ensure!(bytes > 4096, "only {bytes} bytes are kept");
    Ok(())
}

/// The recorder raises limits for itself, not for the command.
pub(super) fn limits() -> Result<()> {
    let recording = Recording::empty()?;
    let show = "ulimit -S -n; ulimit -H -n; ulimit -S -l; ulimit -H -l";
    let lowered = |then: &str| {
        let mut command = Command::new("sh");
        let script = format!("ulimit -S -n 300; ulimit -S -l 64; {then}");
        command.args(["-c", &script, "sh"]);
        command
    };
    let plain = run(&mut lowered(show), LIMIT)?.succeeded()?;
    ensure!(plain.stdout.starts_with("300\n"), "{}", plain.stdout);
    let mut recorded = lowered("exec \"$@\"");
    recorded.arg(evenkeel_tests::evenkeel::binary()?);
    recorded.args(["record", "-o"]).arg(recording.path());
    recorded.args(["--", "sh", "-c", show]);
    let recorded = run(&mut recorded, LIMIT)?.succeeded()?;
    ensure!(
        recorded.stdout == plain.stdout,
        "{:?} recorded, {:?} without",
        recorded.stdout,
        plain.stdout
    );
    Ok(())
}

/// A command that ends at once leaves a recording with a window all the same.
pub(super) fn shortest() -> Result<()> {
    let recording = Recording::make(&["--", "true"], LIMIT)?;
    let summary = recording.recorder.as_ref().map_or("", |end| &end.stderr);
    ensure!(summary.contains(" in 1 windows"), "{summary}");
    recording.report(&[])?;
    Ok(())
}

/// Records a command that counts its SIGINTs in a session of its own with a terminal of its own, in whose
/// foreground group both are, whatever `standard_input` is. `interrupt` is given the recorder's process id
/// and the terminal; how it all ended comes back.
fn on_terminal(
    standard_input: &str,
    interrupt: impl FnOnce(Pid, &mut File) -> Result<()>,
) -> Result<Finished> {
    let recording = Recording::empty()?;
    let terminal = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY)?;
    grantpt(&terminal)?;
    unlockpt(&terminal)?;
    let name = ptsname(&terminal, Vec::new())?.into_string()?;
    let pid_file = recording.folder().join("pid");
    let ready = recording.folder().join("ready");
    // The first shell leaves its place to `setsid`, the second one to `evenkeel`.
    let outer = "exec setsid --ctty --wait sh -c \
                 'echo $$ >\"$PID_FILE\"; exec \"$@\" <\"$INPUT\"' sh \"$@\" <>\"$TERMINAL\"";
    let mut command = Command::new("sh");
    command.args(["-c", outer, "sh"]);
    command.env("TERMINAL", name).env("INPUT", standard_input);
    command.env("PID_FILE", &pid_file);
    command.arg(evenkeel_tests::evenkeel::binary()?);
    command.args(["record", "-o"]).arg(recording.path());
    let script = format!("exec >'{}'; {}", ready.display(), counting("INT"));
    command.args(["--", "sh", "-c", &script]);
    let running = Running::start(&mut command)?;
    wait_until("the command runs", Duration::from_secs(30), || {
        Ok(fs::read_to_string(&ready).is_ok_and(|text| text == "ready\n"))
    })?;
    let pid = fs::read_to_string(&pid_file)?.trim().parse()?;
    let pid = Pid::from_raw(pid).context("a process id")?;
    // The shell says that it is ready before it waits.
    thread::sleep(Duration::from_millis(200));
    let mut terminal = File::from(terminal);
    interrupt(pid, &mut terminal)?;
    running.finish(Duration::from_secs(20))
}

/// The terminal signals the command itself.
pub(super) fn ctrl_c() -> Result<()> {
    on_terminal("/dev/null", |_, terminal| Ok(terminal.write_all(&[3])?))?.ended_with(1)?;
    Ok(())
}

/// `kill -INT` signals the recorder only, whatever terminal it is on.
pub(super) fn kill_on_terminal() -> Result<()> {
    on_terminal("/dev/tty", |pid, _| Ok(kill_process(pid, Signal::INT)?))?.ended_with(1)?;
    Ok(())
}

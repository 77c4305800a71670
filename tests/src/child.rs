//! Child processes that can't hang a test, outlive it or fill a pipe.

use std::{
    fs::File,
    io::{Read as _, Seek as _},
    os::unix::process::{CommandExt as _, ExitStatusExt as _},
    process::{Child, Command, ExitStatus, Stdio},
    thread,
    time::{Duration, Instant},
};

use anyhow::{Context as _, Result, bail};
use rustix::process::{Pid, Signal, kill_process, kill_process_group};

/// How often a wait looks. Short against every duration that the tests measure.
const POLL: Duration = Duration::from_millis(5);

/// A running child in a process group of its own. When dropped, it and what it started in that group are
/// killed: a test that fails half-way must not leave load behind for the next one.
#[derive(Debug)]
pub struct Running {
    what: String,
    child: Child,
    reaped: bool,
    started: Instant,
    stdout: File,
    stderr: File,
}

/// A child that has ended.
#[derive(Debug)]
pub struct Finished {
    /// The command line, for messages.
    pub what: String,
    /// How it ended.
    pub status: ExitStatus,
    /// All of its standard output.
    pub stdout: String,
    /// All of its standard error.
    pub stderr: String,
    /// From start to end as seen here.
    pub elapsed: Duration,
}

impl Finished {
    /// The exit code; `None` after a signal.
    pub fn code(&self) -> Option<i32> {
        self.status.code()
    }

    /// Itself if it ended with 0, else an error that shows its standard error.
    pub fn succeeded(self) -> Result<Self> {
        self.ended_with(0)
    }

    /// Itself if it ended with `code`, else an error that shows its output.
    pub fn ended_with(self, code: i32) -> Result<Self> {
        if self.status.code() == Some(code) {
            return Ok(self);
        }
        let seen = match (self.status.code(), self.status.signal()) {
            (Some(code), _) => format!("exit {code}"),
            (None, Some(signal)) => format!("signal {signal}"),
            (None, None) => "neither exit code nor signal".to_owned(),
        };
        bail!(
            "`{}` ended with {seen} after {:.1} s, expected exit {code}\n--- stdout\n{}\n--- stderr\n{}",
            self.what,
            self.elapsed.as_secs_f64(),
            tail(&self.stdout),
            tail(&self.stderr),
        );
    }
}

/// The last 40 lines: enough to see why, short enough for a test log.
fn tail(text: &str) -> String {
    let lines: Vec<&str> = text.lines().collect();
    lines[lines.len().saturating_sub(40)..].join("\n")
}

impl Running {
    /// Starts `command` without standard input, its output going to unnamed files: a full pipe would stop
    /// the child and with it the measurement.
    pub fn start(command: &mut Command) -> Result<Self> {
        let what = format!("{command:?}");
        let stdout = tempfile::tempfile().context("a file for standard output")?;
        let stderr = tempfile::tempfile().context("a file for standard error")?;
        let child = command
            .stdin(Stdio::null())
            .stdout(stdout.try_clone()?)
            .stderr(stderr.try_clone()?)
            .process_group(0)
            .spawn()
            .with_context(|| format!("starting `{what}`"))?;
        Ok(Self {
            what,
            child,
            reaped: false,
            started: Instant::now(),
            stdout,
            stderr,
        })
    }

    /// The process id.
    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Sends a signal to the child.
    pub fn signal(&self, signal: Signal) -> Result<()> {
        let pid = self
            .raw_pid()
            .with_context(|| format!("pid of `{}`", self.what))?;
        kill_process(pid, signal).with_context(|| format!("signalling `{}`", self.what))
    }

    fn raw_pid(&self) -> Option<Pid> {
        Pid::from_raw(i32::try_from(self.child.id()).ok()?)
    }

    /// Whether it still runs.
    pub fn is_running(&mut self) -> Result<bool> {
        Ok(self.exit_status()?.is_none())
    }

    fn exit_status(&mut self) -> Result<Option<ExitStatus>> {
        let status = self.child.try_wait()?;
        self.reaped |= status.is_some();
        Ok(status)
    }

    /// What it has written to standard error so far.
    pub fn stderr_so_far(&mut self) -> Result<String> {
        read_back(&self.stderr)
    }

    /// What it has written to standard output so far.
    pub fn stdout_so_far(&mut self) -> Result<String> {
        read_back(&self.stdout)
    }

    /// Waits for its end, at most `limit`; a child that takes longer is killed and is an error.
    pub fn finish(mut self, limit: Duration) -> Result<Finished> {
        let deadline = Instant::now() + limit;
        let status = loop {
            if let Some(status) = self.exit_status()? {
                break status;
            }
            if Instant::now() >= deadline {
                bail!(
                    "`{}` still runs after {:.1} s (limit {:.1} s from here)\n--- stderr\n{}",
                    self.what,
                    self.started.elapsed().as_secs_f64(),
                    limit.as_secs_f64(),
                    tail(&read_back(&self.stderr)?),
                );
            }
            thread::sleep(POLL);
        };
        Ok(Finished {
            what: self.what.clone(),
            status,
            elapsed: self.started.elapsed(),
            stdout: read_back(&self.stdout)?,
            stderr: read_back(&self.stderr)?,
        })
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        // Errors mean that all of it has ended by itself, which is what is wanted. The group's number is not
        // reused as long as it has a member, and the child is one until it is waited for.
        if let Some(group) = self.raw_pid().filter(|_| !self.reaped) {
            let _ = kill_process_group(group, Signal::KILL);
        }
        let _ = self.child.wait();
    }
}

/// The file's whole text, read through a copy of the descriptor. The two share an offset, so it goes
/// back to the end, where the child writes next.
fn read_back(file: &File) -> Result<String> {
    let mut file = file.try_clone()?;
    let mut bytes = Vec::new();
    file.rewind()?;
    file.read_to_end(&mut bytes)?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

/// Runs `command` to its end within `limit`.
pub fn run(command: &mut Command, limit: Duration) -> Result<Finished> {
    Running::start(command)?.finish(limit)
}

/// Waits until `condition` holds, at most `limit`.
pub fn wait_until(
    what: &str,
    limit: Duration,
    mut condition: impl FnMut() -> Result<bool>,
) -> Result<()> {
    let deadline = Instant::now() + limit;
    while !condition()? {
        if Instant::now() >= deadline {
            bail!("{what}: not within {:.1} s", limit.as_secs_f64());
        }
        thread::sleep(POLL);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Exit code and both outputs come back.
    #[test]
    fn output_and_code_come_back() {
        let mut command = Command::new("sh");
        command.args(["-c", "echo out; echo err >&2; exit 7"]);
        let finished = run(&mut command, Duration::from_secs(10)).unwrap();
        assert_eq!(finished.code(), Some(7));
        assert_eq!(finished.stdout, "out\n");
        assert_eq!(finished.stderr, "err\n");
        assert!(finished.succeeded().is_err());
    }

    /// A child that runs on is an error within the limit, and is gone afterwards.
    #[test]
    fn a_child_that_runs_on_is_killed() {
        let child = Running::start(Command::new("sleep").arg("60")).unwrap();
        let pid = child.pid();
        let error = child.finish(Duration::from_millis(50)).unwrap_err();
        assert!(error.to_string().contains("still runs"), "{error}");
        assert!(!std::path::Path::new(&format!("/proc/{pid}")).exists());
    }

    /// What the child started goes with it.
    #[test]
    fn grandchildren_are_killed_too() {
        let mut command = Command::new("sh");
        command.args(["-c", "sleep 60 & echo $!; wait"]);
        let child = Running::start(&mut command).unwrap();
        let mut line = String::new();
        wait_until(
            "the shell has started its child",
            Duration::from_secs(10),
            || {
                line = read_back(&child.stdout)?;
                Ok(line.ends_with('\n'))
            },
        )
        .unwrap();
        drop(child);
        let state = || std::fs::read_to_string(format!("/proc/{}/stat", line.trim()));
        // It belongs to init now, which may take a moment to reap it.
        wait_until("the grandchild has ended", Duration::from_secs(10), || {
            Ok(!state().is_ok_and(|stat| !stat.contains(") Z ")))
        })
        .unwrap();
    }
}

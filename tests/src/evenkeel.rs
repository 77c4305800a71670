//! The binary under test.

use std::{
    path::{Path, PathBuf},
    process::Command,
    sync::OnceLock,
    time::Duration,
};

use anyhow::{Context as _, Result, bail, ensure};
use serde_json::Value;

use crate::{
    child::{Finished, run},
    folded::{self, Stack},
    workload::{Workload, repository, target_folder},
};

/// Longest release build on two cores, everything uncached: measured at 2 to 3 minutes when quiet.
const BUILD_LIMIT: Duration = Duration::from_secs(1500);

/// Longest that a report of a short recording may take.
const REPORT_LIMIT: Duration = Duration::from_secs(60);

/// Longest recording of a workload: they are given ten seconds or less, and may have to share their CPU.
const WORKLOAD_LIMIT: Duration = Duration::from_secs(90);

/// Settings of whoever runs the tests must not reach the binary under test.
const SCRUBBED: [&str; 2] = ["OTEL_", "EVENKEEL_"];

/// But this one: `tests/run` has it tested with a kernel object that was just built.
const KEPT: &str = "EVENKEEL_BPF_OBJECT";

/// The binary: `EVENKEEL_BIN`, or a release build made here.
pub fn binary() -> Result<&'static Path> {
    static BINARY: OnceLock<Result<PathBuf, String>> = OnceLock::new();
    match BINARY.get_or_init(|| find_or_build().map_err(|error| format!("{error:#}"))) {
        Ok(path) => Ok(path),
        Err(error) => bail!("no evenkeel binary: {error}"),
    }
}

fn find_or_build() -> Result<PathBuf> {
    if let Some(path) = std::env::var_os("EVENKEEL_BIN") {
        let path = PathBuf::from(path);
        ensure!(
            path.is_file(),
            "EVENKEEL_BIN: {} is not a file",
            path.display()
        );
        return Ok(path.canonicalize()?);
    }
    let mut command = Command::new("cargo");
    command.args(["build", "--release", "--locked", "-p", "evenkeel"]);
    run(command.current_dir(repository()), BUILD_LIMIT)?.succeeded()?;
    let target = target_folder()?;
    let target = target.parent().context("the target directory")?;
    Ok(target.join("release/evenkeel"))
}

/// `evenkeel ARGUMENTS`, in an environment without settings.
pub fn command(arguments: &[&str]) -> Result<Command> {
    let mut command = Command::new(binary()?);
    command.args(arguments);
    for (name, _) in std::env::vars_os() {
        let name = name.to_string_lossy();
        if name != KEPT && SCRUBBED.iter().any(|prefix| name.starts_with(prefix)) {
            command.env_remove(&*name);
        }
    }
    Ok(command)
}

/// A recording made by `evenkeel record`.
#[derive(Debug)]
pub struct Recording {
    /// Holds the file; gone with it.
    folder: tempfile::TempDir,
    /// How the recorder ended.
    pub recorder: Option<Finished>,
}

impl Recording {
    /// A place for a recording that a test makes by itself.
    pub fn empty() -> Result<Self> {
        Ok(Self {
            folder: tempfile::tempdir()?,
            recorder: None,
        })
    }

    /// `evenkeel record -o FILE ARGUMENTS`, to its end.
    pub fn make(arguments: &[&str], limit: Duration) -> Result<Self> {
        let mut recording = Self::empty()?;
        let mut command = recording.recorder_command(arguments)?;
        recording.run(&mut command, limit)?;
        Ok(recording)
    }

    /// Runs a command of [`recorder_command`](Self::recorder_command) to its end.
    pub fn run(&mut self, command: &mut Command, limit: Duration) -> Result<()> {
        self.recorder = Some(run(command, limit)?.succeeded()?);
        Ok(())
    }

    /// Records a workload for as long as it runs.
    pub fn of(workload: Workload, arguments: &[&str]) -> Result<Self> {
        let program = workload.build()?;
        let program = program.to_string_lossy();
        Self::make(&[&["--", &*program], arguments].concat(), WORKLOAD_LIMIT)
    }

    /// The command that records into this recording's file.
    pub fn recorder_command(&self, arguments: &[&str]) -> Result<Command> {
        let mut command = command(&["record", "-o"])?;
        command.arg(self.path()).args(arguments);
        Ok(command)
    }

    /// The file.
    pub fn path(&self) -> PathBuf {
        self.folder.path().join("recording.otlp")
    }

    /// The folder, for what else a test writes.
    pub fn folder(&self) -> &Path {
        self.folder.path()
    }

    /// `evenkeel report FILE ARGUMENTS`, which must succeed.
    pub fn report(&self, arguments: &[&str]) -> Result<Finished> {
        report(&self.path(), arguments)
    }

    /// The stacks of a profile.
    pub fn folded(&self, profile: &str) -> Result<Vec<Stack>> {
        let finished = self.report(&["--profile", profile, "--format", "folded"])?;
        folded::parse(&finished.stdout)
    }

    /// The report as JSON.
    pub fn json(&self) -> Result<Value> {
        let finished = self.report(&["--format", "json"])?;
        serde_json::from_str(&finished.stdout).context("the JSON report")
    }
}

/// `evenkeel report FILE ARGUMENTS`, which must succeed.
pub fn report(file: &Path, arguments: &[&str]) -> Result<Finished> {
    let mut command = command(&["report"])?;
    command.arg(file).args(arguments);
    run(&mut command, REPORT_LIMIT)?.succeeded()
}

//! How a command ends: its exit code and what it says on stderr.

use std::{
    io::{self, Write as _},
    process::ExitCode,
};

use super::log::Format;
use crate::{capture::CaptureError, kernel::requirements::Requirements, settings::Problems};

/// Done, or done with the exit code of the recorded command.
pub type Outcome = Result<u8, Failure>;

/// Why a command did not do what it was asked to.
#[derive(Debug)]
pub enum Failure {
    /// Bad usage or configuration: exit code 2.
    Usage(Problems),
    /// What is missing on this host, each with the remedy: exit code 1.
    Requirements(Requirements),
    /// Anything else: exit code 1.
    Failed(anyhow::Error),
}

impl<E: Into<anyhow::Error>> From<E> for Failure {
    fn from(error: E) -> Self {
        Self::Failed(error.into())
    }
}

impl Failure {
    /// A capture that did not start, explained by what the host lacks if it lacks anything.
    pub fn capture(error: CaptureError, requirements: Requirements) -> Self {
        if requirements.lacks().is_empty() {
            Self::Failed(error.into())
        } else {
            tracing::error!(%error, "The capture could not be started.");
            Self::Requirements(requirements)
        }
    }

    fn lines(&self) -> Vec<String> {
        match self {
            Self::Usage(problems) => problems
                .0
                .iter()
                .map(|problem| problem.text.clone())
                .collect(),
            Self::Requirements(requirements) => requirements
                .lacks()
                .iter()
                .map(|lack| format!("{}; lost: {} ({})", lack.what, lack.lost, lack.remedy))
                .collect(),
            Self::Failed(error) => vec![format!("{error:#}")],
        }
    }

    fn code(&self) -> u8 {
        match self {
            Self::Usage(_) => 2,
            Self::Requirements(_) | Self::Failed(_) => 1,
        }
    }
}

/// Whether an error says that nobody reads our output any more (`evenkeel report FILE | head`).
fn is_broken_pipe(error: &anyhow::Error) -> bool {
    error.chain().any(|cause| {
        cause
            .downcast_ref::<io::Error>()
            .is_some_and(|error| error.kind() == io::ErrorKind::BrokenPipe)
    })
}

/// Prints what went wrong and gives the exit code.
pub(super) fn exit_code(outcome: Outcome, format: Format) -> ExitCode {
    let failure = match outcome {
        Ok(code) => return ExitCode::from(code),
        Err(Failure::Failed(error)) if is_broken_pipe(&error) => return ExitCode::SUCCESS,
        Err(failure) => failure,
    };
    let mut stderr = io::stderr().lock();
    for line in failure.lines() {
        // Nobody is left to tell when stderr is closed.
        let _ = match format {
            Format::Text => writeln!(stderr, "evenkeel: {line}"),
            Format::Json => writeln!(
                stderr,
                "{}",
                serde_json::json!({ "level": "ERROR", "message": line, "exit_code": failure.code() })
            ),
        };
    }
    ExitCode::from(failure.code())
}

/// Prints what clap says: help on stdout, bad usage on stderr with exit code 2.
pub(super) fn usage(error: &clap::Error) -> ExitCode {
    let _ = error.print();
    if error.use_stderr() {
        ExitCode::from(2)
    } else {
        ExitCode::SUCCESS
    }
}

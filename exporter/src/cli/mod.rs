//! The command line: one file a subcommand.

mod agent;
mod capture_loop;
mod host_check;
mod inspect;
mod log;
mod manual;
mod outcome;
mod record;
#[cfg(feature = "analysis")]
mod report;
mod stop;
mod version;
mod walks;

use std::{ffi::OsString, process::ExitCode};

use clap::{Parser, Subcommand};

pub use self::outcome::{Failure, Outcome};

/// Node-wide profiler and kernel-latency agent that speaks OTLP.
#[derive(Debug, Parser)]
#[command(
    name = "evenkeel",
    version,
    disable_help_subcommand = true,
    arg_required_else_help = true,
    after_help = "Examples:\n  evenkeel record --duration 20s -o node.otlp\n  evenkeel report node.otlp --format html -o node.html\n  OTEL_EXPORTER_OTLP_ENDPOINT=http://collector:4318 evenkeel agent\n\nExit codes: 0 done, 1 it failed, 2 bad usage or configuration."
)]
struct Arguments {
    /// Least important messages shown: off, error, warn, info, debug or trace [env: OTEL_LOG_LEVEL]
    #[arg(long, global = true, value_name = "LEVEL")]
    log_level: Option<String>,
    /// Form of messages on stderr: text or json, one object a line [env: EVENKEEL_LOG_FORMAT]
    #[arg(long, global = true, value_name = "FORMAT")]
    log_format: Option<String>,
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Run until SIGTERM or SIGINT and export OTLP profiles and metrics
    Agent(agent::AgentArguments),
    /// Capture this node into one file
    Record(record::RecordArguments),
    /// Say what a recording holds
    #[cfg(feature = "analysis")]
    Report(report::ReportArguments),
    /// Say what is known of a process, an address or this host, as JSON
    #[command(subcommand)]
    Inspect(inspect::InspectCommand),
    /// Print version, kernel object and signals
    Version(version::VersionArguments),
    /// Print a completion script for a shell
    Completion(manual::CompletionArguments),
    /// Print the manual page
    Man,
}

/// Looks a variable up in the environment; a value that is not UTF-8 becomes one that its parser
/// refuses.
fn variable(name: &str) -> Option<String> {
    std::env::var_os(name).map(|value| value.to_string_lossy().into_owned())
}

/// Runs a command line.
pub fn run(arguments: impl IntoIterator<Item = OsString>) -> ExitCode {
    let arguments = match Arguments::try_parse_from(arguments) {
        Ok(arguments) => arguments,
        Err(error) => return outcome::usage(&error),
    };
    let mut problems = crate::settings::Problems::default();
    let format = log::start(
        arguments.log_level.as_deref(),
        arguments.log_format.as_deref(),
        &variable,
        &mut problems,
    );
    let outcome = match arguments.command {
        Command::Agent(agent) => agent::run(&agent, problems),
        Command::Record(record) => record::run(&record, problems),
        #[cfg(feature = "analysis")]
        Command::Report(report) => report::run(&report, problems),
        Command::Inspect(inspect) => inspect::run(&inspect, problems),
        Command::Version(version) => version::run(&version, problems),
        Command::Completion(completion) => manual::completion(&completion, problems),
        Command::Man => manual::page(problems),
    };
    outcome::exit_code(outcome, format)
}

//! `evenkeel record`: capture into one file.

mod command;
mod limits;
mod output;
mod recorder;

use std::{
    ffi::OsString,
    path::PathBuf,
    time::{Duration, Instant, SystemTime},
};

use crossbeam_channel::Receiver;
use evenkeel_otlp::model::Window;
use evenkeel_semconv::attribute;

use self::{command::RecordedCommand, limits::Limits, output::Output, recorder::Recorder};
use super::{
    capture_loop::{self, End, Sink as _},
    host_check,
    inspect::host,
    outcome::{Failure, Outcome},
    stop::{self, Message},
    variable,
};
use crate::{
    capture::Capture,
    identity::Roots,
    kernel::State,
    settings::{CaptureArguments, Detail, Problem, Problems, capture_options},
};

/// Arguments of `evenkeel record`.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Examples:\n  evenkeel record --duration 20s -o node.otlp\n  evenkeel record -o build.otlp -- make -j2\n  evenkeel report node.otlp\n\nWith a command, the whole node is recorded for as long as the command runs; reports show the\ncommand's processes first. Its exit code is passed on. --duration ends the recording, not the\ncommand."
)]
pub(super) struct RecordArguments {
    /// How long to record at most, such as 30s [default: 30s, or until the command ends]
    #[arg(long, value_name = "TIME")]
    duration: Option<String>,
    /// File to write [default: evenkeel-HOST-TIME.otlp]
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
    #[command(flatten)]
    capture: CaptureArguments,
    /// Command to run and record
    #[arg(last = true, value_name = "COMMAND")]
    command: Vec<OsString>,
}

const DEFAULT_DURATION: Duration = Duration::from_secs(30);

pub(super) fn run(arguments: &RecordArguments, mut problems: Problems) -> Outcome {
    // Before the capture raises them.
    let limits = Limits::current();
    let roots = Roots::from_environment(|name| std::env::var_os(name));
    let options = capture_options(&arguments.capture, Detail::Full, &variable, &mut problems);
    let duration = arguments.duration.as_ref().and_then(|text| {
        let duration = humantime::parse_duration(text).ok();
        let duration = duration.filter(|duration| !duration.is_zero());
        if duration.is_none() {
            problems
                .0
                .push(Problem::value("--duration", text, "a time such as 30s"));
        }
        duration
    });
    let host = host(&roots, &mut problems);
    problems.or(()).map_err(Failure::Usage)?;
    let path = arguments
        .output
        .clone()
        .unwrap_or_else(|| default_path(host.agent_attributes().value(attribute::HOST_NAME)));
    Output::check(&path)?;
    let requirements = host_check::check(&roots)?;

    let (sender, messages) = stop::listen()?;
    let mut capture = match Capture::start(options, &roots, host) {
        Ok(capture) => capture,
        Err(error) => return Err(Failure::capture(error, requirements)),
    };
    for (signal, state) in capture.signals() {
        if let State::Partial(reason) | State::Failed(reason) = state {
            tracing::warn!(%signal, reason, "A signal is not measured as it should be.");
        }
    }
    // What the kernel counts since boot needs a point to count from.
    let first = capture.reading();
    let output = Output::reserve(path)?;
    let Some(line) = arguments.command.split_first() else {
        let duration = Some(duration.unwrap_or(DEFAULT_DURATION));
        record(capture, first, output, duration, None, &messages)?;
        return Ok(0);
    };
    let expect = || Ok(capture.expect_command()?);
    let mut command = match RecordedCommand::start(line, &limits, &sender, expect) {
        Ok(command) => command,
        Err(error) => {
            output.discard();
            return Err(error.into());
        }
    };
    let recorded = record(
        capture,
        first,
        output,
        duration,
        Some(&mut command),
        &messages,
    );
    // Whatever becomes of the recording, the command runs to its end and somebody waits for it.
    if let Err(Failure::Failed(error)) = &recorded {
        tracing::error!(
            error = format!("{error:#}"),
            "The recording has ended early; the command goes on."
        );
    }
    match (recorded, command.wait(&messages)) {
        (Err(failure), 0) => Err(failure),
        (_, code) => Ok(code),
    }
}

/// `evenkeel-HOST-TIME.otlp`, time in UTC.
fn default_path(host: Option<&str>) -> PathBuf {
    let time = humantime::format_rfc3339_seconds(SystemTime::now())
        .to_string()
        .replace([':', '-'], "");
    let host = host.unwrap_or("host").replace(['/', '\0'], "_");
    format!("evenkeel-{host}-{time}.otlp").into()
}

/// Records to the end and says what the file holds. The capture ends with it: a command that runs
/// on is not measured any more. After an error, the windows written before it are kept.
fn record(
    mut capture: Capture,
    first: Window,
    output: Output,
    duration: Option<Duration>,
    command: Option<&mut RecordedCommand>,
    messages: &Receiver<Message>,
) -> Result<(), Failure> {
    let mut recorder = Recorder::begin(output, duration)?;
    let recorded = recorder
        .reading(first)
        .and_then(|()| until_the_end(&mut capture, &mut recorder, duration, command, messages))
        .and_then(|()| capture_loop::flush(&mut capture, &mut recorder));
    recorder.finish();
    recorded
}

/// Records until the time is over, the command has ended or a signal came.
fn until_the_end(
    capture: &mut Capture,
    recorder: &mut Recorder,
    duration: Option<Duration>,
    mut command: Option<&mut RecordedCommand>,
    messages: &Receiver<Message>,
) -> Result<(), Failure> {
    if let Some(command) = &command {
        // Its birth may have found the ring buffer full.
        capture.mark_command_tree(command.pid())?;
    }
    // A time beyond the clock's range is no end.
    let deadline = duration.and_then(|duration| Instant::now().checked_add(duration));
    loop {
        let message = match capture_loop::run(capture, messages, deadline, None, recorder)? {
            End::Deadline => return Ok(()),
            End::Message(message) => message,
        };
        // Without a command, to interrupt a recording is how one ends it.
        if command
            .as_mut()
            .is_none_or(|command| command.handle(message))
        {
            return Ok(());
        }
    }
}

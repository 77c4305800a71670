//! `evenkeel record`: capture into one file.

use std::{
    ffi::OsString,
    io::{self, IsTerminal as _, Write as _},
    os::unix::process::ExitStatusExt as _,
    path::{Path, PathBuf},
    process::{Command, ExitStatus},
    time::{Duration, Instant, SystemTime},
};

use anyhow::Context as _;
use crossbeam_channel::{Receiver, Sender};
use evenkeel_otlp::{encode, model::Window, recording::RecordingWriter};
use evenkeel_semconv::attribute;
use rustix::process::{Pid, Signal as UnixSignal, kill_process};

use super::{
    capture_loop::{self, End, Sink},
    host_check,
    inspect::host,
    outcome::{Failure, Outcome},
    stop::{self, Message},
    variable,
};
use crate::{
    capture::{Capture, WindowSummary},
    identity::Roots,
    kernel::State,
    settings::{CaptureArguments, Detail, Problem, Problems, capture_options},
};

/// Arguments of `evenkeel record`.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Examples:\n  evenkeel record --duration 20s -o node.otlp\n  evenkeel record -o build.otlp -- make -j2\n  evenkeel report node.otlp\n\nWith a command, the whole node is recorded for as long as the command runs; reports show the\ncommand's processes first. Its exit code is passed on."
)]
pub(super) struct RecordArguments {
    /// How long to record, such as 30s [default: 30s, or until the command ends]
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

/// Exit code of a command that a signal ended, as shells have it.
const SIGNALLED: i32 = 128;

pub(super) fn run(arguments: &RecordArguments, mut problems: Problems) -> Outcome {
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
    let requirements = host_check::check(&roots)?;

    let name = host
        .agent_attributes()
        .value(attribute::HOST_NAME)
        .unwrap_or("host")
        .to_owned();
    let path = arguments
        .output
        .clone()
        .unwrap_or_else(|| default_path(&name));
    let writer = RecordingWriter::create(&path)?;

    let (sender, messages) = stop::listen()?;
    let mut capture = match Capture::start(options, &roots, host) {
        Ok(capture) => capture,
        Err(error) => {
            // Nothing was recorded; an empty file would only be in the way.
            let _ = std::fs::remove_file(&path);
            return Err(Failure::capture(error, requirements));
        }
    };
    for (signal, state) in capture.signals() {
        if let State::Partial(reason) | State::Failed(reason) = state {
            tracing::warn!(%signal, reason, "A signal is not measured as it should be.");
        }
    }
    let child = start_command(&arguments.command, &capture, &sender)?;
    let duration = duration.or_else(|| child.is_none().then_some(DEFAULT_DURATION));
    let mut recorder = Recorder::new(writer, path, duration);
    // What the kernel counts since boot needs a point to count from.
    recorder.reading(capture.reading())?;
    let code = record(&mut capture, &messages, child, duration, &mut recorder)?;
    recorder.finish()?;
    Ok(code)
}

/// `evenkeel-HOST-TIME.otlp`, time in UTC.
fn default_path(host: &str) -> PathBuf {
    let time = humantime::format_rfc3339_seconds(SystemTime::now())
        .to_string()
        .replace([':', '-'], "");
    let host = host.replace(['/', '\0'], "_");
    format!("evenkeel-{host}-{time}.otlp").into()
}

/// Starts the command and marks it; its process id.
fn start_command(
    command: &[OsString],
    capture: &Capture,
    sender: &Sender<Message>,
) -> Result<Option<u32>, Failure> {
    let Some((program, arguments)) = command.split_first() else {
        return Ok(None);
    };
    capture.expect_command()?;
    let child = Command::new(program)
        .args(arguments)
        .spawn()
        .with_context(|| format!("cannot run {}", Path::new(program).display()))?;
    let pid = child.id();
    // Its birth may have found the ring buffer full.
    capture.mark_command_tree(pid)?;
    stop::wait_for(child, sender.clone())?;
    Ok(Some(pid))
}

/// Records until the time is over, the command has ended or a signal came; the exit code.
fn record(
    capture: &mut Capture,
    messages: &Receiver<Message>,
    command: Option<u32>,
    duration: Option<Duration>,
    recorder: &mut Recorder,
) -> Result<u8, Failure> {
    let deadline = duration.map(|duration| Instant::now() + duration);
    let mut stopping = false;
    loop {
        let end = capture_loop::run(capture, messages, deadline, None, recorder)?;
        match end {
            End::Message(Message::CommandEnded(status)) => {
                capture_loop::flush(capture, recorder)?;
                return Ok(exit_code(status.context("cannot wait for the command")?));
            }
            End::Message(Message::Signal(signal)) => match command {
                // The command decides when it has ended; a second signal does not wait for it.
                Some(pid) if !stopping => {
                    stopping = true;
                    pass_on(signal, pid);
                }
                // Interrupting a recording is how one ends it.
                None => {
                    capture_loop::flush(capture, recorder)?;
                    return Ok(0);
                }
                Some(_) => {
                    capture_loop::flush(capture, recorder)?;
                    return Ok(u8::try_from(SIGNALLED + signal).unwrap_or(1));
                }
            },
            End::Deadline => {
                capture_loop::flush(capture, recorder)?;
                return match command {
                    None => Ok(0),
                    Some(_) => wait_for_command(messages),
                };
            }
        }
    }
}

/// The recording is over, the command is not: its exit code is still ours.
fn wait_for_command(messages: &Receiver<Message>) -> Outcome {
    match messages.recv() {
        Ok(Message::CommandEnded(status)) => {
            Ok(exit_code(status.context("cannot wait for the command")?))
        }
        Ok(Message::Signal(signal)) => Ok(u8::try_from(SIGNALLED + signal).unwrap_or(1)),
        Err(_) => Ok(0),
    }
}

/// Passes a signal on. A terminal sends SIGINT to the command by itself.
fn pass_on(signal: i32, pid: u32) {
    if signal == signal_hook::consts::SIGINT && io::stdin().is_terminal() {
        return;
    }
    let unix = if signal == signal_hook::consts::SIGINT {
        UnixSignal::INT
    } else {
        UnixSignal::TERM
    };
    if let Some(pid) = i32::try_from(pid).ok().and_then(Pid::from_raw) {
        // It may have ended just now.
        let _ = kill_process(pid, unix);
    }
}

fn exit_code(status: ExitStatus) -> u8 {
    let code = status
        .code()
        .or_else(|| status.signal().map(|signal| SIGNALLED + signal))
        .unwrap_or(1);
    u8::try_from(code).unwrap_or(1)
}

/// Writes windows and says how it goes.
struct Recorder {
    writer: RecordingWriter,
    path: PathBuf,
    encoding: encode::Settings,
    started: Instant,
    duration: Option<Duration>,
    windows: u64,
    total: WindowSummary,
    progress: bool,
}

impl Recorder {
    fn new(writer: RecordingWriter, path: PathBuf, duration: Option<Duration>) -> Self {
        Self {
            writer,
            path,
            encoding: encode::Settings::new(env!("CARGO_PKG_VERSION")),
            started: Instant::now(),
            duration,
            windows: 0,
            total: WindowSummary::default(),
            progress: io::stderr().is_terminal(),
        }
    }

    fn finish(self) -> Result<(), Failure> {
        let path = self.path.display();
        let bytes = std::fs::metadata(&self.path).map_or(0, |file| file.len());
        let mut stderr = io::stderr().lock();
        if self.progress {
            let _ = write!(stderr, "\r\x1b[K");
        }
        // The recording is whole, even if nobody reads the summary.
        let _ = writeln!(
            stderr,
            "{path}: {:.1} s in {} windows, {} samples, {:.2} s stolen, {} lost, {} KiB\nNext: evenkeel report {path}",
            self.started.elapsed().as_secs_f64(),
            self.windows,
            self.total.samples,
            self.total.stolen_seconds,
            self.total.lost,
            bytes.div_ceil(1024),
        );
        Ok(())
    }
}

impl Sink for Recorder {
    fn reading(&mut self, reading: Window) -> Result<(), Failure> {
        let metrics = encode::encode_metrics(&reading, &self.encoding);
        self.writer.append(reading.span, &[], &metrics.requests)?;
        Ok(())
    }

    fn window(&mut self, window: Window, summary: WindowSummary) -> Result<(), Failure> {
        let profiles = encode::encode_profiles(&window, &self.encoding);
        let metrics = encode::encode_metrics(&window, &self.encoding);
        self.writer
            .append(window.span, &profiles.requests, &metrics.requests)
            .with_context(|| format!("cannot write {}", self.path.display()))?;
        self.windows += 1;
        self.total.samples += summary.samples;
        self.total.stolen_seconds += summary.stolen_seconds;
        self.total.lost += summary.lost + profiles.dropped_samples;
        Ok(())
    }

    fn second(&mut self) {
        if !self.progress {
            return;
        }
        let elapsed = self.started.elapsed().as_secs();
        let of = self.duration.map_or(String::new(), |duration| {
            format!(" of {}", duration.as_secs())
        });
        let _ = write!(
            io::stderr().lock(),
            "\rRecording: {elapsed}{of} s, {} windows, {} samples, {:.2} s stolen\x1b[K",
            self.windows,
            self.total.samples,
            self.total.stolen_seconds,
        );
    }
}

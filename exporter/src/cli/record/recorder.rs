//! Writes windows to the file and says how it goes.

use std::{
    io::{self, IsTerminal as _, Write as _},
    path::PathBuf,
    time::{Duration, Instant},
};

use anyhow::Context as _;
use evenkeel_otlp::{encode, model::Window, recording::RecordingWriter};

use super::output::Output;
use crate::{
    capture::WindowSummary,
    cli::{capture_loop::Sink, outcome::Failure},
};

/// Where the windows of a recording go.
pub(super) struct Recorder {
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
    /// Begins the file.
    pub(super) fn begin(output: Output, duration: Option<Duration>) -> Result<Self, Failure> {
        let writer = match output.writer() {
            Ok(writer) => writer,
            Err(error) => {
                output.discard();
                return Err(error.into());
            }
        };
        Ok(Self {
            writer,
            path: output.path().to_owned(),
            encoding: encode::Settings::new(env!("CARGO_PKG_VERSION")),
            started: Instant::now(),
            duration,
            windows: 0,
            total: WindowSummary::default(),
            progress: io::stderr().is_terminal(),
        })
    }

    /// Prints what the file holds.
    pub(super) fn finish(self) {
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
    }
}

impl Sink for Recorder {
    fn reading(&mut self, reading: Window) -> Result<(), Failure> {
        let metrics = encode::encode_metrics(&reading, &self.encoding);
        self.writer
            .append(reading.span, &[], &metrics.requests)
            .with_context(|| format!("cannot write {}", self.path.display()))?;
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

    fn windows(&self) -> u64 {
        self.windows
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

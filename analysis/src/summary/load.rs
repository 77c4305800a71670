//! Reading recordings from files.

use std::{
    error::Error,
    path::{Path, PathBuf},
};

use evenkeel_otlp::recording::{self, RecordedWindow, Recording, RecordingError};
use thiserror::Error;

use super::{Filter, Limits, Summary};

/// Why recordings cannot be read. The text names the file and what to do.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum LoadError {
    /// The file is no recording, or a damaged one.
    #[error("cannot read {}: {} ({})", shown(path), chain(cause), advice(cause))]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// What is wrong; already part of the text.
        cause: RecordingError,
    },
    /// The file is a recording without a whole window.
    #[error(
        "{} holds no whole window (was it stopped before the first one ended? record longer, or \
         with a shorter --window)",
        shown(path)
    )]
    Empty {
        /// The file.
        path: PathBuf,
    },
}

/// A path from the command line on one line.
fn shown(path: &Path) -> String {
    path.display()
        .to_string()
        .chars()
        .map(|c| if c.is_control() { '\u{fffd}' } else { c })
        .collect()
}

/// An error with its causes.
fn chain(error: &RecordingError) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        text.push_str(": ");
        text.push_str(&error.to_string());
        cause = error.source();
    }
    text
}

fn advice(error: &RecordingError) -> &'static str {
    match error {
        RecordingError::Open { .. } => "check the path and its permissions",
        RecordingError::UnknownFormat => {
            "give a file that `evenkeel record` or a Collector's file exporter wrote"
        }
        RecordingError::NewerVersion { .. } => "use the release that wrote it, or a newer one",
        RecordingError::FileTooLarge { .. } => "split it, or have the Collector rotate its files",
        RecordingError::Read { .. } => "copy it to another disk",
        _ => "the file is damaged: copy or record it again",
    }
}

/// One file, its next window in sight.
struct Input {
    path: PathBuf,
    recording: Recording,
    next: Option<RecordedWindow>,
}

impl Input {
    fn open(path: &Path) -> Result<Self, LoadError> {
        let mut input = Self {
            path: path.to_owned(),
            recording: recording::open(path).map_err(|cause| unreadable(path, cause))?,
            next: None,
        };
        input.advance()?;
        match input.next {
            Some(_) => Ok(input),
            None => Err(LoadError::Empty {
                path: path.to_owned(),
            }),
        }
    }

    /// Takes the window in sight and reads the one after.
    fn advance(&mut self) -> Result<Option<RecordedWindow>, LoadError> {
        let next = self.recording.next().transpose();
        let next = next.map_err(|cause| unreadable(&self.path, cause))?;
        Ok(std::mem::replace(&mut self.next, next))
    }
}

fn unreadable(path: &Path, cause: RecordingError) -> LoadError {
    LoadError::Unreadable {
        path: path.to_owned(),
        cause,
    }
}

impl Summary {
    /// Reads recordings as one: windows of all files in the order of time, so that files of one
    /// host may be named in any order.
    ///
    /// # Errors
    ///
    /// When a file is missing, damaged or of another kind, and when one holds no window. Windows
    /// that a killed recorder left unfinished are no error: [`Self::unfinished`] names them.
    pub fn read(files: &[PathBuf], filter: Filter, limits: Limits) -> Result<Self, LoadError> {
        let mut summary = Self::new(filter, limits);
        let mut inputs = files
            .iter()
            .map(|path| Input::open(path))
            .collect::<Result<Vec<_>, _>>()?;
        while let Some(input) = earliest(&mut inputs) {
            if let Some(window) = input.advance()? {
                summary.add(&window);
            }
        }
        summary.unfinished = inputs
            .into_iter()
            .map(|input| (input.path, input.recording.skipped_bytes()))
            .filter(|(_, bytes)| *bytes > 0)
            .collect();
        Ok(summary)
    }

    fn add(&mut self, window: &RecordedWindow) {
        self.add_window(window.span.start_unix_nanos, window.span.duration_nanos);
        for request in &window.profiles {
            self.add_profiles(request);
        }
        for request in &window.metrics {
            self.add_metrics(request);
        }
    }
}

/// The file whose window in sight begins first.
fn earliest(inputs: &mut [Input]) -> Option<&mut Input> {
    let next = inputs.iter_mut().filter_map(|input| {
        let start = input.next.as_ref()?.span.start_unix_nanos;
        Some((start, input))
    });
    next.min_by_key(|(start, _)| *start).map(|(_, input)| input)
}

#[cfg(test)]
mod tests {
    use evenkeel_otlp::{model::Span, recording::RecordingWriter};

    use super::*;
    use crate::fixture;

    fn write(path: &Path, windows: &[u64]) {
        let mut writer = RecordingWriter::create(path).unwrap();
        for &window in windows {
            let span = Span {
                start_unix_nanos: fixture::START + window * fixture::WINDOW,
                duration_nanos: fixture::WINDOW,
            };
            let profiles = match window {
                0 => fixture::first_profiles(),
                _ => fixture::second_profiles(),
            };
            writer
                .append(span, &[profiles], &[fixture::metrics(window)])
                .unwrap();
        }
    }

    fn read(files: &[PathBuf]) -> Result<Summary, LoadError> {
        Summary::read(files, Filter::default(), Limits::default())
    }

    /// Files of one host in the wrong order say the same as one file.
    #[test]
    fn order_of_files_is_free() {
        let directory = tempfile::tempdir().unwrap();
        let path = |name: &str| directory.path().join(name);
        write(&path("both"), &[0, 1]);
        write(&path("first"), &[0]);
        write(&path("second"), &[1]);
        let one = read(&[path("both")]).unwrap();
        let two = read(&[path("second"), path("first")]).unwrap();
        for summary in [&one, &two] {
            assert_eq!(summary.profiles()["on_cpu"].total, 20);
            assert_eq!(summary.overflow().repeated, 0);
            assert_eq!(summary.duration(), 2 * fixture::WINDOW);
        }
    }

    /// A killed recorder's file reads up to its last whole window.
    #[test]
    fn reads_up_to_the_last_whole_window() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("cut");
        write(&path, &[0]);
        let whole = std::fs::metadata(&path).unwrap().len();
        write(&path, &[0, 1]);
        let bytes = std::fs::read(&path).unwrap();
        let middle = (whole as usize + bytes.len()) / 2;
        std::fs::write(&path, &bytes[..middle]).unwrap();
        let summary = read(std::slice::from_ref(&path)).unwrap();
        assert_eq!(summary.windows().len(), 1);
        assert_eq!(summary.profiles()["on_cpu"].total, 18);
        assert_eq!(summary.unfinished(), [(path, (middle as u64) - whole)]);
    }

    /// Each kind of unreadable file is named with what to do.
    #[test]
    fn names_file_and_remedy() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("file");
        let error = |path: &Path| read(&[path.to_owned()]).unwrap_err().to_string();
        assert!(error(&path).contains("No such file"), "{}", error(&path));
        std::fs::write(&path, "hello").unwrap();
        let text = error(&path);
        assert!(
            text.contains("evenkeel record") && text.contains("file: neither"),
            "{text}"
        );
        write(&path, &[]);
        assert!(error(&path).contains("no whole window"), "{}", error(&path));
    }
}

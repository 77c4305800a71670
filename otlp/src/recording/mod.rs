//! Recordings: one file of OTLP windows (`docs/recording.md`), and the files of a Collector's file
//! exporter read the same way.

mod collector;
mod error;
mod format;
mod reader;
mod wire;
mod writer;

use std::{
    fs::File,
    io::{BufReader, Read},
    path::Path,
};

use opentelemetry_proto::tonic::collector::{
    metrics::v1::ExportMetricsServiceRequest, profiles::v1development::ExportProfilesServiceRequest,
};

pub use self::{error::RecordingError, writer::RecordingWriter};
use self::{format::MAGIC, reader::NativeReader};
use crate::model::Span;

/// One window of a recording.
#[derive(Clone, Debug, PartialEq)]
pub struct RecordedWindow {
    /// The time covered.
    pub span: Span,
    /// Number of the window in its recording, from 0.
    pub sequence: u64,
    /// Profiles requests as they were sent.
    pub profiles: Vec<ExportProfilesServiceRequest>,
    /// Metrics requests as they were sent.
    pub metrics: Vec<ExportMetricsServiceRequest>,
}

/// What wrote a recording.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Source {
    /// `evenkeel record`.
    Evenkeel,
    /// A Collector's file exporter, `format: json`.
    CollectorJson,
    /// A Collector's file exporter, `format: proto`.
    CollectorProto,
}

/// The windows of a file, in the order of time. After an error it ends.
#[derive(Debug)]
pub struct Recording {
    windows: Windows,
}

#[derive(Debug)]
enum Windows {
    /// Read one by one.
    Native(NativeReader),
    /// Grouped from all messages of the file.
    Collector {
        source: Source,
        windows: std::vec::IntoIter<RecordedWindow>,
        skipped_bytes: u64,
    },
}

/// Opens a recording, or what a Collector's file exporter wrote; told apart by content.
///
/// Windows of a Collector's file are made by grouping profiles of the same time and duration and
/// the metric points that end with them. Points that end with no profile form windows of their own,
/// which begin where the one before ended.
///
/// # Errors
///
/// [`RecordingError`] when the file cannot be opened, is of another kind or a newer version, or,
/// for a Collector's file, is damaged or too large.
pub fn open(path: impl AsRef<Path>) -> Result<Recording, RecordingError> {
    let path = path.as_ref();
    let file = File::open(path).map_err(|source| RecordingError::Open {
        path: path.to_owned(),
        source,
    })?;
    Recording::from_reader(BufReader::new(file))
}

impl Recording {
    /// The windows of what a reader gives; [`open`] for what is not a file.
    ///
    /// # Errors
    ///
    /// As [`open`].
    pub fn from_reader(mut reader: impl Read + Send + 'static) -> Result<Self, RecordingError> {
        let mut head = Vec::with_capacity(MAGIC.len());
        (&mut reader)
            .take(MAGIC.len() as u64)
            .read_to_end(&mut head)
            .map_err(|source| RecordingError::Read { offset: 0, source })?;
        if format::check_magic(&head)? {
            return Ok(Self {
                windows: Windows::Native(NativeReader::new(Box::new(reader))),
            });
        }
        let collected = collector::read(head, reader)?;
        Ok(Self {
            windows: Windows::Collector {
                source: collected.source,
                windows: collected.windows.into_iter(),
                skipped_bytes: collected.skipped_bytes,
            },
        })
    }

    /// What wrote it.
    pub fn source(&self) -> Source {
        match &self.windows {
            Windows::Native(_) => Source::Evenkeel,
            Windows::Collector { source, .. } => *source,
        }
    }

    /// Bytes at the end that belong to no whole window, as a writer leaves them that was killed.
    /// Final once the last window was read.
    pub fn skipped_bytes(&self) -> u64 {
        match &self.windows {
            Windows::Native(reader) => reader.skipped_bytes(),
            Windows::Collector { skipped_bytes, .. } => *skipped_bytes,
        }
    }
}

impl Iterator for Recording {
    type Item = Result<RecordedWindow, RecordingError>;

    fn next(&mut self) -> Option<Self::Item> {
        match &mut self.windows {
            Windows::Native(reader) => reader.next(),
            Windows::Collector { windows, .. } => windows.next().map(Ok),
        }
    }
}

#[cfg(test)]
mod tests;

//! Writing recordings.

use std::{
    fs::File,
    io::{self, Seek, SeekFrom, Write},
    path::Path,
};

use flate2::{Compression, write::GzEncoder};
use opentelemetry_proto::tonic::collector::{
    metrics::v1::ExportMetricsServiceRequest, profiles::v1development::ExportProfilesServiceRequest,
};
use prost::Message;

use super::{
    RecordingError,
    format::{MAGIC, METRICS, PROFILES, RecordHead, WINDOW_END, WindowEnd},
};
use crate::model::Span;

/// Appends windows to a file. Each is handed to the kernel as a whole, so that a killed process
/// leaves all windows before it readable.
#[derive(Debug)]
pub struct RecordingWriter {
    file: File,
    /// Bytes up to the end of the last whole window.
    length: u64,
    sequence: u64,
}

impl RecordingWriter {
    /// Creates the file, or empties it.
    ///
    /// # Errors
    ///
    /// [`RecordingError::Open`] when that fails.
    pub fn create(path: impl AsRef<Path>) -> Result<Self, RecordingError> {
        let path = path.as_ref();
        let create = || {
            let mut file = File::create(path)?;
            file.write_all(MAGIC)?;
            Ok(file)
        };
        let file = create().map_err(|source| RecordingError::Open {
            path: path.to_owned(),
            source,
        })?;
        Ok(Self {
            file,
            length: MAGIC.len() as u64,
            sequence: 0,
        })
    }

    /// Appends a window and gives the file's length.
    ///
    /// # Errors
    ///
    /// [`RecordingError::Write`] when the disk is full or broken; what was written of the window is
    /// taken back, and the next one can be tried.
    pub fn append(
        &mut self,
        span: Span,
        profiles: &[ExportProfilesServiceRequest],
        metrics: &[ExportMetricsServiceRequest],
    ) -> Result<u64, RecordingError> {
        let sequence = self.sequence;
        let failed = |source| RecordingError::Write { sequence, source };
        let mut bytes = Vec::new();
        for request in profiles {
            compressed_record(&mut bytes, PROFILES, request).map_err(failed)?;
        }
        for request in metrics {
            compressed_record(&mut bytes, METRICS, request).map_err(failed)?;
        }
        let records = profiles.len().saturating_add(metrics.len());
        let end = WindowEnd {
            sequence,
            start_unix_nanos: span.start_unix_nanos,
            duration_nanos: span.duration_nanos,
            records: u32::try_from(records).unwrap_or(u32::MAX),
        };
        record(&mut bytes, WINDOW_END, &end.to_bytes()).map_err(failed)?;
        if let Err(source) = self.file.write_all(&bytes) {
            // Best effort: where it fails too, readers skip what is left as an unfinished tail.
            let _ = self.file.set_len(self.length);
            let _ = self.file.seek(SeekFrom::Start(self.length));
            return Err(failed(source));
        }
        self.length += bytes.len() as u64;
        self.sequence += 1;
        Ok(self.length)
    }

    /// Windows written.
    pub fn windows(&self) -> u64 {
        self.sequence
    }
}

fn compressed_record(bytes: &mut Vec<u8>, kind: u8, request: &impl Message) -> io::Result<()> {
    // The fast level: a recording is made on the machine that is measured.
    let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
    encoder.write_all(&request.encode_to_vec())?;
    record(bytes, kind, &encoder.finish()?)
}

fn record(bytes: &mut Vec<u8>, kind: u8, payload: &[u8]) -> io::Result<()> {
    let head = RecordHead {
        kind,
        length: u32::try_from(payload.len()).map_err(io::Error::other)?,
        checksum: crc32fast::hash(payload),
    };
    bytes.extend(head.to_bytes());
    bytes.extend(payload);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    const SPAN: Span = Span {
        start_unix_nanos: 1,
        duration_nanos: 2,
    };

    /// A full disk is an error that names the window, not a panic.
    #[test]
    fn full_disk_is_an_error() {
        let mut writer = RecordingWriter {
            file: File::options().write(true).open("/dev/full").unwrap(),
            length: 16,
            sequence: 4,
        };
        let error = writer.append(SPAN, &[], &[]).unwrap_err();
        assert_eq!(error.to_string(), "cannot write window 4");
        assert_eq!(writer.windows(), 4);
    }

    /// A folder that does not exist is an error that names the file.
    #[test]
    fn missing_folder_is_an_error() {
        let error = RecordingWriter::create("no-such-folder/x.otlp").unwrap_err();
        assert_eq!(error.to_string(), "cannot open no-such-folder/x.otlp");
    }
}

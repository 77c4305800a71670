//! Reading recordings.

use std::{
    fmt,
    io::{self, Read},
};

use flate2::read::GzDecoder;
use prost::Message;

use super::{
    RecordedWindow, RecordingError,
    format::{
        HEADER, MAGIC, MAX_PAYLOAD, MAX_RECORDS, MAX_WINDOW, METRICS, PROFILES, RecordHead,
        WINDOW_END, WindowEnd,
    },
};
use crate::model::Span;

/// Yields the windows of a recording whose magic was read.
pub(super) struct NativeReader {
    reader: Box<dyn Read + Send>,
    offset: u64,
    /// End of the last whole window.
    whole: u64,
    ended: bool,
}

impl fmt::Debug for NativeReader {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("NativeReader")
            .field("offset", &self.offset)
            .finish_non_exhaustive()
    }
}

/// A record, or nothing more of them.
enum Record {
    Whole { kind: u8, payload: Vec<u8> },
    Unfinished,
}

impl NativeReader {
    pub(super) fn new(reader: Box<dyn Read + Send>) -> Self {
        let offset = MAGIC.len() as u64;
        Self {
            reader,
            offset,
            whole: offset,
            ended: false,
        }
    }

    pub(super) fn skipped_bytes(&self) -> u64 {
        self.offset - self.whole
    }

    pub(super) fn next(&mut self) -> Option<Result<RecordedWindow, RecordingError>> {
        if self.ended {
            return None;
        }
        let window = self.window();
        self.ended = !matches!(window, Ok(Some(_)));
        window.transpose()
    }

    /// `None` at the end, whether or not a part of a window is left.
    fn window(&mut self) -> Result<Option<RecordedWindow>, RecordingError> {
        let mut window = RecordedWindow {
            span: Span {
                start_unix_nanos: 0,
                duration_nanos: 0,
            },
            sequence: 0,
            profiles: Vec::new(),
            metrics: Vec::new(),
        };
        let mut records = 0_u32;
        let mut room = MAX_WINDOW;
        loop {
            let offset = self.offset;
            let Record::Whole { kind, payload } = self.record()? else {
                return Ok(None);
            };
            match kind {
                PROFILES => window.profiles.push(request(&payload, offset, &mut room)?),
                METRICS => window.metrics.push(request(&payload, offset, &mut room)?),
                WINDOW_END => {
                    let end = WindowEnd::from_bytes(&payload)
                        .filter(|end| end.records == records)
                        .ok_or(RecordingError::WindowEnd { offset })?;
                    self.whole = self.offset;
                    window.sequence = end.sequence;
                    window.span = Span {
                        start_unix_nanos: end.start_unix_nanos,
                        duration_nanos: end.duration_nanos,
                    };
                    return Ok(Some(window));
                }
                // Of a later release that added it without need to be understood.
                _ => {}
            }
            records += 1;
            if records > MAX_RECORDS {
                return Err(RecordingError::WindowEnd { offset });
            }
        }
    }

    fn record(&mut self) -> Result<Record, RecordingError> {
        let begin = self.offset;
        let head = self.bytes(HEADER as u64)?;
        let Ok(head) = <[u8; HEADER]>::try_from(head) else {
            return Ok(Record::Unfinished);
        };
        let RecordHead {
            kind,
            length,
            checksum,
        } = RecordHead::from_bytes(head);
        if length > MAX_PAYLOAD {
            return Err(RecordingError::TooLong {
                offset: begin,
                length: length.into(),
                limit: MAX_PAYLOAD.into(),
            });
        }
        let payload = self.bytes(length.into())?;
        if payload.len() as u64 != u64::from(length) {
            return Ok(Record::Unfinished);
        }
        if crc32fast::hash(&payload) != checksum {
            return Err(RecordingError::Checksum { offset: begin });
        }
        Ok(Record::Whole { kind, payload })
    }

    /// Up to `count` bytes; fewer at the end of the file. Memory grows with what is there, not with
    /// what a header claims.
    fn bytes(&mut self, count: u64) -> Result<Vec<u8>, RecordingError> {
        let mut bytes = Vec::new();
        let read = (&mut self.reader).take(count).read_to_end(&mut bytes);
        self.offset += bytes.len() as u64;
        match read {
            Ok(_) => Ok(bytes),
            Err(source) => Err(RecordingError::Read {
                offset: self.offset,
                source,
            }),
        }
    }
}

/// Decompresses and decodes a payload, within what is left of the window's memory.
fn request<M: Message + Default>(
    payload: &[u8],
    offset: u64,
    room: &mut usize,
) -> Result<M, RecordingError> {
    let limit = (MAX_PAYLOAD as usize).min(*room);
    let mut bytes = Vec::new();
    GzDecoder::new(payload)
        .take(limit as u64 + 1)
        .read_to_end(&mut bytes)
        .and_then(|_| match bytes.len() > limit {
            true => Err(io::Error::other("larger than any request")),
            false => Ok(()),
        })
        .map_err(|source| RecordingError::Decompress { offset, source })?;
    *room -= bytes.len();
    M::decode(bytes.as_slice()).map_err(|source| RecordingError::Decode { offset, source })
}

//! Files of a Collector's file exporter (contrib 0.165): one JSON object a line, or messages of
//! protobuf, each after its length in four bytes, big endian.

mod grouping;

use std::io::Read;

use opentelemetry_proto::tonic::collector::{
    metrics::v1::ExportMetricsServiceRequest, profiles::v1development::ExportProfilesServiceRequest,
};
use prost::Message;

use self::grouping::Grouping;
use super::{RecordedWindow, RecordingError, Source, wire::has_field};
use crate::json::{self, Request};

/// Largest file: its messages are grouped in memory.
const MAX_FILE: u64 = 1 << 30;

/// Longest message: a Collector batches many of ours into one.
const MAX_MESSAGE: usize = 256 << 20;

/// Field of `ExportProfilesServiceRequest` that metrics do not have: the dictionary.
const DICTIONARY: u32 = 2;

#[derive(Debug)]
pub(super) struct Collected {
    pub(super) source: Source,
    pub(super) windows: Vec<RecordedWindow>,
    pub(super) skipped_bytes: u64,
}

/// Reads everything; `head` is what was read already.
pub(super) fn read(head: Vec<u8>, reader: impl Read) -> Result<Collected, RecordingError> {
    let mut bytes = head;
    let limit = MAX_FILE.saturating_sub(bytes.len() as u64);
    reader
        .take(limit + 1)
        .read_to_end(&mut bytes)
        .map_err(|source| RecordingError::Read {
            offset: bytes.len() as u64,
            source,
        })?;
    if bytes.len() as u64 > MAX_FILE {
        return Err(RecordingError::FileTooLarge { limit: MAX_FILE });
    }
    match bytes.iter().find(|byte| !byte.is_ascii_whitespace()) {
        Some(b'{') => read_lines(&bytes),
        Some(_) => read_messages(&bytes),
        None => Err(RecordingError::UnknownFormat),
    }
}

fn too_long(offset: usize, length: usize) -> RecordingError {
    RecordingError::TooLong {
        offset: offset as u64,
        length: length as u64,
        limit: MAX_MESSAGE as u64,
    }
}

fn read_lines(bytes: &[u8]) -> Result<Collected, RecordingError> {
    let mut grouping = Grouping::default();
    let mut skipped_bytes = 0;
    let mut offset = 0;
    for (line, number) in bytes.split_inclusive(|&byte| byte == b'\n').zip(1..) {
        let begin = offset;
        offset += line.len();
        if line.iter().all(u8::is_ascii_whitespace) {
            continue;
        }
        if line.len() > MAX_MESSAGE {
            return Err(too_long(begin, line.len()));
        }
        match json::decode(line) {
            Ok(request) => grouping.add(request),
            // The line that was being written when the Collector stopped.
            Err(json::JsonError::Syntax(_)) if number > 1 && !line.ends_with(b"\n") => {
                skipped_bytes = line.len() as u64;
            }
            Err(source) => {
                return Err(RecordingError::Json {
                    line: number,
                    source,
                });
            }
        }
    }
    Ok(Collected {
        source: Source::CollectorJson,
        windows: grouping.finish(),
        skipped_bytes,
    })
}

fn read_messages(bytes: &[u8]) -> Result<Collected, RecordingError> {
    let mut grouping = Grouping::default();
    let mut rest = bytes;
    let mut messages = 0_u64;
    while let Some((length, after)) = rest.split_first_chunk() {
        let offset = bytes.len() - rest.len();
        let length = usize::try_from(u32::from_be_bytes(*length)).unwrap_or(usize::MAX);
        let Some((message, after)) = after.split_at_checked(length) else {
            // No whole message at all: more likely another kind of file.
            if messages == 0 {
                return Err(RecordingError::UnknownFormat);
            }
            break;
        };
        if length > MAX_MESSAGE {
            return Err(too_long(offset, length));
        }
        let decode_error = |source| match messages {
            0 => RecordingError::UnknownFormat,
            _ => RecordingError::Decode {
                offset: offset as u64,
                source,
            },
        };
        grouping.add(decode(message).map_err(decode_error)?);
        messages += 1;
        rest = after;
    }
    if messages == 0 {
        return Err(RecordingError::UnknownFormat);
    }
    Ok(Collected {
        source: Source::CollectorProto,
        windows: grouping.finish(),
        skipped_bytes: rest.len() as u64,
    })
}

fn decode(message: &[u8]) -> Result<Request, prost::DecodeError> {
    Ok(if has_field(message, DICTIONARY) {
        Request::Profiles(ExportProfilesServiceRequest::decode(message)?)
    } else {
        Request::Metrics(ExportMetricsServiceRequest::decode(message)?)
    })
}

//! Why a recording cannot be read or written.

use std::{io, path::PathBuf};

use crate::json::JsonError;

/// Why a recording cannot be read or written. Offsets are bytes from the start of the file.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RecordingError {
    /// The file cannot be opened or created.
    #[error("cannot open {}", path.display())]
    Open {
        /// The file.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// Reading failed.
    #[error("cannot read at byte {offset}")]
    Read {
        /// Where.
        offset: u64,
        /// Why.
        source: io::Error,
    },
    /// Writing failed; the file ends with the last whole window.
    #[error("cannot write window {sequence}")]
    Write {
        /// The window that is not in the file.
        sequence: u64,
        /// Why.
        source: io::Error,
    },
    /// The file is neither a recording nor a Collector's file.
    #[error(
        "neither a recording of evenkeel nor an uncompressed file of a Collector's file exporter"
    )]
    UnknownFormat,
    /// A later release wrote the file.
    #[error("recording of version {version}; this release reads version 1")]
    NewerVersion {
        /// Its version.
        version: u32,
    },
    /// A record or message is larger than any of ours.
    #[error("record of {length} bytes at byte {offset}, more than {limit}")]
    TooLong {
        /// Where it begins.
        offset: u64,
        /// Its length as it says.
        length: u64,
        /// The most that is read.
        limit: u64,
    },
    /// The contents of a record are not those that were written.
    #[error("damaged record at byte {offset}: checksum differs")]
    Checksum {
        /// Where it begins.
        offset: u64,
    },
    /// A record does not decompress, or to more than any request.
    #[error("damaged record at byte {offset}: cannot decompress")]
    Decompress {
        /// Where it begins.
        offset: u64,
        /// Why.
        source: io::Error,
    },
    /// A record holds no request.
    #[error("damaged record at byte {offset}: not OTLP")]
    Decode {
        /// Where it begins.
        offset: u64,
        /// Why.
        source: prost::DecodeError,
    },
    /// A window's end does not fit what came before it.
    #[error("damaged end of window at byte {offset}")]
    WindowEnd {
        /// Where it begins.
        offset: u64,
    },
    /// A line of a Collector's file is not OTLP/JSON.
    #[error("line {line}")]
    Json {
        /// Its number, from 1.
        line: u64,
        /// Why.
        source: JsonError,
    },
    /// A Collector's file is larger than can be grouped in memory.
    #[error("file of more than {limit} bytes")]
    FileTooLarge {
        /// The most that is read.
        limit: u64,
    },
}

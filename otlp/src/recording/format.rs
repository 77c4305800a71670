//! The layout of a recording (`docs/recording.md`).

use super::RecordingError;

/// First 16 bytes of a recording.
pub(super) const MAGIC: &[u8; 16] = b"EVENKEEL-OTLP 1\n";

/// The part of [`MAGIC`] before the version.
const NAME: &[u8] = b"EVENKEEL-OTLP ";

/// A gzip-compressed `ExportProfilesServiceRequest`.
pub(super) const PROFILES: u8 = 1;
/// A gzip-compressed `ExportMetricsServiceRequest`.
pub(super) const METRICS: u8 = 2;
/// A [`WindowEnd`].
pub(super) const WINDOW_END: u8 = 3;

/// Longest payload of a record, and the most that it decompresses to: the OTLP specification's
/// limit for a message.
pub(super) const MAX_PAYLOAD: u32 = 64 << 20;

/// Most that all records of a window decompress to.
pub(super) const MAX_WINDOW: usize = 512 << 20;

/// Most records of a window.
pub(super) const MAX_RECORDS: u32 = 1 << 16;

/// What stands before a payload: kind, length, checksum.
pub(super) const HEADER: usize = 9;

/// The head of a record: `kind u8`, `length u32`, `crc32 u32` of the payload, little endian.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct RecordHead {
    pub(super) kind: u8,
    pub(super) length: u32,
    pub(super) checksum: u32,
}

impl RecordHead {
    pub(super) fn to_bytes(self) -> [u8; HEADER] {
        let mut bytes = [0; HEADER];
        bytes[0] = self.kind;
        bytes[1..5].copy_from_slice(&self.length.to_le_bytes());
        bytes[5..].copy_from_slice(&self.checksum.to_le_bytes());
        bytes
    }

    pub(super) fn from_bytes(bytes: [u8; HEADER]) -> Self {
        let [kind, a, b, c, d, e, f, g, h] = bytes;
        Self {
            kind,
            length: u32::from_le_bytes([a, b, c, d]),
            checksum: u32::from_le_bytes([e, f, g, h]),
        }
    }
}

/// The end of a window: `sequence u64`, `start u64`, `duration u64` (nanoseconds), `records u32`,
/// little endian.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct WindowEnd {
    pub(super) sequence: u64,
    pub(super) start_unix_nanos: u64,
    pub(super) duration_nanos: u64,
    pub(super) records: u32,
}

impl WindowEnd {
    pub(super) fn to_bytes(self) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(28);
        bytes.extend(self.sequence.to_le_bytes());
        bytes.extend(self.start_unix_nanos.to_le_bytes());
        bytes.extend(self.duration_nanos.to_le_bytes());
        bytes.extend(self.records.to_le_bytes());
        bytes
    }

    /// Later releases may append fields.
    pub(super) fn from_bytes(bytes: &[u8]) -> Option<Self> {
        let (sequence, rest) = bytes.split_first_chunk()?;
        let (start, rest) = rest.split_first_chunk()?;
        let (duration, rest) = rest.split_first_chunk()?;
        let (records, _) = rest.split_first_chunk()?;
        Some(Self {
            sequence: u64::from_le_bytes(*sequence),
            start_unix_nanos: u64::from_le_bytes(*start),
            duration_nanos: u64::from_le_bytes(*duration),
            records: u32::from_le_bytes(*records),
        })
    }
}

/// Whether the first bytes of a file are those of a recording that can be read.
pub(super) fn check_magic(head: &[u8]) -> Result<bool, RecordingError> {
    if head == MAGIC {
        return Ok(true);
    }
    let Some(version) = head.strip_prefix(NAME) else {
        return Ok(false);
    };
    let digits = version.split(|&byte| byte == b'\n').next();
    let version = digits
        .and_then(|digits| std::str::from_utf8(digits).ok())
        .and_then(|digits| digits.parse().ok());
    match version {
        Some(version) if version > 1 => Err(RecordingError::NewerVersion { version }),
        _ => Err(RecordingError::UnknownFormat),
    }
}

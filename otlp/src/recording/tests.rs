//! What is written is read, and what is damaged is refused or skipped, never more.

use std::io::{Cursor, Write};

use flate2::{Compression, write::GzEncoder};
use prost::Message;

use super::*;
use crate::{
    encode::{Settings, encode_metrics, encode_profiles},
    model::{Attribute, Metric, MetricGroup, Point, PointValue, Resource, Window},
    testing::{frame, on_cpu, sample, window},
};

/// The `n`th of consecutive windows of ten seconds.
fn nth_window(n: u64) -> Window {
    let stack = vec![frame(&format!("leaf_{n}"), n), frame("main", 99)];
    let mut window = window(vec![on_cpu(vec![sample(stack, "t", 1 + n as i64)])]);
    window.span.start_unix_nanos += n * window.span.duration_nanos;
    window.metrics = vec![MetricGroup {
        resource: std::sync::Arc::new(Resource {
            attributes: vec![Attribute::new("service.name", "evenkeel")],
        }),
        metrics: vec![Metric {
            descriptor: &evenkeel_semconv::metric::SYSTEM_UPTIME,
            points: vec![Point {
                attributes: Vec::new(),
                start_unix_nanos: 0,
                value: PointValue::Double(n as f64),
            }],
        }],
    }];
    window
}

/// The window as it is recorded.
fn recorded(n: u64) -> RecordedWindow {
    let window = nth_window(n);
    let settings = Settings::new("1");
    RecordedWindow {
        span: window.span,
        sequence: n,
        profiles: encode_profiles(&window, &settings).requests,
        metrics: encode_metrics(&window, &settings).requests,
    }
}

/// A file that is removed at the end of the test.
struct Scratch(std::path::PathBuf);

impl Scratch {
    fn new(name: &str) -> Self {
        let name = format!("evenkeel-recording-{}-{name}", std::process::id());
        Self(std::env::temp_dir().join(name))
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.0);
    }
}

/// The bytes of a recording of so many windows, and the offset at which each one ends.
fn recording(name: &str, windows: u64) -> (Vec<u8>, Vec<usize>) {
    let file = Scratch::new(name);
    let mut writer = RecordingWriter::create(&file.0).unwrap();
    let ends = (0..windows)
        .map(|n| {
            let window = recorded(n);
            let end = writer.append(window.span, &window.profiles, &window.metrics);
            usize::try_from(end.unwrap()).unwrap()
        })
        .collect();
    (std::fs::read(&file.0).unwrap(), ends)
}

/// All windows, the error that ended them, and the bytes that were skipped.
fn read(bytes: &[u8]) -> (Vec<RecordedWindow>, Option<RecordingError>, u64) {
    let mut recording = match Recording::from_reader(Cursor::new(bytes.to_vec())) {
        Ok(recording) => recording,
        Err(error) => return (Vec::new(), Some(error), 0),
    };
    let (mut windows, mut error) = (Vec::new(), None);
    for window in &mut recording {
        match window {
            Ok(window) => windows.push(window),
            Err(e) => error = Some(e),
        }
    }
    (windows, error, recording.skipped_bytes())
}

/// Windows come back as they were appended.
#[test]
fn windows_round_trip() {
    let (bytes, _) = recording("round-trip", 3);
    let (windows, error, skipped) = read(&bytes);
    assert!(error.is_none());
    assert_eq!(windows, [recorded(0), recorded(1), recorded(2)]);
    assert_eq!(skipped, 0);
    assert_eq!(&bytes[..16], b"EVENKEEL-OTLP 1\n");
}

/// Cut at any byte, as a kill may leave it, a file gives every whole window before the cut, no
/// error, and the exact number of bytes that were left over.
#[test]
fn every_cut_keeps_whole_windows() {
    let (bytes, ends) = recording("cut", 2);
    for cut in 16..bytes.len() {
        let (windows, error, skipped) = read(&bytes[..cut]);
        let whole = ends.iter().filter(|&&end| end <= cut).count();
        assert!(error.is_none(), "cut at {cut}: {error:?}");
        assert_eq!(windows.len(), whole, "cut at {cut}");
        let end = ends[..whole].last().copied().unwrap_or(16);
        assert_eq!(skipped, (cut - end) as u64, "cut at {cut}");
    }
    for cut in 0..16 {
        let (_, error, _) = read(&bytes[..cut]);
        assert!(
            matches!(error, Some(RecordingError::UnknownFormat)),
            "cut at {cut}"
        );
    }
}

/// Any changed byte is noticed: never a panic, and never a window with other contents.
#[test]
fn every_flipped_byte_is_noticed() {
    let (bytes, _) = recording("flip", 2);
    let original = [recorded(0), recorded(1)];
    for at in 0..bytes.len() {
        let mut damaged = bytes.clone();
        damaged[at] ^= 0x41;
        let (windows, error, skipped) = read(&damaged);
        assert!(
            error.is_some() || skipped > 0 || windows != original,
            "{at}"
        );
        for window in windows {
            // A kind that was changed to an unknown one is skipped, the rest is as it was.
            let known = &original[usize::try_from(window.sequence).unwrap()];
            let profiles = window.profiles.is_empty() || window.profiles == known.profiles;
            let metrics = window.metrics.is_empty() || window.metrics == known.metrics;
            assert!(window.span == known.span && profiles && metrics, "{at}");
        }
    }
}

/// Random bytes, after the magic or without, are refused or skipped without a panic.
#[test]
fn random_bytes_do_no_harm() {
    let mut state = 1_u64;
    for round in 0..2_000 {
        let mut bytes = if round % 2 == 0 {
            b"EVENKEEL-OTLP 1\n".to_vec()
        } else {
            Vec::new()
        };
        for _ in 0..round % 300 {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1);
            // Small numbers are likelier to be kinds and lengths.
            let byte = (state >> 33) as u8;
            bytes.push(if byte < 128 { byte % 4 } else { byte });
        }
        let (windows, ..) = read(&bytes);
        assert!(
            windows
                .iter()
                .all(|w| w.profiles.is_empty() && w.metrics.is_empty())
        );
    }
}

fn record(kind: u8, payload: &[u8]) -> Vec<u8> {
    let mut bytes = vec![kind];
    bytes.extend(u32::try_from(payload.len()).unwrap().to_le_bytes());
    bytes.extend(crc32fast::hash(payload).to_le_bytes());
    bytes.extend(payload);
    bytes
}

fn with_magic(records: &[Vec<u8>]) -> Vec<u8> {
    let mut bytes = MAGIC.to_vec();
    bytes.extend(records.concat());
    bytes
}

/// Other files, newer versions, absurd lengths, bombs and wrong counts are each named.
#[test]
fn faults_are_named() {
    let error = |bytes: &[u8]| read(bytes).1.unwrap();
    assert!(matches!(error(b""), RecordingError::UnknownFormat));
    assert!(matches!(
        error(b"PK\x03\x04 a zip file, say"),
        RecordingError::UnknownFormat
    ));
    assert!(matches!(
        error(b"EVENKEEL-OTLP 2\n"),
        RecordingError::NewerVersion { version: 2 }
    ));
    let mut absurd = vec![1];
    absurd.extend(u32::MAX.to_le_bytes());
    absurd.extend([0; 4]);
    assert!(matches!(
        error(&with_magic(&[absurd])),
        RecordingError::TooLong { offset: 16, .. }
    ));
    let mut bomb = GzEncoder::new(Vec::new(), Compression::best());
    for _ in 0..65 {
        bomb.write_all(&vec![0; 1 << 20]).unwrap();
    }
    let bomb = bomb.finish().unwrap();
    assert!(bomb.len() < 100_000);
    assert!(matches!(
        error(&with_magic(&[record(1, &bomb)])),
        RecordingError::Decompress { offset: 16, .. }
    ));
    assert!(matches!(
        error(&with_magic(&[record(1, b"no gzip")])),
        RecordingError::Decompress { .. }
    ));
    let mut end = vec![0; 24];
    end.extend(7_u32.to_le_bytes());
    assert!(matches!(
        error(&with_magic(&[record(3, &end)])),
        RecordingError::WindowEnd { offset: 16 }
    ));
}

/// Kinds that a later release adds are skipped and count as records.
#[test]
fn unknown_kinds_are_skipped() {
    let mut end = vec![0; 24];
    end.extend(1_u32.to_le_bytes());
    let (windows, error, _) = read(&with_magic(&[record(9, b"news"), record(3, &end)]));
    assert_eq!((windows.len(), error.is_none()), (1, true));
}

/// Messages as a file exporter with `format: proto` writes them.
fn proto_file(windows: &[RecordedWindow]) -> Vec<u8> {
    let mut bytes = Vec::new();
    let mut push = |message: Vec<u8>| {
        bytes.extend(u32::try_from(message.len()).unwrap().to_be_bytes());
        bytes.extend(message);
    };
    for window in windows {
        window
            .metrics
            .iter()
            .for_each(|request| push(request.encode_to_vec()));
        window
            .profiles
            .iter()
            .for_each(|request| push(request.encode_to_vec()));
    }
    bytes
}

/// A Collector's protobuf file gives the same windows, whatever the order of its messages, and a
/// cut one gives what is whole.
#[test]
fn collector_proto_is_grouped() {
    let original = [recorded(0), recorded(1), recorded(2)];
    let reversed: Vec<_> = original.iter().rev().cloned().collect();
    let bytes = proto_file(&reversed);
    let (windows, error, skipped) = read(&bytes);
    assert!(error.is_none());
    assert_eq!(windows, original);
    assert_eq!(skipped, 0);
    for cut in 0..bytes.len() {
        let (windows, error, _) = read(&bytes[..cut]);
        assert!(windows.len() <= 3);
        assert!(
            matches!(error, None | Some(RecordingError::UnknownFormat)),
            "{cut} {error:?}"
        );
    }
}

/// A message that a Collector batched from several windows is split by time.
#[test]
fn batched_messages_are_split() {
    let (mut a, b) = (recorded(0), recorded(1));
    a.metrics[0]
        .resource_metrics
        .extend(b.metrics[0].resource_metrics.clone());
    let (windows, error, _) = read(&proto_file(&[RecordedWindow {
        profiles: Vec::new(),
        ..a
    }]));
    assert!(error.is_none());
    assert_eq!(windows.len(), 2);
    assert_eq!(windows[0].metrics, recorded(0).metrics);
    assert_eq!(windows[1].metrics, recorded(1).metrics);
    assert_eq!(
        windows.iter().map(|w| w.span).collect::<Vec<_>>(),
        [recorded(0).span, b.span]
    );
}

/// TEMPORARY
#[test]
fn dump() {
    for n in 0..2 {
        let w = recorded(n);
        std::fs::write(format!("/tmp/ek-p{n}.bin"), w.profiles[0].encode_to_vec()).unwrap();
        std::fs::write(format!("/tmp/ek-m{n}.bin"), w.metrics[0].encode_to_vec()).unwrap();
    }
}

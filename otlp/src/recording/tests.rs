//! What is written is read, and what is damaged is refused or skipped, never more.

use std::{
    io::{Cursor, Write},
    path::Path,
};

use evenkeel_semconv::{Instrument, MetricDescriptor, Number};
use flate2::{Compression, write::GzEncoder};
use prost::Message;

use super::*;
use crate::{
    encode::{HistogramForm, Settings, encode_metrics, encode_profiles},
    histogram::ExponentialHistogram,
    invariants::{Origin, Rule, check_metrics, check_profiles},
    model::{Attribute, Metric, MetricGroup, Point, PointValue, Resource, Window},
    testing::{frame, on_cpu, sample, window},
    view::{Attributes, BuildId, MetricsView, ProfilesView},
};

/// Metrics of the fixtures, which must not change with the registry.
const fn descriptor(name: &'static str, instrument: Instrument) -> MetricDescriptor {
    MetricDescriptor {
        name,
        unit: "s",
        description: "A test.",
        instrument,
        number: Number::Double,
        attributes: &[],
    }
}

static UPTIME: MetricDescriptor = descriptor("test.uptime", Instrument::Gauge);
static CPU_TIME: MetricDescriptor = descriptor("test.cpu.time", Instrument::Counter);
static WAIT: MetricDescriptor = descriptor("test.wait.duration", Instrument::Histogram);

fn metric(
    descriptor: &'static MetricDescriptor,
    attributes: Vec<Attribute>,
    value: PointValue,
) -> Metric {
    let start_unix_nanos = 1_600_000_000_000_000_000;
    Metric {
        descriptor,
        points: vec![Point {
            attributes,
            start_unix_nanos,
            value,
        }],
    }
}

/// The `n`th of consecutive windows of ten seconds.
fn nth_window(n: u64) -> Window {
    let stack = vec![frame(&format!("leaf_{n}"), n), frame("main", 99)];
    let mut window = window(vec![on_cpu(vec![sample(stack, "t", 1 + n as i64)])]);
    window.span.start_unix_nanos += n * window.span.duration_nanos;
    let mut waits = ExponentialHistogram::new(5);
    [0.0, 1e-6, 2e-5, 2e-5]
        .iter()
        .for_each(|&wait| waits.record(wait));
    window.metrics = vec![MetricGroup {
        resource: std::sync::Arc::new(Resource {
            attributes: vec![Attribute::new("service.name", "evenkeel")],
        }),
        metrics: vec![
            metric(&UPTIME, Vec::new(), PointValue::Double(n as f64)),
            metric(
                &CPU_TIME,
                vec![
                    Attribute::new("cpu.logical_number", 1),
                    Attribute::new("cpu.mode", "steal"),
                ],
                PointValue::Double(0.25),
            ),
            metric(
                &WAIT,
                vec![Attribute::new("test.reason", "wakeup")],
                PointValue::Histogram(waits),
            ),
        ],
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
    let mut bomb = GzEncoder::new(Vec::new(), Compression::fast());
    for _ in 0..65 {
        bomb.write_all(&vec![0; 1 << 20]).unwrap();
    }
    let bomb = bomb.finish().unwrap();
    assert!(bomb.len() < 1 << 20);
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

/// What a Collector received for the fixture in `tests/cases/collector`: three windows, the last
/// one's histograms with explicit bounds.
fn sent_to_collector() -> [RecordedWindow; 3] {
    let mut last = recorded(2);
    let settings = Settings {
        histograms: HistogramForm::Explicit,
        ..Settings::new("1")
    };
    last.metrics = encode_metrics(&nth_window(2), &settings).requests;
    [recorded(0), recorded(1), last]
}

/// Everything that a reader sees of a window, as text: what a Collector writes has references
/// where we write text, and empty messages where we write none.
fn seen(window: &RecordedWindow) -> Vec<String> {
    let attributes = |list: Attributes<'_>| {
        let list: Vec<_> = list.iter().map(|(k, v)| format!("{k}={v:?}")).collect();
        list.join(" ")
    };
    let mut seen = vec![format!("{:?} {}", window.span, window.sequence)];
    for profile in window
        .profiles
        .iter()
        .flat_map(|r| ProfilesView::new(r).profiles())
    {
        seen.push(format!(
            "{} {:?} {:?} {:?} {}",
            attributes(profile.resource()),
            profile.scope(),
            profile.sample_type(),
            profile.period_type(),
            profile.period()
        ));
        for sample in profile.samples() {
            seen.push(format!(
                "{} {}",
                attributes(sample.attributes()),
                sample.value()
            ));
            for frame in sample.frames() {
                let lines: Vec<_> = frame
                    .lines()
                    .map(|l| format!("{} {} {}", l.function(), l.file(), l.line()))
                    .collect();
                let (module, kind) = (frame.module(), frame.frame_type());
                let id = frame.build_id(BuildId::Gnu);
                seen.push(format!(
                    "{module} {kind:?} {id:?} {:x} {lines:?}",
                    frame.address()
                ));
            }
        }
    }
    for metric in window
        .metrics
        .iter()
        .flat_map(|r| MetricsView::new(r).metrics())
    {
        for point in metric.points() {
            seen.push(format!(
                "{} {} {:?} {} {} {} {} {:?}",
                metric.name(),
                metric.unit(),
                metric.temporality(),
                metric.is_monotonic(),
                attributes(point.attributes()),
                point.start_unix_nanos,
                point.time_unix_nanos,
                point.value
            ));
        }
    }
    seen
}

/// What Collector 0.165 wrote of our windows, in either format, reads as what was sent, and passes
/// the checker.
#[test]
fn files_of_a_collector_read_as_sent() {
    let cases = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/cases/collector");
    for (file, source) in [
        ("out.json", Source::CollectorJson),
        ("out.pb", Source::CollectorProto),
    ] {
        let mut recording = open(cases.join(file)).unwrap();
        assert_eq!(recording.source(), source);
        let windows: Vec<_> = recording.by_ref().map(Result::unwrap).collect();
        assert_eq!(recording.skipped_bytes(), 0);
        let sent = sent_to_collector();
        assert_eq!(
            windows.iter().map(seen).collect::<Vec<_>>(),
            sent.iter().map(seen).collect::<Vec<_>>()
        );
        for window in &windows {
            for request in &window.profiles {
                assert_eq!(check_profiles(request, Origin::Collector), [], "{file}");
                // References are what a Collector may write and we may not.
                assert_ne!(check_profiles(request, Origin::Evenkeel), [], "{file}");
            }
            for request in &window.metrics {
                let mut violations = check_metrics(request);
                violations.retain(|violation| violation.rule != Rule::Registry);
                assert_eq!(violations, [], "{file}");
            }
        }
    }
}

/// A JSON file that a stopped Collector cut within a line gives the lines before; a damaged line in
/// the middle is an error with its number.
#[test]
fn cut_json_keeps_whole_lines() {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/cases/collector/out.json");
    let bytes = std::fs::read(file).unwrap();
    let first = bytes.iter().position(|&b| b == b'\n').unwrap() + 1;
    for cut in (first..bytes.len()).step_by(101) {
        let (windows, error, skipped) = read(&bytes[..cut]);
        assert!(error.is_none(), "{cut} {error:?}");
        assert!(!windows.is_empty());
        assert!(skipped as usize <= cut - first);
    }
    let mut damaged = bytes;
    damaged[first + 1] = b'!';
    assert!(matches!(
        read(&damaged).1,
        Some(RecordingError::Json { line: 2, .. })
    ));
}

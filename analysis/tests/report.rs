//! From a window of the capturing half, by way of the encoder and a file, to every report.

use std::{path::PathBuf, sync::Arc};

use evenkeel_analysis::report::{Format, Options, ReportError, run};
use evenkeel_otlp::{
    encode::{Settings, encode_metrics, encode_profiles},
    histogram::ExponentialHistogram,
    model::{
        Attribute, BuildIds, Frame, FrameType, Function, Line, Mapping, Metric, MetricGroup, Point,
        PointValue, Profile, ProfileGroup, ProfileKind, Resource, Sample, Span, ValueType, Window,
    },
    recording::{RecordingError, RecordingWriter},
};
use evenkeel_semconv::{attribute, metric};

const START: u64 = 1_760_000_000_000_000_000;
const WINDOW: u64 = 10_000_000_000;

fn frame(kind: FrameType, module: &str, address: u64, names: &[&str]) -> Arc<Frame> {
    let lines = names.iter().map(|name| Line {
        function: Arc::new(Function {
            name: (*name).into(),
            ..Function::default()
        }),
        line: 3,
        column: 0,
    });
    Arc::new(Frame {
        mapping: Some(Arc::new(Mapping {
            start: 0x1000,
            limit: 0x9000,
            file_offset: 0x1000,
            filename: module.into(),
            build_ids: BuildIds {
                gnu: Some("00ff".into()),
                ..BuildIds::default()
            },
        })),
        address,
        lines: lines.collect(),
        frame_type: Some(kind),
    })
}

/// One second of a spinner on one CPU, five samples of them in the kernel.
fn window(number: u64) -> Window {
    let resource = Arc::new(Resource {
        attributes: vec![
            Attribute::new(attribute::HOST_NAME, "web-1"),
            Attribute::new(attribute::SERVICE_NAME, "spin"),
        ],
    });
    let main = frame(FrameType::Native, "spin", 0x1100, &["main"]);
    let inner = frame(FrameType::Native, "spin", 0x1200, &["inner", "outer"]);
    let kernel = frame(
        FrameType::Kernel,
        "[kernel]",
        0xffff_ffff_8100_0000,
        &["tick"],
    );
    let attributes: Arc<[Attribute]> = Arc::from([
        Attribute::new(attribute::PROCESS_EXECUTABLE_NAME, "spin"),
        Attribute::new(attribute::PROCESS_PID, 7),
    ]);
    let sample = |stack: &[&Arc<Frame>], value| Sample {
        stack: stack.iter().map(|frame| Arc::clone(frame)).collect(),
        attributes: Arc::clone(&attributes),
        value,
    };
    let kind = ProfileKind {
        sample_type: ValueType {
            name: "samples",
            unit: "count",
        },
        period_type: ValueType {
            name: "cpu",
            unit: "nanoseconds",
        },
        period: 10_101_010,
    };
    let mut waits = ExponentialHistogram::new(5);
    for _ in 0..=number {
        waits.record(0.001);
    }
    let end = START + (number + 1) * WINDOW;
    Window {
        span: Span {
            start_unix_nanos: START + number * WINDOW,
            duration_nanos: WINDOW,
        },
        profiles: vec![ProfileGroup {
            resource: Arc::clone(&resource),
            profiles: vec![Profile {
                kind,
                samples: vec![
                    sample(&[&inner, &main], 94),
                    sample(&[&kernel, &inner, &main], 5),
                ],
            }],
        }],
        metrics: vec![MetricGroup {
            resource,
            metrics: vec![
                Metric {
                    descriptor: &metric::EVENKEEL_CPU_RUN_QUEUE_WAIT_DURATION,
                    points: vec![Point {
                        attributes: vec![Attribute::new(
                            attribute::EVENKEEL_CPU_RUN_QUEUE_ENQUEUE_REASON,
                            "wakeup",
                        )],
                        start_unix_nanos: START,
                        value: PointValue::Histogram(waits),
                    }],
                },
                Metric {
                    descriptor: &metric::SYSTEM_CPU_LOGICAL_COUNT,
                    points: vec![Point {
                        attributes: Vec::new(),
                        start_unix_nanos: end,
                        value: PointValue::Int(2),
                    }],
                },
            ],
        }],
    }
}

/// A recording of some windows in a directory of its own.
fn recording(windows: u64) -> Result<(tempfile::TempDir, PathBuf), RecordingError> {
    let directory = tempfile::tempdir().map_err(|source| RecordingError::Open {
        path: std::env::temp_dir(),
        source,
    })?;
    let path = directory.path().join("test.otlp");
    let mut writer = RecordingWriter::create(&path)?;
    let settings = Settings::new("0.0.0");
    for number in 0..windows {
        let window = window(number);
        let profiles = encode_profiles(&window, &settings).requests;
        let metrics = encode_metrics(&window, &settings).requests;
        writer.append(window.span, &profiles, &metrics)?;
    }
    Ok((directory, path))
}

fn report(files: &[PathBuf], format: Format) -> Result<Vec<u8>, ReportError> {
    let options = Options {
        files: files.to_vec(),
        format,
        ..Options::default()
    };
    let mut out = Vec::new();
    run(&options, &mut out)?;
    Ok(out)
}

/// Every sample of three windows is in the stacks, with the names that the window gave.
#[test]
fn folded_from_a_file() {
    let (_directory, path) = recording(3).unwrap();
    let folded = String::from_utf8(report(&[path], Format::Folded).unwrap()).unwrap();
    assert_eq!(
        folded,
        "spin;main;outer;inner 282\nspin;main;outer;inner;tick_[k] 15\n"
    );
}

/// Machine output of one window: time by samples and period, waits from their start.
#[test]
fn json_from_a_file() {
    let (_directory, path) = recording(1).unwrap();
    let report = report(&[path], Format::Json).unwrap();
    let report: serde_json::Value = serde_json::from_slice(&report).unwrap();
    assert_eq!(report["resource"]["host.name"], "web-1");
    assert_eq!(
        (&report["windows"], &report["duration_s"]),
        (&1.into(), &10.0.into())
    );
    let on_cpu = &report["profiles"]["on_cpu"];
    assert_eq!(on_cpu["total"], 99);
    assert!((on_cpu["seconds"].as_f64().unwrap() - 1.0).abs() < 1e-6);
    assert_eq!(on_cpu["by_process"][0]["pids"][0]["pid"], 7);
    let metrics = report["metrics"].as_array().unwrap();
    let waits = metrics
        .iter()
        .find(|m| m["name"] == metric::EVENKEEL_CPU_RUN_QUEUE_WAIT_DURATION.name)
        .unwrap();
    assert_eq!(waits["count"], 1);
    // At scale 5 a bucket is 2.2 % wide.
    assert!((waits["p99"].as_f64().unwrap() / 0.001 - 1.0).abs() < 0.022);
}

/// Text of one window tells busy time by samples, as counters since boot need two windows.
#[test]
fn text_from_a_file() {
    let (_directory, path) = recording(1).unwrap();
    let text = String::from_utf8(report(&[path], Format::Text).unwrap()).unwrap();
    assert!(text.contains("busy 5.0 %  (by samples)"), "{text}");
    assert!(
        text.contains("lost      not counted in this recording"),
        "{text}"
    );
}

/// The remaining formats are written, and no file is an error with a remedy.
#[test]
fn other_formats_and_errors() {
    let (directory, path) = recording(1).unwrap();
    let files = [path];
    assert!(
        report(&files, Format::Html)
            .unwrap()
            .starts_with(b"<!doctype html>")
    );
    assert!(
        report(&files, Format::Pprof)
            .unwrap()
            .starts_with(&[0x1f, 0x8b])
    );
    let missing = report(&[directory.path().join("none")], Format::Text).unwrap_err();
    assert!(
        missing
            .to_string()
            .ends_with("(check the path and its permissions)"),
        "{missing}"
    );
}

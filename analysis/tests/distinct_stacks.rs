//! Recordings of very many distinct stacks: nothing is lost, and memory has a bound.

use std::{io, time::Instant};

use evenkeel_analysis::{
    report::{Format, Options, ReportError, write},
    summary::{Filter, Limits, Summary},
};
use opentelemetry_proto::tonic::{
    collector::profiles::v1development::ExportProfilesServiceRequest,
    profiles::v1development::{
        Function, KeyValueAndUnit, Line, Location, Mapping, Profile, ProfilesDictionary,
        ResourceProfiles, Sample, ScopeProfiles, Stack, ValueType,
    },
};

/// Frames of each stack.
const DEPTH: usize = 30;

/// Distinct functions.
const FUNCTIONS: u64 = 4000;

/// Samples in one request.
const BATCH: u64 = 10_000;

/// `BATCH` samples with stacks that no other request has: a common root, then the digits of the
/// sample's number to the base 7 spread over functions.
fn request(number: u64) -> ExportProfilesServiceRequest {
    let mut dictionary = ProfilesDictionary {
        mapping_table: vec![Mapping::default()],
        location_table: vec![Location::default()],
        function_table: vec![Function::default()],
        string_table: ["", "samples", "count", "cpu", "nanoseconds"]
            .map(str::to_owned)
            .to_vec(),
        attribute_table: vec![KeyValueAndUnit::default()],
        stack_table: vec![Stack::default()],
        ..ProfilesDictionary::default()
    };
    for function in 0..FUNCTIONS {
        dictionary
            .string_table
            .push(format!("module::function_{function}"));
        dictionary.function_table.push(Function {
            name_strindex: dictionary.string_table.len() as i32 - 1,
            ..Function::default()
        });
        dictionary.location_table.push(Location {
            address: 0x1000 + function,
            lines: vec![Line {
                function_index: function as i32 + 1,
                ..Line::default()
            }],
            ..Location::default()
        });
    }
    let mut samples = Vec::new();
    for sample in number * BATCH..(number + 1) * BATCH {
        let mut location_indices = vec![1_i32; DEPTH];
        let mut left = sample;
        for (level, index) in location_indices.iter_mut().enumerate().take(DEPTH / 2) {
            *index = 2 + ((level as u64 * 7 + left % 7) % (FUNCTIONS - 2)) as i32;
            left /= 7;
        }
        dictionary.stack_table.push(Stack { location_indices });
        samples.push(Sample {
            stack_index: dictionary.stack_table.len() as i32 - 1,
            values: vec![1],
            ..Sample::default()
        });
    }
    let value_type = |name, unit| {
        Some(ValueType {
            type_strindex: name,
            unit_strindex: unit,
        })
    };
    ExportProfilesServiceRequest {
        resource_profiles: vec![ResourceProfiles {
            scope_profiles: vec![ScopeProfiles {
                profiles: vec![Profile {
                    sample_type: value_type(1, 2),
                    period_type: value_type(3, 4),
                    period: 10_101_010,
                    time_unix_nano: 1_000_000_000 * (number + 1),
                    duration_nano: 1_000_000_000,
                    samples,
                    ..Profile::default()
                }],
                ..ScopeProfiles::default()
            }],
            ..ResourceProfiles::default()
        }],
        dictionary: Some(dictionary),
    }
}

/// Distinct samples: `EVENKEEL_DISTINCT_SAMPLES` for a measurement by hand.
fn wanted(default: u64) -> u64 {
    std::env::var("EVENKEEL_DISTINCT_SAMPLES")
        .ok()
        .and_then(|number| number.parse().ok())
        .unwrap_or(default)
}

/// Counts what is written and keeps nothing, so that a measurement is one of the report.
#[derive(Default)]
struct Sink {
    bytes: usize,
    /// Sum of the last token of each line.
    sum: u64,
    line: Vec<u8>,
}

impl io::Write for Sink {
    fn write(&mut self, part: &[u8]) -> io::Result<usize> {
        self.bytes += part.len();
        for &byte in part {
            if byte != b'\n' {
                self.line.push(byte);
                continue;
            }
            let line = String::from_utf8_lossy(&self.line);
            let value = line
                .rsplit(' ')
                .next()
                .and_then(|value| value.parse::<u64>().ok());
            self.sum += value.unwrap_or(0);
            self.line.clear();
        }
        Ok(part.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

fn report(summary: &Summary, format: Format) -> Result<Sink, ReportError> {
    let options = Options {
        format,
        ..Options::default()
    };
    let mut sink = Sink::default();
    let start = Instant::now();
    write(summary, &options, &mut sink)?;
    println!("{format}: {:?}, {} bytes", start.elapsed(), sink.bytes);
    Ok(sink)
}

/// Every sample is in the folded output once, and the page stays of a size that a browser opens.
#[test]
fn distinct_stacks_are_kept() {
    let distinct = wanted(50_000);
    let mut summary = Summary::new(Filter::default(), Limits::default());
    let start = Instant::now();
    for number in 0..distinct / BATCH {
        summary.add_profiles(&request(number));
    }
    println!("{distinct} samples read in {:?}", start.elapsed());
    assert_eq!(summary.profiles()["on_cpu"].samples.len() as u64, distinct);
    assert_eq!(report(&summary, Format::Folded).unwrap().sum, distinct);
    report(&summary, Format::Text).unwrap();
    report(&summary, Format::Json).unwrap();
    report(&summary, Format::Pprof).unwrap();
    let page = report(&summary, Format::Html).unwrap();
    assert!(page.bytes < 40_000_000, "{} bytes", page.bytes);
}

/// Beyond the bounds samples are coarser, counted, and all there.
#[test]
fn bounds_keep_the_total() {
    let limits = Limits {
        nodes: 5000,
        samples: 2000,
        frames: 50,
        ..Limits::default()
    };
    let mut summary = Summary::new(Filter::default(), limits);
    for number in 0..2 {
        summary.add_profiles(&request(number));
    }
    let profile = &summary.profiles()["on_cpu"];
    assert_eq!(profile.total as u64, 2 * BATCH);
    assert_eq!(profile.samples.values().sum::<i64>(), profile.total);
    assert!(profile.samples.len() <= 2001, "{}", profile.samples.len());
    assert!(summary.stacks().node_count() <= 5000);
    assert!(summary.overflow().samples > 0);
    let mut text = Vec::new();
    write(&summary, &Options::default(), &mut text).unwrap();
    let text = String::from_utf8(text).unwrap();
    assert!(text.contains("samples with shortened stacks"), "{text}");
}

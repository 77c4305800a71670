//! A profile for `go tool pprof`: gzip'd `profile.proto`.

mod proto;

use std::{
    collections::HashMap,
    io::{self, Write},
};

use flate2::{Compression, write::GzEncoder};
use indexmap::{IndexMap, IndexSet};
use prost::Message;

use super::ReportError;
use crate::summary::{
    self, FrameId, FrameKind, Function, Mapping, Owner, Profile, Stacks, Summary,
};

/// Everything that gets a number in the file.
struct Tables<'a> {
    stacks: &'a Stacks,
    texts: IndexSet<String>,
    functions: IndexSet<Function>,
    mappings: IndexSet<Mapping>,
    locations: IndexSet<FrameId>,
}

impl Tables<'_> {
    fn text(&mut self, text: &str) -> i64 {
        match self.texts.get_index_of(text) {
            Some(index) => index as i64,
            None => self.texts.insert_full(text.to_owned()).0 as i64,
        }
    }

    fn resolved(&mut self, id: summary::TextId) -> i64 {
        let stacks = self.stacks;
        self.text(stacks.resolve(id))
    }

    fn value_type(&mut self, name: &str, unit: &str) -> proto::ValueType {
        proto::ValueType {
            r#type: self.text(name),
            unit: self.text(unit),
        }
    }

    fn location(&mut self, id: FrameId) -> Option<proto::Location> {
        let stacks = self.stacks;
        let frame = stacks.frame_at(id)?;
        let mapping_id = match frame.mapping {
            Some(mapping) => self.mappings.insert_full(mapping).0 as u64 + 1,
            None => 0,
        };
        let line = frame
            .lines
            .iter()
            .map(|line| proto::Line {
                function_id: self.functions.insert_full(line.function).0 as u64 + 1,
                line: i64::from(line.line),
            })
            .collect();
        Some(proto::Location {
            id: self.locations.get_index_of(&id)? as u64 + 1,
            mapping_id,
            address: frame.address,
            line,
        })
    }
}

/// Writes a profile. Time is told in nanoseconds beside the count of samples, as Go's own
/// profiles do, so that pprof shows seconds.
pub(super) fn write(
    summary: &Summary,
    profile: &Profile,
    out: &mut dyn Write,
) -> Result<(), ReportError> {
    let mut encoder = GzEncoder::new(out, Compression::default());
    encode(summary, profile, &mut encoder)?;
    encoder.finish()?;
    Ok(())
}

/// Samples that are encoded at once.
const CHUNK: usize = 1024;

/// Writes the message in parts, samples first: parts of a protobuf message that follow one another
/// are one message, and a million samples never lie in memory a second time.
fn encode(summary: &Summary, profile: &Profile, out: &mut dyn Write) -> io::Result<()> {
    let stacks = summary.stacks();
    let mut tables = Tables {
        stacks,
        texts: IndexSet::from([String::new()]),
        functions: IndexSet::new(),
        mappings: IndexSet::new(),
        locations: IndexSet::new(),
    };
    // pprof takes the first mapping for the program.
    tables.mappings.extend(main_mapping(stacks, profile));
    let keys = ["process", "service", "container"].map(|key| tables.text(key));
    let sample_type = &profile.sample_type;
    let mut sample_types = vec![tables.value_type(&sample_type.name, &sample_type.unit)];
    // Nanoseconds per unit, where the unit is no time itself.
    let nanoseconds = (sample_type.unit != "nanoseconds")
        .then(|| profile.seconds(1_000_000_000))
        .flatten();
    if nanoseconds.is_some() {
        sample_types.push(tables.value_type(&profile.period_type.name, "nanoseconds"));
    }
    let mut labels = HashMap::new();
    let mut part = proto::Profile::default();
    // In a fixed order, so that one recording always gives the same bytes.
    let mut ordered = profile.samples.iter().collect::<Vec<_>>();
    ordered.sort_unstable();
    for (&(node, owner_id), &value) in ordered {
        let Some(owner) = summary.owner(owner_id) else {
            continue;
        };
        let label = labels
            .entry(owner_id)
            .or_insert_with(|| owner_labels(&mut tables, keys, owner))
            .clone();
        let location_id = stacks
            .leaf_first(node)
            .map(|frame| tables.locations.insert_full(frame).0 as u64 + 1)
            .collect();
        let mut values = vec![value];
        values.extend(nanoseconds.map(|each| (value as f64 * each).round() as i64));
        part.sample.push(proto::Sample {
            location_id,
            value: values,
            label,
        });
        if part.sample.len() == CHUNK {
            out.write_all(&part.encode_to_vec())?;
            part.sample.clear();
        }
    }
    let locations = (0..tables.locations.len())
        .filter_map(|index| tables.locations.get_index(index).copied())
        .collect::<Vec<_>>();
    let locations = locations
        .into_iter()
        .filter_map(|id| tables.location(id))
        .collect::<Vec<_>>();
    let period_type = &profile.period_type;
    let period_type = (!period_type.name.is_empty())
        .then(|| tables.value_type(&period_type.name, &period_type.unit));
    let mapping = mappings(&mut tables, &locations);
    let function = functions(&mut tables);
    let rest = proto::Profile {
        default_sample_type: sample_types.last().map_or(0, |last| last.r#type),
        sample_type: sample_types,
        sample: part.sample,
        mapping,
        location: locations,
        function,
        string_table: tables.texts.into_iter().collect(),
        time_nanos: i64::try_from(summary.start()).unwrap_or(i64::MAX),
        duration_nanos: i64::try_from(summary.duration()).unwrap_or(i64::MAX),
        period_type,
        period: profile.period,
        comment: Vec::new(),
    };
    out.write_all(&rest.encode_to_vec())
}

/// The user mapping whose code took most.
fn main_mapping(stacks: &Stacks, profile: &Profile) -> Option<Mapping> {
    let mut values = IndexMap::<Mapping, i64>::new();
    for (&(node, _), &value) in &profile.samples {
        let user = stacks
            .leaf_first(node)
            .filter_map(|frame| stacks.frame_at(frame))
            .find(|frame| frame.kind != FrameKind::Kernel);
        if let Some(mapping) = user.and_then(|frame| frame.mapping) {
            let entry = values.entry(mapping).or_insert(0);
            *entry = entry.saturating_add(value);
        }
    }
    let heaviest = values.into_iter().max_by_key(|(mapping, value)| {
        // The samples come in no order: ties are broken by what the mapping is.
        (*value, std::cmp::Reverse(stacks.shared(mapping.filename)))
    });
    heaviest.map(|(mapping, _)| mapping)
}

fn owner_labels(tables: &mut Tables<'_>, keys: [i64; 3], owner: &Owner) -> Vec<proto::Label> {
    [owner.process, owner.service, owner.container]
        .into_iter()
        .zip(keys)
        .map(|(id, key)| proto::Label {
            key,
            str: tables.resolved(id),
        })
        .filter(|label| label.str != 0)
        .collect()
}

fn mappings(tables: &mut Tables<'_>, locations: &[proto::Location]) -> Vec<proto::Mapping> {
    let mut named = vec![true; tables.mappings.len()];
    let mut with_lines = vec![false; tables.mappings.len()];
    for location in locations {
        let index = location
            .mapping_id
            .checked_sub(1)
            .map(|index| index as usize);
        if let Some(flag) = index.and_then(|index| named.get_mut(index)) {
            *flag &= !location.line.is_empty();
        }
        if let Some(flag) = index.and_then(|index| with_lines.get_mut(index)) {
            *flag |= location.line.iter().any(|line| line.line > 0);
        }
    }
    let all = tables.mappings.iter().copied().collect::<Vec<_>>();
    all.into_iter()
        .zip(1_u64..)
        .zip(named.into_iter().zip(with_lines))
        .map(
            |((mapping, id), (has_functions, has_lines))| proto::Mapping {
                id,
                memory_start: mapping.start,
                memory_limit: mapping.limit,
                file_offset: mapping.file_offset,
                filename: tables.resolved(mapping.filename),
                build_id: tables.resolved(mapping.build_id),
                has_functions,
                has_filenames: has_lines,
                has_line_numbers: has_lines,
                has_inline_frames: has_lines,
            },
        )
        .collect()
}

fn functions(tables: &mut Tables<'_>) -> Vec<proto::Function> {
    let all = tables.functions.iter().copied().collect::<Vec<_>>();
    all.into_iter()
        .zip(1_u64..)
        .map(|(function, id)| {
            let name = tables.resolved(function.name);
            let system_name = tables.resolved(function.system_name);
            proto::Function {
                id,
                name,
                system_name: if system_name == 0 { name } else { system_name },
                filename: tables.resolved(function.file),
            }
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use std::{
        io::Read,
        process::{Command, Stdio},
    };

    use super::*;
    use crate::{fixture, summary::Filter};

    fn written(profile: &str) -> Vec<u8> {
        let summary = fixture::summary(Filter::default());
        let mut out = Vec::new();
        write(&summary, &summary.profiles()[profile], &mut out).unwrap();
        out
    }

    fn decoded(profile: &str) -> proto::Profile {
        let mut bytes = Vec::new();
        flate2::read::GzDecoder::new(written(profile).as_slice())
            .read_to_end(&mut bytes)
            .unwrap();
        proto::Profile::decode(bytes.as_slice()).unwrap()
    }

    /// Samples and their time in CPU seconds, and nothing lost on the way.
    #[test]
    fn values() {
        let profile = decoded("on_cpu");
        let text = |index: i64| profile.string_table[index as usize].as_str();
        let types = profile
            .sample_type
            .iter()
            .map(|t| (text(t.r#type), text(t.unit)))
            .collect::<Vec<_>>();
        assert_eq!(types, [("samples", "count"), ("cpu", "nanoseconds")]);
        let sum = |index: usize| profile.sample.iter().map(|s| s.value[index]).sum::<i64>();
        assert_eq!((sum(0), sum(1)), (20, 200_000_000));
        assert_eq!(profile.period, 10_000_000);
        assert_eq!(profile.time_nanos, fixture::START as i64);
        assert_eq!(profile.duration_nanos, 20_000_000_000);
        assert_eq!(text(profile.default_sample_type), "cpu");
        let keys = profile
            .sample
            .iter()
            .flat_map(|sample| &sample.label)
            .map(|label| (text(label.key), text(label.str)))
            .collect::<std::collections::BTreeSet<_>>();
        assert!(keys.contains(&("process", "spin")), "{keys:?}");
        assert!(
            keys.contains(&("container", fixture::CONTAINER)),
            "{keys:?}"
        );
        // A profile of time has one value, its own.
        assert_eq!(decoded("stolen").sample_type.len(), 1);
    }

    /// The inlined function comes first in its location, and its caller keeps the line.
    #[test]
    fn inlined_frames() {
        let profile = decoded("on_cpu");
        let name = |id: u64| {
            let function = profile.function.iter().find(|f| f.id == id).unwrap();
            profile.string_table[function.name as usize].clone()
        };
        let inlined = profile.location.iter().find(|l| l.line.len() == 2).unwrap();
        let lines = inlined
            .line
            .iter()
            .map(|l| (name(l.function_id), l.line))
            .collect::<Vec<_>>();
        assert_eq!(lines, [("parse".to_owned(), 7), ("handle".to_owned(), 22)]);
    }

    /// `go tool pprof` opens the file and finds the same totals.
    #[test]
    fn opens_in_go_tool_pprof() {
        if Command::new("go")
            .arg("version")
            .stdout(Stdio::null())
            .status()
            .is_err()
        {
            eprintln!("SKIPPED opens_in_go_tool_pprof: no Go toolchain in PATH");
            return;
        }
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("on_cpu.pb.gz");
        std::fs::write(&file, written("on_cpu")).unwrap();
        let run = |arguments: &[&str]| {
            let output = Command::new("go")
                .args(["tool", "pprof", "-symbolize=none"])
                .args(arguments)
                .arg(&file)
                .output()
                .unwrap();
            let text = String::from_utf8_lossy(&output.stdout).into_owned();
            assert!(
                output.status.success(),
                "{text}{}",
                String::from_utf8_lossy(&output.stderr)
            );
            text
        };
        let top = run(&["-top"]);
        assert!(
            top.contains("File: nginx\n") && top.contains("Type: cpu\n"),
            "{top}"
        );
        assert!(
            top.contains("Duration: 20s, Total samples = 200ms"),
            "{top}"
        );
        let has = |name: &str, flat: &str, cum: &str| {
            top.lines().any(|line| {
                let cells = line.split_whitespace().collect::<Vec<_>>();
                matches!(cells.as_slice(), [f, _, _, c, _, n, ..]
                    if *f == flat && *c == cum && *n == name)
            })
        };
        assert!(has("inner", "70ms", "70ms"), "{top}");
        assert!(has("handle", "50ms", "100ms"), "{top}");
        let tags = run(&["-tags"]);
        assert!(tags.contains("nginx") && tags.contains("service"), "{tags}");
    }
}

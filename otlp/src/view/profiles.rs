//! Profiles with their stacks, names and attributes resolved.

use evenkeel_semconv::attribute;
use opentelemetry_proto::tonic::{
    collector::profiles::v1development::ExportProfilesServiceRequest,
    common::v1::{InstrumentationScope, KeyValue},
    profiles::v1development as proto,
};

use super::{Attributes, Dictionary, ValueRef};
use crate::model::Span;

/// A profiles request.
#[derive(Clone, Copy, Debug)]
pub struct ProfilesView<'a> {
    request: &'a ExportProfilesServiceRequest,
    dictionary: Dictionary<'a>,
}

impl<'a> ProfilesView<'a> {
    /// Looks at a request.
    pub fn new(request: &'a ExportProfilesServiceRequest) -> Self {
        Self {
            request,
            dictionary: Dictionary::new(request.dictionary.as_ref()),
        }
    }

    /// Every profile of every resource and scope, in the order they are stored.
    pub fn profiles(self) -> impl Iterator<Item = ProfileView<'a>> {
        let dictionary = self.dictionary;
        self.request
            .resource_profiles
            .iter()
            .flat_map(move |group| {
                let resource = group.resource.as_ref().map_or(&[][..], |r| &r.attributes);
                group.scope_profiles.iter().flat_map(move |scoped| {
                    scoped.profiles.iter().map(move |profile| ProfileView {
                        resource,
                        scope: scoped.scope.as_ref(),
                        profile,
                        dictionary,
                    })
                })
            })
    }
}

/// Type and unit of a value, in pprof's words (`samples`/`count`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct ValueTypeView<'a> {
    /// What is counted; empty when unset.
    pub name: &'a str,
    /// Unit; empty when unset.
    pub unit: &'a str,
}

/// One profile: samples of one type, of one resource, over one span.
#[derive(Clone, Copy, Debug)]
pub struct ProfileView<'a> {
    resource: &'a [KeyValue],
    scope: Option<&'a InstrumentationScope>,
    profile: &'a proto::Profile,
    dictionary: Dictionary<'a>,
}

impl<'a> ProfileView<'a> {
    /// The resource's attributes, references resolved.
    pub fn resource(self) -> Attributes<'a> {
        Attributes::key_values(self.resource, self.dictionary)
    }

    /// Who measured: name and version of the instrumentation scope, empty when unset.
    pub fn scope(self) -> (&'a str, &'a str) {
        self.scope
            .map_or(("", ""), |s| (s.name.as_str(), s.version.as_str()))
    }

    /// The profile's own attributes.
    pub fn attributes(self) -> Attributes<'a> {
        Attributes::indices(&self.profile.attribute_indices, self.dictionary)
    }

    /// Type and unit of the sample values.
    pub fn sample_type(self) -> ValueTypeView<'a> {
        self.value_type(self.profile.sample_type)
    }

    /// What the sampling distance is counted in; empty where there is none.
    pub fn period_type(self) -> ValueTypeView<'a> {
        self.value_type(self.profile.period_type)
    }

    /// Distance between samples in the unit of the period type; 0 where values are sums.
    pub fn period(self) -> i64 {
        self.profile.period
    }

    /// The time covered.
    pub fn span(self) -> Span {
        Span {
            start_unix_nanos: self.profile.time_unix_nano,
            duration_nanos: self.profile.duration_nano,
        }
    }

    /// The samples, in the order they are stored.
    pub fn samples(self) -> impl ExactSizeIterator<Item = SampleView<'a>> {
        let dictionary = self.dictionary;
        self.profile
            .samples
            .iter()
            .map(move |sample| SampleView { sample, dictionary })
    }

    fn value_type(self, value_type: Option<proto::ValueType>) -> ValueTypeView<'a> {
        value_type.map_or_else(ValueTypeView::default, |v| ValueTypeView {
            name: self.dictionary.string(v.type_strindex),
            unit: self.dictionary.string(v.unit_strindex),
        })
    }
}

/// One sample.
#[derive(Clone, Copy, Debug)]
pub struct SampleView<'a> {
    sample: &'a proto::Sample,
    dictionary: Dictionary<'a>,
}

impl<'a> SampleView<'a> {
    /// The frames, leaf first; empty where no stack was taken.
    pub fn frames(self) -> impl DoubleEndedIterator<Item = FrameView<'a>> + ExactSizeIterator {
        let dictionary = self.dictionary;
        dictionary
            .stack(self.sample.stack_index)
            .map_or(&[][..], |stack| &stack.location_indices)
            .iter()
            .map(move |&index| FrameView {
                index,
                location: dictionary.location(index),
                dictionary,
            })
    }

    /// Index of the stack in this request's dictionary: equal indices are equal stacks, so it can
    /// key a cache that lives no longer than the request.
    pub fn stack_index(self) -> i32 {
        self.sample.stack_index
    }

    /// The sample's attributes.
    pub fn attributes(self) -> Attributes<'a> {
        Attributes::indices(&self.sample.attribute_indices, self.dictionary)
    }

    /// The sample's total in the unit of the sample type, whatever its shape: the sum of its
    /// values, or the number of its timestamps when it has no values.
    pub fn value(self) -> i64 {
        let proto::Sample {
            values,
            timestamps_unix_nano,
            ..
        } = self.sample;
        if values.is_empty() {
            i64::try_from(timestamps_unix_nano.len()).unwrap_or(i64::MAX)
        } else {
            values.iter().fold(0, |sum, &v| i64::saturating_add(sum, v))
        }
    }
}

/// Which of its build ids identifies a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum BuildId {
    /// `.note.gnu.build-id`.
    Gnu,
    /// The Go linker's.
    Go,
    /// Hash of head, tail and length.
    Htlhash,
}

/// One physical frame.
#[derive(Clone, Copy, Debug)]
pub struct FrameView<'a> {
    index: i32,
    location: Option<&'a proto::Location>,
    dictionary: Dictionary<'a>,
}

impl<'a> FrameView<'a> {
    /// Index of the location in this request's dictionary; equal indices are equal frames.
    pub fn index(self) -> i32 {
        self.index
    }

    /// ELF virtual address (kernel: the absolute one); 0 when unknown.
    pub fn address(self) -> u64 {
        self.location.map_or(0, |location| location.address)
    }

    /// Name of the file that the code came from (`libc.so.6`, `[kernel]`); empty when unknown.
    pub fn module(self) -> &'a str {
        self.mapping().map_or("", |mapping| {
            self.dictionary.string(mapping.filename_strindex)
        })
    }

    /// Addresses that the file's executable segment covers, `[start, limit)`, and the file offset
    /// of `start`; `None` when there is no mapping.
    pub fn segment(self) -> Option<(u64, u64, u64)> {
        self.mapping()
            .map(|m| (m.memory_start, m.memory_limit, m.file_offset))
    }

    /// A build id of that file, in hex.
    pub fn build_id(self, kind: BuildId) -> Option<&'a str> {
        let key = match kind {
            BuildId::Gnu => attribute::PROCESS_EXECUTABLE_BUILD_ID_GNU,
            BuildId::Go => attribute::PROCESS_EXECUTABLE_BUILD_ID_GO,
            BuildId::Htlhash => attribute::PROCESS_EXECUTABLE_BUILD_ID_HTLHASH,
        };
        Attributes::indices(&self.mapping()?.attribute_indices, self.dictionary).text(key)
    }

    /// `profile.frame.type` (`kernel`, `native`, `go`); `None` for markers.
    pub fn frame_type(self) -> Option<&'a str> {
        self.attributes()
            .get(attribute::PROFILE_FRAME_TYPE)
            .and_then(ValueRef::as_str)
    }

    /// The location's attributes.
    pub fn attributes(self) -> Attributes<'a> {
        let indices = self.location.map_or(&[][..], |l| &l.attribute_indices);
        Attributes::indices(indices, self.dictionary)
    }

    /// The functions: innermost inlined one first, the physical one last. Empty when unnamed.
    pub fn lines(self) -> impl DoubleEndedIterator<Item = LineView<'a>> + ExactSizeIterator {
        let dictionary = self.dictionary;
        self.location
            .map_or(&[][..], |location| &location.lines)
            .iter()
            .map(move |line| LineView {
                line,
                function: dictionary.function(line.function_index),
                dictionary,
            })
    }

    fn mapping(self) -> Option<&'a proto::Mapping> {
        self.dictionary.mapping(self.location?.mapping_index)
    }
}

/// A function and a place in it.
#[derive(Clone, Copy, Debug)]
pub struct LineView<'a> {
    line: &'a proto::Line,
    function: Option<&'a proto::Function>,
    dictionary: Dictionary<'a>,
}

impl<'a> LineView<'a> {
    /// Name for people, or the linker's name where only that is set; empty when there is none.
    pub fn function(self) -> &'a str {
        let string = |index| self.dictionary.string(index);
        self.function.map_or("", |f| match string(f.name_strindex) {
            "" => string(f.system_name_strindex),
            name => name,
        })
    }

    /// Name as the linker knows it; empty when it is the same as the name for people.
    pub fn system_name(self) -> &'a str {
        self.function
            .map_or("", |f| self.dictionary.string(f.system_name_strindex))
    }

    /// Source file; empty when unknown.
    pub fn file(self) -> &'a str {
        self.function
            .map_or("", |f| self.dictionary.string(f.filename_strindex))
    }

    /// Line number; 0 when unknown.
    pub fn line(self) -> i64 {
        self.line.line
    }

    /// Column, from 1; 0 when unknown.
    pub fn column(self) -> i64 {
        self.line.column
    }
}

#[cfg(test)]
mod tests {
    use proto::{Line, Location, Profile, ProfilesDictionary, ResourceProfiles, Sample};
    use proto::{ScopeProfiles, Stack};

    use super::*;

    fn request(
        sample: Sample,
        dictionary: Option<ProfilesDictionary>,
    ) -> ExportProfilesServiceRequest {
        ExportProfilesServiceRequest {
            resource_profiles: vec![ResourceProfiles {
                scope_profiles: vec![ScopeProfiles {
                    profiles: vec![Profile {
                        samples: vec![sample],
                        ..Profile::default()
                    }],
                    ..ScopeProfiles::default()
                }],
                ..ResourceProfiles::default()
            }],
            dictionary,
        }
    }

    /// Indices below zero or beyond the end read as unset, everywhere; nothing panics, with a
    /// dictionary or without.
    #[test]
    fn bad_indices_read_as_unset() {
        for bad in [i32::MIN, -1, 0, 1, 7, i32::MAX] {
            let location = Location {
                mapping_index: bad,
                address: 9,
                lines: vec![Line {
                    function_index: bad,
                    ..Line::default()
                }],
                attribute_indices: vec![bad],
            };
            let tables = ProfilesDictionary {
                location_table: vec![Location::default(), location],
                stack_table: vec![
                    Stack::default(),
                    Stack {
                        location_indices: vec![1, bad],
                    },
                ],
                ..ProfilesDictionary::default()
            };
            for (stack_index, tables) in
                [(1, Some(tables.clone())), (bad, Some(tables)), (bad, None)]
            {
                let sample = Sample {
                    stack_index,
                    attribute_indices: vec![bad],
                    ..Sample::default()
                };
                let request = request(sample, tables);
                let profile = ProfilesView::new(&request).profiles().next().unwrap();
                assert_eq!(profile.sample_type(), ValueTypeView::default());
                assert_eq!(profile.resource().iter().count(), 0);
                let sample = profile.samples().next().unwrap();
                assert_eq!(sample.attributes().iter().count(), 0);
                for frame in sample.frames() {
                    assert_eq!((frame.module(), frame.frame_type()), ("", None));
                    assert_eq!(
                        (frame.segment(), frame.build_id(BuildId::Gnu)),
                        (None, None)
                    );
                    assert!(frame.lines().all(|line| line.function().is_empty()));
                    assert!(frame.lines().all(|line| line.file().is_empty()));
                }
            }
        }
    }

    /// A sample's value is its total in each of the three shapes that OTLP knows.
    #[test]
    fn values_of_all_shapes() {
        let value = |values: &[i64], times: &[u64]| {
            let sample = Sample {
                values: values.to_vec(),
                timestamps_unix_nano: times.to_vec(),
                ..Sample::default()
            };
            let request = request(sample, None);
            let profile = ProfilesView::new(&request).profiles().next().unwrap();
            profile.samples().next().unwrap().value()
        };
        assert_eq!(value(&[7], &[]), 7);
        assert_eq!(value(&[], &[10, 11, 12]), 3);
        assert_eq!(value(&[5, 6], &[10, 11]), 11);
        assert_eq!(value(&[i64::MAX, 1], &[10, 11]), i64::MAX);
        assert_eq!(value(&[], &[]), 0);
    }
}

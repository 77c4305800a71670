//! One profiles request while it is filled.

use std::collections::HashMap;

use evenkeel_semconv::{SCHEMA_URL, UPSTREAM_SCHEMA_URL};
use opentelemetry_proto::tonic::{
    collector::profiles::v1development::ExportProfilesServiceRequest,
    profiles::v1development::{Profile, ResourceProfiles, Sample, ScopeProfiles, ValueType},
};
use prost::Message;

use super::{
    Settings,
    attributes::{resource, scope},
    dictionary::DictionaryBuilder,
    pprof_size::PprofSize,
    size,
};
use crate::model::{self, Span};

/// Bytes that a repeated value of a merged sample may grow to.
const VALUE: usize = 10;

/// The sample type that Pyroscope takes without a period.
const OFF_CPU: &str = "off_cpu";

/// The period of the kind. Pyroscope refuses a period of zero but for `off_cpu`; other sums say 1.
fn period(kind: &model::ProfileKind) -> i64 {
    match kind.period {
        0 if kind.sample_type.name != OFF_CPU => 1,
        period => period,
    }
}

/// What became of a sample.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Added {
    /// It is in.
    Yes,
    /// It would exceed a limit; the part is as it was.
    NoRoom,
}

/// Where a sample belongs.
#[derive(Clone, Copy, Debug)]
pub(super) struct Place<'w> {
    pub(super) span: Span,
    pub(super) group: &'w model::ProfileGroup,
    /// Number of the group in its window.
    pub(super) group_number: usize,
    pub(super) kind: model::ProfileKind,
}

/// A request while it is filled, group by group and profile by profile.
#[derive(Debug)]
pub(super) struct Part<'w> {
    dictionary: DictionaryBuilder<'w>,
    groups: Vec<ResourceProfiles>,
    /// Bytes of `groups`, at most.
    bytes: usize,
    group: Option<usize>,
    profile: Option<OpenProfile>,
}

/// The profile that samples are added to: the last one of the last group.
#[derive(Debug)]
struct OpenProfile {
    kind: model::ProfileKind,
    /// Position of each sample by stack and attributes.
    positions: HashMap<(i32, Vec<i32>), usize>,
    pprof: PprofSize,
}

impl<'w> Part<'w> {
    pub(super) fn new() -> Self {
        Self {
            dictionary: DictionaryBuilder::new(),
            groups: Vec::new(),
            bytes: 0,
            group: None,
            profile: None,
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.groups.is_empty()
    }

    pub(super) fn finish(self) -> ExportProfilesServiceRequest {
        ExportProfilesServiceRequest {
            resource_profiles: self.groups,
            dictionary: Some(self.dictionary.finish()),
        }
    }

    /// Adds a sample, opening its group and profile when they are not the last ones.
    pub(super) fn add(
        &mut self,
        place: Place<'w>,
        sample: &'w model::Sample,
        settings: &Settings,
    ) -> Added {
        let checkpoint = self.dictionary.checkpoint();
        let bytes = self.bytes;
        let opens_group = self.group != Some(place.group_number);
        let opens_profile = opens_group
            || self
                .profile
                .as_ref()
                .is_none_or(|open| open.kind != place.kind);
        if opens_group {
            self.open_group(place, settings);
        }
        if opens_profile {
            self.open_profile(place);
        }
        if self.add_to_open(place, sample, settings) {
            return Added::Yes;
        }
        self.dictionary.roll_back(checkpoint);
        self.bytes = bytes;
        if opens_group {
            self.groups.pop();
        } else if opens_profile && let Some(profiles) = self.last_profiles() {
            profiles.pop();
        }
        // What was open before is not opened again: the caller goes on with a new part.
        Added::NoRoom
    }

    fn open_group(&mut self, place: Place<'w>, settings: &Settings) {
        let group = ResourceProfiles {
            resource: Some(resource(&place.group.resource)),
            scope_profiles: vec![ScopeProfiles {
                scope: Some(scope(&settings.scope_version)),
                profiles: Vec::new(),
                schema_url: SCHEMA_URL.to_owned(),
            }],
            schema_url: UPSTREAM_SCHEMA_URL.to_owned(),
        };
        self.bytes += group.encoded_len() + 2 * size::OPEN_FIELD;
        self.groups.push(group);
        self.group = Some(place.group_number);
    }

    fn open_profile(&mut self, place: Place<'w>) {
        let dictionary = &mut self.dictionary;
        let mut value_type = |value: model::ValueType| ValueType {
            type_strindex: dictionary.string(value.name),
            unit_strindex: dictionary.string(value.unit),
        };
        let profile = Profile {
            sample_type: Some(value_type(place.kind.sample_type)),
            period_type: Some(value_type(place.kind.period_type)),
            period: period(&place.kind),
            time_unix_nano: place.span.start_unix_nanos,
            duration_nano: place.span.duration_nanos,
            ..Profile::default()
        };
        self.bytes += profile.encoded_len() + size::OPEN_FIELD;
        if let Some(profiles) = self.last_profiles() {
            profiles.push(profile);
        }
        self.profile = Some(OpenProfile {
            kind: place.kind,
            positions: HashMap::new(),
            pprof: PprofSize::default(),
        });
    }

    fn last_profiles(&mut self) -> Option<&mut Vec<Profile>> {
        let scope = self.groups.last_mut()?.scope_profiles.last_mut()?;
        Some(&mut scope.profiles)
    }

    /// Whether the sample fitted.
    fn add_to_open(
        &mut self,
        place: Place<'w>,
        sample: &'w model::Sample,
        settings: &Settings,
    ) -> bool {
        let limits = &settings.limits;
        let stack_index = self.dictionary.stack(&sample.stack);
        let attribute_indices = self.sample_attributes(place, sample, settings.repeated);
        let Self {
            dictionary,
            groups,
            bytes,
            profile: Some(open),
            ..
        } = self
        else {
            return false;
        };
        let samples = groups
            .last_mut()
            .and_then(|group| group.scope_profiles.last_mut())
            .and_then(|scope| scope.profiles.last_mut())
            .map(|profile| &mut profile.samples);
        let Some(samples) = samples else {
            return false;
        };
        let identity = (stack_index, attribute_indices);
        if let Some(earlier) = open
            .positions
            .get(&identity)
            .and_then(|&p| samples.get_mut(p))
        {
            let sum = earlier.values[0].checked_add(sample.value);
            if let Some(sum) = sum {
                earlier.values[0] = sum;
            }
            return sum.is_some();
        }
        let entry = Sample {
            stack_index,
            attribute_indices: identity.1.clone(),
            link_index: 0,
            values: vec![sample.value],
            timestamps_unix_nano: Vec::new(),
        };
        *bytes += size::message(&entry) + VALUE;
        open.pprof
            .add(dictionary.tables(), stack_index, &entry.attribute_indices);
        let total = *bytes + dictionary.bytes() + size::OPEN_FIELD;
        if total >= limits.request()
            || open.pprof.bytes() > limits.profile_bytes
            || samples.len() >= limits.profile_samples
        {
            return false;
        }
        open.positions.insert(identity, samples.len());
        samples.push(entry);
        true
    }

    /// The sample's attributes, with those of its resource that are to be repeated unless it has its own.
    fn sample_attributes(
        &mut self,
        place: Place<'w>,
        sample: &'w model::Sample,
        repeated: &[&str],
    ) -> Vec<i32> {
        let is_own = |key: &str| sample.attributes.iter().any(|own| own.key == key);
        let resource = place.group.resource.attributes.iter();
        let resource = resource.filter(|attribute| {
            repeated.contains(&attribute.key.as_ref()) && !is_own(&attribute.key)
        });
        let dictionary = &mut self.dictionary;
        let mut indices: Vec<i32> = sample
            .attributes
            .iter()
            .chain(resource)
            .map(|attribute| dictionary.attribute(&attribute.key, &attribute.value))
            .collect();
        // Their order carries no meaning, so that the same set is the same list.
        indices.sort_unstable();
        indices
    }
}

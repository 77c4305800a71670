//! Rules of profiles requests.

use std::collections::HashSet;

use evenkeel_semconv::attribute;
use opentelemetry_proto::tonic::{
    collector::profiles::v1development::ExportProfilesServiceRequest,
    profiles::v1development::{Profile, ProfilesDictionary, Sample, ValueType},
};
use prost::Message;

use super::{
    Findings, Origin, Rule, Violation, dictionary,
    resource::{self, Owner},
    usage::Usage,
};
use crate::view::{Attributes, Dictionary};

/// Requests are refused by common gRPC servers from here on.
pub(super) const MAX_REQUEST: usize = 4 << 20;

/// Pyroscope's limit.
const MAX_SAMPLES: usize = 16_000;

/// Every rule that a profiles request breaks, in the order they are met; empty when it is valid.
pub fn check_profiles(request: &ExportProfilesServiceRequest, origin: Origin) -> Vec<Violation> {
    let mut findings = Findings::default();
    let bytes = request.encoded_len();
    findings.require(bytes < MAX_REQUEST, Rule::RequestSize, "request", bytes);
    let absent = ProfilesDictionary::default();
    let tables = request.dictionary.as_ref().unwrap_or(&absent);
    if request.dictionary.is_none() {
        findings.add(Rule::Dictionary, "request", "none");
    } else {
        dictionary::tables(&mut findings, tables, origin);
    }
    let mut check = Check {
        findings,
        usage: Usage::new(tables),
        dictionary: Dictionary::new(Some(tables)),
    };
    check.request(request, origin);
    let Check {
        mut findings,
        usage,
        ..
    } = check;
    usage.orphans(&mut findings);
    findings.0
}

struct Check<'a> {
    findings: Findings,
    usage: Usage<'a>,
    dictionary: Dictionary<'a>,
}

impl<'a> Check<'a> {
    fn request(&mut self, request: &'a ExportProfilesServiceRequest, origin: Origin) {
        let groups = &request.resource_profiles;
        self.not_empty(groups, "request");
        for (i, group) in groups.iter().enumerate() {
            let at = format!("resource[{i}]");
            resource::resource(
                &mut self.findings,
                &at,
                group.resource.as_ref(),
                &group.schema_url,
                self.dictionary,
                origin,
            );
            if let Some(resource) = &group.resource {
                self.usage
                    .key_values(&mut self.findings, &at, &resource.attributes);
            }
            self.not_empty(&group.scope_profiles, &at);
            for (j, scoped) in group.scope_profiles.iter().enumerate() {
                let at = format!("{at}.scope[{j}]");
                resource::scope(
                    &mut self.findings,
                    &at,
                    scoped.scope.as_ref(),
                    &scoped.schema_url,
                    self.dictionary,
                    origin,
                );
                if let Some(scope) = &scoped.scope {
                    self.usage
                        .key_values(&mut self.findings, &at, &scope.attributes);
                }
                self.not_empty(&scoped.profiles, &at);
                for (k, profile) in scoped.profiles.iter().enumerate() {
                    self.profile(&format!("{at}.profile[{k}]"), profile);
                }
            }
        }
    }

    fn not_empty<T>(&mut self, list: &[T], at: &str) {
        let holds = !list.is_empty();
        self.findings.require(holds, Rule::NotEmpty, at, "nothing");
    }

    fn profile(&mut self, at: &str, profile: &'a Profile) {
        let Self {
            findings,
            usage,
            dictionary,
        } = self;
        let (name, unit) = value_type(findings, usage, *dictionary, at, profile.sample_type);
        let valid = !name.is_empty() && !name.contains('-') && !unit.is_empty();
        findings.require(valid, Rule::SampleType, at, format!("`{name}` in `{unit}`"));
        let (period_name, unit) = value_type(findings, usage, *dictionary, at, profile.period_type);
        let period = profile.period;
        let valid = !period_name.is_empty()
            && !unit.is_empty()
            && (period > 0 || (period == 0 && name == "off_cpu"));
        let found = format!("{period} `{unit}` of `{period_name}`");
        findings.require(valid, Rule::PeriodType, at, found);
        let (time, duration) = (profile.time_unix_nano, profile.duration_nano);
        let valid = time > 0 && duration > 0;
        findings.require(valid, Rule::ProfileTime, at, format!("{time} + {duration}"));
        let id = &profile.profile_id;
        let valid = id.is_empty() || (id.len() == 16 && id.iter().any(|&byte| byte != 0));
        findings.require(valid, Rule::ProfileId, at, format!("{id:?}"));
        let format = &profile.original_payload_format;
        let valid = format.is_empty() == profile.original_payload.is_empty();
        findings.require(valid, Rule::OriginalPayload, at, format);
        usage.attributes(findings, at, &profile.attribute_indices);
        let list = Attributes::indices(&profile.attribute_indices, *dictionary);
        resource::attributes(findings, at, Owner::Telemetry, list);

        let count = profile.samples.len();
        findings.require(count <= MAX_SAMPLES, Rule::SampleCount, at, count);
        self.not_empty(&profile.samples, at);
        let mut identities = HashSet::new();
        for (i, sample) in profile.samples.iter().enumerate() {
            let at = format!("{at}.sample[{i}]");
            let mut attributes = sample.attribute_indices.clone();
            attributes.sort_unstable();
            let fresh = identities.insert((sample.stack_index, attributes, sample.link_index));
            let found = "the identity of an earlier one";
            self.findings
                .require(fresh, Rule::SampleIdentity, &at, found);
            self.sample(&at, profile, sample);
        }
    }

    fn sample(&mut self, at: &str, profile: &Profile, sample: &'a Sample) {
        let Self {
            findings,
            usage,
            dictionary,
        } = self;
        let (values, times) = (&sample.values, &sample.timestamps_unix_nano);
        let found = format!("{} values, {} timestamps", values.len(), times.len());
        let valid = values.len() == 1 && times.is_empty();
        findings.require(valid, Rule::SampleShape, at, found);
        for &value in values {
            findings.require(value > 0, Rule::SampleValue, at, value);
        }
        for &time in times {
            let inside = time
                .checked_sub(profile.time_unix_nano)
                .is_some_and(|offset| offset < profile.duration_nano);
            findings.require(inside, Rule::TimestampInWindow, at, time);
        }
        usage.stack(findings, at, sample.stack_index);
        usage.link(findings, at, sample.link_index);
        usage.attributes(findings, at, &sample.attribute_indices);
        let list = Attributes::indices(&sample.attribute_indices, *dictionary);
        resource::attributes(findings, at, Owner::Telemetry, list);
        let service = list.text(attribute::SERVICE_NAME).unwrap_or_default();
        findings.require(!service.is_empty(), Rule::ServiceName, at, "none");
    }
}

/// Name and unit; empty when unset.
fn value_type<'a>(
    findings: &mut Findings,
    usage: &mut Usage<'a>,
    dictionary: Dictionary<'a>,
    at: &str,
    value_type: Option<ValueType>,
) -> (&'a str, &'a str) {
    let ValueType {
        type_strindex,
        unit_strindex,
    } = value_type.unwrap_or_default();
    usage.string(findings, at, type_strindex);
    usage.string(findings, at, unit_strindex);
    (
        dictionary.string(type_strindex),
        dictionary.string(unit_strindex),
    )
}

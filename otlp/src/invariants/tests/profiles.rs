//! Each rule of profiles is named when it alone is broken, and a valid request breaks none.

use evenkeel_semconv::attribute;
use opentelemetry_proto::tonic::{
    collector::profiles::v1development::ExportProfilesServiceRequest,
    common::v1::{AnyValue, KeyValue, any_value::Value},
    profiles::v1development::{
        Function, KeyValueAndUnit, Link, Mapping, Profile, ProfilesDictionary, Sample,
        ScopeProfiles, Stack,
    },
};

use super::super::{Origin, Rule, check_profiles};
use crate::{
    encode::{Settings, encode_profiles},
    testing::{frame, on_cpu, sample, window},
};

fn profiles() -> ExportProfilesServiceRequest {
    let stack = vec![frame("leaf", 1), frame("main", 2)];
    let other = vec![frame("main", 2)];
    let samples = vec![sample(stack, "a", 1), sample(other, "b", 2)];
    let window = window(vec![on_cpu(samples)]);
    encode_profiles(&window, &Settings::new("1"))
        .requests
        .remove(0)
}

/// The rules that the request breaks once it was changed.
fn broken(change: impl FnOnce(&mut ExportProfilesServiceRequest)) -> Vec<Rule> {
    let mut request = profiles();
    change(&mut request);
    let violations = check_profiles(&request, Origin::Evenkeel);
    violations.iter().map(|violation| violation.rule).collect()
}

fn broken_table(change: impl FnOnce(&mut ProfilesDictionary)) -> Vec<Rule> {
    broken(|request| change(request.dictionary.as_mut().unwrap()))
}

fn broken_profile(change: impl FnOnce(&mut Profile)) -> Vec<Rule> {
    broken(|r| change(&mut r.resource_profiles[0].scope_profiles[0].profiles[0]))
}

fn broken_sample(change: impl FnOnce(&mut Sample)) -> Vec<Rule> {
    broken_profile(|profile| change(&mut profile.samples[0]))
}

fn broken_resource(change: impl FnOnce(&mut Vec<KeyValue>)) -> Vec<Rule> {
    broken(|r| change(&mut r.resource_profiles[0].resource.as_mut().unwrap().attributes))
}

fn text(key: &str, value: Value) -> KeyValue {
    KeyValue {
        key: key.to_owned(),
        value: Some(AnyValue { value: Some(value) }),
        key_strindex: 0,
    }
}

/// What we encode breaks no rule, as it is and by way of a Collector.
#[test]
fn valid_profiles_break_nothing() {
    assert_eq!(check_profiles(&profiles(), Origin::Evenkeel), []);
    assert_eq!(check_profiles(&profiles(), Origin::Collector), []);
}

/// A violation says where, what should be, and what was found.
#[test]
fn violations_explain_themselves() {
    let mut request = profiles();
    request.resource_profiles[0].schema_url.clear();
    let violations = check_profiles(&request, Origin::Evenkeel);
    assert_eq!(
        violations[0].to_string(),
        "resource[0]: resource and scope have a schema URL (found none)"
    );
}

/// Nothing empty, nothing too large.
#[test]
fn emptiness_and_size() {
    let empty =
        |change: fn(&mut ExportProfilesServiceRequest)| broken(change).contains(&Rule::NotEmpty);
    assert!(empty(|r| r.resource_profiles.clear()));
    assert!(empty(|r| r.resource_profiles[0].scope_profiles.clear()));
    assert!(empty(|r| r.resource_profiles[0].scope_profiles[0]
        .profiles
        .clear()));
    assert!(broken_profile(|p| p.samples.clear()).contains(&Rule::NotEmpty));
    let long = |table: &mut ProfilesDictionary| table.string_table[1] = "x".repeat(4 << 20);
    assert_eq!(broken_table(long), [Rule::RequestSize]);
    let many = |profile: &mut Profile| {
        let first = profile.samples[0].clone();
        profile.samples.resize(16_001, first);
    };
    assert!(broken_profile(many).contains(&Rule::SampleCount));
}

/// The dictionary is there, its tables begin with zero, and hold each entry once and used.
#[test]
fn dictionary() {
    assert!(broken(|r| r.dictionary = None).contains(&Rule::Dictionary));
    let zero =
        |change: fn(&mut ProfilesDictionary)| broken_table(change).contains(&Rule::ZeroValueFirst);
    assert!(zero(|t| t.mapping_table[0].memory_start = 1));
    assert!(zero(|t| t.location_table[0].address = 1));
    assert!(zero(|t| t.function_table[0].start_line = 1));
    assert!(zero(|t| t.string_table[0].push('x')));
    assert!(zero(|t| t.stack_table[0].location_indices.push(1)));
    assert!(zero(|t| t.attribute_table[0].unit_strindex = 1));
    assert!(zero(
        |t| t.attribute_table[0].value = Some(AnyValue::default())
    ));
    assert!(zero(|t| t.link_table.clear()));
    // The 16 and 8 zero bytes that Parca and the group's checker refuse.
    assert!(zero(|t| t.link_table[0] = Link {
        trace_id: vec![0; 16],
        span_id: vec![0; 8]
    }));

    let twice = |table: &mut ProfilesDictionary| table.string_table.push("main".to_owned());
    assert_eq!(broken_table(twice), [Rule::NoDuplicates, Rule::NoOrphans]);
    let unused = |table: &mut ProfilesDictionary| table.string_table.push("unused".to_owned());
    assert_eq!(broken_table(unused), [Rule::NoOrphans]);
    let unused = |t: &mut ProfilesDictionary| {
        t.stack_table.push(Stack {
            location_indices: vec![1],
        });
    };
    assert_eq!(broken_table(unused), [Rule::NoOrphans]);
}

/// Every kind of index is checked, below zero and beyond the end.
#[test]
fn indices() {
    let out = |rules: Vec<Rule>| rules.contains(&Rule::IndexInRange);
    for bad in [-1, 1_000] {
        assert!(out(broken_sample(|s| s.stack_index = bad)));
        assert!(out(broken_sample(|s| s.link_index = bad)));
        assert!(out(broken_sample(|s| s.attribute_indices[0] = bad)));
        assert!(out(broken_profile(|p| p.attribute_indices.push(bad))));
        assert!(out(broken_profile(|p| p
            .sample_type
            .as_mut()
            .unwrap()
            .type_strindex = bad)));
        assert!(out(broken_profile(|p| p
            .period_type
            .as_mut()
            .unwrap()
            .unit_strindex = bad)));
        assert!(out(broken_table(
            |t| t.stack_table[1].location_indices[0] = bad
        )));
        assert!(out(broken_table(
            |t| t.location_table[1].mapping_index = bad
        )));
        assert!(out(broken_table(
            |t| t.location_table[1].attribute_indices[0] = bad
        )));
        assert!(out(broken_table(
            |t| t.location_table[1].lines[0].function_index = bad
        )));
        assert!(out(broken_table(
            |t| t.function_table[1].name_strindex = bad
        )));
        assert!(out(broken_table(
            |t| t.function_table[1].filename_strindex = bad
        )));
        assert!(out(broken_table(
            |t| t.mapping_table[1].filename_strindex = bad
        )));
        assert!(out(broken_table(
            |t| t.mapping_table[1].attribute_indices[0] = bad
        )));
        assert!(out(broken_table(
            |t| t.attribute_table[1].key_strindex = bad
        )));
        assert!(out(broken_table(
            |t| t.attribute_table[1].unit_strindex = bad
        )));
        assert!(out(broken_resource(|list| list[0].key_strindex = bad)));
    }
}

/// Mappings, functions, lines and links hold what they must.
#[test]
fn entries() {
    assert_eq!(
        broken_table(|t| t.mapping_table[1].memory_limit = 1),
        [Rule::MappingRange]
    );
    let without_id = broken_table(|t| t.mapping_table[1].attribute_indices.clear());
    assert!(without_id.contains(&Rule::MappingBuildId));
    // Zero for both is "unknown", not a range.
    let unknown = |mapping: &mut Mapping| (mapping.memory_start, mapping.memory_limit) = (0, 0);
    assert_eq!(broken_table(|t| unknown(&mut t.mapping_table[1])), []);
    let nameless = |t: &mut ProfilesDictionary| {
        t.function_table[1] = Function {
            start_line: 1,
            ..Function::default()
        };
    };
    assert!(broken_table(nameless).contains(&Rule::FunctionName));
    assert_eq!(
        broken_table(|t| t.function_table[1].start_line = -1),
        [Rule::LineNumbers]
    );
    assert_eq!(
        broken_table(|t| t.location_table[1].lines[0].line = -1),
        [Rule::LineNumbers]
    );
    assert_eq!(
        broken_table(|t| t.location_table[1].lines[0].column = -1),
        [Rule::LineNumbers]
    );
    let short = broken(|r| {
        r.dictionary.as_mut().unwrap().link_table.push(Link {
            trace_id: vec![1; 16],
            span_id: vec![1; 7],
        });
        r.resource_profiles[0].scope_profiles[0].profiles[0].samples[0].link_index = 1;
    });
    assert_eq!(short, [Rule::LinkSize]);
}

/// Types, period, time, id and payload of a profile.
#[test]
fn profile_fields() {
    assert!(broken_profile(|p| p.sample_type = None).contains(&Rule::SampleType));
    let dash = |t: &mut ProfilesDictionary| t.string_table[1] = "on-cpu".to_owned();
    assert_eq!(broken_table(dash), [Rule::SampleType]);
    assert!(broken_profile(|p| p.period_type = None).contains(&Rule::PeriodType));
    assert_eq!(broken_profile(|p| p.period = 0), [Rule::PeriodType]);
    assert_eq!(broken_profile(|p| p.period = -1), [Rule::PeriodType]);
    assert_eq!(broken_profile(|p| p.duration_nano = 0), [Rule::ProfileTime]);
    assert_eq!(
        broken_profile(|p| p.time_unix_nano = 0),
        [Rule::ProfileTime]
    );
    assert_eq!(
        broken_profile(|p| p.profile_id = vec![0; 16]),
        [Rule::ProfileId]
    );
    assert_eq!(
        broken_profile(|p| p.profile_id = vec![1; 15]),
        [Rule::ProfileId]
    );
    assert_eq!(broken_profile(|p| p.profile_id = vec![1; 16]), []);
    assert_eq!(
        broken_profile(|p| p.original_payload = vec![1]),
        [Rule::OriginalPayload]
    );
}

/// Off-CPU time is a sum and the one type that Pyroscope takes without a period.
#[test]
fn off_cpu_has_no_period() {
    let rename = |off: &str, period| {
        let off = off.to_owned();
        broken(move |r| {
            r.dictionary.as_mut().unwrap().string_table[1] = off;
            r.resource_profiles[0].scope_profiles[0].profiles[0].period = period;
        })
    };
    assert_eq!(rename("off_cpu", 0), []);
    assert_eq!(rename("stolen", 0), [Rule::PeriodType]);
    assert_eq!(rename("stolen", 1), []);
}

/// One value above zero, no timestamps, one sample per identity, and a service.
#[test]
fn samples() {
    assert_eq!(broken_sample(|s| s.values.push(1)), [Rule::SampleShape]);
    assert_eq!(broken_sample(|s| s.values.clear()), [Rule::SampleShape]);
    assert_eq!(broken_sample(|s| s.values[0] = 0), [Rule::SampleValue]);
    let begin = 1_700_000_000_000_000_000_u64;
    let at = |time: u64| broken_sample(move |s| s.timestamps_unix_nano.push(time));
    assert_eq!(at(begin), [Rule::SampleShape]);
    let outside = [Rule::SampleShape, Rule::TimestampInWindow];
    assert_eq!(at(begin + 10_000_000_000), outside);
    assert_eq!(at(begin - 1), outside);
    let twice = |profile: &mut Profile| {
        let mut again = profile.samples[0].clone();
        again.attribute_indices.reverse();
        profile.samples.push(again);
    };
    assert_eq!(broken_profile(twice), [Rule::SampleIdentity]);
    assert_eq!(
        broken_sample(|s| s.attribute_indices.retain(|&index| index == 3)),
        [Rule::ServiceName]
    );
    let double = broken_sample(|s| s.attribute_indices.push(s.attribute_indices[0]));
    assert_eq!(double, [Rule::UniqueKeys]);
}

/// Resources and scopes are there, inline, textual, unique, with service and schema.
#[test]
fn resources_and_scopes() {
    assert_eq!(
        broken(|r| r.resource_profiles[0].resource = None),
        [Rule::ResourceAndScope]
    );
    let scope = |change: fn(&mut ScopeProfiles)| {
        broken(|r| change(&mut r.resource_profiles[0].scope_profiles[0]))
    };
    assert_eq!(scope(|s| s.scope = None), [Rule::ResourceAndScope]);
    assert_eq!(
        scope(|s| s.scope.as_mut().unwrap().name.clear()),
        [Rule::ResourceAndScope]
    );
    assert_eq!(scope(|s| s.schema_url.clear()), [Rule::SchemaUrl]);
    assert_eq!(broken_resource(|list| list.clear()), [Rule::ServiceName]);
    assert_eq!(
        broken_resource(|list| list.push(text("process.pid", Value::IntValue(7)))),
        [Rule::TextOnResource]
    );
    assert_eq!(
        broken_resource(|list| list.push(list[0].clone())),
        [Rule::UniqueKeys]
    );
    let unset = |list: &mut Vec<KeyValue>| {
        let mut unset = text("host.name", Value::IntValue(0));
        unset.value = None;
        list.push(unset);
    };
    assert_eq!(broken_resource(unset), [Rule::InlineAttributes]);
    // Names of users are welcome on resources, wrong values of known names are not.
    let own = text("team", Value::StringValue("x".to_owned()));
    assert_eq!(broken_resource(|list| list.push(own)), []);
    let arch = text(attribute::HOST_ARCH, Value::IntValue(64));
    let rules = broken_resource(|list| list.push(arch));
    assert!(rules.contains(&Rule::Registry));
}

/// Attributes of samples are of the registry.
#[test]
fn sample_attributes_are_registered() {
    let unknown = |t: &mut ProfilesDictionary| {
        let key = t.string_table.iter_mut().find(|s| *s == "thread.name");
        *key.unwrap() = "made.up".to_owned();
    };
    assert!(
        broken_table(unknown)
            .iter()
            .all(|&rule| rule == Rule::Registry)
    );
    assert!(!broken_table(unknown).is_empty());
}

/// References pass for a Collector and count as use; from us they are a fault.
#[test]
fn references_are_a_collectors() {
    let mut request = profiles();
    let tables = request.dictionary.as_mut().unwrap();
    let key = tables.string_table.iter().position(|s| s == "service.name");
    let (key, value) = (key.unwrap() as i32, tables.string_table.len() as i32);
    tables.string_table.push("checkout".to_owned());
    let list = &mut request.resource_profiles[0]
        .resource
        .as_mut()
        .unwrap()
        .attributes;
    list[0] = KeyValue {
        key: String::new(),
        value: Some(AnyValue {
            value: Some(Value::StringValueStrindex(value)),
        }),
        key_strindex: key,
    };
    // How a Collector writes the unset value.
    request.dictionary.as_mut().unwrap().attribute_table[0] = KeyValueAndUnit {
        value: Some(AnyValue::default()),
        ..KeyValueAndUnit::default()
    };
    assert_eq!(check_profiles(&request, Origin::Collector), []);
    let rules: Vec<_> = check_profiles(&request, Origin::Evenkeel)
        .iter()
        .map(|violation| violation.rule)
        .collect();
    assert_eq!(rules, [Rule::ZeroValueFirst, Rule::InlineAttributes]);
}

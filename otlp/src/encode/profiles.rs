//! Profiles of a window as requests.

use opentelemetry_proto::tonic::collector::profiles::v1development::ExportProfilesServiceRequest;

use super::{
    Settings,
    part::{Added, Part, Place},
};
use crate::model::Window;

/// The profiles of a window.
#[derive(Clone, Debug, Default)]
pub struct EncodedProfiles {
    /// Requests within the limits, none empty. Their samples add up to the window's.
    pub requests: Vec<ExportProfilesServiceRequest>,
    /// Samples that are in none of them: alone larger than a limit, or not above zero.
    pub dropped_samples: u64,
}

/// Encodes the profiles of a window. A window without samples gives no request.
pub fn encode_profiles(window: &Window, settings: &Settings) -> EncodedProfiles {
    let mut encoded = EncodedProfiles::default();
    let mut part = Part::new();
    for (group_number, group) in window.profiles.iter().enumerate() {
        for profile in &group.profiles {
            let place = Place {
                span: window.span,
                group,
                group_number,
                kind: profile.kind,
            };
            for sample in &profile.samples {
                if sample.value <= 0 {
                    encoded.dropped_samples += 1;
                    continue;
                }
                if part.add(place, sample, settings) == Added::Yes {
                    continue;
                }
                if !part.is_empty() {
                    encoded.requests.push(part.finish());
                    part = Part::new();
                    if part.add(place, sample, settings) == Added::Yes {
                        continue;
                    }
                }
                part = Part::new();
                encoded.dropped_samples += 1;
            }
        }
    }
    if !part.is_empty() {
        encoded.requests.push(part.finish());
    }
    encoded
}

#[cfg(test)]
mod tests {
    use std::{collections::BTreeMap, sync::Arc};

    use prost::Message;

    use super::*;
    use crate::{
        encode::{Limits, SCOPE_NAME},
        invariants::{Origin, check_profiles},
        model::{Attribute, ProfileGroup, Resource, Sample},
        testing::{frame, on_cpu, sample, window},
        view::ProfilesView,
    };

    /// Totals by resource's service, sample type, process attribute and stack text.
    fn totals(requests: &[ExportProfilesServiceRequest]) -> BTreeMap<String, i64> {
        let mut totals = BTreeMap::new();
        for request in requests {
            for profile in ProfilesView::new(request).profiles() {
                for sample in profile.samples() {
                    let stack: Vec<_> = sample
                        .frames()
                        .map(|f| {
                            f.lines()
                                .map(|l| l.function())
                                .collect::<Vec<_>>()
                                .join("+")
                        })
                        .collect();
                    let key = format!(
                        "{:?} {} {} {}",
                        profile.resource().text("service.name"),
                        profile.sample_type().name,
                        sample.attributes().get("thread.name").unwrap(),
                        stack.join(";")
                    );
                    *totals.entry(key).or_default() += sample.value();
                }
            }
        }
        totals
    }

    fn settings(limits: Limits) -> Settings {
        Settings {
            limits,
            ..Settings::new("1.2.3")
        }
    }

    fn many(samples: usize) -> Window {
        let shared: Vec<_> = (0..40)
            .map(|i| frame(&format!("shared_function_{i}"), 0x1000 + i))
            .collect();
        let samples = (0..samples)
            .map(|i| {
                let mut stack = vec![frame(
                    &format!("namespace::of_a_longer_kind::leaf_function_number_{i}"),
                    i as u64,
                )];
                stack.extend(shared.iter().skip(i % 30).cloned());
                sample(stack, &format!("thread-{}", i % 3), 1 + i as i64 % 5)
            })
            .collect();
        window(vec![on_cpu(samples)])
    }

    /// What comes out keeps every invariant, and holds resource, scope, types and values.
    #[test]
    fn window_round_trips() {
        let window = many(10);
        let encoded = encode_profiles(&window, &settings(Limits::default()));
        assert_eq!((encoded.requests.len(), encoded.dropped_samples), (1, 0));
        let request = &encoded.requests[0];
        assert_eq!(check_profiles(request, Origin::Evenkeel), []);
        let profile = ProfilesView::new(request).profiles().next().unwrap();
        assert_eq!(profile.scope(), (SCOPE_NAME, "1.2.3"));
        assert_eq!(profile.sample_type().name, "samples");
        assert_eq!(profile.period_type().unit, "nanoseconds");
        assert_eq!(profile.span(), window.span);
        let first = profile.samples().next().unwrap();
        assert_eq!(first.attributes().text("service.name"), Some("checkout"));
        let leaf = first.frames().next().unwrap();
        assert_eq!(
            leaf.lines().next().unwrap().function(),
            "namespace::of_a_longer_kind::leaf_function_number_0"
        );
        assert_eq!(leaf.module(), "app");
        assert_eq!(leaf.frame_type(), Some("native"));
        let wire = request.encode_to_vec();
        assert_eq!(
            &ExportProfilesServiceRequest::decode(&wire[..]).unwrap(),
            request
        );
    }

    /// Equal frames, stacks and attributes are one entry and one sample, whether they share memory
    /// or are only equal.
    #[test]
    fn same_identity_is_one_sample() {
        let stack = || vec![frame("leaf", 1), frame("main", 2)];
        let a = sample(stack(), "t", 2);
        let shared = Sample {
            value: 3,
            ..a.clone()
        };
        let equal = sample(stack(), "t", 4);
        let other = sample(stack(), "u", 5);
        let encoded = encode_profiles(
            &window(vec![on_cpu(vec![a, shared, equal, other])]),
            &settings(Limits::default()),
        );
        let request = &encoded.requests[0];
        let profile = ProfilesView::new(request).profiles().next().unwrap();
        let values: Vec<_> = profile.samples().map(|s| s.value()).collect();
        assert_eq!(values, [9, 5]);
        let tables = request.dictionary.as_ref().unwrap();
        assert_eq!(tables.location_table.len(), 3);
        assert_eq!(tables.stack_table.len(), 2);
        assert_eq!(check_profiles(request, Origin::Evenkeel), []);
    }

    /// 30,000 distinct stacks: each request is below its limit and valid on its own, no profile has
    /// too many samples, and the totals are those of one request without limits.
    #[test]
    fn split_requests_lose_nothing() {
        let window = many(30_000);
        let whole = Limits {
            request_bytes: usize::MAX,
            profile_samples: usize::MAX,
            profile_bytes: usize::MAX,
        };
        let whole = encode_profiles(&window, &settings(whole));
        assert_eq!(whole.requests.len(), 1);
        assert!(whole.requests[0].encoded_len() > 7 << 19);
        let small = Limits {
            request_bytes: 200_000,
            ..Limits::default()
        };
        for limits in [Limits::default(), small] {
            let encoded = encode_profiles(&window, &settings(limits));
            assert!(encoded.requests.len() > 1);
            assert_eq!(encoded.dropped_samples, 0);
            for request in &encoded.requests {
                assert!(request.encoded_len() < limits.request_bytes);
                assert_eq!(check_profiles(request, Origin::Evenkeel), []);
                for profile in ProfilesView::new(request).profiles() {
                    assert!(profile.samples().len() <= 16_000);
                }
            }
            assert_eq!(totals(&encoded.requests), totals(&whole.requests));
        }
    }

    /// A sample that no request can hold is counted and the others go out.
    #[test]
    fn oversized_sample_is_counted() {
        let huge = sample(vec![frame(&"x".repeat(50_000), 1)], "t", 1);
        let small = sample(vec![frame("leaf", 1)], "t", 7);
        let limits = Limits {
            request_bytes: 10_000,
            ..Limits::default()
        };
        let window = window(vec![on_cpu(vec![small.clone(), huge.clone(), small, huge])]);
        let encoded = encode_profiles(&window, &settings(limits));
        assert_eq!(encoded.dropped_samples, 2);
        assert_eq!(totals(&encoded.requests).values().sum::<i64>(), 14);
        for request in &encoded.requests {
            assert_eq!(check_profiles(request, Origin::Evenkeel), []);
        }
    }

    /// No samples, no request: an empty profile is never sent.
    #[test]
    fn nothing_is_sent_for_nothing() {
        let settings = settings(Limits::default());
        let empty = window(vec![on_cpu(Vec::new())]);
        assert!(encode_profiles(&empty, &settings).requests.is_empty());
        let zero = window(vec![on_cpu(vec![sample(vec![], "t", 0)])]);
        let encoded = encode_profiles(&zero, &settings);
        assert_eq!((encoded.requests.len(), encoded.dropped_samples), (0, 1));
    }

    /// Samples repeat what names their resource, but for what they say themselves, and nothing else of it.
    #[test]
    fn naming_attributes_are_repeated() {
        let mut window = window(vec![on_cpu(vec![sample(vec![frame("a", 1)], "t", 1)])]);
        let mut own = sample(vec![frame("a", 1)], "t", 2);
        own.attributes = Arc::from([Attribute::new("service.name", "own")]);
        window.profiles = vec![ProfileGroup {
            resource: Arc::new(Resource {
                attributes: vec![
                    Attribute::new("cloud.region", "eu-1"),
                    Attribute::new("host.id", "h"),
                    Attribute::new("k8s.pod.name", "p"),
                    Attribute::new("service.name", "billing"),
                ],
            }),
            profiles: vec![on_cpu(vec![own])],
        }];
        let keys = |repeated| {
            let settings = Settings {
                repeated,
                ..settings(Limits::default())
            };
            let encoded = encode_profiles(&window, &settings);
            assert_eq!(check_profiles(&encoded.requests[0], Origin::Evenkeel), []);
            let view = ProfilesView::new(&encoded.requests[0]);
            let profile = view.profiles().next().unwrap();
            let sample = profile.samples().next().unwrap();
            let attributes = sample.attributes();
            ["cloud.region", "host.id", "k8s.pod.name", "service.name"]
                .map(|key| attributes.text(key).map(str::to_owned))
        };
        let own = || Some("own".to_owned());
        assert_eq!(keys(&[]), [None, None, None, own()]);
        assert_eq!(
            keys(crate::encode::NAMING_ATTRIBUTES),
            [Some("eu-1".into()), None, Some("p".into()), own()]
        );
    }

    /// Groups stay apart when they share a request, and a sample's own service is kept.
    #[test]
    fn groups_keep_their_resources() {
        let mut window = window(vec![on_cpu(vec![sample(vec![frame("a", 1)], "t", 1)])]);
        let mut own = sample(vec![frame("a", 1)], "t", 2);
        own.attributes = Arc::from([
            Attribute::new("service.name", "own"),
            Attribute::new("thread.name", "t"),
        ]);
        window.profiles.push(ProfileGroup {
            resource: Arc::new(Resource {
                attributes: vec![Attribute::new("service.name", "billing")],
            }),
            profiles: vec![on_cpu(vec![own])],
        });
        let encoded = encode_profiles(&window, &settings(Limits::default()));
        let request = &encoded.requests[0];
        assert_eq!(check_profiles(request, Origin::Evenkeel), []);
        let services: Vec<_> = ProfilesView::new(request)
            .profiles()
            .map(|profile| {
                let sample = profile.samples().next().unwrap();
                (
                    profile.resource().text("service.name").unwrap().to_owned(),
                    sample.attributes().text("service.name").unwrap().to_owned(),
                )
            })
            .collect();
        let pair = |a: &str, b: &str| (a.to_owned(), b.to_owned());
        assert_eq!(
            services,
            [pair("checkout", "checkout"), pair("billing", "own")]
        );
    }
}

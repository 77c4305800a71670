use std::time::Instant;

use super::*;
use crate::identity::kubernetes::{
    MAX_PODS,
    backoff::Delays,
    fake_api::{FakeApi, Mode, pod, wait_until},
    settings::Timings,
};

fn settings(api: &FakeApi, mode: KubernetesMode) -> KubernetesSettings {
    let endpoint = format!("http://{}", api.address).parse().ok();
    KubernetesSettings {
        mode,
        node: Some("node-1".into()),
        endpoint: endpoint.clone(),
        kubelet_endpoint: endpoint,
        timings: Timings {
            delays: Delays {
                first: Duration::from_millis(20),
                longest: Duration::from_millis(100),
            },
            watch_seconds: 2,
            poll: Duration::from_millis(50),
            facts: Duration::from_millis(50),
        },
        ..KubernetesSettings::default()
    }
}

fn start(api: &FakeApi) -> (Source, Pods) {
    let pods = Pods::default();
    let source = Source::start(settings(api, KubernetesMode::Api), pods.clone()).unwrap();
    (source, pods)
}

fn knows(pods: &Pods, id: &str) -> bool {
    pods.container(id).is_some()
}

fn one(name: &str, id: &str) -> serde_json::Value {
    pod(name, &[id.to_owned()])
}

/// Pods are there after the list, come and go with events, and only those of the node are asked for.
#[test]
fn lists_and_watches() {
    let api = FakeApi::start(vec![one("a", "aa")]);
    let (source, pods) = start(&api);
    wait_until("the list", || knows(&pods, "aa"));
    api.add(one("b", "bb"));
    wait_until("an event", || knows(&pods, "bb"));
    let revision = pods.revision();
    api.delete("a");
    api.add(one("c", "cc"));
    wait_until("a pod that came after a deletion", || knows(&pods, "cc"));
    assert!(pods.revision() > revision);
    // Samples of the last moments of a deleted pod still find it.
    assert!(knows(&pods, "aa"));
    let statistics = source.statistics();
    assert_eq!((statistics.pods, statistics.containers), (2, 3));
    assert_eq!(
        (statistics.lists, statistics.errors, statistics.refused),
        (1, 0, 0)
    );
    assert!(!statistics.stale && statistics.last_success_age.is_some());
    let requests = api.requests();
    let about_pods: Vec<_> = requests
        .iter()
        .filter(|path| path.contains("/pods"))
        .collect();
    assert!(!about_pods.is_empty());
    for path in about_pods {
        assert!(
            path.contains("fieldSelector=spec.nodeName%3Dnode-1"),
            "{path}"
        );
    }
    wait_until("node and cluster", || {
        let attributes = source.host_attributes();
        attributes.value("k8s.cluster.uid") == Some("cluster-uid")
            && attributes.value("k8s.node.uid") == Some("node-uid")
    });
}

/// With the port closed, what is known stays and is marked; then what was missed is made up for.
#[test]
fn survives_an_outage() {
    let api = FakeApi::start(vec![one("a", "aa"), one("b", "bb")]);
    let (source, pods) = start(&api);
    wait_until("the list", || knows(&pods, "aa") && knows(&pods, "bb"));
    api.set_open(false);
    wait_until("failures", || source.statistics().errors >= 3);
    api.delete("b");
    api.add(one("c", "cc"));
    std::thread::sleep(Duration::from_secs(2));
    let statistics = source.statistics();
    assert!(statistics.stale && statistics.last_success_age.unwrap() >= Duration::from_secs(2));
    assert!(knows(&pods, "aa") && !knows(&pods, "cc"));
    // Two seconds at 50 ms to 100 ms a try: the waits are kept to.
    assert!(statistics.errors < 60, "{statistics:?}");
    api.set_open(true);
    wait_until("the pod that came meanwhile", || knows(&pods, "cc"));
    wait_until("the one that went", || source.statistics().pods == 2);
    assert!(!source.statistics().stale);
}

/// Rights that are taken away are asked for again, and what is known stays.
#[test]
fn survives_revoked_rights() {
    let api = FakeApi::start(vec![one("a", "aa")]);
    let (source, pods) = start(&api);
    wait_until("the list", || knows(&pods, "aa"));
    api.set_mode(Mode::Forbidden);
    wait_until("refusals", || source.statistics().forbidden >= 3);
    assert!(knows(&pods, "aa") && source.statistics().stale);
    api.add(one("b", "bb"));
    api.set_mode(Mode::Serve);
    wait_until("the pod that came meanwhile", || knows(&pods, "bb"));
    assert!(!source.statistics().stale);
}

/// A version that is gone, by status or by event, and events that are none lead to a new list.
#[test]
fn lists_again_after_a_gap() {
    for mode in [Mode::GoneStatus, Mode::GoneEvent, Mode::GarbageEvents] {
        let api = FakeApi::start(vec![one("a", "aa")]);
        api.set_mode(mode);
        let (source, pods) = start(&api);
        wait_until("lists", || source.statistics().lists >= 3);
        assert!(source.statistics().errors >= 2, "{mode:?}");
        assert!(knows(&pods, "aa"));
        api.set_mode(Mode::Serve);
        api.add(one("b", "bb"));
        wait_until("the pod that came then", || knows(&pods, "bb"));
    }
}

/// Answers that are no answers change nothing.
#[test]
fn survives_nonsense() {
    let api = FakeApi::start(vec![one("a", "aa")]);
    let (source, pods) = start(&api);
    wait_until("the list", || knows(&pods, "aa"));
    api.set_mode(Mode::Html);
    wait_until("failures", || source.statistics().errors >= 3);
    assert!(knows(&pods, "aa"));
}

/// A line without an end is read to a bound and no further, as list and as watch.
#[test]
fn endless_line_is_bounded() {
    let api = FakeApi::start(vec![one("a", "aa")]);
    let (source, pods) = start(&api);
    wait_until("the list", || knows(&pods, "aa"));
    api.set_mode(Mode::EndlessLine);
    wait_until("failures", || source.statistics().errors >= 2);
    assert!(knows(&pods, "aa"));
    // What the kernel buffers between the two comes on top.
    assert!(
        (32 << 20..48 << 20).contains(&api.longest_answer()),
        "{}",
        api.longest_answer()
    );
}

/// A list without an end is left after as many pods as a node can have.
#[test]
fn endless_list_is_bounded() {
    let api = FakeApi::start(Vec::new());
    api.set_mode(Mode::EndlessList);
    let (source, _pods) = start(&api);
    // On a busy machine a request may time out before it has so many.
    wait_until("as many pods as there may be, and a failure", || {
        let statistics = source.statistics();
        statistics.errors >= 1 && statistics.pods >= MAX_PODS as u64
    });
    let statistics = source.statistics();
    assert_eq!(statistics.pods, MAX_PODS as u64);
    assert_eq!(
        (statistics.lists, statistics.containers),
        (0, MAX_PODS as u64)
    );
}

/// The end does not wait for a server that says nothing.
#[test]
fn stops_at_once() {
    let api = FakeApi::start(Vec::new());
    api.set_mode(Mode::Hang);
    let (source, _pods) = start(&api);
    wait_until("a request", || !api.requests().is_empty());
    let begin = Instant::now();
    drop(source);
    assert!(
        begin.elapsed() < Duration::from_secs(1),
        "{:?}",
        begin.elapsed()
    );
}

/// The kubelet's answers come and go the same way.
#[test]
fn asks_the_kubelet() {
    let hash = "0123456789abcdef0123456789abcdef";
    let mut fixed = one("static", "ee");
    fixed["metadata"]["uid"] = hash.into();
    fixed["metadata"]["annotations"] = serde_json::json!({"kubernetes.io/config.hash": hash});
    let api = FakeApi::start(vec![one("a", "aa"), fixed]);
    let pods = Pods::default();
    let source = Source::start(settings(&api, KubernetesMode::Kubelet), pods.clone()).unwrap();
    wait_until("the first answer", || knows(&pods, "aa"));
    let container = pods.container("ee").unwrap();
    let has = |key: &str| {
        container
            .attributes
            .iter()
            .any(|(known, _)| **known == *key)
    };
    assert!(has("k8s.pod.name") && !has("k8s.pod.uid"));
    api.add(one("b", "bb"));
    wait_until("the next answer", || knows(&pods, "bb"));
    api.set_mode(Mode::Html);
    wait_until("failures", || source.statistics().errors >= 2);
    api.set_mode(Mode::Forbidden);
    wait_until("refusals", || source.statistics().forbidden >= 2);
    assert!(knows(&pods, "aa") && source.statistics().stale);
    assert!(api.requests().iter().all(|path| path == "/pods"));
}

/// A kubelet with a certificate of its own is believed only if the user says so.
#[test]
fn kubelet_with_own_certificate() {
    let api = FakeApi::start_with_tls(vec![one("a", "aa")]);
    let mut settings = settings(&api, KubernetesMode::Kubelet);
    settings.kubelet_endpoint = format!("https://localhost:{}", api.address.port())
        .parse()
        .ok();
    let pods = Pods::default();
    // A host without any authorities gives an error at once, others with each request.
    if let Ok(source) = Source::start(settings.clone(), pods.clone()) {
        wait_until("failures", || source.statistics().errors >= 3);
        assert_eq!(source.statistics().last_success_age, None);
    }
    assert!(api.requests().is_empty() && !knows(&pods, "aa"));
    settings.kubelet_insecure = true;
    let _source = Source::start(settings, pods.clone()).unwrap();
    wait_until("the first answer", || knows(&pods, "aa"));
}

/// What leaves open whom to ask is an error and not a watch of everything.
#[test]
fn incomplete_settings() {
    let api = FakeApi::start(Vec::new());
    let mut without_node = settings(&api, KubernetesMode::Api);
    without_node.node = None;
    let error = Source::start(without_node, Pods::default()).unwrap_err();
    assert!(matches!(error, SourceError::NoNode));
    let error = Source::start(settings(&api, KubernetesMode::Off), Pods::default()).unwrap_err();
    assert!(matches!(error, SourceError::Off));
    assert!(api.requests().is_empty());
}

/// 10,000 containers through the whole path, in a process of its own so that memory can be told.
#[test]
fn ten_thousand_containers() {
    let output = std::process::Command::new(std::env::current_exe().unwrap())
        .args(["--ignored", "--nocapture", "--exact"])
        .arg("identity::kubernetes::source::tests::ten_thousand_containers_alone")
        .output()
        .unwrap();
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(
        output.status.success() && text.contains("1 passed"),
        "{text}"
    );
    println!("{text}");
}

#[test]
#[ignore = "run by ten_thousand_containers"]
fn ten_thousand_containers_alone() {
    let many = (0..2500).map(|number| {
        let ids: Vec<_> = (0..4)
            .map(|part| format!("{:064x}", number * 4 + part))
            .collect();
        let mut pod = pod(&format!("pod-{number}"), &ids);
        let metadata = &mut pod["metadata"];
        metadata["labels"] = serde_json::json!({"pod-template-hash": "7d4b9c"});
        metadata["ownerReferences"] = serde_json::json!([{
            "apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "checkout-7d4b9c", "uid": "u",
            "controller": true,
        }]);
        // As much as real pods carry that is of no use here.
        metadata["annotations"] = serde_json::json!({"last-applied": "x".repeat(8 << 10)});
        pod
    });
    let api = FakeApi::start(many.collect());
    let before = memory("VmRSS");
    let begin = Instant::now();
    let (source, pods) = start(&api);
    let last = format!("{:064x}", 9999);
    wait_until("all containers", || knows(&pods, &last));
    let (took, most) = (begin.elapsed(), memory("VmHWM") - before);
    let statistics = source.statistics();
    assert_eq!((statistics.pods, statistics.containers), (2500, 10_000));
    assert_eq!(statistics.refused, 0);
    println!("10,000 containers: {took:?}, {most} KiB with the server that tells of them");
    assert!(most < 64 << 10, "{most} KiB");
}

fn memory(field: &str) -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find(|line| line.starts_with(field)).unwrap();
    line.split_whitespace().nth(1).unwrap().parse().unwrap()
}

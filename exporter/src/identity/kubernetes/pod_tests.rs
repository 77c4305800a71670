use serde_json::{Value, json};

use super::*;

const ID: &str = "559aead08264d5795d3909718cdd05abd49572e84fe55590eef31a88a08fdffd";
const OLD_ID: &str = "659aead08264d5795d3909718cdd05abd49572e84fe55590eef31a88a08fdffd";

fn pod(metadata: Value) -> Value {
    let mut pod = json!({
        "metadata": {
            "name": "checkout-7d4b9c-x2x9z",
            "namespace": "shop",
            "uid": "0f1e2d3c-4b5a-6978-8796-a5b4c3d2e1f0",
            "creationTimestamp": "2026-03-01T10:00:30Z",
        },
        "spec": {
            "nodeName": "node-1",
            "containers": [{"name": "main", "image": "host:5000/shop/checkout:1.4"}],
        },
        "status": {"containerStatuses": [status("main", ID)]},
    });
    for (key, value) in metadata.as_object().unwrap() {
        pod["metadata"][key] = value.clone();
    }
    pod
}

fn status(name: &str, id: &str) -> Value {
    json!({
        "name": name, "image": "sha256:1234", "imageID": "", "ready": true, "restartCount": 0,
        "containerID": format!("containerd://{id}"),
    })
}

fn owner(api: &str, kind: &str, name: &str) -> Value {
    json!({"ownerReferences": [{
        "apiVersion": api, "kind": kind, "name": name, "uid": "owner-uid", "controller": true,
    }]})
}

fn read(pod: Value) -> PodContainers {
    read_allowing(pod, AllowedMetadata::default())
}

fn read_allowing(pod: Value, allowed: AllowedMetadata) -> PodContainers {
    PodReader::new(allowed).read(&serde_json::from_value(pod).unwrap())
}

fn only(pod: Value) -> Arc<PodContainer> {
    let read = read(pod);
    assert_eq!((read.containers.len(), read.refused), (1, 0));
    Arc::clone(&read.containers[0].1)
}

fn value<'a>(container: &'a PodContainer, key: &str) -> Option<&'a str> {
    let found = container.attributes.iter().find(|(k, _)| **k == *key);
    found.map(|(_, value)| &**value)
}

fn pairs(container: &PodContainer) -> Vec<(&str, &str)> {
    let attributes = container.attributes.iter();
    attributes.map(|(key, value)| (&**key, &**value)).collect()
}

/// Everything that is said of a Deployment's container, and nothing else.
#[test]
fn deployment() {
    let mut metadata = owner("apps/v1", "ReplicaSet", "checkout-7d4b9c");
    metadata["labels"] = json!({"pod-template-hash": "7d4b9c", "secret": "x"});
    let container = only(pod(metadata));
    assert_eq!(
        pairs(&container),
        [
            ("container.image.name", "host:5000/shop/checkout"),
            ("container.image.tags", "1.4"),
            ("k8s.container.name", "main"),
            ("k8s.container.restart_count", "0"),
            ("k8s.deployment.name", "checkout"),
            ("k8s.namespace.name", "shop"),
            ("k8s.node.name", "node-1"),
            ("k8s.pod.name", "checkout-7d4b9c-x2x9z"),
            ("k8s.pod.uid", "0f1e2d3c-4b5a-6978-8796-a5b4c3d2e1f0"),
            ("k8s.replicaset.name", "checkout-7d4b9c"),
            ("k8s.replicaset.uid", "owner-uid"),
            ("service.instance.id", "shop.checkout-7d4b9c-x2x9z.main"),
            ("service.namespace", "shop"),
            ("service.version", "1.4"),
        ]
    );
    assert_eq!(&*container.service_name.value, "checkout");
    assert_eq!(
        container.service_name.source,
        ServiceNameSource::Kubernetes(KubernetesRule::Deployment)
    );
}

/// Each kind of owner: the names that follow, the service's name and the rule that gave it.
#[test]
fn controllers() {
    // 2026-03-01T10:00Z is minute 29539320 since 1970.
    let cases = [
        (
            "apps/v1",
            "ReplicaSet",
            "bare-set",
            "k8s.replicaset.name",
            "bare-set",
            KubernetesRule::ReplicaSet,
        ),
        (
            "apps/v1",
            "StatefulSet",
            "db",
            "k8s.statefulset.name",
            "db",
            KubernetesRule::StatefulSet,
        ),
        (
            "apps/v1",
            "DaemonSet",
            "log",
            "k8s.daemonset.name",
            "log",
            KubernetesRule::DaemonSet,
        ),
        (
            "batch/v1",
            "Job",
            "once",
            "k8s.job.name",
            "once",
            KubernetesRule::Job,
        ),
        (
            "batch/v1",
            "Job",
            "nightly-29539320",
            "k8s.cronjob.name",
            "nightly",
            KubernetesRule::CronJob,
        ),
        // A year, a day later than the pod, and a number with a zero: somebody's choice of a name.
        (
            "batch/v1",
            "Job",
            "report-2026",
            "k8s.job.name",
            "report-2026",
            KubernetesRule::Job,
        ),
        (
            "batch/v1",
            "Job",
            "x-29540760",
            "k8s.job.name",
            "x-29540760",
            KubernetesRule::Job,
        ),
        (
            "batch/v1",
            "Job",
            "x-029539320",
            "k8s.job.name",
            "x-029539320",
            KubernetesRule::Job,
        ),
    ];
    for (api, kind, name, key, service, rule) in cases {
        let container = only(pod(owner(api, kind, name)));
        assert_eq!(value(&container, key), Some(service), "{name}");
        assert_eq!(&*container.service_name.value, service);
        assert_eq!(
            container.service_name.source,
            ServiceNameSource::Kubernetes(rule)
        );
        let has_cron_job = value(&container, "k8s.cronjob.name").is_some();
        assert_eq!(has_cron_job, rule == KubernetesRule::CronJob, "{name}");
        assert_eq!(value(&container, "k8s.deployment.name"), None);
    }
}

/// Controllers of other groups and owners that do not control name no workload.
#[test]
fn foreign_owners_are_no_workload() {
    let mut not_controller = owner("apps/v1", "DaemonSet", "log");
    not_controller["ownerReferences"][0]["controller"] = json!(false);
    for metadata in [
        owner("example.com/v1", "ReplicaSet", "odd"),
        owner("v1", "Node", "node-1"),
        not_controller,
    ] {
        let container = only(pod(metadata));
        assert!(
            pairs(&container)
                .iter()
                .all(|(key, _)| !key.contains("set."))
        );
        assert_eq!(&*container.service_name.value, "checkout-7d4b9c-x2x9z");
    }
}

/// What the author of the pod states wins over labels, and labels over owners.
#[test]
fn service_rule() {
    let mut metadata = owner("apps/v1", "DaemonSet", "log");
    metadata["labels"] = json!({
        "app.kubernetes.io/name": "by-name", "app.kubernetes.io/version": "v9",
    });
    let container = only(pod(metadata.clone()));
    assert_eq!(&*container.service_name.value, "by-name");
    assert_eq!(value(&container, "service.version"), Some("v9"));
    metadata["labels"]["app.kubernetes.io/instance"] = json!("by-instance");
    assert_eq!(
        &*only(pod(metadata.clone())).service_name.value,
        "by-instance"
    );
    metadata["annotations"] = json!({
        "resource.opentelemetry.io/service.name": "stated",
        "resource.opentelemetry.io/service.namespace": "space",
        "resource.opentelemetry.io/service.version": "7",
        "resource.opentelemetry.io/service.instance.id": "one",
        "resource.opentelemetry.io/host.name": "not its own",
    });
    let container = only(pod(metadata));
    assert_eq!(&*container.service_name.value, "stated");
    assert_eq!(
        container.service_name.source,
        ServiceNameSource::Kubernetes(KubernetesRule::Annotation)
    );
    assert_eq!(value(&container, "service.namespace"), Some("space"));
    assert_eq!(value(&container, "service.version"), Some("7"));
    assert_eq!(value(&container, "service.instance.id"), Some("one"));
    assert_eq!(value(&container, "host.name"), None);
}

/// A static pod: by the API its uid is a uid; by the kubelet it is the hash, which is not one.
#[test]
fn static_pod() {
    let hash = "0123456789abcdef0123456789abcdef";
    let mut metadata = owner("v1", "Node", "node-1");
    metadata["annotations"] = json!({
        "kubernetes.io/config.hash": hash, "kubernetes.io/config.mirror": hash,
    });
    let by_api = only(pod(metadata.clone()));
    assert_eq!(
        value(&by_api, "k8s.pod.uid"),
        Some("0f1e2d3c-4b5a-6978-8796-a5b4c3d2e1f0")
    );
    metadata["uid"] = json!(hash);
    let by_kubelet = only(pod(metadata));
    assert_eq!(value(&by_kubelet, "k8s.pod.uid"), None);
    assert_eq!(
        value(&by_kubelet, "k8s.pod.name"),
        Some("checkout-7d4b9c-x2x9z")
    );
}

/// Init and ephemeral containers, and a restarted one under both of its ids.
#[test]
fn all_containers() {
    let mut input = pod(json!({}));
    input["spec"]["initContainers"] = json!([{"name": "prepare", "image": "tool"}]);
    input["spec"]["ephemeralContainers"] = json!([{"name": "debug", "image": "busybox:1"}]);
    input["status"]["initContainerStatuses"] = json!([status("prepare", "a1")]);
    input["status"]["ephemeralContainerStatuses"] = json!([status("debug", "b2")]);
    let main = &mut input["status"]["containerStatuses"][0];
    main["restartCount"] = json!(3);
    main["lastState"] = json!({"terminated": {
        "exitCode": 1, "containerID": format!("containerd://{OLD_ID}"),
    }});
    let read = read(input);
    let find = |id: &str| {
        let found = read.containers.iter().find(|(known, _)| **known == *id);
        &*found.unwrap().1
    };
    assert_eq!(read.containers.len(), 4);
    for (id, name, restarts) in [
        (ID, "main", "3"),
        (OLD_ID, "main", "2"),
        ("a1", "prepare", "0"),
        ("b2", "debug", "0"),
    ] {
        assert_eq!(value(find(id), "k8s.container.name"), Some(name));
        assert_eq!(
            value(find(id), "k8s.container.restart_count"),
            Some(restarts)
        );
    }
    assert_eq!(value(find("b2"), "container.image.tags"), Some("1"));
    assert_eq!(value(find("a1"), "container.image.tags"), None);
}

/// Labels and annotations go out only by name.
#[test]
fn allow_lists() {
    let metadata = json!({
        "labels": {"team": "a", "secret": "b"}, "annotations": {"note": "c", "token": "d"},
    });
    let allowed = AllowedMetadata {
        labels: vec!["team".into(), "absent".into()],
        annotations: vec!["note".into()],
    };
    let read = read_allowing(pod(metadata), allowed);
    let container = &read.containers[0].1;
    let metadata: Vec<_> = pairs(container)
        .into_iter()
        .filter(|(key, _)| key.contains(".label.") || key.contains(".annotation."))
        .collect();
    assert_eq!(
        metadata,
        [
            ("k8s.pod.annotation.note", "c"),
            ("k8s.pod.label.team", "a")
        ]
    );
}

/// A pod without ids gives nothing; hostile ones are bounded and counted.
#[test]
fn hostile_pods() {
    let mut waiting = pod(json!({}));
    waiting["status"]["containerStatuses"][0]
        .as_object_mut()
        .unwrap()
        .remove("containerID");
    assert!(read(waiting).containers.is_empty());
    assert!(read(json!({"metadata": {}})).containers.is_empty());

    let mut many = pod(json!({"annotations": {
        "resource.opentelemetry.io/service.name": format!("a\n{}", "x".repeat(10_000)),
    }}));
    let mut statuses: Vec<_> = (0..MAX_CONTAINERS_OF_POD + 5)
        .map(|number| status("main", &format!("{number:064x}")))
        .collect();
    statuses.push(status("main", "../../etc"));
    many["status"]["containerStatuses"] = json!(statuses);
    let read = read(many);
    assert_eq!(read.containers.len(), MAX_CONTAINERS_OF_POD);
    assert_eq!(read.refused, 6);
    let name = &read.containers[0].1.service_name.value;
    assert!(name.starts_with("a\\x0ax") && name.len() == MAX_NAME_BYTES);
}

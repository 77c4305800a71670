//! Who made a pod: from owner references to the names of workloads, without further rights.

use evenkeel_semconv::attribute;
use k8s_openapi::{
    api::core::v1::Pod,
    apimachinery::pkg::apis::meta::v1::{ObjectMeta, OwnerReference},
};

use super::rule::{KubernetesRule, text_of};

/// Label that the Deployment controller gives to its pods; the ReplicaSet's name ends with it.
const TEMPLATE_HASH_LABEL: &str = "pod-template-hash";
/// How long before the pod's creation a CronJob's run may have been due, in minutes: runs that were
/// missed are caught up, and a Job may make pods for days.
const MAX_SCHEDULE_AGE_MINUTES: i64 = 30 * 24 * 60;

/// A workload that a pod belongs to.
pub(super) struct Workload {
    pub(super) name_key: &'static str,
    pub(super) name: String,
    /// The key of the uid, and the uid where the owner reference has it.
    pub(super) uid: Option<(&'static str, String)>,
    pub(super) rule: KubernetesRule,
}

/// The workloads of a pod, the outermost first: Deployment and ReplicaSet, CronJob and Job, or one.
/// None for a bare pod and for controllers that have no attribute.
pub(super) fn workloads(pod: &Pod) -> Vec<Workload> {
    let Some(owner) = controller(&pod.metadata) else {
        return Vec::new();
    };
    let own = |name_key, uid_key, rule| Workload {
        name_key,
        name: owner.name.clone(),
        uid: (!owner.uid.is_empty()).then(|| (uid_key, owner.uid.clone())),
        rule,
    };
    let group = owner.api_version.split('/').next().unwrap_or_default();
    match (group, owner.kind.as_str()) {
        ("apps", "ReplicaSet") => {
            let set = own(
                attribute::K8S_REPLICASET_NAME,
                attribute::K8S_REPLICASET_UID,
                KubernetesRule::ReplicaSet,
            );
            let deployment = deployment_name(&pod.metadata, &owner.name);
            outer(
                deployment,
                attribute::K8S_DEPLOYMENT_NAME,
                KubernetesRule::Deployment,
                set,
            )
        }
        ("apps", "StatefulSet") => vec![own(
            attribute::K8S_STATEFULSET_NAME,
            attribute::K8S_STATEFULSET_UID,
            KubernetesRule::StatefulSet,
        )],
        ("apps", "DaemonSet") => vec![own(
            attribute::K8S_DAEMONSET_NAME,
            attribute::K8S_DAEMONSET_UID,
            KubernetesRule::DaemonSet,
        )],
        ("batch", "Job") => {
            let job = own(
                attribute::K8S_JOB_NAME,
                attribute::K8S_JOB_UID,
                KubernetesRule::Job,
            );
            let cron_job = cron_job_name(&pod.metadata, &owner.name);
            outer(
                cron_job,
                attribute::K8S_CRONJOB_NAME,
                KubernetesRule::CronJob,
                job,
            )
        }
        _ => Vec::new(),
    }
}

fn outer(
    name: Option<&str>,
    name_key: &'static str,
    rule: KubernetesRule,
    inner: Workload,
) -> Vec<Workload> {
    let outer = name.map(|name| Workload {
        name_key,
        name: name.to_owned(),
        uid: None,
        rule,
    });
    outer.into_iter().chain([inner]).collect()
}

/// The owner that controls the pod; others merely keep it alive.
fn controller(metadata: &ObjectMeta) -> Option<&OwnerReference> {
    let owners = metadata.owner_references.as_deref()?;
    owners
        .iter()
        .find(|owner| owner.controller == Some(true) && !owner.name.is_empty())
}

fn deployment_name<'a>(metadata: &ObjectMeta, replica_set: &'a str) -> Option<&'a str> {
    let hash = text_of(metadata.labels.as_ref(), TEMPLATE_HASH_LABEL)?;
    let name = replica_set.strip_suffix(hash)?.strip_suffix('-')?;
    (!name.is_empty()).then_some(name)
}

/// The CronJob controller names a Job by its own name and the minute at which the run was due, since
/// 1970. A number that is no such minute was somebody's choice of a name.
fn cron_job_name<'a>(metadata: &ObjectMeta, job: &'a str) -> Option<&'a str> {
    let (name, digits) = job.rsplit_once('-')?;
    let due: i64 = digits
        .bytes()
        .all(|byte| byte.is_ascii_digit())
        .then(|| digits.parse().ok())??;
    let created = metadata.creation_timestamp.as_ref()?.0.as_second() / 60;
    let age = created.checked_sub(due)?;
    (!name.is_empty() && !digits.starts_with('0') && (0..=MAX_SCHEDULE_AGE_MINUTES).contains(&age))
        .then_some(name)
}

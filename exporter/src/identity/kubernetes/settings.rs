//! Whether and how pods are learnt of.

use std::time::Duration;

use http::Uri;

use super::{AllowedMetadata, backoff::Delays, client::is_in_cluster, store::Bounds};
use crate::settings::{Problem, Problems};

/// Variable that moves the API server; else the environment that each pod gets names it.
pub const KUBERNETES_ENDPOINT_VARIABLE: &str = "EVENKEEL_KUBERNETES_ENDPOINT";
/// Variable that moves the kubelet; else it is `https://$HOST_IP:10250`.
pub const KUBELET_ENDPOINT_VARIABLE: &str = "EVENKEEL_KUBELET_ENDPOINT";
/// Variable that lets the kubelet show any certificate: many sign their own.
pub const KUBELET_INSECURE_VARIABLE: &str = "EVENKEEL_KUBELET_INSECURE";

/// Most labels or annotations that may be allowed.
const MAX_ALLOWED: usize = 32;

/// Options about Kubernetes, as they were given.
#[derive(Clone, Debug, Default, clap::Args)]
pub struct KubernetesArguments {
    /// Where to learn of pods: the API server, the node's kubelet, nowhere, or (auto) the API server
    /// when the agent runs in a pod that has a service account [default: auto] [env:
    /// EVENKEEL_KUBERNETES]
    #[arg(long, value_name = "auto|off|api|kubelet")]
    pub kubernetes: Option<String>,
    /// Name of this node in the cluster [env: K8S_NODE_NAME, NODE_NAME]
    #[arg(long, value_name = "NAME")]
    pub kubernetes_node: Option<String>,
    /// Labels of pods that become k8s.pod.label.KEY, separated by commas [env:
    /// EVENKEEL_KUBERNETES_LABELS]
    #[arg(long, value_name = "KEYS")]
    pub kubernetes_labels: Option<String>,
    /// Annotations of pods that become k8s.pod.annotation.KEY, separated by commas [env:
    /// EVENKEEL_KUBERNETES_ANNOTATIONS]
    #[arg(long, value_name = "KEYS")]
    pub kubernetes_annotations: Option<String>,
}

/// Where to learn of pods.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum KubernetesMode {
    /// By the API server if there are signs of a cluster.
    #[default]
    Auto,
    /// Nowhere.
    Off,
    /// By a watch of the API server.
    Api,
    /// By asking the node's kubelet.
    Kubelet,
}

/// Checked settings of a [`super::Source`].
#[derive(Clone, Debug, Default)]
pub struct KubernetesSettings {
    /// Where to learn of pods.
    pub mode: KubernetesMode,
    /// The name of this node in the cluster.
    pub node: Option<String>,
    /// The API server, if not the one of the pod's environment.
    pub endpoint: Option<Uri>,
    /// The kubelet.
    pub kubelet_endpoint: Option<Uri>,
    /// The kubelet may show any certificate.
    pub kubelet_insecure: bool,
    /// Labels and annotations that may leave the cluster.
    pub allowed: AllowedMetadata,
    pub(super) timings: Timings,
    pub(super) bounds: Bounds,
}

/// Intervals; tests shorten them.
#[derive(Clone, Copy, Debug)]
pub(super) struct Timings {
    pub(super) delays: Delays,
    /// How long one request to watch lasts, in seconds.
    pub(super) watch_seconds: u32,
    /// Between two questions to the kubelet.
    pub(super) poll: Duration,
    /// Between two tries to get the node and the cluster's uid.
    pub(super) facts: Duration,
}

impl Default for Timings {
    fn default() -> Self {
        Self {
            delays: Delays::default(),
            watch_seconds: 120,
            poll: Duration::from_secs(10),
            facts: Duration::from_secs(300),
        }
    }
}

impl KubernetesSettings {
    /// Nothing is learnt of pods.
    pub fn off() -> Self {
        Self {
            mode: KubernetesMode::Off,
            ..Self::default()
        }
    }

    /// Whether there is anything to start: the user asks for it, or the agent runs in a pod with a
    /// service account.
    pub fn is_wanted(&self) -> bool {
        match self.mode {
            KubernetesMode::Off => false,
            KubernetesMode::Auto => self.endpoint.is_some() || is_in_cluster(),
            KubernetesMode::Api | KubernetesMode::Kubelet => true,
        }
    }

    /// Checks the options and the variables, which `variable` reads; finds all problems.
    pub fn read(
        arguments: &KubernetesArguments,
        variable: impl Fn(&str) -> Option<String>,
    ) -> Result<Self, Problems> {
        let variable = |name: &str| variable(name).filter(|value| !value.trim().is_empty());
        let given = |option: &Option<String>, option_name, variable_name| match option {
            Some(value) => Some((option_name, value.clone())),
            None => variable(variable_name).map(|value| (variable_name, value)),
        };
        let mut problems = Problems::default();
        let mut settings = Self::default();
        if let Some((setting, value)) =
            given(&arguments.kubernetes, "--kubernetes", "EVENKEEL_KUBERNETES")
        {
            match value.trim() {
                "auto" => settings.mode = KubernetesMode::Auto,
                "off" => settings.mode = KubernetesMode::Off,
                "api" => settings.mode = KubernetesMode::Api,
                "kubelet" => settings.mode = KubernetesMode::Kubelet,
                _ => problems
                    .0
                    .push(Problem::value(setting, &value, "auto, off, api or kubelet")),
            }
        }
        let node = given(
            &arguments.kubernetes_node,
            "--kubernetes-node",
            "K8S_NODE_NAME",
        )
        .or_else(|| variable("NODE_NAME").map(|value| ("NODE_NAME", value)));
        if let Some((setting, value)) = node {
            // It becomes part of a field selector.
            if is_node_name(value.trim()) {
                settings.node = Some(value.trim().to_owned());
            } else {
                problems.0.push(Problem::value(
                    setting,
                    &value,
                    "the name of a node: lower-case letters, digits, '-' and '.'",
                ));
            }
        }
        let mut list = |given: Option<(&str, String)>| {
            let Some((setting, value)) = given else {
                return Vec::new();
            };
            let keys = value
                .split(',')
                .map(str::trim)
                .filter(|key| !key.is_empty());
            let keys: Vec<_> = keys.map(str::to_owned).collect();
            if keys.len() > MAX_ALLOWED {
                problems.push(format!("{setting} names more than {MAX_ALLOWED} keys"));
            }
            for key in keys.iter().filter(|key| !is_key(key)) {
                problems.0.push(Problem::value(
                    setting,
                    key,
                    "keys of labels or annotations, such as app.kubernetes.io/part-of",
                ));
            }
            keys
        };
        settings.allowed = AllowedMetadata {
            labels: list(given(
                &arguments.kubernetes_labels,
                "--kubernetes-labels",
                "EVENKEEL_KUBERNETES_LABELS",
            )),
            annotations: list(given(
                &arguments.kubernetes_annotations,
                "--kubernetes-annotations",
                "EVENKEEL_KUBERNETES_ANNOTATIONS",
            )),
        };
        let mut endpoint = |name: &str| {
            let value = variable(name)?;
            let uri = value.trim().parse::<Uri>().ok().filter(|uri| {
                matches!(uri.scheme_str(), Some("http" | "https")) && uri.host().is_some()
            });
            if uri.is_none() {
                let allowed = "a URL that begins with http:// or https://";
                problems.0.push(Problem::value(name, &value, allowed));
            }
            uri
        };
        settings.endpoint = endpoint(KUBERNETES_ENDPOINT_VARIABLE);
        settings.kubelet_endpoint = endpoint(KUBELET_ENDPOINT_VARIABLE);
        if settings.mode == KubernetesMode::Kubelet && settings.kubelet_endpoint.is_none() {
            match variable("HOST_IP").map(|ip| ip.trim().parse::<std::net::IpAddr>()) {
                Some(Ok(ip)) => {
                    let authority = std::net::SocketAddr::new(ip, 10250);
                    settings.kubelet_endpoint = format!("https://{authority}").parse().ok();
                }
                _ if variable(KUBELET_ENDPOINT_VARIABLE).is_some() => {}
                _ => problems.push(format!(
                    "--kubernetes kubelet needs {KUBELET_ENDPOINT_VARIABLE}, or the address of the \
                     node in HOST_IP"
                )),
            }
        }
        match variable(KUBELET_INSECURE_VARIABLE)
            .as_deref()
            .map(str::trim)
        {
            None | Some("false") => {}
            Some("true") => settings.kubelet_insecure = true,
            Some(value) => problems.0.push(Problem::value(
                KUBELET_INSECURE_VARIABLE,
                value,
                "true or false",
            )),
        }
        if settings.mode == KubernetesMode::Api && settings.node.is_none() && problems.0.is_empty()
        {
            problems.push("--kubernetes api needs --kubernetes-node or K8S_NODE_NAME");
        }
        problems.or(settings)
    }
}

fn is_node_name(name: &str) -> bool {
    let plain =
        |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || b"-.".contains(&byte);
    !name.is_empty() && name.len() <= 253 && name.bytes().all(plain)
}

fn is_key(key: &str) -> bool {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-_./".contains(&byte);
    !key.is_empty() && key.len() <= 317 && key.bytes().all(plain)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(variables: &[(&str, &str)]) -> Result<KubernetesSettings, Problems> {
        let variable = |name: &str| {
            let found = variables.iter().find(|(known, _)| *known == name);
            found.map(|(_, value)| (*value).to_owned())
        };
        KubernetesSettings::read(&KubernetesArguments::default(), variable)
    }

    #[test]
    fn variables_are_read() {
        let settings = read(&[
            ("EVENKEEL_KUBERNETES", "kubelet"),
            ("NODE_NAME", "node-1"),
            ("HOST_IP", "fd00::1"),
            (
                "EVENKEEL_KUBERNETES_LABELS",
                "team, app.kubernetes.io/part-of",
            ),
        ])
        .unwrap();
        assert_eq!(settings.mode, KubernetesMode::Kubelet);
        assert_eq!(settings.node.as_deref(), Some("node-1"));
        assert_eq!(
            settings.kubelet_endpoint.unwrap().to_string(),
            "https://[fd00::1]:10250/"
        );
        assert_eq!(
            settings.allowed.labels,
            ["team", "app.kubernetes.io/part-of"]
        );
        assert!(!settings.kubelet_insecure);
    }

    /// An option wins over its variable, and nothing is wanted where nothing points to a cluster.
    #[test]
    fn precedence() {
        let arguments = KubernetesArguments {
            kubernetes: Some("off".into()),
            ..KubernetesArguments::default()
        };
        let api = |name: &str| (name == "EVENKEEL_KUBERNETES").then(|| "api".to_owned());
        let settings = KubernetesSettings::read(&arguments, api).unwrap();
        assert_eq!(settings.mode, KubernetesMode::Off);
        assert!(!settings.is_wanted());
    }

    #[test]
    fn all_problems_at_once() {
        let problems = read(&[
            ("EVENKEEL_KUBERNETES", "yes"),
            ("K8S_NODE_NAME", "a,metadata.name=b"),
            ("EVENKEEL_KUBERNETES_ENDPOINT", "ftp://x"),
            ("EVENKEEL_KUBERNETES_ANNOTATIONS", "a b"),
            ("EVENKEEL_KUBELET_INSECURE", "1"),
        ])
        .unwrap_err();
        assert_eq!(problems.0.len(), 5, "{problems}");
        let problems = read(&[("EVENKEEL_KUBERNETES", "api")]).unwrap_err();
        assert_eq!(problems.0.len(), 1, "{problems}");
        let problems = read(&[("EVENKEEL_KUBERNETES", "kubelet")]).unwrap_err();
        assert!(problems.to_string().contains("HOST_IP"));
    }
}

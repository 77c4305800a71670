//! The host: what every resource says about it, and the agent's own resource.

use std::{ffi::OsString, sync::Arc};

use evenkeel_otlp::model::Resource;
use evenkeel_semconv::attribute;
use thiserror::Error;

use super::{
    attributes::SourcedAttributes,
    file::read_line,
    host_detection, instance_id,
    resource_attributes::{
        RESOURCE_ATTRIBUTES_VARIABLE, ResourceAttributesError, SERVICE_NAME_VARIABLE, parse,
    },
    roots::Roots,
};

/// `service.name` of the agent, and `telemetry.distro.name` of what it sends.
pub const AGENT_NAME: &str = "evenkeel";

const AGENT_VERSION: &str = env!("CARGO_PKG_VERSION");

/// Namespaces in a user's `OTEL_RESOURCE_ATTRIBUTES` that are about the agent's own process and
/// therefore not about the other processes of the host.
const AGENT_NAMESPACES: &[&str] = &["service.", "process.", "container.", "telemetry.", "k8s."];

/// Exceptions to these.
const HOST_NAMESPACES: &[&str] = &["k8s.cluster.", "k8s.node."];

/// A setting of the agent that could not be used.
#[derive(Debug, PartialEq, Eq, Error)]
pub enum HostIdentityError {
    /// The whole list is discarded, as the specification wants.
    #[error("OTEL_RESOURCE_ATTRIBUTES is ignored: {0}")]
    ResourceAttributes(#[from] ResourceAttributesError),
    /// The variable is not text.
    #[error("{variable} is ignored: it is not UTF-8")]
    NotUtf8 {
        /// Name of the variable.
        variable: &'static str,
    },
}

/// What is known of the host and of the agent on it.
#[derive(Clone, Debug, Default)]
pub struct HostIdentity {
    /// What was detected, and what was added since.
    detected: SourcedAttributes,
    /// What the user set for the host; wins over everything detected, also over what a cloud's
    /// metadata service says later. An empty value takes the attribute away.
    user: SourcedAttributes,
    /// What the user set for the agent alone.
    user_agent: SourcedAttributes,
    /// Tells hosts without `host.id` apart.
    boot_id: Option<String>,
}

impl HostIdentity {
    /// Looks at the host once. Nothing here waits for a network; what cannot be told is absent.
    /// `lookup` reads the agent's environment (`std::env::var_os`).
    ///
    /// Gives the identity also when settings were wrong, and these beside it.
    pub fn detect(
        roots: &Roots,
        lookup: impl Fn(&str) -> Option<OsString>,
    ) -> (Self, Vec<HostIdentityError>) {
        let mut identity = Self {
            detected: host_detection::detect(roots),
            boot_id: read_line(&roots.proc.join("sys/kernel/random/boot_id")),
            ..Self::default()
        };
        let mut errors = Vec::new();
        if let Err(error) = identity.take_resource_attributes(&lookup) {
            errors.push(error);
        }
        match text(&lookup, SERVICE_NAME_VARIABLE) {
            Ok(Some(name)) => {
                identity
                    .user_agent
                    .insert(attribute::SERVICE_NAME, name, SERVICE_NAME_VARIABLE);
            }
            Ok(None) => {}
            Err(error) => errors.push(error),
        }
        (identity, errors)
    }

    fn take_resource_attributes(
        &mut self,
        lookup: &impl Fn(&str) -> Option<OsString>,
    ) -> Result<(), HostIdentityError> {
        let Some(list) = text(lookup, RESOURCE_ATTRIBUTES_VARIABLE)? else {
            return Ok(());
        };
        for (key, value) in parse(&list)? {
            let starts_with = |namespace: &&str| key.starts_with(*namespace);
            let target = if AGENT_NAMESPACES.iter().any(starts_with)
                && !HOST_NAMESPACES.iter().any(starts_with)
            {
                &mut self.user_agent
            } else {
                &mut self.user
            };
            target.insert(key, value, RESOURCE_ATTRIBUTES_VARIABLE);
        }
        Ok(())
    }

    /// Adds an attribute to every resource: the hash of the kernel object, the method, what a
    /// cloud's metadata service says. Later detectors win over earlier ones, the user over all.
    pub fn insert(&mut self, key: &'static str, value: impl Into<Arc<str>>, source: &'static str) {
        self.detected.insert(key, value, source);
    }

    /// Adds what a detector found, as [`HostIdentity::insert`] does one by one.
    pub fn extend(&mut self, attributes: &SourcedAttributes) {
        self.detected.extend(attributes);
    }

    /// What every resource carries: the attributes of the host.
    pub fn shared_attributes(&self) -> SourcedAttributes {
        let mut attributes = self.detected.clone();
        override_with(&mut attributes, &self.user);
        attributes
    }

    /// The agent's own attributes, which are also those of metrics about the host.
    pub fn agent_attributes(&self) -> SourcedAttributes {
        let mut attributes = self.shared_attributes();
        attributes.insert(attribute::SERVICE_NAME, AGENT_NAME, "built in");
        attributes.insert(attribute::SERVICE_VERSION, AGENT_VERSION, "built in");
        attributes.insert(attribute::TELEMETRY_DISTRO_NAME, AGENT_NAME, "built in");
        attributes.insert(
            attribute::TELEMETRY_DISTRO_VERSION,
            AGENT_VERSION,
            "built in",
        );
        override_with(&mut attributes, &self.user_agent);
        // The one attribute that a resource must have.
        attributes.insert_if_absent(attribute::SERVICE_NAME, AGENT_NAME, "built in");
        let name = attributes
            .value(attribute::SERVICE_NAME)
            .unwrap_or(AGENT_NAME);
        let id = instance_id::derive(self.unique_name(), None, name);
        attributes.insert_if_absent(
            attribute::SERVICE_INSTANCE_ID,
            id,
            "derived from the host and service.name",
        );
        attributes
    }

    /// The agent's own resource, which is also that of metrics about the host.
    pub fn agent_resource(&self) -> Resource {
        self.agent_attributes().to_resource()
    }

    /// What no other host is called: `host.id`; without one the kernel's boot id, which is good
    /// until the next boot; without that `host.name`.
    pub(super) fn unique_name(&self) -> &str {
        let attribute = |key| {
            let user = self.user.value(key).filter(|value| !value.is_empty());
            user.or_else(|| self.detected.value(key))
        };
        attribute(attribute::HOST_ID)
            .or(self.boot_id.as_deref())
            .or_else(|| attribute(attribute::HOST_NAME))
            .unwrap_or_default()
    }
}

/// An empty value of the user's wins like any other (Resource SDK, "Merge"): it leaves nothing.
fn override_with(attributes: &mut SourcedAttributes, user: &SourcedAttributes) {
    attributes.extend(user);
    for (key, sourced) in user.iter() {
        if sourced.value.is_empty() {
            attributes.remove(key);
        }
    }
}

/// A variable as text; unset when empty.
fn text(
    lookup: &impl Fn(&str) -> Option<OsString>,
    variable: &'static str,
) -> Result<Option<String>, HostIdentityError> {
    match lookup(variable).filter(|value| !value.is_empty()) {
        None => Ok(None),
        Some(value) => match value.into_string() {
            Ok(text) => Ok(Some(text)),
            Err(_) => Err(HostIdentityError::NotUtf8 { variable }),
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::identity::test_support::{FakeProc, MACHINE_ID, fake_host};

    fn detect_with(
        fake: &FakeProc,
        variables: &[(&str, &str)],
    ) -> (HostIdentity, Vec<HostIdentityError>) {
        HostIdentity::detect(&fake.roots(), |name| {
            let found = variables.iter().find(|(variable, _)| *variable == name);
            found.map(|(_, value)| OsString::from(value))
        })
    }

    /// Everything comes from the given roots, each attribute with its source.
    #[test]
    fn detects_from_the_roots() {
        let (identity, errors) = detect_with(&fake_host(), &[]);
        assert_eq!(errors, []);
        let attributes = identity.agent_attributes();
        for (key, expected) in [
            (attribute::EVENKEEL_KERNEL_RELEASE, "6.8.0-1021-aws"),
            (
                attribute::EVENKEEL_KERNEL_VERSION,
                "#23-Ubuntu SMP Wed Jan 15",
            ),
            (attribute::HOST_NAME, "node-1"),
            (attribute::HOST_ID, MACHINE_ID),
            (attribute::OS_TYPE, "linux"),
            (attribute::OS_NAME, "Ubuntu"),
            (attribute::OS_VERSION, "24.04"),
            (attribute::SERVICE_NAME, "evenkeel"),
            (attribute::SERVICE_VERSION, AGENT_VERSION),
            (attribute::TELEMETRY_DISTRO_NAME, "evenkeel"),
        ] {
            assert_eq!(attributes.value(key), Some(expected), "{key}");
        }
        // Nothing told the hypervisor.
        assert_eq!(
            attributes.get(attribute::EVENKEEL_HOST_HYPERVISOR_NAME),
            None
        );
        assert!(
            attributes
                .iter()
                .all(|(_, sourced)| !sourced.source.is_empty())
        );
    }

    /// The variables of the user win over what was detected, `OTEL_SERVICE_NAME` over the list, and
    /// what is about the agent's process is not on other resources.
    #[test]
    fn user_wins() {
        let list = "service.name=list,host.name=named,team=a%2Cb,k8s.pod.name=agent-x,\
                    k8s.cluster.name=blue,os.version=";
        let (mut identity, errors) = detect_with(
            &fake_host(),
            &[
                (RESOURCE_ATTRIBUTES_VARIABLE, list),
                (SERVICE_NAME_VARIABLE, "own"),
            ],
        );
        assert_eq!(errors, []);
        identity.insert(attribute::HOST_NAME, "i-123.internal", "metadata");
        let (agent, shared) = (identity.agent_attributes(), identity.shared_attributes());
        assert_eq!(agent.value(attribute::SERVICE_NAME), Some("own"));
        assert_eq!(agent.value("k8s.pod.name"), Some("agent-x"));
        assert_eq!(shared.value("k8s.pod.name"), None);
        assert_eq!(shared.value("k8s.cluster.name"), Some("blue"));
        assert_eq!(shared.value(attribute::SERVICE_NAME), None);
        assert_eq!(shared.value(attribute::HOST_NAME), Some("named"));
        assert_eq!(shared.value("team"), Some("a,b"));
        assert_eq!(shared.get(attribute::OS_VERSION), None);
    }

    /// A broken list is ignored as a whole and reported; the rest is as if it were not there.
    #[test]
    fn broken_list_is_reported() {
        let (identity, errors) = detect_with(
            &fake_host(),
            &[(RESOURCE_ATTRIBUTES_VARIABLE, "service.name=x,team=%zz")],
        );
        assert_eq!(
            errors,
            [ResourceAttributesError::Percent { position: 2 }.into()]
        );
        let agent = identity.agent_attributes();
        assert_eq!(agent.value(attribute::SERVICE_NAME), Some("evenkeel"));
        assert_eq!(agent.value("team"), None);
    }

    /// The instance is the same after a restart, another on another host and for another service,
    /// and does not rest on names when there is a host id.
    #[test]
    fn instance_id_is_stable_and_unique() {
        let id = |fake: &FakeProc, name: &str| {
            let agent = detect_with(fake, &[(SERVICE_NAME_VARIABLE, name)])
                .0
                .agent_attributes();
            agent
                .value(attribute::SERVICE_INSTANCE_ID)
                .unwrap()
                .to_owned()
        };
        let (fake, other) = (fake_host(), fake_host());
        other.write("proc/1/root/etc/machine-id", "0".repeat(31) + "1");
        assert_eq!(id(&fake, "a"), id(&fake, "a"));
        assert_ne!(id(&fake, "a"), id(&fake, "b"));
        assert_ne!(id(&fake, "a"), id(&other, "a"));
        fake.write("proc/sys/kernel/hostname", "renamed");
        other.write("proc/1/root/etc/machine-id", MACHINE_ID);
        assert_eq!(id(&fake, "a"), id(&other, "a"));
    }
}

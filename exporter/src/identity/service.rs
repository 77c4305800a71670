//! What a process calls itself: `service.name` and the attributes it claims.

use std::{fmt, sync::Arc};

use evenkeel_semconv::attribute;

use super::{
    kubernetes::{KubernetesRule, PodContainer},
    resource_attributes::{RESOURCE_ATTRIBUTES_VARIABLE, SERVICE_NAME_VARIABLE, parse},
    text::{MAX_NAME_BYTES, printable},
};

/// Most of a process's environment that is read, in bytes.
pub const MAX_ENVIRONMENT_BYTES: usize = 128 << 10;
/// Most resource attributes that are taken from one process.
pub const MAX_ATTRIBUTES: usize = 32;
/// Longest key or value of such an attribute, in bytes; longer ones are cut.
pub const MAX_ATTRIBUTE_BYTES: usize = 256;

/// Namespaces that a process has no say in: facts about the host, what we measured, and what would
/// be wrong for the other processes of its owner.
const RESERVED_NAMESPACES: &[&str] = &["host.", "os.", "evenkeel.", "process.", "telemetry."];

/// Why a service is called what it is called, in the order of precedence.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ServiceNameSource {
    /// The process's own `OTEL_SERVICE_NAME`.
    ServiceNameVariable,
    /// `service.name` in the process's own `OTEL_RESOURCE_ATTRIBUTES`.
    ResourceAttributesVariable,
    /// Its pod, by the rule of the semantic conventions.
    Kubernetes(KubernetesRule),
    /// The systemd service that its cgroup belongs to.
    SystemdUnit,
    /// The base name of its executable file.
    Executable,
    /// The kernel: threads without a program.
    Kernel,
    /// The process had exited before anything could be learnt of it.
    Exited,
    /// The bound on the number of owners was met.
    Overflow,
}

impl ServiceNameSource {
    /// The reason for people.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::ServiceNameVariable => "OTEL_SERVICE_NAME of the process",
            Self::ResourceAttributesVariable => "OTEL_RESOURCE_ATTRIBUTES of the process",
            Self::Kubernetes(rule) => rule.as_str(),
            Self::SystemdUnit => "systemd unit",
            Self::Executable => "executable name",
            Self::Kernel => "kernel thread",
            Self::Exited => "the process exited before it could be read",
            Self::Overflow => "too many different services",
        }
    }
}

impl fmt::Display for ServiceNameSource {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.as_str())
    }
}

/// A service's name and the rule that gave it.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct ServiceName {
    /// The name; never empty, at most 255 bytes, without control characters.
    pub value: Arc<str>,
    /// The rule.
    pub source: ServiceNameSource,
}

/// What the `OTEL_*` variables of a process say. No other variable is ever kept.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct OtelEnvironment {
    /// The name it gives itself.
    pub service_name: Option<ServiceName>,
    /// Other attributes it claims: sorted by key, keys unique, at most [`MAX_ATTRIBUTES`].
    pub attributes: Arc<[(Arc<str>, Arc<str>)]>,
    /// Its `OTEL_RESOURCE_ATTRIBUTES` could not be decoded and was discarded.
    pub invalid: bool,
    /// Attributes that were not taken: reserved names, or one too many.
    pub refused: usize,
}

impl OtelEnvironment {
    /// Reads the text of `/proc/PID/environ`: variables ended by NUL. With more than
    /// [`MAX_ENVIRONMENT_BYTES`] the rest is not looked at, nor the variable that the bound cuts.
    pub fn parse(environ: &[u8]) -> Self {
        let mut environ = environ.get(..MAX_ENVIRONMENT_BYTES).unwrap_or(environ);
        if environ.len() == MAX_ENVIRONMENT_BYTES {
            let end = environ.iter().rposition(|byte| *byte == 0);
            environ = environ.get(..end.unwrap_or(0)).unwrap_or_default();
        }
        // As for getenv(3), the first of several variables of one name counts.
        let (mut name, mut list) = (None, None);
        for variable in environ.split(|byte| *byte == 0) {
            if !variable.starts_with(b"OTEL_") {
                continue;
            }
            if let Some(value) = value_of(variable, SERVICE_NAME_VARIABLE) {
                name = name.or(Some(value));
            } else if let Some(value) = value_of(variable, RESOURCE_ATTRIBUTES_VARIABLE) {
                list = list.or(Some(value));
            }
        }
        let mut environment = Self::default();
        if let Some(list) = list {
            environment.take_list(list);
        }
        if let Some(value) = name.and_then(name_text) {
            environment.service_name = Some(ServiceName {
                value,
                source: ServiceNameSource::ServiceNameVariable,
            });
        }
        environment
    }

    fn take_list(&mut self, list: &[u8]) {
        let Some(Ok(pairs)) = std::str::from_utf8(list).ok().map(parse) else {
            self.invalid = true;
            return;
        };
        let mut attributes: Vec<(Arc<str>, Arc<str>)> = Vec::new();
        for (key, value) in pairs {
            if key == attribute::SERVICE_NAME {
                self.service_name = name_text(value.as_bytes()).map(|value| ServiceName {
                    value,
                    source: ServiceNameSource::ResourceAttributesVariable,
                });
                continue;
            }
            let key = printable(key.as_bytes(), MAX_ATTRIBUTE_BYTES);
            if value.is_empty() {
                continue;
            }
            if is_reserved(&key) {
                self.refused += 1;
                continue;
            }
            let value = printable(value.as_bytes(), MAX_ATTRIBUTE_BYTES).into();
            if let Some(known) = attributes.iter_mut().find(|(known, _)| **known == *key) {
                known.1 = value;
            } else if attributes.len() < MAX_ATTRIBUTES {
                attributes.push((key.into(), value));
            } else {
                self.refused += 1;
            }
        }
        attributes.sort();
        self.attributes = attributes.into();
    }
}

/// `service.name` by the rules of the project: the process's own word, then the one of its pod, then
/// the systemd unit, then the executable.
pub fn service_name(
    environment: &OtelEnvironment,
    pod: Option<&PodContainer>,
    unit: Option<&Arc<str>>,
    executable_name: &Arc<str>,
) -> ServiceName {
    let unit = || {
        unit.map(|unit| ServiceName {
            value: Arc::clone(unit),
            source: ServiceNameSource::SystemdUnit,
        })
    };
    environment
        .service_name
        .clone()
        .or_else(|| pod.map(|pod| pod.service_name.clone()))
        .or_else(unit)
        .unwrap_or_else(|| ServiceName {
            value: Arc::clone(executable_name),
            source: ServiceNameSource::Executable,
        })
}

fn value_of<'a>(variable: &'a [u8], name: &str) -> Option<&'a [u8]> {
    variable.strip_prefix(name.as_bytes())?.strip_prefix(b"=")
}

/// An empty name is an unset one (OpenTelemetry, "Environment variable specification").
fn name_text(value: &[u8]) -> Option<Arc<str>> {
    let text = printable(value.trim_ascii(), MAX_NAME_BYTES);
    (!text.is_empty()).then(|| text.into())
}

fn is_reserved(key: &str) -> bool {
    key == attribute::CONTAINER_ID
        || RESERVED_NAMESPACES
            .iter()
            .any(|namespace| key.starts_with(namespace))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::identity::{systemd_unit::service_unit, test_support::Random};

    fn environ(text: &str) -> Vec<u8> {
        let mut bytes = b"PATH=/bin\0SECRET_TOKEN=hunter2\0".to_vec();
        bytes.extend(text.replace('|', "\0").into_bytes());
        bytes.push(0);
        bytes
    }

    fn attribute_of<'a>(environment: &'a OtelEnvironment, key: &str) -> Option<&'a str> {
        let found = environment.attributes.iter().find(|(k, _)| **k == *key);
        found.map(|(_, value)| &**value)
    }

    /// The cases; the line about a Deployment needs the Kubernetes API.
    #[test]
    fn cases() {
        let cases = include_str!("../../tests/cases/service_name_env.tsv");
        let executable = Arc::from("fallback");
        let mut seen = 0;
        for line in cases.lines().skip(1) {
            let mut columns = line.split('\t');
            let (input, expected) = (columns.next().unwrap(), columns.next().unwrap());
            let other = columns.next().unwrap();
            if input.contains("Deployment") {
                continue;
            }
            let unit = input
                .strip_prefix("(none), systemd unit ")
                .and_then(|unit| service_unit(format!("0::/system.slice/{unit}").as_bytes(), None))
                .map(Arc::from);
            let environment = OtelEnvironment::parse(&environ(input));
            let name = service_name(&environment, None, unit.as_ref(), &executable);
            let expected = if expected == "(fall back)" {
                "fallback"
            } else {
                expected
            };
            assert_eq!(&*name.value, expected, "{line}");
            if let Some((key, value)) = other.split_once('=') {
                assert_eq!(attribute_of(&environment, key), Some(value), "{line}");
            }
            seen += 1;
        }
        assert_eq!(seen, 4);
    }

    /// Nothing of other variables gets out, and nothing that is not the process's to say.
    #[test]
    fn keeps_only_what_is_its_own() {
        let environment = OtelEnvironment::parse(&environ(
            "OTEL_RESOURCE_ATTRIBUTES=host.name=x,container.id=y,evenkeel.bpf.object.hash=z,\
             process.pid=1,deployment.environment.name=prod,a=\
             |OTEL_EXPORTER_OTLP_HEADERS=authorization=secret|XOTEL_SERVICE_NAME=no",
        ));
        assert_eq!(environment.service_name, None);
        assert_eq!(environment.refused, 4);
        let text = format!("{environment:?}");
        assert!(!text.contains("secret") && !text.contains("hunter2"));
        assert_eq!(environment.attributes.len(), 1);
    }

    /// A list that cannot be decoded is discarded whole; `OTEL_SERVICE_NAME` stands on its own.
    #[test]
    fn broken_list_is_discarded() {
        let environment = OtelEnvironment::parse(&environ(
            "OTEL_RESOURCE_ATTRIBUTES=service.name=x,a=%g1|OTEL_SERVICE_NAME=own",
        ));
        assert!(environment.invalid);
        assert!(environment.attributes.is_empty());
        assert_eq!(
            environment.service_name.map(|name| name.value).as_deref(),
            Some("own")
        );
    }

    /// Number and length are bounded and control characters cannot act.
    #[test]
    fn hostile_values_are_bounded() {
        let many: Vec<_> = (0..100)
            .map(|n| format!("k{n}={}", "v".repeat(1000)))
            .collect();
        let text = format!(
            "OTEL_RESOURCE_ATTRIBUTES={}|OTEL_SERVICE_NAME=a\n\x1b{}",
            many.join(","),
            "x".repeat(10_000)
        );
        let environment = OtelEnvironment::parse(&environ(&text));
        assert_eq!(environment.attributes.len(), MAX_ATTRIBUTES);
        assert_eq!(environment.refused, 100 - MAX_ATTRIBUTES);
        assert!(
            environment
                .attributes
                .iter()
                .all(|(_, v)| v.len() == MAX_ATTRIBUTE_BYTES)
        );
        let name = environment.service_name.unwrap().value;
        assert!(name.starts_with("a\\x0a\\x1bx") && name.len() == MAX_NAME_BYTES);
    }

    /// A variable that the bound cuts is not taken for a shorter one.
    #[test]
    fn cut_variable_is_not_taken() {
        let mut bytes = vec![b'x'; MAX_ENVIRONMENT_BYTES - 20];
        bytes.extend(b"\0OTEL_SERVICE_NAME=payment-service\0");
        assert_eq!(OtelEnvironment::parse(&bytes).service_name, None);
    }

    /// Any bytes are survived.
    #[test]
    fn random_bytes() {
        let mut random = Random::new(2);
        let fragments: [&[u8]; 8] = [
            b"OTEL_SERVICE_NAME=",
            b"OTEL_RESOURCE_ATTRIBUTES=",
            b"\0",
            b",",
            b"=",
            b"%",
            b"%2C",
            b"service.name",
        ];
        for _ in 0..20_000 {
            let mut bytes = Vec::new();
            for _ in 0..random.below(12) {
                bytes.extend_from_slice(fragments[random.below(fragments.len())]);
                bytes.extend(random.bytes(3));
            }
            let environment = OtelEnvironment::parse(&bytes);
            if let Some(name) = environment.service_name {
                assert!(!name.value.is_empty());
                assert!(!name.value.chars().any(char::is_control));
            }
        }
    }
}

//! Which samples count: conditions on resource and sample attributes.

use std::{collections::BTreeMap, fmt, str::FromStr};

use evenkeel_semconv::attribute::{self, value::evenkeel_off_cpu_reason};
use thiserror::Error;

use super::Attributes;

/// Short names that people may use for attributes.
const SHORT_NAMES: [(&str, &str); 4] = [
    ("process", attribute::PROCESS_EXECUTABLE_NAME),
    ("pid", attribute::PROCESS_PID),
    ("service", attribute::SERVICE_NAME),
    ("container", attribute::CONTAINER_ID),
];

/// Hex digits of a container id that people copy from `docker ps` or `crictl ps`.
const SHORT_CONTAINER_ID: usize = 12;

/// One condition, `KEY=VALUE`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Condition {
    /// Full attribute name.
    key: String,
    /// Wanted value, compared with the written form of the attribute.
    value: String,
}

/// A condition that cannot be read.
#[derive(Debug, Error, PartialEq, Eq)]
#[error("filter `{0}` is not KEY=VALUE (write for example process=nginx)")]
pub struct BadCondition(String);

impl FromStr for Condition {
    type Err = BadCondition;

    /// Reads `KEY=VALUE`; `process`, `pid`, `service` and `container` stand for the attribute
    /// that they name.
    fn from_str(text: &str) -> Result<Self, BadCondition> {
        match text.split_once('=') {
            Some((key, value)) if !key.trim().is_empty() && !value.is_empty() => {
                let key = key.trim();
                let key = SHORT_NAMES
                    .iter()
                    .find(|(short, _)| *short == key)
                    .map_or(key, |(_, full)| full);
                Ok(Self {
                    key: key.to_owned(),
                    value: value.to_owned(),
                })
            }
            _ => Err(BadCondition(text.to_owned())),
        }
    }
}

impl fmt::Display for Condition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}={}", self.key, self.value)
    }
}

/// What a filter makes of a sample.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// It counts.
    Admitted,
    /// It does not meet the conditions.
    Refused,
    /// It meets them, and is of a task that had nothing to do. There is more of that than of all
    /// other waiting, so it is left out until somebody asks for reasons.
    Idle,
}

/// Conditions on a sample: one of the values for each key that is named.
#[derive(Clone, Debug, Default)]
pub struct Filter {
    wanted: BTreeMap<String, Vec<String>>,
}

impl Filter {
    /// A filter of all conditions; values of one key are alternatives.
    pub fn new(conditions: &[Condition]) -> Self {
        let mut wanted = BTreeMap::<_, Vec<_>>::new();
        for Condition { key, value } in conditions {
            wanted.entry(key.clone()).or_default().push(value.clone());
        }
        Self { wanted }
    }

    /// True when every sample passes.
    pub fn is_empty(&self) -> bool {
        self.wanted.is_empty()
    }

    /// What becomes of a sample: it counts when its attributes, or else those of its resource, meet
    /// every condition, and when it is not idle waiting, unless a condition is about that.
    pub fn judge(&self, sample: &Attributes, resource: &Attributes) -> Verdict {
        const REASON: &str = attribute::EVENKEEL_OFF_CPU_REASON;
        if !self.admits(sample, resource) {
            Verdict::Refused
        } else if !self.wanted.contains_key(REASON)
            && sample.text(REASON).as_deref() == Some(evenkeel_off_cpu_reason::IDLE)
        {
            Verdict::Idle
        } else {
            Verdict::Admitted
        }
    }

    fn admits(&self, sample: &Attributes, resource: &Attributes) -> bool {
        self.wanted.iter().all(|(key, values)| {
            let Some(found) = sample.text(key).or_else(|| resource.text(key)) else {
                return false;
            };
            values.iter().any(|value| {
                found == *value
                    || (key == attribute::CONTAINER_ID
                        && value.len() >= SHORT_CONTAINER_ID
                        && found.starts_with(value.as_str()))
            })
        })
    }
}

impl fmt::Display for Filter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut first = true;
        for (key, values) in &self.wanted {
            for value in values {
                if !first {
                    f.write_str(", ")?;
                }
                first = false;
                write!(f, "{key}={value}")?;
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::{super::Value, *};

    fn set(items: &[(&str, &str)]) -> Attributes {
        items
            .iter()
            .map(|(key, value)| ((*key).to_owned(), Value::Text((*value).to_owned())))
            .collect()
    }

    /// Values of one key are alternatives, different keys must all hold, the sample comes first.
    #[test]
    fn combines_conditions() {
        let conditions = ["process=a", "process=b", "service=web"]
            .map(|text| text.parse::<Condition>().unwrap());
        let filter = Filter::new(&conditions);
        let web = set(&[(attribute::SERVICE_NAME, "web")]);
        let a = set(&[(attribute::PROCESS_EXECUTABLE_NAME, "a")]);
        let c = set(&[(attribute::PROCESS_EXECUTABLE_NAME, "c")]);
        assert!(filter.admits(&a, &web));
        assert!(!filter.admits(&c, &web));
        assert!(!filter.admits(&a, &set(&[])));
        let other = set(&[
            (attribute::PROCESS_EXECUTABLE_NAME, "a"),
            (attribute::SERVICE_NAME, "db"),
        ]);
        assert!(!filter.admits(&other, &web));
    }

    /// Idle waiting is set apart, where it meets the conditions, until a condition is about reasons.
    #[test]
    fn idle_is_set_apart() {
        let judge = |texts: &[&str], reason: &str| {
            let conditions: Vec<Condition> =
                texts.iter().map(|text| text.parse().unwrap()).collect();
            let sample = set(&[
                (attribute::EVENKEEL_OFF_CPU_REASON, reason),
                (attribute::PROCESS_EXECUTABLE_NAME, "a"),
            ]);
            Filter::new(&conditions).judge(&sample, &set(&[]))
        };
        assert_eq!(judge(&[], "lock"), Verdict::Admitted);
        assert_eq!(judge(&[], "idle"), Verdict::Idle);
        assert_eq!(judge(&["process=a"], "idle"), Verdict::Idle);
        assert_eq!(judge(&["process=b"], "idle"), Verdict::Refused);
        let idle = "evenkeel.off_cpu.reason=idle";
        assert_eq!(judge(&[idle], "idle"), Verdict::Admitted);
        assert_eq!(judge(&[idle], "lock"), Verdict::Refused);
        let both = [idle, "evenkeel.off_cpu.reason=lock"];
        assert_eq!(judge(&both, "idle"), Verdict::Admitted);
        assert_eq!(judge(&both[1..], "idle"), Verdict::Refused);
    }

    /// A container is found by the short id that tools print, not by less.
    #[test]
    fn short_container_id() {
        let id = "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef";
        let resource = set(&[(attribute::CONTAINER_ID, id)]);
        let admits =
            |text: &str| Filter::new(&[text.parse().unwrap()]).admits(&set(&[]), &resource);
        assert!(admits("container=0123456789ab"));
        assert!(!admits("container=0123"));
    }

    /// What is not KEY=VALUE is refused by name.
    #[test]
    fn refuses_other_text() {
        for text in ["", "process", "=x", "process="] {
            assert!(text.parse::<Condition>().is_err(), "{text}");
        }
        let value = "k=a=b".parse::<Condition>().unwrap();
        assert_eq!(value.to_string(), "k=a=b");
    }
}

//! What a metadata service told, made fit for attributes.

use evenkeel_semconv::attribute::{self, value::evenkeel_host_cpu_allotment as allotment};

use super::{client::MetadataError, provider::Provider};
use crate::identity::attributes::SourcedAttributes;

/// The longest values are Azure's resource ids, of some 250 bytes.
const LONGEST_VALUE: usize = 1024;

/// Attributes from one service.
#[derive(Debug)]
pub(super) struct Findings {
    attributes: SourcedAttributes,
    source: &'static str,
}

impl Findings {
    /// Begins with the provider and its platform.
    pub(super) fn new(provider: Provider) -> Self {
        let mut findings = Self {
            attributes: SourcedAttributes::default(),
            source: provider.source(),
        };
        findings.set(attribute::CLOUD_PROVIDER, provider.attribute());
        findings.set(attribute::CLOUD_PLATFORM, provider.platform());
        findings
    }

    /// Sets an attribute, unless the value says nothing.
    pub(super) fn set<'text>(&mut self, key: &'static str, value: impl Into<Option<&'text str>>) {
        if let Some(value) = value.into().and_then(telling) {
            self.attributes.insert(key, value, self.source);
        }
    }

    /// Sets how much of its CPUs the instance is promised.
    pub(super) fn set_burstable(&mut self, burstable: bool) {
        let value = if burstable {
            allotment::BURSTABLE
        } else {
            allotment::FULL
        };
        self.set(attribute::EVENKEEL_HOST_CPU_ALLOTMENT, value);
    }

    /// The attributes, if they name an instance. No region is called like one: a server that says
    /// the same to every question knows none.
    pub(super) fn finish(self) -> Result<SourcedAttributes, MetadataError> {
        let id = self.attributes.value(attribute::HOST_ID);
        if id.is_none() || id == self.attributes.value(attribute::CLOUD_REGION) {
            return Err(MetadataError::NoInstance);
        }
        Ok(self.attributes)
    }
}

/// The value without white space around it, if it is one: a line of text that is not empty, zero or
/// unreasonably long.
fn telling(value: &str) -> Option<&str> {
    let value = value.trim();
    let is_line = !value.chars().any(char::is_control);
    let is_value = !matches!(value, "" | "0" | "null") && value.len() <= LONGEST_VALUE;
    (is_line && is_value).then_some(value)
}

/// What comes after the last slash, for providers that give paths in place of names.
pub(super) fn last_segment(path: &str) -> &str {
    path.trim().rsplit('/').next().unwrap_or_default()
}

/// A zone's name without its last part, which is the region's.
pub(super) fn region_of_zone(zone: &str) -> Option<&str> {
    zone.trim().rsplit_once('-').map(|(region, _)| region)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What says nothing is no attribute, and what is no line is none either.
    #[test]
    fn empty_values_are_absent() {
        for value in ["", " \n", "0", "null", "a\nb", "a\u{1b}[2J"] {
            assert_eq!(telling(value), None, "{value:?}");
        }
        assert_eq!(telling(&"x".repeat(LONGEST_VALUE + 1)), None);
        assert_eq!(telling(" eu-west-1b\n"), Some("eu-west-1b"));
    }

    /// Without a host id there is no identity.
    #[test]
    fn an_instance_is_needed() {
        let mut findings = Findings::new(Provider::Aws);
        findings.set(attribute::HOST_ID, "");
        assert!(matches!(findings.finish(), Err(MetadataError::NoInstance)));
    }
}

//! Resource attributes that remember where they came from.

use std::{
    borrow::Cow,
    collections::{BTreeMap, btree_map::Entry},
    sync::Arc,
};

use evenkeel_otlp::model::{Attribute, Resource, Value};
use serde::{Serialize, Serializer};

/// A text value and where it came from.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Sourced {
    /// The value; resources carry text only.
    #[serde(serialize_with = "serialize_text")]
    pub value: Arc<str>,
    /// The file, variable or call that gave it, for people.
    pub source: Cow<'static, str>,
}

/// Attributes of a resource: sorted, keys unique, values text (an integer resource attribute makes
/// Pyroscope refuse the request).
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(transparent)]
pub struct SourcedAttributes {
    entries: BTreeMap<Cow<'static, str>, Sourced>,
}

impl SourcedAttributes {
    /// Sets an attribute, replacing an earlier value: what a user said goes in last.
    pub fn insert(
        &mut self,
        key: impl Into<Cow<'static, str>>,
        value: impl Into<Arc<str>>,
        source: impl Into<Cow<'static, str>>,
    ) {
        self.entries.insert(key.into(), sourced(value, source));
    }

    /// Sets an attribute that nobody set before.
    pub fn insert_if_absent(
        &mut self,
        key: impl Into<Cow<'static, str>>,
        value: impl Into<Arc<str>>,
        source: impl Into<Cow<'static, str>>,
    ) {
        if let Entry::Vacant(entry) = self.entries.entry(key.into()) {
            entry.insert(sourced(value, source));
        }
    }

    /// Takes an attribute away.
    pub fn remove(&mut self, key: &str) {
        self.entries.remove(key);
    }

    /// The attribute of that name.
    pub fn get(&self, key: &str) -> Option<&Sourced> {
        self.entries.get(key)
    }

    /// The value of the attribute of that name.
    pub fn value(&self, key: &str) -> Option<&str> {
        self.get(key).map(|sourced| &*sourced.value)
    }

    /// All attributes in the order of their names.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &Sourced)> {
        self.entries
            .iter()
            .map(|(key, sourced)| (key.as_ref(), sourced))
    }

    /// Adds the attributes of `other`, which win.
    pub fn extend(&mut self, other: &Self) {
        for (key, sourced) in &other.entries {
            self.entries.insert(key.clone(), sourced.clone());
        }
    }

    /// The resource as the window model has it.
    pub fn to_resource(&self) -> Resource {
        let attributes = self
            .entries
            .iter()
            .map(|(key, sourced)| Attribute {
                key: key.clone(),
                value: Value::String(Arc::clone(&sourced.value)),
            })
            .collect();
        Resource { attributes }
    }
}

fn sourced(value: impl Into<Arc<str>>, source: impl Into<Cow<'static, str>>) -> Sourced {
    Sourced {
        value: value.into(),
        source: source.into(),
    }
}

fn serialize_text<S: Serializer>(text: &Arc<str>, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Keys come out sorted and unique whatever order they went in; the last `insert` wins and
    /// `insert_if_absent` never does.
    #[test]
    fn resource_is_sorted_and_unique() {
        let mut attributes = SourcedAttributes::default();
        attributes.insert("b", "1", "first");
        attributes.insert("a", "2", "first");
        attributes.insert("b", "3", "second");
        attributes.insert_if_absent("a", "4", "third");
        let resource = attributes.to_resource();
        let pairs: Vec<_> = resource
            .attributes
            .iter()
            .map(|attribute| (attribute.key.as_ref(), attribute.value.clone()))
            .collect();
        assert_eq!(pairs, [("a", Value::from("2")), ("b", Value::from("3"))]);
        assert_eq!(
            attributes.get("b").map(|sourced| &*sourced.source),
            Some("second")
        );
    }
}

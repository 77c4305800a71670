//! Attribute sets as the analysis compares them.

use std::fmt;

use evenkeel_otlp::view::{self, ValueRef};
use serde::Serialize;

/// An attribute value.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize)]
#[serde(untagged)]
pub enum Value {
    /// True or false.
    Bool(bool),
    /// A 64-bit integer.
    Int(i64),
    /// Text; doubles and bytes in written form.
    Text(String),
}

impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Bool(flag) => flag.fmt(f),
            Self::Int(number) => number.fmt(f),
            Self::Text(text) => f.write_str(text),
        }
    }
}

impl From<ValueRef<'_>> for Value {
    fn from(value: ValueRef<'_>) -> Self {
        match value {
            ValueRef::Int(number) => Self::Int(number),
            ValueRef::Bool(flag) => Self::Bool(flag),
            other => Self::Text(other.to_string()),
        }
    }
}

/// Attributes sorted by key, keys unique.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Attributes(Vec<(String, Value)>);

impl Attributes {
    /// The value of `key`.
    pub fn get(&self, key: &str) -> Option<&Value> {
        let index = self.0.binary_search_by(|(k, _)| k.as_str().cmp(key)).ok()?;
        self.0.get(index).map(|(_, value)| value)
    }

    /// The value of `key` as text; `None` when it is absent or empty.
    pub fn text(&self, key: &str) -> Option<String> {
        self.get(key)
            .map(Value::to_string)
            .filter(|text| !text.is_empty())
    }

    /// Keys and values in the order of the keys.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &Value)> {
        self.0.iter().map(|(key, value)| (key.as_str(), value))
    }

    /// True without attributes.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// What both sets say alike.
    #[must_use]
    pub fn common(&self, other: &Self) -> Self {
        self.iter()
            .filter(|(key, value)| other.get(key) == Some(value))
            .map(|(key, value)| (key.to_owned(), value.clone()))
            .collect()
    }
}

impl From<view::Attributes<'_>> for Attributes {
    /// Attributes without a key are left out, the first of equal keys wins.
    fn from(attributes: view::Attributes<'_>) -> Self {
        attributes
            .iter()
            .filter(|(key, _)| !key.is_empty())
            .map(|(key, value)| (key.to_owned(), value.into()))
            .collect()
    }
}

impl FromIterator<(String, Value)> for Attributes {
    fn from_iter<I: IntoIterator<Item = (String, Value)>>(items: I) -> Self {
        let mut list = items.into_iter().collect::<Vec<_>>();
        list.sort_by(|(a, _), (b, _)| a.cmp(b));
        list.dedup_by(|(a, _), (b, _)| a == b);
        Self(list)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Keys are found whatever their order on the wire; the first of equal keys is kept.
    #[test]
    fn sorts_and_keeps_the_first() {
        let set = [("b", 1), ("a", 2), ("b", 3)]
            .into_iter()
            .map(|(key, value)| (key.to_owned(), Value::Int(value)))
            .collect::<Attributes>();
        assert_eq!(set.get("a"), Some(&Value::Int(2)));
        assert_eq!(set.get("b"), Some(&Value::Int(1)));
        assert_eq!(set.iter().count(), 2);
    }

    /// Only attributes with equal values are common.
    #[test]
    fn intersects() {
        let set = |items: &[(&str, i64)]| {
            items
                .iter()
                .map(|(key, value)| ((*key).to_owned(), Value::Int(*value)))
                .collect::<Attributes>()
        };
        let common = set(&[("a", 1), ("b", 2)]).common(&set(&[("a", 1), ("b", 3), ("c", 4)]));
        assert_eq!(common, set(&[("a", 1)]));
    }
}

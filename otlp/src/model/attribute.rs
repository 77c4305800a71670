//! Attributes and resources.

use std::{borrow::Cow, sync::Arc};

/// An attribute value, of the types that every backend reads.
///
/// Doubles are left out on purpose: Pyroscope drops them, and an attribute is an identity.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Value {
    /// Text.
    String(Arc<str>),
    /// A 64-bit integer.
    Int(i64),
    /// True or false.
    Bool(bool),
}

impl From<&str> for Value {
    fn from(text: &str) -> Self {
        Self::String(text.into())
    }
}

impl From<String> for Value {
    fn from(text: String) -> Self {
        Self::String(text.into())
    }
}

impl From<Arc<str>> for Value {
    fn from(text: Arc<str>) -> Self {
        Self::String(text)
    }
}

impl From<i64> for Value {
    fn from(number: i64) -> Self {
        Self::Int(number)
    }
}

impl From<bool> for Value {
    fn from(flag: bool) -> Self {
        Self::Bool(flag)
    }
}

/// A name and its value. Names of ours are constants of `evenkeel-semconv`; only names that a
/// user or a container brought (`OTEL_RESOURCE_ATTRIBUTES`, labels) are owned.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Attribute {
    /// Attribute name; unique within its list.
    pub key: Cow<'static, str>,
    /// Attribute value.
    pub value: Value,
}

impl Attribute {
    /// An attribute whose name comes from the registry.
    pub fn new(key: &'static str, value: impl Into<Value>) -> Self {
        Self {
            key: Cow::Borrowed(key),
            value: value.into(),
        }
    }
}

/// What a group of profiles or metrics is about.
///
/// Only text values are put here: an integer resource attribute makes Pyroscope refuse the whole
/// request when it arrives by way of Collector 0.161 or later.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Resource {
    /// Attributes, sorted by key, keys unique.
    pub attributes: Vec<Attribute>,
}

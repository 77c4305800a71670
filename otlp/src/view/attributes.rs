//! Attributes, inline or by reference into the dictionary.

use std::fmt;

use opentelemetry_proto::tonic::common::v1::{AnyValue, KeyValue, any_value};

use super::Dictionary;

/// The value of an attribute.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub enum ValueRef<'a> {
    /// Text.
    String(&'a str),
    /// A 64-bit integer.
    Int(i64),
    /// True or false.
    Bool(bool),
    /// A floating-point number.
    Double(f64),
    /// Bytes.
    Bytes(&'a [u8]),
}

impl<'a> ValueRef<'a> {
    /// The text, if it is one.
    pub fn as_str(self) -> Option<&'a str> {
        match self {
            Self::String(text) => Some(text),
            _ => None,
        }
    }

    /// The integer, if it is one.
    pub fn as_int(self) -> Option<i64> {
        match self {
            Self::Int(number) => Some(number),
            _ => None,
        }
    }

    /// `None` for unset values, arrays and maps.
    pub(crate) fn of(value: Option<&'a AnyValue>, dictionary: Dictionary<'a>) -> Option<Self> {
        Some(match value?.value.as_ref()? {
            any_value::Value::StringValue(text) => Self::String(text),
            any_value::Value::StringValueStrindex(index) => Self::String(dictionary.string(*index)),
            any_value::Value::IntValue(number) => Self::Int(*number),
            any_value::Value::BoolValue(flag) => Self::Bool(*flag),
            any_value::Value::DoubleValue(number) => Self::Double(*number),
            any_value::Value::BytesValue(bytes) => Self::Bytes(bytes),
            any_value::Value::ArrayValue(_) | any_value::Value::KvlistValue(_) => return None,
        })
    }
}

/// As people read it; bytes in hex.
impl fmt::Display for ValueRef<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::String(text) => f.write_str(text),
            Self::Int(number) => number.fmt(f),
            Self::Bool(flag) => flag.fmt(f),
            Self::Double(number) => number.fmt(f),
            Self::Bytes(bytes) => bytes.iter().try_for_each(|byte| write!(f, "{byte:02x}")),
        }
    }
}

/// The attributes of a resource, a scope, a sample or a point.
///
/// Unset values, arrays and maps are left out: nothing of ours is one.
#[derive(Clone, Copy, Debug)]
pub struct Attributes<'a> {
    source: Source<'a>,
    dictionary: Dictionary<'a>,
}

#[derive(Clone, Copy, Debug)]
enum Source<'a> {
    /// Key and value, or references in the same message (Collector 0.161 and later).
    KeyValues(&'a [KeyValue]),
    /// Indices into the dictionary's attribute table.
    Indices(&'a [i32]),
}

impl<'a> Attributes<'a> {
    pub(crate) fn key_values(list: &'a [KeyValue], dictionary: Dictionary<'a>) -> Self {
        Self {
            source: Source::KeyValues(list),
            dictionary,
        }
    }

    pub(crate) fn indices(indices: &'a [i32], dictionary: Dictionary<'a>) -> Self {
        Self {
            source: Source::Indices(indices),
            dictionary,
        }
    }

    /// The value of `key`, if it is there.
    pub fn get(self, key: &str) -> Option<ValueRef<'a>> {
        self.iter().find(|(name, _)| *name == key).map(|(_, v)| v)
    }

    /// The value of `key`, if it is a text.
    pub fn text(self, key: &str) -> Option<&'a str> {
        self.get(key)?.as_str()
    }

    /// Keys and values in the order they are stored.
    pub fn iter(self) -> impl Iterator<Item = (&'a str, ValueRef<'a>)> {
        let (list, indices): (&[KeyValue], &[i32]) = match self.source {
            Source::KeyValues(list) => (list, &[]),
            Source::Indices(indices) => (&[], indices),
        };
        let dictionary = self.dictionary;
        let inline = list.iter().filter_map(move |pair| {
            let key = match pair.key.as_str() {
                "" => dictionary.string(pair.key_strindex),
                key => key,
            };
            Some((key, ValueRef::of(pair.value.as_ref(), dictionary)?))
        });
        let indexed = indices.iter().filter_map(move |&index| {
            let pair = dictionary.attribute(index)?;
            let value = ValueRef::of(pair.value.as_ref(), dictionary)?;
            Some((dictionary.string(pair.key_strindex), value))
        });
        inline.chain(indexed)
    }
}

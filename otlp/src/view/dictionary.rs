//! Looking things up in a request's dictionary.

use opentelemetry_proto::tonic::profiles::v1development::{
    Function, KeyValueAndUnit, Location, Mapping, ProfilesDictionary, Stack,
};

/// The dictionary of a request; absent for metrics, which carry their strings inline.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Dictionary<'a>(Option<&'a ProfilesDictionary>);

/// An entry, unless the index is 0 ("not set"), negative or past the end.
fn entry<T>(table: &[T], index: i32) -> Option<&T> {
    match usize::try_from(index) {
        Ok(0) | Err(_) => None,
        Ok(index) => table.get(index),
    }
}

impl<'a> Dictionary<'a> {
    pub(crate) fn new(dictionary: Option<&'a ProfilesDictionary>) -> Self {
        Self(dictionary)
    }

    /// Empty when not set.
    pub(crate) fn string(self, index: i32) -> &'a str {
        self.0
            .and_then(|tables| entry(&tables.string_table, index))
            .map_or("", String::as_str)
    }

    pub(crate) fn mapping(self, index: i32) -> Option<&'a Mapping> {
        self.0
            .and_then(|tables| entry(&tables.mapping_table, index))
    }

    pub(crate) fn location(self, index: i32) -> Option<&'a Location> {
        self.0
            .and_then(|tables| entry(&tables.location_table, index))
    }

    pub(crate) fn function(self, index: i32) -> Option<&'a Function> {
        self.0
            .and_then(|tables| entry(&tables.function_table, index))
    }

    pub(crate) fn stack(self, index: i32) -> Option<&'a Stack> {
        self.0.and_then(|tables| entry(&tables.stack_table, index))
    }

    pub(crate) fn attribute(self, index: i32) -> Option<&'a KeyValueAndUnit> {
        self.0
            .and_then(|tables| entry(&tables.attribute_table, index))
    }
}

//! The tables of a dictionary, each by itself.

use std::{collections::HashSet, hash::Hash};

use evenkeel_semconv::attribute;
use opentelemetry_proto::tonic::{
    common::v1::AnyValue,
    profiles::v1development::{
        Function, KeyValueAndUnit, Link, Location, Mapping, ProfilesDictionary, Stack,
    },
};
use prost::Message;

use super::{
    Findings, Origin, Rule,
    resource::{Owner, attributes},
};
use crate::view::{Attributes, Dictionary};

/// Zero values, duplicates, and what each entry must hold. Indices are checked where they are used.
pub(super) fn tables(findings: &mut Findings, tables: &ProfilesDictionary, origin: Origin) {
    // A Collector writes the unset value as a message without a value.
    let zero_attribute = KeyValueAndUnit {
        value: attribute_table_value(tables).filter(|_| origin == Origin::Collector),
        ..KeyValueAndUnit::default()
    };
    let ProfilesDictionary {
        mapping_table,
        location_table,
        function_table,
        link_table,
        string_table,
        attribute_table,
        stack_table,
    } = tables;
    table(
        findings,
        "mapping_table",
        mapping_table,
        &Mapping::default(),
    );
    table(
        findings,
        "location_table",
        location_table,
        &Location::default(),
    );
    table(
        findings,
        "function_table",
        function_table,
        &Function::default(),
    );
    table(findings, "link_table", link_table, &Link::default());
    table(findings, "string_table", string_table, &String::new());
    table(
        findings,
        "attribute_table",
        attribute_table,
        &zero_attribute,
    );
    table(findings, "stack_table", stack_table, &Stack::default());

    let dictionary = Dictionary::new(Some(tables));
    for (index, mapping) in mapping_table.iter().enumerate().skip(1) {
        let at = format!("mapping_table[{index}]");
        let (start, limit) = (mapping.memory_start, mapping.memory_limit);
        let range = start < limit || (start, limit) == (0, 0);
        findings.require(
            range,
            Rule::MappingRange,
            &at,
            format!("{start:#x}..{limit:#x}"),
        );
        let list = Attributes::indices(&mapping.attribute_indices, dictionary);
        attributes(findings, &at, Owner::Telemetry, list);
        let ids = [
            attribute::PROCESS_EXECUTABLE_BUILD_ID_GNU,
            attribute::PROCESS_EXECUTABLE_BUILD_ID_GO,
            attribute::PROCESS_EXECUTABLE_BUILD_ID_HTLHASH,
        ];
        let identified = ids
            .iter()
            .any(|id| list.text(id).is_some_and(|v| !v.is_empty()));
        let name = dictionary.string(mapping.filename_strindex);
        findings.require(
            identified,
            Rule::MappingBuildId,
            &at,
            format!("none for `{name}`"),
        );
    }
    for (index, location) in location_table.iter().enumerate().skip(1) {
        let at = format!("location_table[{index}]");
        let list = Attributes::indices(&location.attribute_indices, dictionary);
        attributes(findings, &at, Owner::Telemetry, list);
        for line in &location.lines {
            let valid = line.line >= 0 && line.column >= 0;
            let found = format!("{}:{}", line.line, line.column);
            findings.require(valid, Rule::LineNumbers, &at, found);
        }
    }
    for (index, function) in function_table.iter().enumerate().skip(1) {
        let at = format!("function_table[{index}]");
        let named = [
            function.name_strindex,
            function.system_name_strindex,
            function.filename_strindex,
        ];
        let named = named.iter().any(|&name| name != 0);
        findings.require(named, Rule::FunctionName, &at, "none");
        let line = function.start_line;
        findings.require(line >= 0, Rule::LineNumbers, &at, line);
    }
    for (index, link) in link_table.iter().enumerate().skip(1) {
        let sizes = (link.trace_id.len(), link.span_id.len());
        let at = format!("link_table[{index}]");
        findings.require(sizes == (16, 8), Rule::LinkSize, at, format!("{sizes:?}"));
    }
}

/// The first attribute's value if it is there and empty.
fn attribute_table_value(tables: &ProfilesDictionary) -> Option<AnyValue> {
    let value = tables.attribute_table.first()?.value.clone();
    value.filter(|value| value.value.is_none())
}

/// An entry by value, as something that can be told apart.
trait Entry: PartialEq {
    type Identity: Hash + Eq;
    fn identity(&self) -> Self::Identity;
}

impl<M: Message + PartialEq> Entry for M {
    type Identity = Vec<u8>;
    fn identity(&self) -> Vec<u8> {
        self.encode_to_vec()
    }
}

fn table<E: Entry>(findings: &mut Findings, name: &str, entries: &[E], zero: &E) {
    let first = format!("{name}[0]");
    match entries.first() {
        None => findings.add(Rule::ZeroValueFirst, first, "an empty table"),
        Some(entry) => findings.require(entry == zero, Rule::ZeroValueFirst, first, "a value"),
    }
    let mut seen = HashSet::new();
    for (index, entry) in entries.iter().enumerate() {
        let fresh = seen.insert(entry.identity());
        let at = format!("{name}[{index}]");
        findings.require(fresh, Rule::NoDuplicates, at, "a duplicate");
    }
}

//! Which entries of the dictionary are used, and whether indices are in range.

use opentelemetry_proto::tonic::{
    common::v1::{KeyValue, any_value},
    profiles::v1development::ProfilesDictionary,
};

use super::{Findings, Rule};

/// A table with a mark for every entry that something points to.
#[derive(Debug)]
pub(super) struct Marks {
    name: &'static str,
    used: Vec<bool>,
}

impl Marks {
    fn new(name: &'static str, len: usize) -> Self {
        Self {
            name,
            used: vec![false; len],
        }
    }

    /// Marks an entry; `None` when the index is out of range (and said so) or was marked before.
    fn mark(&mut self, findings: &mut Findings, at: &str, index: i32) -> Option<usize> {
        let slot = usize::try_from(index).ok().filter(|&i| i < self.used.len());
        let Some(slot) = slot else {
            let found = format!("{} of {}[{}]", index, self.name, self.used.len());
            findings.add(Rule::IndexInRange, at, found);
            return None;
        };
        let fresh = !std::mem::replace(&mut self.used[slot], true);
        fresh.then_some(slot)
    }
}

/// Follows references from a request into its dictionary and on within it.
pub(super) struct Usage<'a> {
    tables: &'a ProfilesDictionary,
    strings: Marks,
    attributes: Marks,
    mappings: Marks,
    functions: Marks,
    locations: Marks,
    stacks: Marks,
    links: Marks,
}

impl<'a> Usage<'a> {
    pub(super) fn new(tables: &'a ProfilesDictionary) -> Self {
        Self {
            tables,
            strings: Marks::new("string_table", tables.string_table.len()),
            attributes: Marks::new("attribute_table", tables.attribute_table.len()),
            mappings: Marks::new("mapping_table", tables.mapping_table.len()),
            functions: Marks::new("function_table", tables.function_table.len()),
            locations: Marks::new("location_table", tables.location_table.len()),
            stacks: Marks::new("stack_table", tables.stack_table.len()),
            links: Marks::new("link_table", tables.link_table.len()),
        }
    }

    pub(super) fn string(&mut self, findings: &mut Findings, at: &str, index: i32) {
        self.strings.mark(findings, at, index);
    }

    pub(super) fn link(&mut self, findings: &mut Findings, at: &str, index: i32) {
        self.links.mark(findings, at, index);
    }

    /// References in attributes that stand outside the dictionary.
    pub(super) fn key_values(&mut self, findings: &mut Findings, at: &str, list: &[KeyValue]) {
        for pair in list {
            self.string(findings, at, pair.key_strindex);
            if let Some(any_value::Value::StringValueStrindex(index)) =
                pair.value.as_ref().and_then(|value| value.value.as_ref())
            {
                self.string(findings, at, *index);
            }
        }
    }

    pub(super) fn attributes(&mut self, findings: &mut Findings, at: &str, indices: &[i32]) {
        for &index in indices {
            let Some(slot) = self.attributes.mark(findings, at, index) else {
                continue;
            };
            let at = format!("attribute_table[{slot}]");
            let entry = &self.tables.attribute_table[slot];
            self.string(findings, &at, entry.key_strindex);
            self.string(findings, &at, entry.unit_strindex);
            if let Some(any_value::Value::StringValueStrindex(index)) =
                entry.value.as_ref().and_then(|value| value.value.as_ref())
            {
                self.string(findings, &at, *index);
            }
        }
    }

    pub(super) fn stack(&mut self, findings: &mut Findings, at: &str, index: i32) {
        let Some(slot) = self.stacks.mark(findings, at, index) else {
            return;
        };
        let at = format!("stack_table[{slot}]");
        for &location in &self.tables.stack_table[slot].location_indices {
            self.location(findings, &at, location);
        }
    }

    fn location(&mut self, findings: &mut Findings, at: &str, index: i32) {
        let Some(slot) = self.locations.mark(findings, at, index) else {
            return;
        };
        let at = format!("location_table[{slot}]");
        let location = &self.tables.location_table[slot];
        self.attributes(findings, &at, &location.attribute_indices);
        for line in &location.lines {
            if let Some(slot) = self.functions.mark(findings, &at, line.function_index) {
                let at = format!("function_table[{slot}]");
                let function = self.tables.function_table[slot];
                self.string(findings, &at, function.name_strindex);
                self.string(findings, &at, function.system_name_strindex);
                self.string(findings, &at, function.filename_strindex);
            }
        }
        if let Some(slot) = self.mappings.mark(findings, &at, location.mapping_index) {
            let at = format!("mapping_table[{slot}]");
            let mapping = &self.tables.mapping_table[slot];
            self.string(findings, &at, mapping.filename_strindex);
            self.attributes(findings, &at, &mapping.attribute_indices);
        }
    }

    /// Says what nothing points to. The zero values at index 0 need no user.
    pub(super) fn orphans(self, findings: &mut Findings) {
        let all = [
            self.strings,
            self.attributes,
            self.mappings,
            self.functions,
            self.locations,
            self.stacks,
            self.links,
        ];
        for Marks { name, used } in all {
            for (index, _) in used.iter().enumerate().skip(1).filter(|(_, used)| !**used) {
                findings.add(Rule::NoOrphans, format!("{name}[{index}]"), "no user");
            }
        }
    }
}

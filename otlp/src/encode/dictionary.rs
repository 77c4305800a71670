//! The dictionary of a profiles request, without duplicates or orphans.

use std::{collections::HashMap, hash::Hash, sync::Arc};

use evenkeel_semconv::attribute;
use opentelemetry_proto::tonic::profiles::v1development::{
    Function, KeyValueAndUnit, Line, Link, Location, Mapping, ProfilesDictionary, Stack,
};

use super::{attributes::any_value, size};
use crate::model;

/// Builds the tables of a dictionary and knows how many bytes they take.
///
/// Everything is interned by value. Frames and stacks are first looked up by the address of their
/// `Arc`, which is their identity as long as the window that holds them is borrowed (`'w`).
#[derive(Debug)]
pub(super) struct DictionaryBuilder<'w> {
    tables: ProfilesDictionary,
    bytes: usize,
    strings: HashMap<Arc<str>, i32>,
    attributes: HashMap<(i32, model::Value), i32>,
    mappings: HashMap<Mapping, i32>,
    functions: HashMap<Function, i32>,
    locations: HashMap<LocationKey, i32>,
    stacks: HashMap<Vec<i32>, i32>,
    frame_addresses: HashMap<*const model::Frame, i32>,
    stack_addresses: HashMap<*const Arc<model::Frame>, i32>,
    window: std::marker::PhantomData<&'w model::Window>,
}

/// A location by value: mapping, address, (function, line, column), attributes.
type LocationKey = (i32, u64, Vec<(i32, i64, i64)>, Vec<i32>);

/// How large a builder was; what was added since can be taken back.
#[derive(Clone, Copy, Debug)]
pub(super) struct Checkpoint {
    bytes: usize,
    strings: usize,
    attributes: usize,
    mappings: usize,
    functions: usize,
    locations: usize,
    stacks: usize,
}

/// Index of the next entry. Tables are bounded by the size of a request (64 MiB, 2 bytes an entry).
fn next_index<T>(table: &[T]) -> i32 {
    i32::try_from(table.len()).unwrap_or(i32::MAX)
}

/// Forgets what was numbered from `len` on.
fn forget<K: Eq + Hash>(indices: &mut HashMap<K, i32>, len: usize) {
    indices.retain(|_, &mut index| usize::try_from(index).is_ok_and(|index| index < len));
}

impl<'w> DictionaryBuilder<'w> {
    /// A dictionary with the zero value at the head of each table. The link's is the empty message:
    /// the profiles group's own checker and Parca refuse the 16 and 8 zero bytes.
    pub(super) fn new() -> Self {
        let tables = ProfilesDictionary {
            mapping_table: vec![Mapping::default()],
            location_table: vec![Location::default()],
            function_table: vec![Function::default()],
            link_table: vec![Link::default()],
            string_table: vec![String::new()],
            attribute_table: vec![KeyValueAndUnit::default()],
            stack_table: vec![Stack::default()],
        };
        Self {
            bytes: prost::Message::encoded_len(&tables),
            tables,
            strings: HashMap::from([("".into(), 0)]),
            attributes: HashMap::new(),
            mappings: HashMap::from([(Mapping::default(), 0)]),
            functions: HashMap::from([(Function::default(), 0)]),
            locations: HashMap::from([(LocationKey::default(), 0)]),
            stacks: HashMap::from([(Vec::new(), 0)]),
            frame_addresses: HashMap::new(),
            stack_addresses: HashMap::new(),
            window: std::marker::PhantomData,
        }
    }

    /// Bytes of the encoded tables.
    pub(super) fn bytes(&self) -> usize {
        self.bytes
    }

    pub(super) fn tables(&self) -> &ProfilesDictionary {
        &self.tables
    }

    pub(super) fn finish(self) -> ProfilesDictionary {
        self.tables
    }

    pub(super) fn checkpoint(&self) -> Checkpoint {
        Checkpoint {
            bytes: self.bytes,
            strings: self.tables.string_table.len(),
            attributes: self.tables.attribute_table.len(),
            mappings: self.tables.mapping_table.len(),
            functions: self.tables.function_table.len(),
            locations: self.tables.location_table.len(),
            stacks: self.tables.stack_table.len(),
        }
    }

    /// Takes back what was added since, so that nothing is left without a user.
    pub(super) fn roll_back(&mut self, to: Checkpoint) {
        self.bytes = to.bytes;
        self.tables.string_table.truncate(to.strings);
        self.tables.attribute_table.truncate(to.attributes);
        self.tables.mapping_table.truncate(to.mappings);
        self.tables.function_table.truncate(to.functions);
        self.tables.location_table.truncate(to.locations);
        self.tables.stack_table.truncate(to.stacks);
        forget(&mut self.strings, to.strings);
        forget(&mut self.attributes, to.attributes);
        forget(&mut self.mappings, to.mappings);
        forget(&mut self.functions, to.functions);
        forget(&mut self.locations, to.locations);
        forget(&mut self.stacks, to.stacks);
        forget(&mut self.frame_addresses, to.locations);
        forget(&mut self.stack_addresses, to.stacks);
    }

    pub(super) fn string(&mut self, text: &str) -> i32 {
        match self.strings.get(text) {
            Some(&index) => index,
            None => self.add_string(text.into()),
        }
    }

    fn shared_string(&mut self, text: &Arc<str>) -> i32 {
        match self.strings.get(text) {
            Some(&index) => index,
            None => self.add_string(Arc::clone(text)),
        }
    }

    fn add_string(&mut self, text: Arc<str>) -> i32 {
        let index = next_index(&self.tables.string_table);
        self.bytes += size::field(text.len());
        self.tables.string_table.push(text.as_ref().to_owned());
        self.strings.insert(text, index);
        index
    }

    pub(super) fn attribute(&mut self, key: &str, value: &model::Value) -> i32 {
        let key = (self.string(key), value.clone());
        if let Some(&index) = self.attributes.get(&key) {
            return index;
        }
        let entry = KeyValueAndUnit {
            key_strindex: key.0,
            value: Some(any_value(value)),
            unit_strindex: 0,
        };
        let index = next_index(&self.tables.attribute_table);
        self.bytes += size::message(&entry);
        self.tables.attribute_table.push(entry);
        self.attributes.insert(key, index);
        index
    }

    fn mapping(&mut self, mapping: &model::Mapping) -> i32 {
        let model::Mapping {
            start,
            limit,
            file_offset,
            filename,
            build_ids: model::BuildIds { gnu, go, htlhash },
        } = mapping;
        let ids = [
            (attribute::PROCESS_EXECUTABLE_BUILD_ID_GNU, gnu),
            (attribute::PROCESS_EXECUTABLE_BUILD_ID_GO, go),
            (attribute::PROCESS_EXECUTABLE_BUILD_ID_HTLHASH, htlhash),
        ];
        let mut attribute_indices = Vec::new();
        for (key, id) in ids {
            if let Some(id) = id {
                attribute_indices.push(self.attribute(key, &Arc::clone(id).into()));
            }
        }
        let entry = Mapping {
            memory_start: *start,
            memory_limit: *limit,
            file_offset: *file_offset,
            filename_strindex: self.shared_string(filename),
            attribute_indices,
        };
        if let Some(&index) = self.mappings.get(&entry) {
            return index;
        }
        let index = next_index(&self.tables.mapping_table);
        self.bytes += size::message(&entry);
        self.tables.mapping_table.push(entry.clone());
        self.mappings.insert(entry, index);
        index
    }

    fn function(&mut self, function: &model::Function) -> i32 {
        let model::Function {
            name,
            system_name,
            file,
        } = function;
        let entry = Function {
            name_strindex: self.shared_string(name),
            system_name_strindex: self.shared_string(system_name),
            filename_strindex: self.shared_string(file),
            start_line: 0,
        };
        if let Some(&index) = self.functions.get(&entry) {
            return index;
        }
        let index = next_index(&self.tables.function_table);
        self.bytes += size::message(&entry);
        self.tables.function_table.push(entry);
        self.functions.insert(entry, index);
        index
    }

    fn location(&mut self, frame: &Arc<model::Frame>) -> i32 {
        let address = Arc::as_ptr(frame);
        if let Some(&index) = self.frame_addresses.get(&address) {
            return index;
        }
        let index = self.location_by_value(frame);
        self.frame_addresses.insert(address, index);
        index
    }

    fn location_by_value(&mut self, frame: &model::Frame) -> i32 {
        let model::Frame {
            mapping,
            address,
            lines,
            frame_type,
        } = frame;
        let mapping = mapping.as_deref().map_or(0, |m| self.mapping(m));
        let mut places = Vec::with_capacity(lines.len());
        for line in lines {
            let function = self.function(&line.function);
            // A function without any string must not be in the table: such a line says nothing.
            if function != 0 {
                places.push((function, i64::from(line.line), i64::from(line.column)));
            }
        }
        let attributes = frame_type
            .map(|kind| self.attribute(attribute::PROFILE_FRAME_TYPE, &kind.as_str().into()))
            .into_iter()
            .collect();
        let key: LocationKey = (mapping, *address, places, attributes);
        if let Some(&index) = self.locations.get(&key) {
            return index;
        }
        let (mapping_index, address, places, attribute_indices) = key.clone();
        let entry = Location {
            mapping_index,
            address,
            lines: places
                .into_iter()
                .map(|(function_index, line, column)| Line {
                    function_index,
                    line,
                    column,
                })
                .collect(),
            attribute_indices,
        };
        let index = next_index(&self.tables.location_table);
        self.bytes += size::message(&entry);
        self.tables.location_table.push(entry);
        self.locations.insert(key, index);
        index
    }

    /// The stack's index; 0 for the empty one.
    pub(super) fn stack(&mut self, stack: &'w Arc<[Arc<model::Frame>]>) -> i32 {
        if stack.is_empty() {
            return 0;
        }
        let address = stack.as_ptr();
        if let Some(&index) = self.stack_addresses.get(&address) {
            return index;
        }
        let locations: Vec<i32> = stack.iter().map(|frame| self.location(frame)).collect();
        let index = match self.stacks.get(&locations) {
            Some(&index) => index,
            None => {
                let index = next_index(&self.tables.stack_table);
                let entry = Stack {
                    location_indices: locations.clone(),
                };
                self.bytes += size::message(&entry);
                self.tables.stack_table.push(entry);
                self.stacks.insert(locations, index);
                index
            }
        };
        self.stack_addresses.insert(address, index);
        index
    }
}

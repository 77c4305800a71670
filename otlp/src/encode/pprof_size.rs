//! How large a profile becomes in a backend that stores pprof.

use std::collections::HashMap;

use opentelemetry_proto::tonic::profiles::v1development::ProfilesDictionary;

/// Upper estimate of a profile's size in pprof (`profile.proto`), with every location, function and
/// string counted once for each set of sample attributes, as Pyroscope makes one series of each.
#[derive(Debug, Default)]
pub(super) struct PprofSize {
    bytes: usize,
    /// By the sample's attribute indices.
    series: HashMap<Vec<i32>, Series>,
}

/// What a series already holds.
#[derive(Debug, Default)]
struct Series {
    locations: Bits,
    functions: Bits,
    mappings: Bits,
}

/// A set of table indices.
#[derive(Debug, Default)]
struct Bits(Vec<u64>);

impl Bits {
    /// Whether it was not there before.
    fn insert(&mut self, index: usize) -> bool {
        let (word, bit) = (index / 64, 1_u64 << (index % 64));
        if self.0.len() <= word {
            self.0.resize(word + 1, 0);
        }
        let fresh = self.0[word] & bit == 0;
        self.0[word] |= bit;
        fresh
    }
}

/// A message of a few small integers: tags, lengths, values of up to three bytes.
const ENTRY: usize = 16;
/// An address in a message.
const ADDRESS: usize = 11;
/// A location id in a sample: ids stay below 2^21 in a request of 64 MiB.
const LOCATION_ID: usize = 3;

impl PprofSize {
    /// Bytes so far.
    pub(super) fn bytes(&self) -> usize {
        self.bytes
    }

    /// Counts a sample that is not merged into an earlier one.
    pub(super) fn add(&mut self, tables: &ProfilesDictionary, stack: i32, attributes: &[i32]) {
        let at = |index: i32| usize::try_from(index).unwrap_or(0);
        let string = |index: i32| {
            let text = tables.string_table.get(at(index));
            text.map_or(0, |text| text.len() + 4)
        };
        if !self.series.contains_key(attributes) {
            self.series.insert(attributes.to_vec(), Series::default());
        }
        let Some(series) = self.series.get_mut(attributes) else {
            return;
        };
        let mut bytes = ENTRY;
        let frames = tables.stack_table.get(at(stack));
        for &location in frames.map_or(&[][..], |stack| &stack.location_indices) {
            bytes += LOCATION_ID;
            if !series.locations.insert(at(location)) {
                continue;
            }
            let Some(location) = tables.location_table.get(at(location)) else {
                continue;
            };
            bytes += ENTRY + ADDRESS;
            if series.mappings.insert(at(location.mapping_index))
                && let Some(mapping) = tables.mapping_table.get(at(location.mapping_index))
            {
                // Two addresses, an offset, and a build id of at most 64 characters.
                bytes += ENTRY + 3 * ADDRESS + 64 + string(mapping.filename_strindex);
            }
            for line in &location.lines {
                bytes += ENTRY;
                if series.functions.insert(at(line.function_index))
                    && let Some(function) = tables.function_table.get(at(line.function_index))
                {
                    bytes += ENTRY
                        + string(function.name_strindex)
                        + string(function.system_name_strindex)
                        + string(function.filename_strindex);
                }
            }
        }
        self.bytes += bytes;
    }
}

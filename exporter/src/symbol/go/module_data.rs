//! The runtime's description of a module (`moduledata` in runtime/symtab.go), which says where the
//! code that the tables speak of is, and where the data of functions is.
//!
//! Go's own runtime finds everything through it, so it is in every file, stripped or not. It is
//! known by its first words, which are the addresses of the tables: a word that equals one is a
//! matter of chance, seven that do are not.

use super::{
    GoTableError,
    bytes::u64_at,
    header::{Header, Version},
    image::Image,
};

/// Words read of it.
const WORDS: usize = 42;

/// Most places tried that have the address of the header.
const MAX_PLACES: usize = 16;

// Words of it, which are the same from Go 1.18 to 1.26.
const FUNCTION_COUNT: usize = 17;
const FIRST_CODE: usize = 20;
const END_OF_CODE: usize = 21;
const TEXT: usize = 22;

/// Addresses and sizes, in bytes, of what the header has only offsets of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct ModuleData {
    /// What addresses of functions are counted from (`runtime.text`).
    pub(super) text: u64,
    /// Its first function.
    pub(super) first_code: u64,
    /// One past its last function.
    pub(super) end_of_code: u64,
    /// Sizes of the parts of the tables.
    pub(super) names_size: u64,
    pub(super) units_size: u64,
    pub(super) files_size: u64,
    pub(super) values_size: u64,
    pub(super) records_size: u64,
    /// What data of functions is counted from. Its place depends on the version more than the
    /// others do, so that it is believed only after trial.
    pub(super) function_data: u64,
}

impl ModuleData {
    /// Finds the description of the module whose tables begin at `address`.
    pub(super) fn find(image: &Image, header: &Header, address: u64) -> Result<Self, GoTableError> {
        let mut places = Vec::new();
        image.relocations(|relocation| {
            if relocation.value == address && places.len() < MAX_PLACES {
                places.push(relocation.place);
            }
        })?;
        for load in image.loads().iter().filter(|load| load.writable) {
            let most = MAX_PLACES - places.len().min(MAX_PLACES);
            places.extend(image.find_words(load, most, |word| word == address)?);
        }
        let mut candidates = Vec::with_capacity(places.len());
        for place in places {
            let mut bytes = vec![0; WORDS * 8];
            // What is missing is zero.
            image.read(place, &mut bytes)?;
            let words: Vec<u64> = (0..WORDS)
                .filter_map(|index| u64_at(&bytes, index * 8))
                .collect();
            candidates.push((place, words));
        }
        image.relocations(|relocation| {
            for (place, words) in &mut candidates {
                if let Some(distance) = relocation.place.checked_sub(*place)
                    && let Ok(index) = usize::try_from(distance / 8)
                    && let Some(word) = words.get_mut(index)
                {
                    *word = relocation.value;
                }
            }
        })?;
        candidates
            .iter()
            .find_map(|(_, words)| Self::verified(words, image, header, address))
            .ok_or(GoTableError::Missing("description of the module"))
    }

    fn verified(words: &[u64], image: &Image, header: &Header, address: u64) -> Option<Self> {
        let word = |index: usize| words.get(index).copied();
        // Slices: address, length, capacity.
        let slice = |index: usize, offset: u64, bytes_each: u64| {
            let length = word(index + 1)?;
            (word(index)? == address.checked_add(offset)? && word(index + 2)? == length)
                .then(|| length.checked_mul(bytes_each))?
        };
        let functions = u64::from(header.functions);
        let module = Self {
            names_size: slice(1, header.names, 1)?,
            units_size: slice(4, header.units, 4)?,
            files_size: slice(7, header.files, 1)?,
            values_size: slice(10, header.values, 1)?,
            records_size: slice(13, header.records, 1)?,
            first_code: word(FIRST_CODE)?,
            end_of_code: word(END_OF_CODE)?,
            text: word(TEXT)?,
            function_data: word(match header.version {
                Version::Go118 => 38,
                // Go 1.20 put two words before it.
                Version::Go120 => 40,
            })?,
        };
        let plausible = word(0)? == address
            && word(16)? == address.checked_add(header.records)?
            && word(FUNCTION_COUNT)? == functions + 1
            && module.text <= module.first_code
            && module.first_code < module.end_of_code
            && image.is_code(module.first_code)
            && image.is_code(module.end_of_code - 1);
        plausible.then_some(module)
    }
}

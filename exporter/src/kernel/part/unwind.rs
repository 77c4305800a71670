//! What the walks of user stacks know of code, written by `crate::unwind`.

use evenkeel_abi::{
    UNWIND_EXECUTABLES, UNWIND_MAPPINGS, UNWIND_PAGES, UNWIND_RULES, UnwindExecutable,
    UnwindMapping,
};

use super::{ArrayMap, Entries, Part};
use crate::{
    kernel::{
        Kernel,
        mapped_array::{MappedArrayError, WritableArray},
    },
    signal::Signal,
};

/// Signals with stacks.
const SERVED: &[Signal] = &[
    Signal::OnCpu,
    Signal::OffCpu,
    Signal::RunQueue,
    Signal::Stolen,
];

/// Not mapped by the loader: they are written.
const fn table(name: &'static str, entries: Entries) -> ArrayMap {
    ArrayMap {
        name,
        entries,
        words: 0,
        serves: SERVED,
    }
}

pub(super) const PART: Part = Part {
    programs: &[],
    fields: &[],
    arrays: &[
        table("UNWIND_MAPPINGS", Entries::Fixed(UNWIND_MAPPINGS as u32)),
        table(
            "UNWIND_EXECUTABLES",
            Entries::Fixed(UNWIND_EXECUTABLES as u32),
        ),
        table("UNWIND_PAGES", Entries::Fixed(UNWIND_PAGES as u32)),
        table("UNWIND_ROWS", Entries::UnwindRows),
        table("UNWIND_RULES", Entries::Fixed(UNWIND_RULES as u32)),
    ],
};

/// Whether one of these signals has stacks, so that the arrays have their sizes.
pub fn serves(signals: &[Signal]) -> bool {
    signals.iter().any(|signal| SERVED.contains(signal))
}

/// The arrays, to be written.
#[derive(Debug)]
pub struct UnwindArrays {
    /// `UnwindMapping`s, by process.
    pub mappings: WritableArray,
    /// `UnwindExecutable`s, by slot.
    pub executables: WritableArray,
    /// First row of each page.
    pub pages: WritableArray,
    /// Two rows a word.
    pub rows: WritableArray,
    /// `UnwindRule`s.
    pub rules: WritableArray,
}

impl UnwindArrays {
    /// Takes them from the object; they can be had once.
    ///
    /// # Errors
    /// When the object has no such arrays, or they cannot be mapped.
    pub fn take(kernel: &mut Kernel, rows: u32) -> Result<Self, MappedArrayError> {
        const WORD: usize = size_of::<u64>();
        const MAPPING: usize = size_of::<UnwindMapping>() / WORD;
        const EXECUTABLE: usize = size_of::<UnwindExecutable>() / WORD;
        Ok(Self {
            mappings: kernel.take_writable("UNWIND_MAPPINGS", UNWIND_MAPPINGS * MAPPING)?,
            executables: kernel
                .take_writable("UNWIND_EXECUTABLES", UNWIND_EXECUTABLES * EXECUTABLE)?,
            pages: kernel.take_writable("UNWIND_PAGES", UNWIND_PAGES)?,
            rows: kernel.take_writable("UNWIND_ROWS", rows.div_ceil(2) as usize)?,
            rules: kernel.take_writable("UNWIND_RULES", UNWIND_RULES)?,
        })
    }
}

//! The tables as kernel programs see them, read by the thread that gets their samples.

use std::{
    collections::HashMap,
    sync::{Arc, PoisonError, RwLock},
};

use evenkeel_abi::{UNWIND_PAGE_BITS, UnwindRule};

use super::tables::EXECUTABLE_WORDS;
use crate::kernel::mapped_array::WritableArray;

/// Slots by id of the executable.
pub(super) type Slots = Arc<RwLock<HashMap<u32, u32>>>;

/// The arrays of executables.
#[derive(Debug)]
pub(super) struct TableArrays {
    pub(super) executables: Arc<WritableArray>,
    pub(super) pages: Arc<WritableArray>,
    pub(super) rows: Arc<WritableArray>,
    pub(super) rules: Arc<WritableArray>,
}

/// Finds rules.
#[derive(Debug)]
pub(super) struct TableReader {
    arrays: TableArrays,
    slots: Slots,
}

impl TableReader {
    /// Reads `arrays`; `slots` says where executables are.
    pub(super) fn new(arrays: TableArrays, slots: Slots) -> Self {
        Self { arrays, slots }
    }

    /// The rule at an ELF virtual address of an executable; `None` while nothing is known of it.
    pub(super) fn rule(&self, executable: u32, address: u64) -> Option<UnwindRule> {
        let slots = self.slots.read().unwrap_or_else(PoisonError::into_inner);
        let slot = *slots.get(&executable)? as usize;
        drop(slots);
        let word = slot * EXECUTABLE_WORDS;
        let counts = self.arrays.executables.load(word);
        let (first_page, page_count) = (counts & 0xffff_ffff, counts >> 32);
        if page_count == 0 {
            return None;
        }
        let offset = address.wrapping_sub(self.arrays.executables.load(word + 1));
        let page = offset >> UNWIND_PAGE_BITS;
        if page >= page_count {
            return Some(UnwindRule::default());
        }
        let page = usize::try_from(first_page + page).ok()?;
        let (mut low, mut high) = (
            self.arrays.pages.load(page),
            self.arrays.pages.load(page + 1),
        );
        let mut found = 0;
        while low < high {
            let middle = low + (high - low) / 2;
            let pair = self.arrays.rows.load(usize::try_from(middle / 2).ok()?);
            let row = pair >> (middle % 2 * 32) & 0xffff_ffff;
            if row & 0xffff <= offset & 0xffff {
                found = row;
                low = middle + 1;
            } else {
                high = middle;
            }
        }
        let number = usize::try_from(found >> 16).ok()?;
        Some(UnwindRule(self.arrays.rules.load(number)))
    }
}

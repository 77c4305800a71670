//! The rows of executables in the arrays that kernel programs read.

use std::{sync::Arc, time::Instant};

use evenkeel_abi::UnwindExecutable;

use super::{Rows, rule_table::RuleTable, space::Space, table_reader::TableArrays};
use crate::kernel::{mapped_array::WritableArray, part::unwind::UnwindArrays};

/// Words of an [`UnwindExecutable`].
pub(super) const EXECUTABLE_WORDS: usize = size_of::<UnwindExecutable>() / size_of::<u64>();

/// Why rows could not be placed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PlaceError {
    /// There is no room for the rows.
    #[error("there is no room for {rows} rows of unwind tables")]
    Rows {
        /// How many there are.
        rows: u32,
    },
    /// There is no room for the pages.
    #[error("there is no room for {pages} pages of unwind tables")]
    Pages {
        /// How many there are.
        pages: u32,
    },
    /// There are too many different rules on this node.
    #[error("there is no room for more unwind rules")]
    Rules,
}

/// Rows that are in the arrays.
#[derive(Debug)]
pub(super) struct Placed {
    slot: u32,
    /// First word of rows, and number of words.
    rows: (u32, u32),
    /// First page, and number of pages with the closing one.
    pages: (u32, u32),
    rules: Vec<u16>,
}

impl Placed {
    /// How many rows there are.
    pub(super) fn rows(&self) -> u64 {
        u64::from(self.rows.1) * 2
    }
}

/// The arrays of executables, pages, rows and rules.
#[derive(Debug)]
pub(super) struct Tables {
    executables: Arc<WritableArray>,
    pages: Arc<WritableArray>,
    rows: Arc<WritableArray>,
    page_space: Space,
    row_space: Space,
    rules: RuleTable,
}

/// How full the arrays are.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TableFill {
    /// Rows in use.
    pub rows: u64,
    /// Rows that there is room for.
    pub row_limit: u64,
    /// Pages in use.
    pub pages: u64,
    /// Different rules.
    pub rules: u64,
}

impl Tables {
    /// Empty tables, and the array of mappings, which is of processes.
    pub(super) fn new(arrays: UnwindArrays) -> (Self, WritableArray) {
        let entries = |array: &WritableArray| u32::try_from(array.len()).unwrap_or(u32::MAX);
        let tables = Self {
            page_space: Space::new(entries(&arrays.pages)),
            row_space: Space::new(entries(&arrays.rows)),
            executables: Arc::new(arrays.executables),
            pages: Arc::new(arrays.pages),
            rows: Arc::new(arrays.rows),
            rules: RuleTable::new(Arc::new(arrays.rules)),
        };
        (tables, arrays.mappings)
    }

    /// The arrays, to be read as kernel programs read them.
    pub(super) fn arrays(&self) -> TableArrays {
        TableArrays {
            executables: Arc::clone(&self.executables),
            pages: Arc::clone(&self.pages),
            rows: Arc::clone(&self.rows),
            rules: self.rules.array(),
        }
    }

    /// How full they are.
    pub(super) fn fill(&self) -> TableFill {
        TableFill {
            rows: u64::from(self.row_space.used()) * 2,
            row_limit: u64::from(self.row_space.capacity()) * 2,
            pages: u64::from(self.page_space.used()),
            rules: self.rules.len() as u64,
        }
    }

    /// Whether room was given back that can be used after [`super::space::GRACE`].
    pub(super) fn has_retired(&mut self, now: Instant) -> bool {
        // Both: each reclaims what is free by now.
        self.row_space.is_waiting(now) | self.page_space.is_waiting(now)
    }

    /// Writes the rows of an executable and then shows them to the kernel programs.
    ///
    /// # Errors
    /// [`PlaceError`]; nothing is changed then.
    pub(super) fn publish(
        &mut self,
        slot: u32,
        rows: &Rows,
        now: Instant,
    ) -> Result<Placed, PlaceError> {
        let row_count = u32::try_from(rows.rows.len()).unwrap_or(u32::MAX);
        let page_count = u32::try_from(rows.pages.len()).unwrap_or(u32::MAX);
        let words = row_count.div_ceil(2);
        let Some(first_word) = self.row_space.take(words, now) else {
            return Err(PlaceError::Rows { rows: row_count });
        };
        let Some(first_page) = self.page_space.take(page_count, now) else {
            self.row_space.give_back(first_word, words, now);
            return Err(PlaceError::Pages { pages: page_count });
        };
        let mut placed = Placed {
            slot,
            rows: (first_word, words),
            pages: (first_page, page_count),
            rules: Vec::with_capacity(rows.rules.len()),
        };
        for rule in &rows.rules {
            let Some(number) = self.rules.take(*rule, now) else {
                self.give_back(&placed, now);
                return Err(PlaceError::Rules);
            };
            placed.rules.push(number);
        }
        let word = |row: &super::Row| {
            let number = placed.rules.get(usize::from(row.rule)).copied();
            u64::from(row.low) | u64::from(number.unwrap_or(0)) << 16
        };
        for (index, pair) in (first_word as usize..).zip(rows.rows.chunks(2)) {
            let halves = (pair.first().map_or(0, word), pair.get(1).map_or(0, word));
            self.rows.set(index, halves.0 | halves.1 << 32);
        }
        let first_row = first_word * 2;
        for (index, page) in (first_page as usize..).zip(&rows.pages) {
            self.pages.set(index, u64::from(first_row + page));
        }
        self.show(
            &UnwindExecutable {
                pages: first_page,
                page_count: page_count.saturating_sub(1),
                first_address: rows.first_address,
            },
            slot,
        );
        Ok(placed)
    }

    fn show(&self, executable: &UnwindExecutable, slot: u32) {
        let index = slot as usize * EXECUTABLE_WORDS;
        // The first word holds the number of pages: as long as it is zero, nobody looks at the rest.
        self.executables.set(index + 1, executable.first_address);
        let counts = u64::from(executable.pages) | u64::from(executable.page_count) << 32;
        self.executables.set(index, counts);
    }

    /// Tells the kernel programs that an executable in a slot has no rows.
    pub(super) fn publish_none(&self, slot: u32) {
        self.show(&UnwindExecutable::WITHOUT_ROWS, slot);
    }

    /// Hides the rows of an executable from the kernel programs and gives their room back.
    pub(super) fn withdraw(&mut self, placed: &Placed, now: Instant) {
        self.hide(placed.slot);
        self.give_back(placed, now);
    }

    /// Makes a slot one of which nothing is known.
    pub(super) fn hide(&self, slot: u32) {
        let index = slot as usize * EXECUTABLE_WORDS;
        self.executables.set(index, 0);
    }

    fn give_back(&mut self, placed: &Placed, now: Instant) {
        self.row_space.give_back(placed.rows.0, placed.rows.1, now);
        self.page_space
            .give_back(placed.pages.0, placed.pages.1, now);
        self.rules.give_back(&placed.rules, now);
    }
}

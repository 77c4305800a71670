//! Rows: by which rule the caller of each instruction of an executable is found.

use std::{collections::HashMap, sync::Arc};

use evenkeel_abi::{CfaKind, NO_RULE, UNWIND_PAGE_BITS, UnwindRule};

use super::elf_frames::{self, RowsError};
use crate::symbol::{
    Executable,
    go::{GoTable, stack_rules},
};

/// Bits of an address below its page.
const LOW: u64 = (1 << UNWIND_PAGE_BITS) - 1;

/// The most that is read and made of one file.
#[derive(Clone, Copy, Debug)]
pub struct RowsLimits {
    /// Bytes of call frame information: the largest seen are 20 MB, of programs of 200 MB.
    pub section_bytes: u64,
    /// Functions that it is about.
    pub functions: usize,
    /// Rows.
    pub rows: usize,
    /// Pages, of 64 KiB of addresses each, from the first function to the last.
    pub pages: usize,
}

impl Default for RowsLimits {
    fn default() -> Self {
        Self {
            section_bytes: 64 << 20,
            functions: 2 << 20,
            rows: 8 << 20,
            pages: 1 << 14,
        }
    }
}

/// From its address on, and as far as the next row, a rule holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Row {
    /// Low 16 bits of the ELF virtual address.
    pub low: u16,
    /// Index in [`Rows::rules`].
    pub rule: u16,
}

/// The rows of an executable, in pages of 64 KiB of addresses.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Rows {
    /// ELF virtual address of the first page, a multiple of 64 KiB.
    pub first_address: u64,
    /// Index of the first row of each page; the last one ends the last page. Empty without rows.
    pub pages: Vec<u32>,
    /// Rows, by address within each page. Before the first row of a page nothing is known.
    pub rows: Vec<Row>,
    /// Rules, each once; the first one knows nothing, the second one is of what is not understood.
    pub rules: Vec<UnwindRule>,
    /// Functions whose call frame information could not be read.
    pub refused: u64,
}

impl Rows {
    /// Reads the call frame information of an executable, and of a Go program how deep its functions'
    /// stacks are: there is none about Go's functions.
    ///
    /// # Errors
    /// [`RowsError`]: the file is closed, is not ELF for this purpose, has no call frame information, or
    /// is beyond a limit. A function that cannot be understood is no error: its rows say so.
    pub fn build(executable: &Executable, limits: &RowsLimits) -> Result<Self, RowsError> {
        let file = executable.file().ok_or(RowsError::Closed)?;
        let go = executable
            .may_be_go
            .then(|| GoTable::open(Arc::clone(&file)).ok())
            .flatten();
        let rules = go.as_ref().and_then(|table| stack_rules(table).ok());
        let further = rules
            .into_iter()
            .flatten()
            .map(|rule| (rule.start, rule.end, rule.rule));
        elf_frames::rows(&file, executable.identity.size, limits, further)
    }

    /// The rule for the instruction at an ELF virtual address, as kernel programs find it.
    pub fn rule_at(&self, address: u64) -> UnwindRule {
        self.row_at(address)
            .and_then(|row| self.rules.get(usize::from(row.rule)))
            .copied()
            .unwrap_or_default()
    }

    /// How many rows find the CFA in a way.
    pub fn count(&self, kind: CfaKind) -> u64 {
        let is_of_kind = |row: &&Row| {
            let rule = self.rules.get(usize::from(row.rule));
            rule.is_some_and(|rule| rule.cfa_kind() == kind as u8)
        };
        self.rows.iter().filter(is_of_kind).count() as u64
    }

    fn row_at(&self, address: u64) -> Option<&Row> {
        let offset = address.checked_sub(self.first_address)?;
        let page = usize::try_from(offset >> UNWIND_PAGE_BITS).ok()?;
        let first = *self.pages.get(page)? as usize;
        let end = *self.pages.get(page + 1)? as usize;
        let rows = self.rows.get(first..end)?;
        let low = (offset & LOW) as u16;
        let after = rows.partition_point(|row| row.low <= low);
        rows.get(after.checked_sub(1)?)
    }
}

/// Number of the rule of what is not understood.
const UNKNOWN: u16 = NO_RULE + 1;

/// Makes rows of rules that come by address.
#[derive(Debug)]
pub(super) struct RowsBuilder {
    rows: Rows,
    limits: RowsLimits,
    numbers: HashMap<UnwindRule, u16>,
    /// Rule of the last row.
    current: u16,
    /// End of what is known.
    end: u64,
    is_full: bool,
}

impl RowsBuilder {
    /// No rows yet.
    pub(super) fn new(limits: &RowsLimits) -> Self {
        let nothing = UnwindRule::default();
        let unknown = UnwindRule::of_kind(CfaKind::Unknown);
        Self {
            rows: Rows {
                rules: vec![nothing, unknown],
                ..Rows::default()
            },
            limits: *limits,
            numbers: HashMap::from([(nothing, NO_RULE), (unknown, UNKNOWN)]),
            current: NO_RULE,
            end: 0,
            is_full: false,
        }
    }

    /// End of the last rule.
    pub(super) fn end(&self) -> u64 {
        self.end
    }

    /// Functions whose call frame information could not be read.
    pub(super) fn refuse(&mut self, count: u64) {
        self.rows.refused = self.rows.refused.saturating_add(count);
    }

    /// From `start` to `end` a rule holds. What lies before the end of the last one is left out.
    pub(super) fn add(&mut self, start: u64, end: u64, rule: UnwindRule) {
        let start = start.max(self.end);
        if start >= end {
            return;
        }
        if self.rows.pages.is_empty() {
            self.rows.first_address = start & !LOW;
        } else if start > self.end {
            self.set(self.end, NO_RULE);
        }
        let number = self.number(rule);
        self.set(start, number);
        self.end = end;
    }

    /// The rows, or `None` when there are more than the limits allow.
    pub(super) fn finish(mut self) -> Option<Rows> {
        if !self.rows.pages.is_empty() {
            self.set(self.end, NO_RULE);
            let end = u32::try_from(self.rows.rows.len()).ok()?;
            self.rows.pages.push(end);
        }
        self.rows.rows.shrink_to_fit();
        (!self.is_full).then_some(self.rows)
    }

    fn number(&mut self, rule: UnwindRule) -> u16 {
        if let Some(number) = self.numbers.get(&rule) {
            return *number;
        }
        let Ok(number) = u16::try_from(self.rows.rules.len()) else {
            // More rules than there are numbers: it is known that the code says how.
            return UNKNOWN;
        };
        self.rows.rules.push(rule);
        self.numbers.insert(rule, number);
        number
    }

    /// From `address` on a rule holds. Every page begins with the rule that holds there.
    fn set(&mut self, address: u64, number: u16) {
        let page = (address - self.rows.first_address) >> UNWIND_PAGE_BITS;
        if page >= self.limits.pages as u64 || self.rows.rows.len() + 1 >= self.limits.rows {
            self.is_full = true;
            return;
        }
        while self.rows.pages.len() as u64 <= page {
            self.rows.pages.push(self.rows.rows.len() as u32);
            if self.current != NO_RULE {
                self.rows.rows.push(Row {
                    low: 0,
                    rule: self.current,
                });
            }
        }
        if number == self.current {
            return;
        }
        self.current = number;
        let row = Row {
            low: (address & LOW) as u16,
            rule: number,
        };
        let first = self.rows.pages.last().map_or(0, |first| *first as usize);
        match self.rows.rows.get_mut(first..).and_then(<[Row]>::last_mut) {
            // The beginning of a page, with the rule of the page before.
            Some(last) if last.low == row.low => *last = row,
            _ => self.rows.rows.push(row),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rule(offset: i64) -> UnwindRule {
        UnwindRule::with_cfa(CfaKind::StackPointer, offset).expect("fits")
    }

    fn build(spans: &[(u64, u64, i64)]) -> Rows {
        let mut builder = RowsBuilder::new(&RowsLimits::default());
        for (start, end, offset) in spans {
            builder.add(*start, *end, rule(*offset));
        }
        builder.finish().expect("within limits")
    }

    /// Each address has the rule of its span and none between spans, across pages and at their borders.
    #[test]
    fn every_address_has_its_rule() {
        let spans = [
            (0x1_fff0, 0x2_0000, 8),
            (0x2_0000, 0x2_0001, 16),
            (0x2_0001, 0x5_0000, 24),
            (0x5_0010, 0x5_0020, 8),
            (0x5_0020, 0x6_0000, 8),
        ];
        let rows = build(&spans);
        assert_eq!((rows.first_address, rows.pages.len()), (0x1_0000, 7));
        for address in (0x1_0000..0x7_0000).step_by(1) {
            let expected = spans
                .iter()
                .find(|(start, end, _)| (*start..*end).contains(&address))
                .map_or(UnwindRule(0), |(_, _, offset)| rule(*offset));
            assert_eq!(rows.rule_at(address), expected, "{address:#x}");
        }
        assert_eq!(rows.rule_at(0), UnwindRule(0));
        assert_eq!(rows.rule_at(u64::MAX), UnwindRule(0));
        assert_eq!(rows.rules.len(), 5, "each rule once");
    }

    /// Of spans that overlap the first one holds.
    #[test]
    fn the_first_span_holds() {
        let rows = build(&[(0x100, 0x200, 8), (0x180, 0x280, 16), (0x190, 0x1a0, 24)]);
        assert_eq!(rows.rule_at(0x1ff), rule(8));
        assert_eq!(rows.rule_at(0x200), rule(16));
        assert_eq!(rows.rule_at(0x280), UnwindRule(0));
    }

    /// Of more rules than there are numbers, the last ones end walks; they don't become frame pointers.
    #[test]
    fn rules_without_numbers_end_walks() {
        let mut builder = RowsBuilder::new(&RowsLimits::default());
        for index in 0..70_000 {
            let start = 0x1000 + index * 4;
            builder.add(start, start + 4, rule(index as i64 * 8));
        }
        let rows = builder.finish().expect("within limits");
        assert_eq!(rows.rule_at(0x1000 + 4), rule(8));
        let last = rows.rule_at(0x1000 + 69_999 * 4);
        assert_eq!(last, UnwindRule::of_kind(CfaKind::Unknown));
    }

    /// Rows beyond a limit are refused as a whole: half of a table would call the rest unknown.
    #[test]
    fn limits_hold() {
        let limits = RowsLimits {
            pages: 4,
            ..RowsLimits::default()
        };
        let mut builder = RowsBuilder::new(&limits);
        builder.add(0x100, 0x200, rule(8));
        builder.add(u64::MAX - 10, u64::MAX, rule(8));
        assert_eq!(builder.finish(), None);
    }
}

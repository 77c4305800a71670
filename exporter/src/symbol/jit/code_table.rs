//! Functions of one process by address, while their code comes and goes.

use std::{collections::BTreeMap, sync::Arc};

/// Most functions kept of a process. Large Node.js and Java programs have some 50,000.
const MAX_FUNCTIONS: usize = 128 << 10;

/// What a function takes beside its name, in bytes: its place in the tree and the counts.
const FUNCTION_BYTES: u64 = 96;

/// A place in a source file, by address.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct SourceLine {
    /// First address that belongs to the line.
    pub(super) address: u64,
    pub(super) line: u32,
    pub(super) file: Arc<str>,
}

/// A function that was compiled.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Code {
    /// As its maker wrote it.
    pub(super) name: Arc<str>,
    /// By address; empty when unknown.
    pub(super) lines: Arc<[SourceLine]>,
}

impl Code {
    /// A function of which only the name is known.
    pub(super) fn named(name: &str) -> Self {
        Self {
            name: name.into(),
            lines: Arc::new([]),
        }
    }

    fn bytes(&self) -> u64 {
        let lines = self.lines.len() * size_of::<SourceLine>();
        FUNCTION_BYTES + (self.name.len() + lines) as u64
    }
}

#[derive(Debug)]
struct Placed {
    end: u64,
    code: Code,
}

/// Functions by address. Later code takes the place of what it overlaps: the memory was freed.
#[derive(Debug, Default)]
pub(super) struct CodeTable {
    by_start: BTreeMap<u64, Placed>,
    bytes: u64,
    dropped: u64,
}

impl CodeTable {
    /// Puts a function at `start`. What it overlaps is gone, also where it overlaps only a part:
    /// what is left of it is not that function any more. Code of no size is none.
    pub(super) fn insert(&mut self, start: u64, size: u64, code: Code) {
        let Some(end) = start.checked_add(size).filter(|end| *end > start) else {
            return;
        };
        self.clear(start, end);
        if self.by_start.len() >= MAX_FUNCTIONS {
            self.dropped += 1;
            return;
        }
        self.bytes += code.bytes();
        self.by_start.insert(start, Placed { end, code });
    }

    /// Takes away the function that starts at an address.
    pub(super) fn remove(&mut self, start: u64) -> Option<Code> {
        let placed = self.by_start.remove(&start)?;
        self.bytes = self.bytes.saturating_sub(placed.code.bytes());
        Some(placed.code)
    }

    /// The function at an address, and where it starts.
    pub(super) fn find(&self, address: u64) -> Option<&Code> {
        let (_, placed) = self.by_start.range(..=address).next_back()?;
        (address < placed.end).then_some(&placed.code)
    }

    /// Forgets everything.
    pub(super) fn forget_all(&mut self) {
        self.by_start.clear();
        self.bytes = 0;
    }

    /// Bytes of memory, about.
    pub(super) fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Functions that found no room.
    pub(super) fn dropped(&self) -> u64 {
        self.dropped
    }

    fn clear(&mut self, start: u64, end: u64) {
        // The pieces don't overlap, so only the last one before may reach in.
        if let Some((before, placed)) = self.by_start.range(..start).next_back()
            && placed.end > start
        {
            let before = *before;
            self.remove(before);
        }
        while let Some((next, _)) = self.by_start.range(start..end).next() {
            let next = *next;
            self.remove(next);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table(functions: &[(u64, u64, &str)]) -> CodeTable {
        let mut table = CodeTable::default();
        for (start, size, name) in functions {
            table.insert(*start, *size, Code::named(name));
        }
        table
    }

    fn name(table: &CodeTable, address: u64) -> Option<&str> {
        table.find(address).map(|code| &*code.name)
    }

    /// Later code takes the place of all that it touches, and of nothing else.
    #[test]
    fn later_code_wins() {
        let table = table(&[
            (100, 100, "a"),
            (200, 50, "b"),
            (250, 50, "c"),
            (300, 50, "d"),
            (180, 80, "new"),
        ]);
        assert_eq!(name(&table, 100), None, "cut into");
        assert_eq!(name(&table, 180), Some("new"));
        assert_eq!(name(&table, 259), Some("new"));
        assert_eq!(name(&table, 260), None);
        assert_eq!(name(&table, 299), None);
        assert_eq!(name(&table, 300), Some("d"));
        assert_eq!(name(&table, 350), None);
    }

    /// Sizes of zero and beyond the end of memory are no code; the number of functions is bounded
    /// and the memory is given back.
    #[test]
    fn bounds() {
        let mut table = table(&[(100, 0, "none"), (u64::MAX - 1, 5, "wraps")]);
        assert_eq!(table.bytes(), 0);
        for index in 0..MAX_FUNCTIONS as u64 + 10 {
            table.insert(index * 16, 16, Code::named("f"));
        }
        assert_eq!(table.dropped(), 10);
        assert!(table.bytes() < 16 << 20, "{}", table.bytes());
        table.insert(0, u64::MAX, Code::named("all"));
        assert_eq!(name(&table, 12345), Some("all"));
        table.remove(0);
        assert_eq!(table.bytes(), 0);
    }
}

//! What the tables know of one function (`_func` in runtime/runtime2.go).

use super::{
    bytes::{u32_at, u64_at},
    header::Version,
};

/// `PCDATA_InlTreeIndex` and `FUNCDATA_InlTree` (internal/abi/symtab.go), since before Go 1.18.
const INLINE_INDEX: usize = 2;
const INLINE_TREE: usize = 3;

/// What there is no data of.
const NO_DATA: u32 = u32::MAX;

/// Most tables of values of a function; Go 1.26 has five.
const MAX_VALUES: usize = 16;

/// Bytes that are enough for every record: 44, and four for each of 16 tables and of the data,
/// of which Go 1.26 has eight kinds.
pub(super) const RECORD_BYTES: usize = 44 + 4 * (MAX_VALUES + 16);

/// A function; places of tables are in bytes from the start of all tables of values, zero where
/// there is none.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Record {
    /// Start of its code, from the start of the text.
    pub(super) entry: u32,
    /// Place of its name among the names.
    pub(super) name: u32,
    /// Table of depths of the stack.
    pub(super) depths: u32,
    /// Table of files, as numbers within the compilation unit.
    pub(super) files: u32,
    /// Table of lines.
    pub(super) lines: u32,
    /// First file of the compilation unit, counted in numbers.
    pub(super) unit: u32,
    pub(super) flags: Flags,
    /// Table of the innermost inlined call.
    pub(super) inline_index: u32,
    /// The inlined calls: bytes from the module's function data.
    pub(super) inline_tree: Option<u32>,
}

/// `FuncFlag` in internal/abi/symtab.go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Flags(u8);

impl Flags {
    /// A thread or a goroutine begins with it: it has no caller.
    pub(super) fn is_outermost(self) -> bool {
        self.0 & 1 != 0
    }

    /// It sets the stack pointer to something that the table of depths cannot say.
    pub(super) fn moves_stack(self) -> bool {
        self.0 & 2 != 0
    }

    /// It was written in assembly.
    pub(super) fn is_assembly(self) -> bool {
        self.0 & 4 != 0
    }
}

impl Record {
    /// Reads the record at the start of `bytes`.
    pub(super) fn parse(bytes: &[u8], version: Version) -> Option<Self> {
        // The starting line came with Go 1.20, before what follows the unit.
        let tail = match version {
            Version::Go118 => 36,
            Version::Go120 => 40,
        };
        let values = usize::try_from(u32_at(bytes, 28)?)
            .ok()
            .filter(|count| *count <= MAX_VALUES)?;
        let [_, flags, _, data] = *bytes.get(tail..)?.first_chunk()?;
        let value = |index: usize| {
            if index < values {
                u32_at(bytes, tail + 4 + index * 4)
            } else {
                Some(0)
            }
        };
        let inline_tree = if usize::from(data) > INLINE_TREE {
            Some(u32_at(bytes, tail + 4 + (values + INLINE_TREE) * 4)?)
                .filter(|offset| *offset != NO_DATA)
        } else {
            None
        };
        Some(Self {
            entry: u32_at(bytes, 0)?,
            name: u32_at(bytes, 4)?,
            depths: u32_at(bytes, 16)?,
            files: u32_at(bytes, 20)?,
            lines: u32_at(bytes, 24)?,
            unit: u32_at(bytes, 32)?,
            flags: Flags(flags),
            inline_index: value(INLINE_INDEX)?,
            inline_tree,
        })
    }
}

/// A call that was inlined into a function (`inlinedCall` in runtime/symtabinl.go, in Go 1.18 and
/// 1.19 runtime/symtab.go).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct InlinedCall {
    /// Place of the callee's name among the names.
    pub(super) name: u32,
    /// Where it is called: an address whose line is the call's, from the start of the function.
    pub(super) parent: u32,
}

impl InlinedCall {
    /// Bytes of one call.
    pub(super) fn size(version: Version) -> usize {
        match version {
            Version::Go118 => 20,
            Version::Go120 => 16,
        }
    }

    /// Reads a call; `None` where it cannot be one.
    pub(super) fn parse(bytes: &[u8], version: Version) -> Option<Self> {
        let (name, parent, padding) = match version {
            // A 16-bit parent, the kind of function, one byte of padding.
            Version::Go118 => (12, 16, 0xff00_0000),
            // The kind of function, three bytes of padding.
            Version::Go120 => (4, 8, 0xffff_ff00),
        };
        if u64_at(bytes, 0)? & padding != 0 {
            return None;
        }
        Some(Self {
            name: u32_at(bytes, name)?,
            parent: u32_at(bytes, parent)?,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(words: &[u32]) -> Vec<u8> {
        words.iter().flat_map(|word| word.to_le_bytes()).collect()
    }

    /// Both forms of a record, with three tables and four kinds of data.
    #[test]
    fn records() {
        // Entry, name, arguments, deferred return, depths, files, lines, tables, unit.
        let head = [16, 5, 0, 0, 70, 80, 90, 3, 7];
        let tail = [0x0400_0500, 1, 2, 3, 10, 11, NO_DATA, 13];
        let go118 = words(&[&head[..], &tail].concat());
        let go120 = words(&[&head[..], &[33], &tail].concat());
        for (bytes, version) in [(go118, Version::Go118), (go120, Version::Go120)] {
            let record = Record::parse(&bytes, version).expect("a record");
            assert_eq!((record.entry, record.name, record.unit), (16, 5, 7));
            assert_eq!((record.depths, record.files, record.lines), (70, 80, 90));
            assert_eq!((record.inline_index, record.inline_tree), (3, Some(13)));
            assert!(record.flags.is_outermost() && record.flags.is_assembly());
            assert!(!record.flags.moves_stack());
            for length in 0..bytes.len() {
                assert_eq!(Record::parse(&bytes[..length], version), None, "{length}");
            }
        }
    }

    /// A function without tables and data has no inlined calls.
    #[test]
    fn short_record() {
        let bytes = words(&[0, 1, 0, 0, 2, 3, 4, 0, 5, 6, 0]);
        let record = Record::parse(&bytes, Version::Go120).expect("a record");
        assert_eq!((record.inline_index, record.inline_tree), (0, None));
    }

    /// Both forms of a call; padding that isn't zero makes it none.
    #[test]
    fn inlined_calls() {
        let go118 = words(&[0x0003_ffff, 1, 20, 300, 40]);
        let go120 = words(&[3, 300, 40, 12]);
        let call = Some(InlinedCall {
            name: 300,
            parent: 40,
        });
        assert_eq!(InlinedCall::parse(&go118, Version::Go118), call);
        assert_eq!(InlinedCall::parse(&go120, Version::Go120), call);
        let padded = words(&[0x103, 300, 40, 12]);
        assert_eq!(InlinedCall::parse(&padded, Version::Go120), None);
    }
}

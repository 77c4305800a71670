//! The header of a pclntab: which version it is and where its parts are.

use super::bytes::{u32_at, u64_at};

/// Bytes of a header of Go 1.18 or later on a 64-bit machine (`pcHeader` in runtime/symtab.go):
/// 8 and 8 words.
pub(super) const HEADER_BYTES: usize = 72;

/// Most functions of one file; a kubelet has 90,000.
const MAX_FUNCTIONS: u64 = 1 << 21;

/// Farthest that a part is from the header, in bytes.
const MAX_OFFSET: u64 = 1 << 30;

/// Form of the tables.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Version {
    /// Go 1.18 and 1.19.
    Go118,
    /// Go 1.20 and later: functions have a starting line, calls are smaller.
    Go120,
}

impl Version {
    /// By the magic number (internal/abi/symtab.go).
    fn of(magic: u32) -> Option<Self> {
        match magic {
            0xffff_fff0 => Some(Self::Go118),
            0xffff_fff1 => Some(Self::Go120),
            _ => None,
        }
    }
}

/// What a header says; offsets are in bytes from the header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Header {
    pub(super) version: Version,
    /// What a step of the tables is in bytes of code: 1 on x86-64, 4 on arm64.
    pub(super) quantum: u32,
    pub(super) functions: u32,
    /// Names of functions, each with a closing NUL.
    pub(super) names: u64,
    /// For each compilation unit, its files: numbers of four bytes into `files`.
    pub(super) units: u64,
    /// Paths of files, each with a closing NUL.
    pub(super) files: u64,
    /// Tables of values by address.
    pub(super) values: u64,
    /// Functions by address, then what is known of each.
    pub(super) records: u64,
}

impl Header {
    /// Reads a header. `None` when this is none, or one of a 32-bit program or of a Go before
    /// 1.18.
    ///
    /// The word for the start of the text is left alone: Go 1.26 writes zero there, and before
    /// that it was one of the pointers that the loader moves.
    pub(super) fn parse(bytes: &[u8]) -> Option<Self> {
        const POINTER_BYTES: u8 = 8;
        let version = Version::of(u32_at(bytes, 0)?)?;
        let [0, 0, quantum @ (1 | 2 | 4), POINTER_BYTES] = *bytes.get(4..)?.first_chunk()? else {
            return None;
        };
        let word = |index: usize| u64_at(bytes, 8 + index * 8);
        let header = Self {
            version,
            quantum: u32::from(quantum),
            functions: word(0)
                .filter(|count| (1..=MAX_FUNCTIONS).contains(count))
                .and_then(|count| u32::try_from(count).ok())?,
            names: word(3)?,
            units: word(4)?,
            files: word(5)?,
            values: word(6)?,
            records: word(7)?,
        };
        let offsets = [
            HEADER_BYTES as u64,
            header.names,
            header.units,
            header.files,
            header.values,
            header.records,
            MAX_OFFSET,
        ];
        offsets.is_sorted().then_some(header)
    }

    /// Whether a word may be the first of a header, as [`Header::parse`] has it.
    pub(super) fn may_begin_with(word: u64) -> bool {
        let bytes = word.to_le_bytes();
        Version::of(word as u32).is_some() && bytes[4..6] == [0, 0] && bytes[7] == 8
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn header(magic: u32, words: [u64; 8]) -> Vec<u8> {
        let mut bytes = magic.to_le_bytes().to_vec();
        bytes.extend([0, 0, 1, 8]);
        bytes.extend(words.iter().flat_map(|word| word.to_le_bytes()));
        bytes
    }

    const WORDS: [u64; 8] = [3, 2, 0, 80, 160, 240, 320, 400];

    /// Both forms are read, with any start of the text.
    #[test]
    fn versions() {
        for (magic, version) in [(0xffff_fff0, Version::Go118), (0xffff_fff1, Version::Go120)] {
            let mut words = WORDS;
            words[2] = 0x40_1000;
            let bytes = header(magic, words);
            let header = Header::parse(&bytes).expect("a header");
            assert_eq!((header.version, header.functions), (version, 3));
            assert_eq!((header.names, header.records), (80, 400));
            let first = u64_at(&bytes, 0).expect("a word");
            assert!(Header::may_begin_with(first));
        }
    }

    /// Other versions, other machines, parts out of order, and counts beyond belief are refused.
    #[test]
    fn refused() {
        let mut bytes = header(0xffff_fffa, WORDS);
        assert_eq!(Header::parse(&bytes), None, "Go 1.16");
        bytes = header(0xffff_fff1, WORDS);
        bytes[7] = 4;
        assert_eq!(Header::parse(&bytes), None, "32 bits");
        assert_eq!(Header::parse(&bytes[..71]), None, "cut");
        for (index, value) in [(0, 0), (0, u64::MAX), (3, 0), (7, 100), (7, u64::MAX)] {
            let mut words = WORDS;
            words[index] = value;
            assert_eq!(Header::parse(&header(0xffff_fff1, words)), None);
        }
    }
}

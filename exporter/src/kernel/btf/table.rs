//! The index over the raw bytes: where each type begins, and the named ones by a hash of their
//! name.

use super::{BtfError, MAX_MODIFIERS};

const MAGIC: [u8; 2] = [0x9f, 0xeb];
const MAGIC_SWAPPED: [u8; 2] = [0xeb, 0x9f];
/// `struct btf_header` up to `str_len`; later kernels may append fields.
const HEADER_BYTES: usize = 24;
/// `struct btf_type`: name, info, size or type.
const TYPE_BYTES: usize = 12;
/// Longest name looked at (`KSYM_NAME_LEN`); bounds the work that overlapping strings could make.
const MAX_NAME_BYTES: usize = 512;

/// `BTF_KIND_*`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Void,
    Integer,
    Pointer,
    Array,
    Struct,
    Union,
    Enum,
    Forward,
    Typedef,
    Volatile,
    Const,
    Restrict,
    Function,
    FunctionPrototype,
    Variable,
    DataSection,
    Float,
    DeclarationTag,
    TypeTag,
    Enum64,
}

impl Kind {
    fn from_raw(raw: u8) -> Option<Self> {
        Some(match raw {
            1 => Self::Integer,
            2 => Self::Pointer,
            3 => Self::Array,
            4 => Self::Struct,
            5 => Self::Union,
            6 => Self::Enum,
            7 => Self::Forward,
            8 => Self::Typedef,
            9 => Self::Volatile,
            10 => Self::Const,
            11 => Self::Restrict,
            12 => Self::Function,
            13 => Self::FunctionPrototype,
            14 => Self::Variable,
            15 => Self::DataSection,
            16 => Self::Float,
            17 => Self::DeclarationTag,
            18 => Self::TypeTag,
            19 => Self::Enum64,
            _ => return None,
        })
    }

    /// Bytes that follow `struct btf_type`, with `count` entries.
    fn tail_bytes(self, count: usize) -> usize {
        match self {
            Self::Integer | Self::Variable | Self::DeclarationTag => 4,
            Self::Array => 12,
            Self::Struct | Self::Union | Self::DataSection | Self::Enum64 => 12 * count,
            Self::Enum | Self::FunctionPrototype => 8 * count,
            Self::Void
            | Self::Pointer
            | Self::Forward
            | Self::Typedef
            | Self::Volatile
            | Self::Const
            | Self::Restrict
            | Self::Function
            | Self::Float
            | Self::TypeTag => 0,
        }
    }

    /// Another name, or a qualifier, for the type it refers to.
    fn is_modifier(self) -> bool {
        matches!(
            self,
            Self::Typedef | Self::Volatile | Self::Const | Self::Restrict | Self::TypeTag
        )
    }

    /// Has members.
    pub(super) fn is_composite(self) -> bool {
        matches!(self, Self::Struct | Self::Union)
    }
}

/// One type record.
#[derive(Clone, Copy, Debug)]
pub(super) struct Record {
    pub(super) kind: Kind,
    /// `kind_flag`: in structs, offsets carry bit field sizes; in enums, values are signed.
    pub(super) flag: bool,
    /// Entries in the tail.
    pub(super) count: u32,
    /// Offset into the strings.
    pub(super) name: u32,
    /// Size in bytes, or the type referred to, by kind.
    pub(super) size_or_type: u32,
    /// Where the tail begins in the bytes.
    tail: usize,
}

/// An entry of a struct or union.
#[derive(Clone, Copy, Debug)]
pub(super) struct RawMember {
    pub(super) name: u32,
    pub(super) type_id: u32,
    /// Offset in bits from the start of the struct.
    pub(super) bit_offset: u32,
    /// Width in bits, 0 for an ordinary member.
    pub(super) bit_width: u32,
}

/// The bytes and what was learnt in one pass over them.
#[derive(Debug)]
pub(super) struct Table {
    bytes: Vec<u8>,
    /// `offsets[id - 1]`: where type `id` begins in `bytes`.
    offsets: Vec<u32>,
    /// Structs, unions and typedefs by name: hash in the upper half, id in the lower, sorted.
    names: Vec<u64>,
    strings: usize,
    strings_end: usize,
}

fn read_u32(bytes: &[u8], at: usize) -> Option<u32> {
    let end = at.checked_add(4)?;
    let word: [u8; 4] = bytes.get(at..end)?.try_into().ok()?;
    Some(u32::from_le_bytes(word))
}

/// FNV-1a: the names are short and the index only has to tell most of them apart.
fn hash(name: &[u8]) -> u32 {
    name.iter().fold(0x811c_9dc5, |state, byte| {
        (state ^ u32::from(*byte)).wrapping_mul(0x0100_0193)
    })
}

fn section(
    bytes: &[u8],
    base: usize,
    offset: u32,
    length: u32,
    what: &'static str,
) -> Result<(usize, usize), BtfError> {
    let begin = base.checked_add(offset as usize);
    let end = begin.and_then(|begin| begin.checked_add(length as usize));
    match (begin, end) {
        (Some(begin), Some(end)) if end <= bytes.len() => Ok((begin, end)),
        _ => Err(BtfError::Truncated(what)),
    }
}

impl Table {
    pub(super) fn index(bytes: Vec<u8>) -> Result<Self, BtfError> {
        match bytes.get(..2) {
            Some(magic) if magic == MAGIC => {}
            Some(magic) if magic == MAGIC_SWAPPED => return Err(BtfError::BigEndian),
            _ => return Err(BtfError::NotBtf),
        }
        let header = |at| read_u32(&bytes, at).ok_or(BtfError::Truncated("header"));
        match bytes.get(2) {
            Some(1) => {}
            Some(version) => return Err(BtfError::Version(*version)),
            None => return Err(BtfError::Truncated("header")),
        }
        let base = header(4)? as usize;
        if base < HEADER_BYTES {
            return Err(BtfError::Truncated("header length"));
        }
        let (types, types_end) = section(&bytes, base, header(8)?, header(12)?, "type section")?;
        let (strings, strings_end) =
            section(&bytes, base, header(16)?, header(20)?, "string section")?;
        // Every name below then ends inside the section.
        if strings == strings_end || bytes.get(strings_end - 1) != Some(&0) {
            return Err(BtfError::Truncated("string section without an end"));
        }

        let mut table = Self {
            // A record has 12 bytes at least; kernels average 24.
            offsets: Vec::with_capacity((types_end - types) / 24),
            names: Vec::new(),
            bytes,
            strings,
            strings_end,
        };
        let mut at = types;
        while at < types_end {
            let id = table.offsets.len() as u32 + 1;
            let record = table.record(at, id)?;
            let next = record.tail + record.kind.tail_bytes(record.count as usize);
            if next > types_end {
                return Err(BtfError::Truncated("type record"));
            }
            table.offsets.push(at as u32);
            if record.name != 0 && (record.kind.is_composite() || record.kind == Kind::Typedef) {
                let name = hash(table.name(record.name));
                table.names.push((u64::from(name) << 32) | u64::from(id));
            }
            at = next;
        }
        table.names.sort_unstable();
        Ok(table)
    }

    fn record(&self, at: usize, id: u32) -> Result<Record, BtfError> {
        let word = |index: usize| {
            read_u32(&self.bytes, at + 4 * index).ok_or(BtfError::Truncated("type record"))
        };
        let info = word(1)?;
        // Bits 16 to 23 and 29 to 30 are zero in today's kernels and reserved for larger counts
        // and kinds.
        let kind = ((info >> 24) & 0x7f) as u8;
        Ok(Record {
            kind: Kind::from_raw(kind).ok_or(BtfError::UnknownKind { id, kind })?,
            flag: info >> 31 == 1,
            count: info & 0x00ff_ffff,
            name: word(0)?,
            size_or_type: word(2)?,
            tail: at + TYPE_BYTES,
        })
    }

    pub(super) fn type_count(&self) -> usize {
        self.offsets.len()
    }

    /// A type by its id; id 0 is `void`.
    pub(super) fn get(&self, id: u32) -> Option<Record> {
        if id == 0 {
            return Some(Record {
                kind: Kind::Void,
                flag: false,
                count: 0,
                name: 0,
                size_or_type: 0,
                tail: 0,
            });
        }
        let at = *self.offsets.get(id as usize - 1)?;
        self.record(at as usize, id).ok()
    }

    /// A string; empty where the offset points outside or the string is longer than any symbol.
    pub(super) fn name(&self, offset: u32) -> &[u8] {
        let begin = self.strings.saturating_add(offset as usize);
        let end = self
            .strings_end
            .min(begin.saturating_add(MAX_NAME_BYTES + 1));
        let rest = self.bytes.get(begin..end).unwrap_or_default();
        let length = rest.iter().position(|byte| *byte == 0).unwrap_or(0);
        rest.get(..length).unwrap_or_default()
    }

    /// Structs, unions and typedefs of that name, in order of id.
    pub(super) fn named(&self, name: &str) -> impl Iterator<Item = (u32, Kind)> {
        let wanted = hash(name.as_bytes());
        let begin = self
            .names
            .partition_point(|entry| (entry >> 32) < u64::from(wanted));
        let entries = self.names.get(begin..).unwrap_or_default();
        entries
            .iter()
            .take_while(move |entry| (*entry >> 32) == u64::from(wanted))
            .map(|entry| *entry as u32)
            .filter_map(|id| Some((id, self.get(id)?)))
            .filter(move |(_, record)| self.name(record.name) == name.as_bytes())
            .map(|(id, record)| (id, record.kind))
    }

    /// The type behind typedefs and qualifiers.
    pub(super) fn resolve(&self, id: u32) -> Result<Record, BtfError> {
        let mut record = self.get(id).ok_or(BtfError::Malformed("no such type"))?;
        for _ in 0..MAX_MODIFIERS {
            if !record.kind.is_modifier() {
                return Ok(record);
            }
            record = self
                .get(record.size_or_type)
                .ok_or(BtfError::Malformed("no such type"))?;
        }
        Err(BtfError::Malformed("a type refers to itself"))
    }

    /// Entry `index` of a struct or union.
    pub(super) fn member(&self, of: &Record, index: u32) -> Option<RawMember> {
        if !of.kind.is_composite() || index >= of.count {
            return None;
        }
        let at = of.tail + 12 * index as usize;
        let offset = read_u32(&self.bytes, at + 8)?;
        Some(RawMember {
            name: read_u32(&self.bytes, at)?,
            type_id: read_u32(&self.bytes, at + 4)?,
            bit_offset: if of.flag {
                offset & 0x00ff_ffff
            } else {
                offset
            },
            bit_width: if of.flag { offset >> 24 } else { 0 },
        })
    }

    /// Element type and number of elements.
    pub(super) fn array(&self, of: &Record) -> Option<(u32, u32)> {
        if of.kind != Kind::Array {
            return None;
        }
        Some((
            read_u32(&self.bytes, of.tail)?,
            read_u32(&self.bytes, of.tail + 8)?,
        ))
    }

    /// Encoding of an integer: `(signed, bit offset, bits)`.
    pub(super) fn integer(&self, of: &Record) -> Option<(bool, u32, u32)> {
        if of.kind != Kind::Integer {
            return None;
        }
        let word = read_u32(&self.bytes, of.tail)?;
        Some((word & (1 << 24) != 0, (word >> 16) & 0xff, word & 0xff))
    }

    /// Value of an enumerator of that enum.
    pub(super) fn enumerator(&self, of: &Record, name: &[u8]) -> Option<i64> {
        self.entries(of)
            .find_map(|(own, value)| (own == name).then_some(value))
    }

    /// Names and values of the enumerators of that enum.
    pub(super) fn enumerators(&self, of: &Record) -> impl Iterator<Item = (String, i64)> {
        self.entries(of)
            .map(|(name, value)| (String::from_utf8_lossy(name).into_owned(), value))
    }

    fn entries(&self, of: &Record) -> impl Iterator<Item = (&[u8], i64)> {
        let (kind, flag, tail) = (of.kind, of.flag, of.tail);
        let entry_bytes = kind.tail_bytes(1);
        (0..of.count as usize).map_while(move |index| {
            let at = tail + entry_bytes * index;
            let name = self.name(read_u32(&self.bytes, at)?);
            let low = read_u32(&self.bytes, at + 4)?;
            let value = match kind {
                Kind::Enum64 => {
                    let high = read_u32(&self.bytes, at + 8)?;
                    ((u64::from(high) << 32) | u64::from(low)) as i64
                }
                _ if flag => i64::from(low as i32),
                _ => i64::from(low),
            };
            Some((name, value))
        })
    }
}

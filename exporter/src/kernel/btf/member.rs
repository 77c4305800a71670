//! Looking up a member by name.

use super::{
    BtfError,
    table::{Kind, RawMember, Record, Table},
};

/// Anonymous structs and unions inside one another. The kernel nests four or so.
const MAX_DEPTH: usize = 32;

/// Members looked at for one question, over all definitions of a name. `task_struct` has 260 with
/// its anonymous parts; the bound only ends hostile type information, where anonymous members can
/// fan out without limit.
const MAX_VISITS: u32 = 1 << 18;

/// Bytes of a pointer on every machine that is supported.
const POINTER_BYTES: u32 = 8;

/// Where a member is and what it holds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Member {
    /// Bytes from the start of the struct that was asked.
    pub offset: u32,
    /// Bytes it takes.
    pub size: u32,
    /// What it holds.
    pub kind: MemberKind,
}

/// What a member holds, behind typedefs and qualifiers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum MemberKind {
    /// A pointer.
    Pointer {
        /// Name of the type pointed to; `void` for `void *`, empty where the type has no name
        /// (pointers to functions or to pointers).
        to: String,
    },
    /// An integer, enumeration or floating-point number.
    Scalar {
        /// Whether it is a signed integer.
        signed: bool,
    },
    /// An embedded struct or union.
    Struct {
        /// Its name; empty where it has none.
        name: String,
    },
    /// An array.
    Array {
        /// Elements in the outermost dimension; 0 for a flexible array.
        length: u32,
    },
}

/// A question and the work left for it.
struct Search<'a> {
    table: &'a Table,
    structure: &'a str,
    path: &'a str,
    visits: u32,
}

pub(super) fn find(table: &Table, structure: &str, path: &str) -> Result<Member, BtfError> {
    let mut search = Search {
        table,
        structure,
        path,
        visits: 0,
    };
    let mut found: Option<Member> = None;
    let mut refused = None;
    let mut defined = false;
    for (id, kind) in table.named(structure) {
        if !kind.is_composite() {
            continue;
        }
        defined = true;
        match search.walk(id) {
            Ok(member) => match &found {
                Some(first) if (first.offset, first.size) != (member.offset, member.size) => {
                    return Err(BtfError::Ambiguous {
                        structure: structure.to_owned(),
                        member: path.to_owned(),
                    });
                }
                Some(_) => {}
                None => found = Some(member),
            },
            Err(BtfError::NoMember { .. }) => {}
            Err(error) => refused = refused.or(Some(error)),
        }
    }
    match (found, refused) {
        (Some(member), _) => Ok(member),
        (None, Some(error)) => Err(error),
        (None, None) if defined => Err(search.no_member()),
        (None, None) => Err(BtfError::NoStruct(structure.to_owned())),
    }
}

impl Search<'_> {
    /// Follows the whole path from one definition.
    fn walk(&mut self, id: u32) -> Result<Member, BtfError> {
        let mut bits: u32 = 0;
        let mut current = self.table.resolve(id)?;
        let outer = current;
        let mut parts = self.path.split('.').peekable();
        while let Some(part) = parts.next() {
            let (member, base) = self
                .descend(&current, part.as_bytes(), 0, 0)?
                .ok_or_else(|| self.no_member())?;
            bits = add(add(bits, base)?, member.bit_offset)?;
            let target = self.table.resolve(member.type_id)?;
            if parts.peek().is_none() {
                return self.describe(&outer, &member, &target, bits);
            }
            if !target.kind.is_composite() {
                return Err(BtfError::NotEmbedded {
                    structure: self.structure.to_owned(),
                    member: self.path.to_owned(),
                    through: part.to_owned(),
                });
            }
            current = target;
        }
        // `split` yields one part at least.
        Err(self.no_member())
    }

    /// Finds `name` in a struct and in its anonymous members; gives the member and the bit offset
    /// of the anonymous struct it stands in.
    fn descend(
        &mut self,
        of: &Record,
        name: &[u8],
        base: u32,
        depth: usize,
    ) -> Result<Option<(RawMember, u32)>, BtfError> {
        if depth > MAX_DEPTH {
            return Err(BtfError::Malformed("structs nested too deeply"));
        }
        for index in 0..of.count {
            self.visits += 1;
            if self.visits > MAX_VISITS {
                return Err(BtfError::Malformed("too many members"));
            }
            let member = self
                .table
                .member(of, index)
                .ok_or(BtfError::Malformed("member outside its struct"))?;
            let own = self.table.name(member.name);
            if !own.is_empty() {
                if own == name {
                    return Ok(Some((member, base)));
                }
                continue;
            }
            let inner = self.table.resolve(member.type_id)?;
            if inner.kind.is_composite() {
                let base = add(base, member.bit_offset)?;
                let found = self.descend(&inner, name, base, depth + 1)?;
                if found.is_some() {
                    return Ok(found);
                }
            }
        }
        Ok(None)
    }

    fn describe(
        &self,
        outer: &Record,
        member: &RawMember,
        target: &Record,
        bits: u32,
    ) -> Result<Member, BtfError> {
        let size = self.size(target)?;
        // Without the struct flag a bit field shows in the integer's own width (old compilers).
        let narrow = match self.table.integer(target) {
            Some((_, shift, width)) => shift != 0 || width != size.saturating_mul(8),
            None => false,
        };
        if member.bit_width != 0 || !bits.is_multiple_of(8) || narrow {
            return Err(BtfError::BitField {
                structure: self.structure.to_owned(),
                member: self.path.to_owned(),
            });
        }
        let offset = bits / 8;
        // A member that ends outside its struct would have the kernel read what is not there.
        if add(offset, size)? > outer.size_or_type {
            return Err(BtfError::Malformed("member outside its struct"));
        }
        let text = |name: &[u8]| String::from_utf8_lossy(name).into_owned();
        let kind = match target.kind {
            Kind::Pointer => {
                let pointee = self.table.resolve(target.size_or_type)?;
                MemberKind::Pointer {
                    to: if pointee.kind == Kind::Void {
                        "void".to_owned()
                    } else {
                        text(self.table.name(pointee.name))
                    },
                }
            }
            Kind::Struct | Kind::Union => MemberKind::Struct {
                name: text(self.table.name(target.name)),
            },
            Kind::Array => MemberKind::Array {
                length: self.table.array(target).map_or(0, |(_, length)| length),
            },
            Kind::Integer => MemberKind::Scalar {
                signed: self
                    .table
                    .integer(target)
                    .is_some_and(|(signed, _, _)| signed),
            },
            Kind::Enum | Kind::Enum64 => MemberKind::Scalar {
                signed: target.flag,
            },
            Kind::Float => MemberKind::Scalar { signed: true },
            _ => return Err(BtfError::Malformed("member of a type without values")),
        };
        Ok(Member { offset, size, kind })
    }

    /// Bytes that a value of the type takes.
    fn size(&self, of: &Record) -> Result<u32, BtfError> {
        let mut elements: u32 = 1;
        let mut record = *of;
        for _ in 0..MAX_DEPTH {
            let size = match record.kind {
                Kind::Array => {
                    let (element, length) = self
                        .table
                        .array(&record)
                        .ok_or(BtfError::Malformed("array without an element"))?;
                    elements = elements
                        .checked_mul(length)
                        .ok_or(BtfError::Malformed("array too large"))?;
                    record = self.table.resolve(element)?;
                    continue;
                }
                Kind::Pointer => POINTER_BYTES,
                Kind::Integer
                | Kind::Struct
                | Kind::Union
                | Kind::Enum
                | Kind::Enum64
                | Kind::Float => record.size_or_type,
                _ => return Err(BtfError::Malformed("member of a type without a size")),
            };
            return elements
                .checked_mul(size)
                .ok_or(BtfError::Malformed("member too large"));
        }
        Err(BtfError::Malformed("arrays nested too deeply"))
    }

    fn no_member(&self) -> BtfError {
        BtfError::NoMember {
            structure: self.structure.to_owned(),
            member: self.path.to_owned(),
        }
    }
}

fn add(left: u32, right: u32) -> Result<u32, BtfError> {
    left.checked_add(right)
        .ok_or(BtfError::Malformed("offset too large"))
}

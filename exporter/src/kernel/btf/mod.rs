//! Field offsets of kernel structures, read from the kernel's own type information (BTF).
//!
//! The kernel programs carry no relocations; whatever differs between kernels is a read-only
//! global that user space sets before loading. This reader gives the numbers. It consults names
//! and types only, never a version number.
//!
//! Format: Linux `Documentation/bpf/btf.rst`, `include/uapi/linux/btf.h`.

mod error;
mod member;
mod table;

pub use self::{
    error::BtfError,
    member::{Member, MemberKind},
};

use std::{fs::File, io::Read, path::Path};

use self::table::{Kind, Table};

/// Where the running kernel publishes its types, below the sysfs root.
pub const VMLINUX: &str = "kernel/btf/vmlinux";

/// Largest accepted type information. Distribution kernels have 4 to 7 MB; a file above this is
/// not read to its end.
const MAX_BYTES: u64 = 64 << 20;

/// Modifiers (typedef, const, ...) followed in a row before the chain is called cyclic. Kernel
/// types need about five.
const MAX_MODIFIERS: usize = 64;

/// The types of one kernel.
#[derive(Debug)]
pub struct Btf {
    table: Table,
}

impl Btf {
    /// Reads `<sys_root>/kernel/btf/vmlinux`.
    ///
    /// # Errors
    /// [`BtfError::Unreadable`] where the file is missing or refused, and those of [`Btf::parse`].
    pub fn from_sys(sys_root: &Path) -> Result<Self, BtfError> {
        let path = sys_root.join(VMLINUX);
        let unreadable = |source| BtfError::Unreadable {
            path: path.clone(),
            source,
        };
        let file = File::open(&path).map_err(unreadable)?;
        // sysfs gives the true size; the buffer then never grows.
        let size = file.metadata().map_err(unreadable)?.len();
        let mut bytes = Vec::with_capacity(usize::try_from(size.min(MAX_BYTES)).unwrap_or(0) + 1);
        file.take(MAX_BYTES + 1)
            .read_to_end(&mut bytes)
            .map_err(unreadable)?;
        Self::parse(bytes)
    }

    /// Indexes type information in one pass: 4 bytes a type and 8 bytes a named type are kept
    /// beside `bytes`.
    ///
    /// # Errors
    /// Bytes that are not BTF, are cut, are big-endian, or hold a kind of type that this reader
    /// does not know (its length is then unknown too).
    pub fn parse(bytes: Vec<u8>) -> Result<Self, BtfError> {
        if bytes.len() as u64 > MAX_BYTES {
            return Err(BtfError::TooLarge { limit: MAX_BYTES });
        }
        Ok(Self {
            table: Table::index(bytes)?,
        })
    }

    /// Number of types, without `void`.
    #[must_use]
    pub fn type_count(&self) -> usize {
        self.table.type_count()
    }

    /// Whether a struct or union of that name is defined (a forward declaration is not).
    #[must_use]
    pub fn has_struct(&self, name: &str) -> bool {
        self.table.named(name).any(|(_, kind)| kind.is_composite())
    }

    /// Offset in bytes of a member. See [`Btf::member`].
    ///
    /// # Errors
    /// Those of [`Btf::member`].
    pub fn member_offset(&self, structure: &str, path: &str) -> Result<u32, BtfError> {
        Ok(self.member(structure, path)?.offset)
    }

    /// Finds a member, through anonymous structs and unions. A dotted path (`se.cfs_rq`) goes
    /// through embedded structs; it never follows a pointer.
    ///
    /// Where the kernel holds several definitions under one name, those without the member are
    /// passed over.
    ///
    /// # Errors
    /// No such struct or member, a bit field, a path through a pointer or scalar, definitions that
    /// disagree about the offset or size, or malformed type information.
    pub fn member(&self, structure: &str, path: &str) -> Result<Member, BtfError> {
        member::find(&self.table, structure, path)
    }

    /// Number of arguments that a BTF tracepoint (`tp_btf`) hands to its program: the parameters
    /// of the `btf_trace_<name>` prototype without the leading `void *__data`. `None` where the
    /// kernel has no such tracepoint.
    #[must_use]
    pub fn tracepoint_arguments(&self, name: &str) -> Option<usize> {
        let table = &self.table;
        table
            .named(&format!("btf_trace_{name}"))
            .filter(|(_, kind)| *kind == Kind::Typedef)
            .find_map(|(id, _)| {
                let pointer = table.resolve(id).ok()?;
                if pointer.kind != Kind::Pointer {
                    return None;
                }
                let prototype = table.resolve(pointer.size_or_type).ok()?;
                if prototype.kind != Kind::FunctionPrototype {
                    return None;
                }
                prototype.count.checked_sub(1)
            })
            .and_then(|count| usize::try_from(count).ok())
    }

    /// Value of an enumerator; `enumeration` is the enum's name, empty for one without a name
    /// (the softirq vectors are such). `None` where the kernel does not define it.
    ///
    /// Walks all types (about a millisecond): for use at start only.
    #[must_use]
    pub fn enum_value(&self, enumeration: &str, enumerator: &str) -> Option<i64> {
        (1..=u32::try_from(self.type_count()).ok()?)
            .filter_map(|id| self.table.get(id))
            .filter(|found| matches!(found.kind, Kind::Enum | Kind::Enum64))
            .filter(|found| self.table.name(found.name) == enumeration.as_bytes())
            .find_map(|found| self.table.enumerator(&found, enumerator.as_bytes()))
    }

    /// Names and values of all enumerators of a named enum, in order; of the first definition where
    /// there are several. Empty where the kernel does not define it.
    ///
    /// Walks all types (about a millisecond): for use at start only.
    #[must_use]
    pub fn enumerators(&self, enumeration: &str) -> Vec<(String, i64)> {
        (1..=u32::try_from(self.type_count()).unwrap_or(0))
            .filter_map(|id| self.table.get(id))
            .filter(|found| matches!(found.kind, Kind::Enum | Kind::Enum64))
            .find(|found| self.table.name(found.name) == enumeration.as_bytes())
            .map_or_else(Vec::new, |found| self.table.enumerators(&found).collect())
    }
}

#[cfg(test)]
mod blob;
#[cfg(test)]
mod tests;

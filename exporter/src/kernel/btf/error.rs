//! What can be wrong with type information or with a question to it.

use std::{io, path::PathBuf};

use thiserror::Error;

/// Why a field offset cannot be given.
#[derive(Debug, Error)]
pub enum BtfError {
    /// The file cannot be read; kernels built without `CONFIG_DEBUG_INFO_BTF` have none.
    #[error("cannot read the kernel's type information {path}")]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// What the system answered.
        source: io::Error,
    },
    /// The bytes do not start with the BTF magic.
    #[error("not kernel type information (no BTF magic)")]
    NotBtf,
    /// Big-endian machines are not supported.
    #[error("big-endian type information; only little-endian machines are supported")]
    BigEndian,
    /// The header has a version that this reader does not know.
    #[error("type information of version {0}; version 1 is known")]
    Version(u8),
    /// More bytes than accepted.
    #[error("type information of more than {limit} bytes")]
    TooLarge {
        /// The bound in bytes.
        limit: u64,
    },
    /// The bytes end early, or a length in them points outside.
    #[error("type information is cut or its lengths are wrong: {0}")]
    Truncated(&'static str),
    /// A kind of type that is newer than this reader.
    #[error("type {id} is of kind {kind}, which this version of Evenkeel does not know")]
    UnknownKind {
        /// The type.
        id: u32,
        /// Its kind.
        kind: u8,
    },
    /// A reference or chain in the type information makes no sense.
    #[error("malformed type information: {0}")]
    Malformed(&'static str),
    /// This kernel does not define the struct.
    #[error("this kernel has no struct {0}")]
    NoStruct(String),
    /// The struct has no such member.
    #[error("struct {structure} of this kernel has no member {member}")]
    NoMember {
        /// The struct that was asked.
        structure: String,
        /// The path asked for.
        member: String,
    },
    /// The member is a bit field: it has no byte offset.
    #[error("{structure}.{member} is a bit field")]
    BitField {
        /// The struct that was asked.
        structure: String,
        /// The path asked for.
        member: String,
    },
    /// A path goes through something that is not an embedded struct.
    #[error("{structure}.{member}: {through} is not an embedded struct")]
    NotEmbedded {
        /// The struct that was asked.
        structure: String,
        /// The path asked for.
        member: String,
        /// The part of the path that is a pointer, scalar or array.
        through: String,
    },
    /// Several definitions under one name place the member differently.
    #[error("this kernel has several structs {structure} that place {member} differently")]
    Ambiguous {
        /// The struct that was asked.
        structure: String,
        /// The path asked for.
        member: String,
    },
}

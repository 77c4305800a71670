//! A stack before it has names.

use std::{
    hash::{Hash, Hasher},
    sync::Arc,
};

use crate::symbol::{Executable, ProcessCode};

/// A frame before it has a name.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct RawFrame {
    /// Where the code is.
    pub place: Place,
    /// The address is that of the instruction that ran; otherwise it is a return address, one past
    /// the call.
    pub exact: bool,
}

/// Where code is.
#[derive(Clone, Debug)]
pub enum Place {
    /// In the kernel, at an absolute address.
    Kernel(u64),
    /// In a file, at an ELF virtual address.
    File(Arc<Executable>, u64),
    /// In memory without a file: code that a process made at run time.
    Anonymous(Arc<ProcessCode>, u64),
    /// In a region of the kernel's making, such as `[vsyscall]`.
    Special(Arc<str>, u64),
    /// In a file that could not be opened, at a file offset.
    Unreadable(Arc<str>, u64),
    /// Nothing is known but the address: the process was gone before its mappings were read.
    Unknown(u64),
    /// Not code: a label, such as `[truncated]`.
    Marker(&'static str),
}

impl Place {
    /// What tells two places apart: kind, owner, address. Executables and the code of
    /// a process are one `Arc` each, so their id stands for them.
    fn identity(&self) -> (u8, u64, &str, u64) {
        match self {
            Self::Kernel(address) => (0, 0, "", *address),
            Self::File(executable, address) => (1, u64::from(executable.id), "", *address),
            Self::Anonymous(code, address) => (2, code.id, "", *address),
            Self::Special(name, address) => (3, 0, name, *address),
            Self::Unreadable(name, offset) => (4, 0, name, *offset),
            Self::Unknown(address) => (5, 0, "", *address),
            Self::Marker(label) => (6, 0, label, 0),
        }
    }
}

impl PartialEq for Place {
    fn eq(&self, other: &Self) -> bool {
        self.identity() == other.identity()
    }
}

impl Eq for Place {}

impl Hash for Place {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.identity().hash(state);
    }
}

/// A stack, leaf first.
pub type Stack = Arc<[RawFrame]>;

impl RawFrame {
    /// A label.
    pub fn marker(label: &'static str) -> Self {
        Self {
            place: Place::Marker(label),
            exact: true,
        }
    }
}

/// Root of stacks whose outer frames were cut: all of them share it.
pub const TRUNCATED: &str = "[truncated]";

/// Between a stack and what woke the task that waited there.
pub const WOKEN_BY: &str = "[woken by]";

/// The only frame of stolen time that was found at a switch: whose it is is known, where is not.
pub const NO_STACK: &str = "[no stack]";

/// The only frame of time stolen from an idle CPU.
pub const IDLE: &str = "[idle]";

//! Go's own tables of functions, the pclntab: names, files, lines, inlined calls, and how deep the
//! stack is at each address.
//!
//! Every Go program has them, stripped or not, as its runtime needs them. Versions 1.18 to 1.26,
//! 64-bit and little-endian. The tables are read where they lie in the file: of a program with
//! 100,000 functions, 800 kB are kept in memory.
//!
//! Go's sources are the documentation: runtime/symtab.go, runtime/runtime2.go,
//! cmd/link/internal/ld/pcln.go.

mod bytes;
mod frame_setup;
mod header;
mod image;
mod inlined_calls;
mod module_data;
mod names;
mod pc_values;
mod record;
mod stack_rules;
mod table;
#[cfg(test)]
mod tests;

use std::io;

pub(crate) use self::{names::GoNames, stack_rules::stack_rules, table::GoTable};

/// Why the tables of a file cannot be read.
#[derive(Debug, thiserror::Error)]
pub(crate) enum GoTableError {
    /// The file could not be read.
    #[error("cannot be read: {0}")]
    Io(#[from] io::Error),
    /// It is not a 64-bit little-endian ELF file of a machine known here.
    #[error("this kind of {0} is not known")]
    Unsupported(&'static str),
    /// There is none.
    #[error("there is no {0}")]
    Missing(&'static str),
    /// Something contradicts itself.
    #[error("broken {0}")]
    Broken(&'static str),
    /// It is larger than what is read.
    #[error("too large {0}")]
    TooLarge(&'static str),
}

//! Names of the addresses in ELF files.
//!
//! [`Executable`] is a file held open with what its headers say, [`ElfNames`] reads its symbols
//! and its debug information within bounds, and [`demangle`] makes names readable. Nothing here
//! knows of live processes: the exporter names what runs, the analysis names what was recorded.
//!
//! Nothing here trusts a file or a name: executables belong to the processes that are profiled.

#![forbid(unsafe_code)]

pub mod build_id;
mod cpp_name;
pub mod debug_files;
pub mod demangle;
pub mod elf_image;
pub mod elf_names;
pub mod executable;
pub mod function_table;
#[doc(hidden)]
pub mod fuzzing;

pub use self::{
    debug_files::DebugFiles,
    elf_names::ElfNames,
    executable::{Executable, ExecutableError},
    function_table::FunctionTable,
};

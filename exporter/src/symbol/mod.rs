//! Names for addresses: what is mapped where, in which file, under which name.
//!
//! The way of an address: [`AddressSpace`] says which file it belongs to and turns it into an ELF
//! virtual address; [`ExecutableTable`] holds those files open, so that the file that was mapped is
//! the file that is read; [`Symbolizer`] gives frames with names, from one thread that owns the
//! symbol tables. Kernel addresses go to the symbolizer as they are.
//!
//! Nothing here trusts a file or a name: executables belong to the processes that are profiled.

pub mod address_space;
pub mod build_id;
mod cpp_name;
pub mod demangle;
pub(crate) mod elf_image;
mod elf_names;
pub mod executable;
pub mod executable_table;
#[cfg(test)]
mod figures;
mod frame_source;
mod function_table;
pub(crate) mod go;
pub mod inspect;
mod jit;
pub mod kallsyms;
pub mod kernel;
mod kernel_module;
pub mod maps;
mod process_files;
pub mod symbolizer;
#[cfg(test)]
mod test_program;
#[cfg(test)]
mod tests;
mod vdso;

pub use self::{
    address_space::{AddressSpace, AddressSpaceError, Location},
    executable::{Executable, ExecutableError, Provenance},
    executable_table::{ExecutableTable, ExecutableTableCounters, raise_file_limit},
    inspect::{InspectError, InspectedAddress, InspectedFrame, inspect_address},
    jit::{ProcessCode, Runtime},
    symbolizer::{
        Address, Batch, Evictions, Names, Symbolizer, SymbolizerCounters, SymbolizerError,
        SymbolizerSettings,
    },
};

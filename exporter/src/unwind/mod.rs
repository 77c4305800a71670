//! How the kernel programs find the callers of code without frame pointers.
//!
//! Call frame information becomes [`Rows`] by executable; the [`Unwinder`] keeps those that are needed in the
//! arrays that the programs read (`exporter-ebpf/src/unwind_tables.rs`).

mod builder;
mod elf_frames;
mod executables;
mod frame_rules;
mod inspect;
mod process_mappings;
mod rows;
mod rule_table;
mod space;
mod table_reader;
mod tables;
#[cfg(test)]
mod tests;
mod unwinder;

pub(crate) use self::elf_frames::rows_of;
pub use self::{
    elf_frames::RowsError,
    executables::ExecutableRowsCounters,
    inspect::{InspectedFile, UnwindInspection, inspect},
    rows::{Row, Rows, RowsLimits},
    tables::{PlaceError, TableFill},
    unwinder::{CodeMapping, UnwindAccount, Unwinder},
};

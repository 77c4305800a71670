//! How the kernel programs find the callers of code without frame pointers.
//!
//! Call frame information becomes [`Rows`] by executable; the [`Unwinder`] keeps those that are needed in the
//! arrays that the programs read (`exporter-ebpf/src/unwind_tables.rs`).

mod executables;
mod process_mappings;
mod rows_stub;
mod rule_table;
mod space;
mod tables;
mod unwinder;

pub use self::rows_stub::{Row, Rows, RowsError, RowsLimits};
pub use self::{
    executables::ExecutableRowsCounters,
    tables::{PlaceError, TableFill},
    unwinder::{CodeMapping, UnwindAccount, Unwinder},
};

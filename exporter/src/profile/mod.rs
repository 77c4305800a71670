//! Samples to profiles: raw addresses become places in files while the process is still there,
//! equal samples are added up, and at the end of a window the places get names.

mod address_spaces;
mod assembly;
mod cause;
mod sample_table;
mod stack;
mod wait_reason;

pub use self::{
    address_spaces::AddressSpaces,
    assembly::{Assembled, Assembly, AssemblySettings},
    cause::{Ahead, Block, Cause, Futex, Waker},
    sample_table::{SampleKey, SampleTable, SampleTotals, Samples},
    stack::{IDLE, NO_STACK, Place, RawFrame, Stack, TRUNCATED, WOKEN_BY},
};

//! Names of code that was made at run time, from the maps that its maker writes.
//!
//! Two forms: perf maps (`/tmp/perf-PID.map`, a line a function: Node.js, HotSpot, .NET, Wasmtime
//! and others) and jitdump (`jit-PID.dump`, records with lines). A process that can be sampled may
//! be made to harm, and so may the files of `/tmp`: the files are found in the root of the process,
//! must belong to its user and be younger than it, and what is read of them is bounded.
//!
//! Neither form says when code was replaced in a way that can be compared with samples: names are
//! those of the end of the window in which the sample was taken.

mod code_table;
mod dump;
mod name;
mod names;
mod perf_map;
mod process_code;
#[cfg(test)]
mod tests;

pub(crate) use self::names::{JitNames, unnamed};
pub use self::process_code::{ProcessCode, Runtime};

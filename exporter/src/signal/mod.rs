//! What is measured. One module a signal; the kernel's half is in `kernel/`.

pub mod host;
mod kind;

pub use self::kind::{Signal, UnknownSignal};

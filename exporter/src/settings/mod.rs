//! What the command line and the environment ask for, checked before anything is attached.
//!
//! Precedence: command line, then environment, then defaults. All problems are found at once.

mod capture;
mod problem;
mod syscalls;

pub use self::{
    capture::{CaptureArguments, DEFAULT_FREQUENCY, Detail, capture_options},
    problem::{Problem, Problems},
    syscalls::SyscallArguments,
};

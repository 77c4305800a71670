//! The kernel's side: load and attach the object, prove what it rests on, read what it counts.

pub mod account;
mod attach;
pub mod btf;
pub mod cpus;
pub mod event;
pub mod globals;
pub mod iterator;
pub mod loader;
mod map_memory;
pub mod mapped_array;
pub mod method;
pub mod object;
pub mod part;
pub mod pid_namespace;
pub mod probe;
pub mod raw_tracepoint;
pub mod requirements;
pub mod sampling;
mod self_interrupts;
pub mod self_test;

pub use self::{
    loader::{CaptureSettings, Events, Kernel, KernelError},
    probe::State,
};

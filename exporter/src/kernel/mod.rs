//! The kernel's side: type information, requirements, CPUs.

pub mod btf;

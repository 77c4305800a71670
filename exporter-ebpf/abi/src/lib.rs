//! Types and sizes that the kernel programs and user space share.
#![no_std]
#![forbid(unsafe_code)]

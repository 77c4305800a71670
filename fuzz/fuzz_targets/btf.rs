//! Reads type information.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| evenkeel::fuzzing::btf(bytes));

//! Reads the mappings of a process.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| evenkeel::fuzzing::maps(bytes));

//! Reads call frame information.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| evenkeel::fuzzing::eh_frame(bytes));

//! Reads ELF headers.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| evenkeel::fuzzing::elf(bytes));

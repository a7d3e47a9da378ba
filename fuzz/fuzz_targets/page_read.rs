//! The pages of a file are the file.
#![no_main]

libfuzzer_sys::fuzz_target!(|input: &[u8]| slot_tools::fuzzing::page_read(input));

//! Line numbers are taken away where they are some, and nowhere else.
#![no_main]

libfuzzer_sys::fuzz_target!(|input: &[u8]| slot_tools::fuzzing::line_number_strip(input));

//! An edit changes the places it names and nothing else.
#![no_main]

libfuzzer_sys::fuzz_target!(|input: &[u8]| slot_tools::fuzzing::edit_match(input));

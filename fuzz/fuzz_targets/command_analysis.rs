//! A command is rated as its parts are, and only a list of looks is read-only.
#![no_main]

libfuzzer_sys::fuzz_target!(|input: &[u8]| slot_runtime::fuzzing::command_analysis(input));

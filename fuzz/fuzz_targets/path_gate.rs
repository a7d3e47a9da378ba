//! No path leads out of the workspace, or to what is protected in it.
#![no_main]

libfuzzer_sys::fuzz_target!(|input: &[u8]| slot_runtime::fuzzing::path_gate(input));

//! What plainly runs a denied command is denied, however it is wrapped.
#![no_main]

libfuzzer_sys::fuzz_target!(|input: &[u8]| slot_tools::fuzzing::deny_rules(input));

//! An approval never covers a command that is rated higher than the approved one.
#![no_main]

libfuzzer_sys::fuzz_target!(|input: &[u8]| slot_runtime::fuzzing::fingerprint(input));

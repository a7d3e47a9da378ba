//! The forgery stripper agrees with a reference that sees the whole text, for a partition and a limit that the input chooses.
#![no_main]

libfuzzer_sys::fuzz_target!(|input: &[u8]| slot_wire::fuzzing::forge::forged_wrappers(input));

//! A patch makes of a file what GNU patch and git make of it, or is refused.
#![no_main]

libfuzzer_sys::fuzz_target!(|input: &[u8]| slot_tools::fuzzing::patch_apply(input));

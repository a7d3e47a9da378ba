//! A name means the same for every order of the tools, never a withheld tool, and never one that is not on the list.
#![no_main]

libfuzzer_sys::fuzz_target!(|input: &[u8]| slot_wire::fuzzing::name_ladder(input));

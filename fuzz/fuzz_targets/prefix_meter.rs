//! The prefix meter survives any capture, and its numbers agree with a naive second count.
#![no_main]

libfuzzer_sys::fuzz_target!(|input: &[u8]| slot_oracles::prefix::fuzzing::prefix_meter(input));

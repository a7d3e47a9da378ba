//! A body decodes to one turn however it is cut, in every dialect.
#![no_main]

libfuzzer_sys::fuzz_target!(|input: &[u8]| slot_wire::fuzzing::dialect_turn(input));

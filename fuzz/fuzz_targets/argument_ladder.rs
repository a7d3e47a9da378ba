//! The argument ladder agrees with a strict reader on valid text, and mends nothing but what its rungs name.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| slot_wire::fuzzing::argument_ladder(bytes));

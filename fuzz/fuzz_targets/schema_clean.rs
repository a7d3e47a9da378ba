//! Cleaning a schema ends, is done once, and brings no data in.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| slot_wire::fuzzing::schema_clean(bytes));

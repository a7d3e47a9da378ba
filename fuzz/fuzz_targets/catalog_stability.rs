//! The catalog is a property of the tools alone: order, hash seeds and spelling leave no trace in it.
#![no_main]

libfuzzer_sys::fuzz_target!(|input: &[u8]| slot_runtime::registry::fuzzing::catalog_stability(input));

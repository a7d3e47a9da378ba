//! The SSE decoder agrees with a naive parser for a partition that the input chooses.
#![no_main]

libfuzzer_sys::fuzz_target!(|input: &[u8]| slot_wire::fuzzing::sse_split_invariance(input));

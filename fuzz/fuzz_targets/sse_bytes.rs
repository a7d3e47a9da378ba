//! The SSE decoder agrees with a naive parser on any bytes.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| slot_wire::fuzzing::sse_bytes(bytes));

//! One turn through three encoders and three decoders is one turn.
#![no_main]

libfuzzer_sys::fuzz_target!(|input: &[u8]| slot_fuzz::dialects::diff_dialects(input));

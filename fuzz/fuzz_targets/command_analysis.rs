//! A command is rated as its parts are, only a list of looks is read-only, and another parser reads the same commands.
#![no_main]

libfuzzer_sys::fuzz_target!(|input: &[u8]| {
    slot_runtime::fuzzing::command_analysis(input);
    slot_fuzz::second_reading::second_reading(input);
});

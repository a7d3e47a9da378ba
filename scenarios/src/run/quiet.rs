//! Panics that a case plants in a tool are contained by the runtime under test; their messages would only drown the
//! verdicts.

use std::sync::Once;

/// How the panics of a case's tools begin.
const PLANTED: &str = "planted by the case";

/// Keeps the messages of planted panics off the standard error. Every other panic is told as before.
pub fn quiet_planted_panics() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        let told = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |info| {
            let planted = info.payload_as_str().is_some_and(|message| message.starts_with(PLANTED));
            if !planted {
                told(info);
            }
        }));
    });
}

//! How the tests of all dialects show a turn.
#![allow(clippy::unwrap_used)]

use super::{DecodeLimits, Dialect};
use crate::{Terminal, Turn};

/// Decodes events, each a name and its data, and shows the turn, and the error if there was one.
pub(super) fn decode(dialect: Dialect, events: &[(&str, &str)], limits: DecodeLimits) -> Vec<String> {
    let mut decoder = dialect.decoder_with(limits);
    for (name, data) in events {
        if let Err(error) = decoder.event(name, data, &mut Vec::new()) {
            assert_eq!(decoder.event("", "[DONE]", &mut Vec::new()), Err(error.clone()));
            let mut lines = render(&decoder.finish());
            lines.push(error.to_string());
            return lines;
        }
    }
    render(&decoder.finish())
}

/// A turn, one labelled line per fact; the last line says how it ended.
pub(super) fn render(turn: &Turn) -> Vec<String> {
    let mut lines = Vec::new();
    if !turn.reasoning.is_empty() {
        lines.push(format!("reasoning {}", turn.reasoning));
    }
    if !turn.text.is_empty() {
        lines.push(format!("text {}", turn.text));
    }
    lines.extend(turn.calls.iter().map(|call| format!("call {} {} {}", call.id, call.name, call.arguments)));
    let blocks = turn.blocks.iter();
    lines.extend(blocks.map(|block| format!("block @{},{} {}", block.after_text, block.after_calls, block.json)));
    lines.extend(turn.rejected.iter().map(|rejected| format!("rejected {}: {}", rejected.fragment, rejected.reason)));
    lines.extend(turn.usage.map(|usage| format!("usage {} {} {}", usage.input, usage.output, usage.cached)));
    lines.push(match &turn.terminal {
        Terminal::None => "cut".to_owned(),
        Terminal::Clean { stop } => format!("clean {stop:?}"),
        Terminal::Error { message } => format!("error {message}"),
    });
    lines
}

//! What a person or a program sees of a run.
//!
//! Whatever comes from the model is shown without control characters: an escape sequence in a model's words must not
//! reach the terminal, and least of all the question that asks for approval.

use serde_json::json;
use slot_runtime::Outcome;
use slot_runtime::dispatch::render::{Block, Happened, Screen};
use slot_runtime::event::{Event, EventKind, EventSink};
use slot_runtime::session::TurnObserver;
use slot_wire::TurnDelta;
use std::io::Write;

/// Prints a run.
pub struct Printer {
    json: bool,
}

impl Printer {
    /// Prints JSON lines if `json`, else text.
    pub fn new(json: bool) -> Self {
        Printer { json }
    }

    /// Prints how the run ended.
    pub fn outcome(&self, outcome: &Outcome) {
        if self.json {
            let mut line = json!({"result": outcome.as_str()});
            match outcome {
                Outcome::Completed { text, stop } => {
                    line["text"] = json!(text);
                    line["stop"] = json!(stop);
                }
                Outcome::Failed { cause, detail } => {
                    line["cause"] = json!(cause);
                    line["detail"] = json!(detail);
                }
                Outcome::Paused { reason } => line["reason"] = json!(reason),
                Outcome::TurnLimit { limit } => line["limit"] = json!(limit),
                Outcome::Cancelled => {}
            }
            return out(&format!("{line}\n"));
        }
        match outcome {
            Outcome::Completed { .. } => out("\n"),
            Outcome::Failed { detail, .. } => err(&format!("slot: {}", visible(detail))),
            Outcome::Paused { reason } => {
                err(&format!("slot: paused: {}; look at what fails, and run the task again", visible(reason)));
            }
            Outcome::TurnLimit { limit } => {
                err(&format!(
                    "slot: the model was still calling tools after {limit} turns; raise --max-turns to go on"
                ));
            }
            Outcome::Cancelled => err("slot: cancelled; every call was answered and nothing is running"),
        }
    }
}

impl TurnObserver for Printer {
    fn delta(&self, delta: &TurnDelta) {
        let TurnDelta::Text(text) = delta else { return };
        if self.json { out(&format!("{}\n", json!({"text": text}))) } else { out(&visible(text)) }
    }

    fn notice(&self, line: &str) {
        if !self.json {
            err(&format!("slot: {}", visible(line)));
        }
    }
}

impl EventSink for Printer {
    fn event(&self, event: &Event) {
        if !self.json {
            if let Some(line) = told(&event.kind) {
                err(&line);
            }
            return;
        }
        // An event holds strings, numbers and lists of them, which always serialise.
        if let Ok(line) = serde_json::to_string(event) {
            out(&format!("{line}\n"));
        }
    }
}

impl Screen for Printer {
    fn show(&self, block: &Block, happened: Happened<'_>) {
        // When a call begins and how it ends is told as an event already.
        let Happened::Progress(text) = happened else { return };
        match self.json {
            true => out(&format!("{}\n", json!({"progress": text, "call": block.call_id, "tool": block.tool}))),
            false => err(&format!("   {}: {}", visible(&block.title), visible(text))),
        }
    }
}

/// Writes a line to standard error, with the same patience.
pub fn err(line: &str) {
    let _ = writeln!(std::io::stderr().lock(), "{line}");
}

/// What a person is told of an event as it happens; the model's own words come by another way.
fn told(kind: &EventKind) -> Option<String> {
    match kind {
        EventKind::Resolved { tool, how: "exact" } => Some(format!("-> {}", visible(tool))),
        EventKind::Resolved { tool, how } => Some(format!("-> {} (the name was mended: {how})", visible(tool))),
        EventKind::Refused { stage } => Some(format!("   refused ({})", stage.replace('_', " "))),
        EventKind::Hook { hook, when, verdict: verdict @ ("failed" | "panicked" | "timed_out") } => {
            Some(format!("   the hook {} {} {when} the call", visible(hook), verdict.replace('_', " ")))
        }
        EventKind::NotPersisted => Some("   its result could not be kept".to_owned()),
        EventKind::Cancelled => Some("   cancelled".to_owned()),
        EventKind::RequestRetried { cause, .. } => Some(format!("   asking again ({})", cause.replace('_', " "))),
        EventKind::RegistryFault { tool, reason, .. } => {
            Some(format!("slot: the tool {:?} cannot be used: {}", visible(tool), visible(reason)))
        }
        _ => None,
    }
}

/// Writes to standard output. A reader that went away is no reason to fail: the run goes on to its end.
pub fn out(text: &str) {
    let mut stdout = std::io::stdout().lock();
    let _ = stdout.write_all(text.as_bytes()).and_then(|()| stdout.flush());
}

/// The text with everything replaced that is not seen, or that moves what is seen: control characters, escape sequences,
/// direction overrides and invisible characters.
pub fn visible(text: &str) -> String {
    text.chars().map(|c| if c == '\n' || c == '\t' || !is_hidden(c) { c } else { '\u{fffd}' }).collect()
}

fn is_hidden(c: char) -> bool {
    c.is_control()
        || matches!(c,
            '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{feff}' | '\u{e0000}'..='\u{e007f}')
}

#[cfg(test)]
mod tests {
    use super::visible;

    #[test]
    fn what_moves_or_hides_text_is_replaced() {
        assert_eq!(visible("a\u{1b}[2Jb\u{202e}c\r\n\té"), "a\u{fffd}[2Jb\u{fffd}c\u{fffd}\n\té");
    }
}

//! Reading: from the text of a call's arguments to one value, or to the reason why there is none.
//!
//! The ladder that mends is `slot_wire::repair`. Here stands what its outcome means for a call: what runs, what is
//! refused, what the model is told, and what the history shows. This module refuses to know schemas.
//!
//! A call is read once, before its first stage, so that the history shows a readable call whichever stage refuses it.

use super::call::{Raw, Refusal, Stage};
use super::policy::ArgumentReader;
use crate::contract::ValidationFault;
use serde_json::Value;
use slot_wire::names::quoted;
use slot_wire::repair::{ArgumentFault, Fallback, FaultKind, Rung, TurnEnd, replayable};
use std::borrow::Cow;

/// What reading made of the arguments of a call.
pub(super) enum Reading {
    /// The value that is validated, approved and run.
    Object(Value),
    /// An empty object in their place. It is validated, so that the answer can name what is missing, and never runs.
    Fallback(Fallback),
    /// They cannot be used.
    Refused(Refusal),
}

/// Where a call differs from what was sent: what was mended, and what the history shows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mended {
    /// The text that the history keeps: an object in every case, for a provider takes nothing else back.
    pub text: String,
    /// What was mended, in the order of the ladder; empty where nothing was.
    pub rungs: Vec<Rung>,
    /// What the model is told of it.
    pub notice: Option<String>,
}

/// Reads the arguments of a call. The call keeps how they were mended.
pub(super) fn read(call: Raw, end: TurnEnd, reader: &dyn ArgumentReader) -> (Raw, Reading) {
    let sent = &call.invocation().call;
    let text = &sent.arguments;
    let (reading, mended) = match reader.read(text, end) {
        Ok(read) => {
            let notice = read.notice();
            let differs = read.text != **text || notice.is_some();
            let mended = differs.then(|| Mended { text: read.text.into_owned(), rungs: read.rungs, notice });
            (Reading::Object(read.value), mended)
        }
        Err(fault) => (unreadable(&sent.name, fault), unread(text)),
    };
    (call.mended_as(mended), reading)
}

/// What the history keeps of arguments that were not read.
fn unread(text: &str) -> Option<Mended> {
    match replayable(text) {
        Cow::Borrowed(same) if same == text => None,
        text => Some(Mended { text: text.into_owned(), rungs: Vec::new(), notice: None }),
    }
}

fn unreadable(name: &str, fault: ArgumentFault) -> Reading {
    let fault = match fault.into_fallback() {
        Ok(fallback) => return Reading::Fallback(fallback),
        Err(fault) => fault,
    };
    // No tool may have been found under it yet: it is whatever the model wrote.
    let name = quoted(name);
    Reading::Refused(match &fault.kind {
        FaultKind::Cut { why } => Refusal::new(
            Stage::Truncation,
            format!(
                "this turn was cut (output limit, filter or lost piece) before the arguments of {name} were complete ({why}), so it \
                 was NOT executed. Send the whole call again; if it is long, split it into several calls"
            ),
        ),
        _ => Refusal::new(Stage::Parse, format!("the arguments of {name} cannot be used, so it was not run: {fault}")),
    })
}

/// Refuses a call whose arguments no rung could read. `missing` is what validation found amiss in their absence.
pub(super) fn refuse_fallback(name: &str, fallback: &Fallback, missing: &[ValidationFault]) -> Refusal {
    let mut reason = format!("the arguments of {name:?} could not be read, so it was not run: {}", fallback.reason);
    if !missing.is_empty() {
        reason.push_str("\nSo nothing was there of what it takes:");
        missing.iter().for_each(|fault| reason.push_str(&format!("\n- {}: {}", fault.pointer, fault.message)));
    }
    Refusal::new(Stage::Parse, reason)
}

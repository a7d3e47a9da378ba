//! Makes the response of a turn: encodes it, lets its fault loose on it, plans its writes, renders it.
//!
//! What it makes depends on its arguments alone, so that it can be made once and served from memory, or shown to a
//! person without being served at all.

use crate::dialect::{Dialect, Form};
use crate::fault::{self, Break, Fault};
use crate::http::{Rendered, Shape, response};
use crate::plan::Plan;
use crate::script::{Delivery, End, Turn};
use crate::turn::ModelTurn;

/// What a rendered response depends on.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Key {
    pub turn: usize,
    pub attempt: Option<usize>,
    pub dialect: Dialect,
    pub form: Form,
    pub old: bool,
}

/// A response as it is made.
pub(crate) struct Made {
    pub rendered: Rendered,
    pub missing: Vec<String>,
    /// Whether the terminal signal is in what is sent.
    pub terminal: bool,
}

/// Encodes a turn, lets its fault loose on it, plans its writes and renders it.
pub(crate) fn make(turn: &Turn, model: &ModelTurn, fault: &Fault, key: &Key, seed: u64) -> Made {
    if let Some(status) = fault.status {
        let message = fault.message.as_deref().unwrap_or("the mock answers with an error, as its script has it");
        let fields: Vec<(&str, &str)> = fault.retry_after.iter().map(|after| ("retry-after", after.as_str())).collect();
        let body = key.dialect.error(status, error_kind(status), message);
        let rendered = response::document(status, body, &fields, true);
        return Made { rendered, missing: Vec::new(), terminal: false };
    }
    let words = fault::Words { script: &turn.calls, sent: &model.calls };
    let body = key.dialect.encode(model, &key.form);
    let mut faulted = fault::apply(body, fault, words, key.dialect, seed, key.turn);
    if turn.end == End::Disconnect && faulted.broken.is_none() {
        // A stream ends without its last chunk; a document ends half way, since its length would be kept otherwise.
        let len = faulted.body.bytes.len();
        faulted.broken = Some((if faulted.body.stream { len } else { len / 2 }, Break::Close));
    }
    let terminal = faulted.is_terminal();
    let delivery = if faulted.own_writes { Delivery::Frames } else { turn.delivery };
    let mut plan = Plan::new(&faulted.body, delivery, &turn.cut, seed, key.turn);
    if let Some((place, _)) = faulted.broken {
        plan.split_at(place);
    }
    // Anchors are written for streams; a document need not hold them.
    let lost =
        plan.missing.iter().filter(|_| faulted.body.stream).map(|at| format!("cut {at}: the body lacks its anchor"));
    let missing = faulted.missing.iter().cloned().chain(lost).collect();
    let shape = Shape {
        one_write: turn.delivery == Delivery::Coalesced,
        old: key.old,
        broken: faulted.broken,
        before_head: fault.before_head,
        until: fault.until.as_deref(),
        length: fault.length,
        gzip: fault.gzip,
        content_type: fault.content_type.as_deref(),
    };
    Made { rendered: response::turn(faulted.body, &plan, &shape), missing, terminal }
}

/// What OpenAI calls an error of this status.
fn error_kind(status: u16) -> &'static str {
    match status {
        400..=428 | 430..=499 => "invalid_request_error",
        429 => "rate_limit_exceeded",
        _ => "server_error",
    }
}

/// A refusal of the mock's own. Clients retry a plain 500 several times with pauses; the field asks them not to, since
/// the answer will not change.
pub(crate) fn problem(dialect: Dialect, kind: &str, message: &str) -> Rendered {
    response::document(500, dialect.error(500, kind, message), &[("x-should-retry", "false")], true)
}

//! What a fault must be beyond its types.

use super::validate::{Problem, check_cut, problem};
use crate::escape::unescape;
use crate::fault::{Break, Fault};

/// Adds what is wrong with one fault by itself.
pub(super) fn check(fault: &Fault, path: &str, all: &mut Vec<Problem>) {
    if *fault == Fault::default() {
        all.push(problem(path, "the fault says nothing", "give it a field or remove it"));
    }
    match fault.status {
        None if fault.retry_after.is_some() || fault.message.is_some() => {
            let name = if fault.retry_after.is_some() { "retry_after" } else { "message" };
            let wrong = format!("`{name}` is only for an answer with a `status`");
            all.push(problem(path, wrong, "add a `status` or remove it"));
        }
        Some(status) if !(200..600).contains(&status) => {
            let wrong = format!("{status} is no status of an answer");
            all.push(problem(format!("{path}.status"), wrong, "use 200 to 599"));
        }
        Some(_) => {
            let answer = Fault { status: None, retry_after: None, message: None, ..fault.clone() };
            if answer != Fault::default() {
                let wrong = "an error body in place of the turn leaves nothing of the turn to break";
                all.push(problem(path, wrong, "keep `status` or the rest"));
            }
        }
        None => {}
    }
    if fault.at.is_some() && fault.then.is_none() {
        all.push(problem(format!("{path}.at"), "a place without a break", "say what happens there with `then`"));
    }
    if fault.before_head {
        let field = format!("{path}.before_head");
        if fault.at.is_some() {
            all.push(problem(field, "`at` gives another place", "keep one of them"));
        } else if !matches!(fault.then, Some(Break::Stall | Break::Close | Break::Reset)) {
            let fix = "use `then` with `stall`, `close` or `reset`";
            all.push(problem(field, "only a stall and an end of the connection can come before the head", fix));
        }
    }
    if fault.until.is_some() && fault.then != Some(Break::Stall) {
        all.push(problem(format!("{path}.until"), "only a stall ends", "use `then = \"stall\"` or remove it"));
    }
    if let Some(retry_after) = &fault.retry_after
        && !retry_after.bytes().all(|byte| matches!(byte, b' '..=b'~'))
    {
        let wrong = "a header field cannot hold this text";
        all.push(problem(format!("{path}.retry_after"), wrong, "use printable ASCII"));
    }
    all.extend(fault.at.as_ref().and_then(|cut| check_cut(cut, &format!("{path}.at"))));
    for (at, part) in fault.bytes.iter().flatten().enumerate() {
        if let Err(wrong) = unescape(part) {
            let fix = "write a byte as \\xHH and a backslash as \\\\";
            all.push(problem(format!("{path}.bytes[{at}]"), wrong, fix));
        }
    }
}

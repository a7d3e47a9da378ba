//! What a script must be beyond its types, so that it can be played.

use super::faults;
use crate::binding::{Binding, Bound, Folders, ToolBinding};
use crate::corrupt;
use crate::dialect::{Dialect, Form};
use crate::fault;
use crate::plan::locate;
use crate::script::{Call, Cut, Op, Script, Turn};
use crate::turn::{ModelTurn, said};
use serde_json::{Map, Value};
use std::collections::BTreeMap;

/// Most turns of a script.
const MOST_TURNS: usize = 10_000;
/// Most calls of a turn.
const MOST_CALLS: usize = 1_000;

/// Something that keeps a script from being played.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// The field, such as `turn[0].call[1].id`; empty for the script as a whole.
    pub path: String,
    /// What is wrong.
    pub problem: String,
    /// What to do.
    pub fix: String,
}

pub(super) fn problem(path: impl Into<String>, problem: impl Into<String>, fix: impl Into<String>) -> Problem {
    Problem { path: path.into(), problem: problem.into(), fix: fix.into() }
}

impl Script {
    /// Everything that keeps the script from being played, in order of its fields. Empty when it can be.
    pub fn problems(&self) -> Vec<Problem> {
        let mut all = Vec::new();
        if self.turns.is_empty() {
            all.push(problem("", "the script has no turn", "add a [[turn]]"));
        }
        if self.turns.len() > MOST_TURNS {
            all.push(problem("", format!("the script has more than {MOST_TURNS} turns"), "split it"));
        }
        let mut ids = BTreeMap::new();
        for (index, turn) in self.turns.iter().enumerate() {
            let path = format!("turn[{index}]");
            let before = all.len();
            self.turn(index, turn, &path, &mut all);
            for (at, call) in turn.calls.iter().enumerate() {
                let path = format!("{path}.call[{at}]");
                check_id(call, &path, &mut ids, &mut all);
                check_call(call, &path, &mut all);
            }
            // What the body holds is only known once the calls are sound.
            let sound = all.len() == before;
            self.check_words(turn, &path, &mut all);
            check_cuts(index, &self.turns, &path, sound, &mut all);
            if let Some(fault) = &turn.fault {
                faults::check(fault, &format!("{path}.fault"), &mut all);
            }
            for (at, fault) in turn.attempts.iter().enumerate() {
                faults::check(fault, &format!("{path}.attempt[{at}]"), &mut all);
            }
            if all.len() == before {
                self.check_places(index, &path, &mut all);
            }
        }
        all
    }

    /// Whether the streams of a turn hold what its faults look for.
    fn check_places(&self, index: usize, path: &str, all: &mut Vec<Problem>) {
        let turn = &self.turns[index];
        // A turn may hold megabytes, and a library is loaded by every command: nothing is rendered that nobody looks at.
        if turn.fault.is_none() && turn.attempts.is_empty() {
            return;
        }
        let Ok(model) = ModelTurn::new(index, &self.turns, &neutral(), &Folders::default()) else { return };
        let own = turn.fault.iter().map(|fault| (format!("{path}.fault"), fault));
        let tries = turn.attempts.iter().enumerate().map(|(at, fault)| (format!("{path}.attempt[{at}]"), fault));
        for (path, fault) in own.chain(tries) {
            let words = fault::Words { script: &turn.calls, sent: &model.calls };
            // Bytes of the fault's own stand in place of what would be encoded.
            let encoded = if fault.bytes.is_some() { &ModelTurn::text("") } else { &model };
            let body = Dialect::Chat.encode(encoded, &form());
            let found = fault::apply(body, fault, words, Dialect::Chat, self.seed, index);
            if let Some(missing) = found.missing.into_iter().next() {
                all.push(problem(path, missing, "take an anchor from the turn's own text or arguments"));
            }
        }
    }

    /// Whether the calls that a turn's words name are there.
    fn check_words(&self, turn: &Turn, path: &str, all: &mut Vec<Problem>) {
        for (field, text) in [("say", &turn.say), ("reason", &turn.reason)] {
            let Ok((_, missing)) = said(text, &self.turns, &neutral(), &Folders::default()) else { continue };
            if let Some(missing) = missing.into_iter().next() {
                all.push(problem(format!("{path}.{field}"), missing, "name a call of the script by its id"));
            }
        }
    }

    fn turn(&self, index: usize, turn: &Turn, path: &str, all: &mut Vec<Problem>) {
        let is_last = index + 1 == self.turns.len();
        if is_last && !turn.calls.is_empty() {
            all.push(problem(
                path,
                "the last turn makes calls, so the agent could not end",
                "add a last [[turn]] that only says something",
            ));
        }
        if !is_last && turn.calls.is_empty() && turn.say.trim().is_empty() {
            all.push(problem(path, "a turn without calls and text cannot be told from its history", "give it a `say`"));
        }
        if turn.calls.len() > MOST_CALLS {
            all.push(problem(path, format!("the turn makes more than {MOST_CALLS} calls"), "split it"));
        }
        if turn.gate.as_deref() == Some("") {
            all.push(problem(format!("{path}.gate"), "the gate has no name", "name it or leave it out"));
        }
    }
}

fn check_id<'a>(call: &'a Call, path: &str, ids: &mut BTreeMap<&'a str, String>, all: &mut Vec<Problem>) {
    let field = format!("{path}.id");
    if call.id.is_empty() {
        all.push(problem(field, "the id is empty", "checks speak of calls by their id, so give it one"));
    } else if let Some(first) = ids.get(call.id.as_str()) {
        let taken = format!("the id `{}` is taken by {first}", call.id);
        all.push(problem(field, taken, "give each call an id of its own"));
    } else {
        ids.insert(&call.id, path.to_owned());
    }
}

fn check_call(call: &Call, path: &str, all: &mut Vec<Problem>) {
    match (call.op, &call.tool) {
        (Some(_), Some(_)) => {
            let both = "both `op` and `tool` name what is called";
            all.push(problem(format!("{path}.tool"), both, "keep one of them"));
        }
        (None, None) => all.push(problem(path, "nothing names what is called", "give an `op` or a `tool`")),
        _ => {}
    }
    match (&call.with, &call.raw) {
        (Some(_), Some(_)) => {
            let both = "both `with` and `raw` give the arguments";
            all.push(problem(format!("{path}.raw"), both, "keep one of them"));
        }
        (None, None) => {
            all.push(problem(path, "nothing gives the arguments", "add `with = {}` or a `raw` text"));
        }
        (Some(with), None) => check_with(call.op, with, path, all),
        (None, Some(_)) => {}
    }
    check_mangle(call, path, all);
}

fn check_with(op: Option<Op>, with: &Map<String, Value>, path: &str, all: &mut Vec<Problem>) {
    for (key, value) in with {
        let field = format!("{path}.with.{key}");
        if let Some(op) = op
            && !op.fields().contains(&key.as_str())
        {
            let fields = op.fields().join("`, `");
            let fix = format!("its fields are `{fields}`; use `tool` for a tool's own arguments");
            all.push(problem(&field, format!("{op} has no field `{key}`"), fix));
        }
        check_value(value, &field, all);
    }
}

/// TOML has values that JSON has not; serde carries them over as `null` and as a table with a private key.
fn check_value(value: &Value, path: &str, all: &mut Vec<Problem>) {
    match value {
        Value::Null => {
            all.push(problem(path, "not-a-number is no JSON value", "use `raw` for text that is no JSON"));
        }
        Value::Object(members) if members.keys().any(|key| key.starts_with("$__toml_private")) => {
            all.push(problem(path, "a date is no JSON value", "put it in quotes"));
        }
        Value::Object(members) => {
            members.iter().for_each(|(key, value)| check_value(value, &format!("{path}.{key}"), all));
        }
        Value::Array(items) => {
            items.iter().enumerate().for_each(|(at, value)| check_value(value, &format!("{path}[{at}]"), all));
        }
        _ => {}
    }
}

fn check_mangle(call: &Call, path: &str, all: &mut Vec<Problem>) {
    if call.mangle.is_empty() {
        return;
    }
    let Ok((_, mut text)) = neutral().call(call, &Folders::default()) else { return };
    for (at, how) in call.mangle.iter().enumerate() {
        match corrupt::mangle(&text, *how) {
            Some(mangled) => text = mangled,
            None => {
                let name = serde_json::to_value(how).unwrap_or_default();
                all.push(problem(
                    format!("{path}.mangle[{at}]"),
                    format!("{} has no hold on `{text}`", name.as_str().unwrap_or_default()),
                    "give the call an argument that it can corrupt, or leave it out",
                ));
            }
        }
    }
}

fn check_cuts(index: usize, turns: &[Turn], path: &str, sound: bool, all: &mut Vec<Problem>) {
    let turn = &turns[index];
    let body = std::cell::LazyCell::new(|| {
        let model = ModelTurn::new(index, turns, &neutral(), &Folders::default()).ok()?;
        Some(Dialect::Chat.encode(&model, &form()))
    });
    for (at, cut) in turn.cut.iter().enumerate() {
        let path = format!("{path}.cut[{at}]");
        if let Some(found) = check_cut(cut, &path) {
            all.push(found);
        } else if sound
            && let Some(body) = body.as_ref()
            && locate(&body.bytes, cut).is_none()
            && let Some((kind, anchor)) = anchor(cut)
        {
            let missing = match cut.nth {
                Some(nth @ 2..) => format!("the encoded body holds fewer than {nth} of `{anchor}`"),
                _ => format!("the encoded body does not hold `{anchor}`"),
            };
            all.push(problem(
                format!("{path}.{kind}"),
                missing,
                "take an anchor from the turn's own text or arguments",
            ));
        }
    }
}

/// The form of the stream in which anchors are looked for.
fn form() -> Form {
    Form { stream: true, usage: true, model: "mock-model".to_owned(), search: false }
}

/// The kind of a cut and its anchor, when it has exactly one.
fn anchor(cut: &Cut) -> Option<(&'static str, &str)> {
    match (&cut.inside, &cut.before, &cut.after) {
        (Some(anchor), None, None) => Some(("inside", anchor)),
        (None, Some(anchor), None) => Some(("before", anchor)),
        (None, None, Some(anchor)) => Some(("after", anchor)),
        _ => None,
    }
}

pub(super) fn check_cut(cut: &Cut, path: &str) -> Option<Problem> {
    let Some((kind, anchor)) = anchor(cut) else {
        let fix = "give one of `inside`, `before` and `after`";
        return Some(problem(path, "the cut has no anchor or several", fix));
    };
    let field = format!("{path}.{kind}");
    let (byte, len) = (cut.byte.unwrap_or(1), anchor.len());
    if anchor.is_empty() {
        return Some(problem(field, "the anchor is empty", "give some text of the body"));
    }
    if kind != "inside" {
        if cut.byte.is_some() {
            return Some(problem(format!("{path}.byte"), "`byte` is only for `inside`", "remove it"));
        }
    } else if len == 1 {
        let fix = "use `before` or `after`";
        return Some(problem(field, "the anchor is one byte, so nothing is inside it", fix));
    } else if byte == 0 || byte >= len {
        return Some(problem(
            format!("{path}.byte"),
            format!("the anchor has {len} bytes, so byte {byte} is not inside it"),
            format!("use 1 to {}, or `before` or `after`", len - 1),
        ));
    }
    (cut.nth == Some(0)).then(|| problem(format!("{path}.nth"), "occurrences are counted from 1", "use 1 or more"))
}

/// A binding of every operation to a tool that takes its fields under their own names.
pub(crate) fn neutral() -> Bound {
    let tools = Op::ALL.into_iter().map(|op| {
        let with = op.fields().iter().map(|field| ((*field).to_owned(), Value::String(format!("{{{field}}}"))));
        (op, ToolBinding { tool: op.to_string().to_lowercase(), with: with.collect(), ..ToolBinding::default() })
    });
    Bound { tools: Binding(tools.collect()), unbound: Vec::new() }
}

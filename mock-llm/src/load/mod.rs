//! Reads scripts from TOML. Whatever is wrong is one message with its file, line, column, field and fix.

mod faults;
mod locate;
mod validate;

pub use locate::Locator;
pub use validate::Problem;
pub(crate) use validate::neutral;

use crate::script::{Script, Turn};
use serde::Deserialize;
use std::fmt;

/// Largest script file, in bytes.
const MAX_FILE: usize = 64 << 20;

/// Why a file is no script.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ScriptError {
    /// The file, as its reader named it.
    pub origin: String,
    /// The line, from 1.
    pub line: usize,
    /// The column in characters, from 1.
    pub column: usize,
    /// The field, such as `turn[0].call[1].id`; empty for the file as a whole.
    pub field: String,
    /// What is wrong.
    pub problem: String,
    /// What to do.
    pub fix: String,
}

impl fmt::Display for ScriptError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ScriptError { origin, line, column, field, problem, fix } = self;
        let colon = if field.is_empty() { "" } else { ": " };
        write!(f, "{origin}:{line}:{column}: {field}{colon}{problem}; {fix}")
    }
}

impl std::error::Error for ScriptError {}

/// The part of a case file that is a script; the rest of the file is its owner's business.
#[derive(Deserialize)]
struct Embedded {
    #[serde(rename = "turn", default)]
    turns: Vec<Turn>,
    #[serde(default)]
    seed: u64,
}

impl Script {
    /// Reads a script. `origin` names the file in messages.
    ///
    /// # Errors
    ///
    /// With the first thing that is wrong, be it TOML, an unknown field or a script that cannot be played.
    pub fn from_toml(text: &str, origin: &str) -> Result<Script, ScriptError> {
        let locator = Locator::new(text, origin)?;
        let script = toml::from_str(text).map_err(|error| locator.error(&error))?;
        checked(script, &locator)
    }

    /// Reads the script out of a case file, which may hold anything beside it.
    ///
    /// # Errors
    ///
    /// As [`Script::from_toml`], except that fields beside the script are not looked at.
    pub fn from_case_toml(text: &str, origin: &str) -> Result<Script, ScriptError> {
        let locator = Locator::new(text, origin)?;
        let Embedded { turns, seed } = toml::from_str(text).map_err(|error| locator.error(&error))?;
        checked(Script { turns, seed }, &locator)
    }

    /// Reads a script or a case file, told apart by their top-level fields.
    ///
    /// # Errors
    ///
    /// As [`Script::from_toml`].
    pub fn from_either_toml(text: &str, origin: &str) -> Result<Script, ScriptError> {
        let locator = Locator::new(text, origin)?;
        let is_script = locator.top_level().all(|key| matches!(key, "turn" | "seed"));
        if is_script { Script::from_toml(text, origin) } else { Script::from_case_toml(text, origin) }
    }
}

fn checked(script: Script, locator: &Locator<'_>) -> Result<Script, ScriptError> {
    match script.problems().into_iter().next() {
        None => Ok(script),
        Some(Problem { path, problem, fix }) => Err(locator.at_path(&path, problem, fix)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, expect: &str) {
        let error = Script::from_toml(text, "s.toml").unwrap_err();
        assert_eq!(error.to_string(), expect);
    }

    /// A first turn with one call that has these fields, and a last turn.
    fn with_call(fields: &str) -> String {
        format!("[[turn]]\n[[turn.call]]\n{fields}\n[[turn]]\nsay = 'done'\n")
    }

    /// A first turn with these fields and text, and a last turn.
    fn with_turn(fields: &str) -> String {
        format!("[[turn]]\nsay = 'aü'\n{fields}\n[[turn]]\nsay = 'done'\n")
    }

    #[test]
    fn a_good_script_is_read() {
        let text = "seed = 7\n".to_owned() + &with_call("id = 'c1'\nop = 'SHELL'\nwith = { command = 'ls' }");
        let script = Script::from_toml(&text, "s.toml").unwrap();
        assert_eq!((script.seed, script.turns.len(), script.turns[0].calls[0].id.as_str()), (7, 2, "c1"));
    }

    #[test]
    fn toml_that_cannot_be_read_is_shown() {
        check("[[turn]\n", "s.toml:1:8: unclosed array table, expected `]`; mend the TOML here");
        check("seed = 1\nseed = 2\n", "s.toml:2:1: duplicate key; mend the TOML here");
    }

    #[test]
    fn unknown_and_missing_fields_are_named() {
        check(
            &with_turn("stopp = 'stop'"),
            "s.toml:3:1: turn[0].stopp: unknown field `stopp`, expected one of `say`, `reason`, `call`, `stop`, \
             `delivery`, `cut`, `framing`, `end`, `fault`, `attempt`, `gate`; remove it or use one of the fields named",
        );
        check(&with_call("tool = 'f'\nwith = {}"), "s.toml:2:1: turn[0].call[0]: missing field `id`; add the field");
        check(
            &with_turn("stop = 'stopped'"),
            "s.toml:3:8: turn[0].stop: unknown variant `stopped`, expected one of `stop`, `tool_calls`, `max_tokens`, \
             `content_filter`; use one of the values named",
        );
        check(
            "seed = 'x'",
            "s.toml:1:8: seed: invalid type: string \"x\", expected u64; give a value of the type named",
        );
        check(
            "turns = 1",
            "s.toml:1:1: turns: unknown field `turns`, expected `turn` or `seed`; remove it or use one of the fields named",
        );
    }

    #[test]
    fn a_script_needs_turns_that_can_be_played() {
        check("", "s.toml:1:1: the script has no turn; add a [[turn]]");
        check(
            "[[turn]]\n[[turn.call]]\nid = 'c1'\ntool = 'f'\nwith = {}",
            "s.toml:1:1: turn[0]: the last turn makes calls, so the agent could not end; \
             add a last [[turn]] that only says something",
        );
        check(
            "[[turn]]\nreason = 'hm'\n[[turn]]\nsay = 'done'",
            "s.toml:1:1: turn[0]: a turn without calls and text cannot be told from its history; give it a `say`",
        );
        check(
            "[[turn]]\nsay = 'a $NAME(c1)'",
            "s.toml:2:7: turn[0].say: there is no call `c1` for $NAME(c1); name a call of the script by its id",
        );
        check(&with_turn("gate = ''"), "s.toml:3:8: turn[0].gate: the gate has no name; name it or leave it out");
    }

    #[test]
    fn a_call_has_one_id_one_name_and_one_form_of_arguments() {
        check(
            &with_call("id = ''\ntool = 'f'\nwith = {}"),
            "s.toml:3:6: turn[0].call[0].id: the id is empty; checks speak of calls by their id, so give it one",
        );
        check(
            &with_call("id = 'c'\ntool = 'f'\nwith = {}\n[[turn.call]]\nid = 'c'\ntool = 'f'\nwith = {}"),
            "s.toml:7:6: turn[0].call[1].id: the id `c` is taken by turn[0].call[0]; give each call an id of its own",
        );
        check(
            &with_call("id = 'c'\nop = 'READ'\ntool = 'f'\nwith = {}"),
            "s.toml:5:8: turn[0].call[0].tool: both `op` and `tool` name what is called; keep one of them",
        );
        check(
            &with_call("id = 'c'\nwith = {}"),
            "s.toml:2:1: turn[0].call[0]: nothing names what is called; give an `op` or a `tool`",
        );
        check(
            &with_call("id = 'c'\ntool = 'f'\nwith = {}\nraw = '{'"),
            "s.toml:6:7: turn[0].call[0].raw: both `with` and `raw` give the arguments; keep one of them",
        );
        check(
            &with_call("id = 'c'\ntool = 'f'"),
            "s.toml:2:1: turn[0].call[0]: nothing gives the arguments; add `with = {}` or a `raw` text",
        );
    }

    #[test]
    fn an_operation_takes_its_own_fields() {
        check(
            &with_call("id = 'c'\nop = 'SHELL'\nwith = { cmd = 'ls' }"),
            "s.toml:5:16: turn[0].call[0].with.cmd: SHELL has no field `cmd`; \
             its fields are `command`; use `tool` for a tool's own arguments",
        );
    }

    #[test]
    fn values_that_json_cannot_hold_are_refused() {
        check(
            &with_call("id = 'c'\ntool = 'f'\nwith = { a = [1, nan] }"),
            "s.toml:5:18: turn[0].call[0].with.a[1]: not-a-number is no JSON value; use `raw` for text that is no JSON",
        );
        check(
            &with_call("id = 'c'\ntool = 'f'\nwith = { a = 2020-01-01 }"),
            "s.toml:5:14: turn[0].call[0].with.a: a date is no JSON value; put it in quotes",
        );
    }

    #[test]
    fn a_corruption_must_change_something() {
        check(
            &with_call("id = 'c'\ntool = 'f'\nwith = { a = 1 }\nmangle = ['cut-in-string']"),
            "s.toml:6:11: turn[0].call[0].mangle[0]: cut-in-string has no hold on `{\"a\":1}`; \
             give the call an argument that it can corrupt, or leave it out",
        );
    }

    #[test]
    fn a_cut_has_one_anchor_that_the_body_holds() {
        check(
            &with_turn("cut = [{ byte = 1 }]"),
            "s.toml:3:8: turn[0].cut[0]: the cut has no anchor or several; give one of `inside`, `before` and `after`",
        );
        check(
            &with_turn("cut = [{ before = '' }]"),
            "s.toml:3:19: turn[0].cut[0].before: the anchor is empty; give some text of the body",
        );
        check(
            &with_turn("cut = [{ before = 'a', byte = 1 }]"),
            "s.toml:3:31: turn[0].cut[0].byte: `byte` is only for `inside`; remove it",
        );
        check(
            &with_turn("cut = [{ inside = 'ü', byte = 2 }]"),
            "s.toml:3:31: turn[0].cut[0].byte: the anchor has 2 bytes, so byte 2 is not inside it; \
             use 1 to 1, or `before` or `after`",
        );
        check(
            &with_turn("cut = [{ inside = 'a' }]"),
            "s.toml:3:19: turn[0].cut[0].inside: the anchor is one byte, so nothing is inside it; use `before` or `after`",
        );
        check(
            &with_turn("cut = [{ before = 'a', nth = 0 }]"),
            "s.toml:3:30: turn[0].cut[0].nth: occurrences are counted from 1; use 1 or more",
        );
        check(
            &with_turn("cut = [{ before = 'zebra' }]"),
            "s.toml:3:19: turn[0].cut[0].before: the encoded body does not hold `zebra`; \
             take an anchor from the turn's own text or arguments",
        );
        check(
            &with_turn("cut = [{ before = 'ü', nth = 2 }]"),
            "s.toml:3:19: turn[0].cut[0].before: the encoded body holds fewer than 2 of `ü`; \
             take an anchor from the turn's own text or arguments",
        );
    }

    #[test]
    fn a_fault_must_be_one_that_can_happen() {
        for (fields, expect) in [
            (
                "fault = { retry_after = '1' }",
                "3:9: turn[0].fault: `retry_after` is only for an answer with a `status`; add a `status` or remove it",
            ),
            ("fault = { status = 99 }", "3:20: turn[0].fault.status: 99 is no status of an answer; use 200 to 599"),
            (
                "fault = { status = 500, gzip = true }",
                "3:9: turn[0].fault: an error body in place of the turn leaves nothing of the turn to break; \
                 keep `status` or the rest",
            ),
            (
                "fault = { at = { before = 'a' } }",
                "3:16: turn[0].fault.at: a place without a break; say what happens there with `then`",
            ),
            (
                "fault = { then = 'close', until = 'g' }",
                "3:35: turn[0].fault.until: only a stall ends; use `then = \"stall\"` or remove it",
            ),
            (
                "fault = { then = 'close', at = { inside = 'ü', byte = 2 } }",
                "3:55: turn[0].fault.at.byte: the anchor has 2 bytes, so byte 2 is not inside it; \
                 use 1 to 1, or `before` or `after`",
            ),
            (
                "fault = { then = 'close', at = { before = 'zebra' } }",
                "3:9: turn[0].fault: the body does not hold the place of the break; \
                 take an anchor from the turn's own text or arguments",
            ),
            (
                "attempt = [{ status = 429 }, { bytes = ['\\x1'] }]",
                "3:41: turn[0].attempt[1].bytes[0]: `\\x1` is no byte; write a byte as \\xHH and a backslash as \\\\",
            ),
            (
                "attempt = [{ frame = [{ edit = 'drop', holding = 'zebra' }] }]",
                "3:12: turn[0].attempt[0]: no frame holds `zebra`; take an anchor from the turn's own text or arguments",
            ),
            ("attempt = [{}]", "3:12: turn[0].attempt[0]: the fault says nothing; give it a field or remove it"),
        ] {
            check(&with_turn(fields), &format!("s.toml:{expect}"));
        }
    }

    #[test]
    fn a_case_file_gives_its_script() {
        let text = "title = 'x'\n[check]\na = 1\n".to_owned() + &with_turn("");
        assert_eq!(Script::from_either_toml(&text, "c.toml").unwrap().turns.len(), 2);
        assert!(Script::from_toml(&text, "c.toml").is_err());
        let error = Script::from_either_toml("title = 'x'\n", "c.toml").unwrap_err();
        assert_eq!(error.to_string(), "c.toml:1:1: the script has no turn; add a [[turn]]");
    }

    #[test]
    fn a_written_script_is_read_back() {
        let text = with_call("id = 'c1'\ntool = 'f'\nwith = { a = [1, { b = 'x' }] }\nmangle = ['drop-closer']");
        let script = Script::from_toml(&text, "s.toml").unwrap();
        let again = Script::from_toml(&toml::to_string(&script).unwrap(), "again.toml").unwrap();
        assert_eq!(script, again);
    }
}

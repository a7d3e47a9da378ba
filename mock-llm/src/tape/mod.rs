//! Tapes: what an upstream answered, write for write, to be played again without it.
//!
//! A tape is TOML, one `[[exchange]]` for each answer in the order of their ends. `history` is the state of the
//! conversation that was answered (see [`history`]); no request and no key is on a tape, only digests of what was said.
//! `writes` are the bytes of the response as they arrived, head and framing included, each string one write, escaped as
//! [`crate::escape`] has it. `end` says how it ended. `tape = 1` is the version of the format: a reader refuses what it
//! does not know, and a change that an old reader would take for something else gets the next number.
//!
//! ```toml
//! tape = 1
//!
//! [[exchange]]
//! method = 'POST'
//! path = '/v1/chat/completions'
//! history = ['stream, tools', 'user 82f6…', 'assistant c1', 'result c1']
//! status = 200
//! writes = [
//!   'HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n',
//!   '1a\r\ndata: {"x":1}\n\n',
//! ]
//! end = 'reset'
//! ```

pub(crate) mod history;
mod playback;

pub(crate) use playback::Playback;

use crate::escape::{escape, unescape};
use crate::load::{Locator, ScriptError};
use serde::Deserialize;
use std::fmt::Write as _;

/// The version of the format that is written, and the only one that is read.
const VERSION: u32 = 1;
/// What stands at the begin of a tape.
pub(crate) const BEGIN: &str = "# A recorded session; `mock-llm serve` plays it again.\ntape = 1\n";

/// A recorded session.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Tape {
    /// The version of the format.
    tape: u32,
    #[serde(rename = "exchange", default)]
    pub(crate) exchanges: Vec<Exchange>,
}

/// One answer.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Exchange {
    /// The method that was asked with.
    pub method: String,
    /// The path, without its query.
    pub path: String,
    /// The state of the conversation; empty for what is no request of a dialect.
    #[serde(default)]
    pub history: Vec<String>,
    /// The status, when there was one. For people: the bytes hold it as well.
    #[serde(default)]
    pub status: Option<u16>,
    /// The writes, escaped.
    pub writes: Vec<String>,
    /// How it ended.
    pub end: TapedEnd,
}

/// How a response ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum TapedEnd {
    /// As its head had promised; the connection stayed.
    Complete,
    /// With the end of the connection, promised or not.
    Close,
    /// With a reset.
    Reset,
    /// The client left, or the upstream fell silent: a replay stalls there.
    Stall,
}

impl TapedEnd {
    fn name(self) -> &'static str {
        match self {
            TapedEnd::Complete => "complete",
            TapedEnd::Close => "close",
            TapedEnd::Reset => "reset",
            TapedEnd::Stall => "stall",
        }
    }
}

impl Tape {
    /// Whether a TOML text is meant as a tape: it has the top-level field `tape`. Text that is no TOML is not.
    pub fn is_tape(text: &str) -> bool {
        Locator::new(text, "").is_ok_and(|locator| locator.top_level().any(|key| key == "tape"))
    }

    /// Reads a tape. `origin` names the file in messages.
    ///
    /// # Errors
    ///
    /// With the first thing that is wrong: no TOML, an unknown version or field, or an escape that is none.
    pub fn from_toml(text: &str, origin: &str) -> Result<Tape, ScriptError> {
        let locator = Locator::new(text, origin)?;
        let tape: Tape = toml::from_str(text).map_err(|error| locator.error(&error))?;
        let wrong = |path: &str, problem: String, fix: &str| Err(locator.at_path(path, problem, fix.to_owned()));
        if tape.tape != VERSION {
            let problem = format!("version {} of the format is not known here", tape.tape);
            return wrong("tape", problem, "play it with the version of mock-llm that recorded it, or record it again");
        }
        if tape.exchanges.is_empty() {
            return wrong("", "the tape has no exchange".to_owned(), "record a session that asks something");
        }
        for (index, exchange) in tape.exchanges.iter().enumerate() {
            for (at, write) in exchange.writes.iter().enumerate() {
                if let Err(problem) = unescape(write) {
                    let fix = "write a byte as \\xHH and a backslash as \\\\";
                    return wrong(&format!("exchange[{index}].writes[{at}]"), problem, fix);
                }
            }
        }
        Ok(tape)
    }
}

impl Exchange {
    /// The exchange as it stands on a tape.
    pub(crate) fn to_toml(&self) -> String {
        let mut out = format!("\n[[exchange]]\nmethod = {}\npath = {}\n", quoted(&self.method), quoted(&self.path));
        let history: Vec<String> = self.history.iter().map(|entry| quoted(entry)).collect();
        // Writing to a string cannot fail.
        let _ = writeln!(out, "history = [{}]", history.join(", "));
        if let Some(status) = self.status {
            let _ = writeln!(out, "status = {status}");
        }
        out.push_str("writes = [\n");
        for write in &self.writes {
            let _ = writeln!(out, "  '{write}',");
        }
        let _ = writeln!(out, "]\nend = '{}'", self.end.name());
        out
    }
}

/// Bytes as they stand between the single quotes of a tape, where TOML has no escapes of its own.
pub(crate) fn taped(bytes: &[u8]) -> String {
    escape(bytes).replace('\'', "\\x27")
}

/// A TOML string of one line.
fn quoted(text: &str) -> String {
    toml::Value::from(text).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn exchange(writes: &[&[u8]]) -> Exchange {
        Exchange {
            method: "POST".into(),
            path: "/v1/it's \"here\"\\".into(),
            history: vec!["document, no tools".into(), "assistant it's\n\"\\".into()],
            status: Some(200),
            writes: writes.iter().map(|write| taped(write)).collect(),
            end: TapedEnd::Stall,
        }
    }

    #[test]
    fn what_is_written_is_read() {
        let written = exchange(&[b"HTTP/1.1 200 OK\r\n", b"it's \xff\\n", b""]);
        let tape = Tape::from_toml(&format!("{BEGIN}{}", written.to_toml()), "t").unwrap();
        assert_eq!(tape.exchanges, std::slice::from_ref(&written));
        assert_eq!(unescape(&written.writes[1]).unwrap(), b"it's \xff\\n");
    }

    #[track_caller]
    fn check(text: &str, expect: &str) {
        assert_eq!(Tape::from_toml(text, "t.toml").unwrap_err().to_string(), expect);
    }

    #[test]
    fn what_is_wrong_is_shown_with_its_place() {
        check(
            "tape = 2\n",
            "t.toml:1:8: tape: version 2 of the format is not known here; \
             play it with the version of mock-llm that recorded it, or record it again",
        );
        check("tape = 1\n", "t.toml:1:1: the tape has no exchange; record a session that asks something");
        check(
            "tape = 1\n[[exchange]]\nmethod = 'GET'\npath = '/'\nwrites = [\n  'a',\n  '\\q',\n]\nend = 'close'\n",
            "t.toml:7:3: exchange[0].writes[1]: `\\q` is no escape; write a byte as \\xHH and a backslash as \\\\",
        );
        check(
            "tape = 1\n[[exchange]]\nmethod = 'GET'\npath = '/'\nwrites = []\nend = 'open'\n",
            "t.toml:6:7: exchange[0].end: unknown variant `open`, expected one of `complete`, `close`, `reset`, \
             `stall`; use one of the values named",
        );
    }

    #[test]
    fn a_tape_is_told_from_a_script() {
        assert!(Tape::is_tape("tape = 1"));
        assert!(!Tape::is_tape("[[turn]]\nsay = 'tape = 1'"));
        assert!(!Tape::is_tape("tape = "));
    }
}

//! Captured requests, in the formats in which they are kept.
//!
//! A capture has one JSON object a line: the journal that `mock-llm serve --journal` and a failed case write, the body of a
//! request as it is, or an object around it with what is known beside it. A whole file may also be a JSON list of these, or
//! the `trace.json` of a failed case. What a line is, is told by its members, so that formats may be mixed.

use serde::Deserialize;
use serde_json::value::RawValue;
use slot_oracles::Trace;
use slot_oracles::prefix::{Captured, Dialect, Prompt};
use slot_oracles::trace::WireRequest;
use std::borrow::Cow;
use std::fmt;
use thiserror::Error;

/// The most bytes of a capture: all of it is held in memory.
pub const MOST_BYTES: u64 = 1 << 30;

/// The most problems that are told.
const MOST_PROBLEMS: usize = 10;

/// The requests of a capture, in order.
#[derive(Clone, Debug, Default)]
pub struct Capture {
    records: Vec<Record>,
    /// Lines that hold something else than a request of a conversation, such as the other entries of a journal.
    pub passed_over: usize,
}

#[derive(Clone, Debug)]
struct Record {
    /// `FILE:LINE`.
    place: String,
    body: Held,
    dialect: Option<Dialect>,
    at: Option<f64>,
    session: String,
    declared: Option<String>,
}

#[derive(Clone, Debug)]
enum Held {
    Body(String),
    Wire(Box<WireRequest>),
}

/// What is wrong with a capture, line by line.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub struct CaptureError {
    /// Each problem with its place and a next step.
    pub problems: Vec<String>,
}

impl fmt::Display for CaptureError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let shown: Vec<&str> = self.problems.iter().take(MOST_PROBLEMS).map(String::as_str).collect();
        f.write_str(&shown.join("\n"))?;
        match self.problems.len().checked_sub(MOST_PROBLEMS) {
            Some(more @ 1..) => write!(f, "\nand {more} more"),
            _ => Ok(()),
        }
    }
}

/// The members of a line that tell what it is.
#[derive(Default, Deserialize)]
#[serde(default)]
struct Line<'a> {
    #[serde(borrow)]
    messages: Option<&'a RawValue>,
    #[serde(borrow)]
    input: Option<&'a RawValue>,
    #[serde(borrow)]
    body: Option<&'a RawValue>,
    #[serde(borrow)]
    dialect: Option<Cow<'a, str>>,
    #[serde(borrow)]
    path: Option<Cow<'a, str>>,
    #[serde(borrow)]
    session: Option<Cow<'a, str>>,
    #[serde(borrow)]
    declared: Option<Cow<'a, str>>,
    at: Option<f64>,
    /// Of a journal: what the entry tells.
    #[serde(borrow)]
    event: Option<Cow<'a, str>>,
    /// Of a journal: what a request was taken for.
    #[serde(borrow)]
    kind: Option<Cow<'a, str>>,
    /// Of a journal: the head of a request.
    #[serde(borrow)]
    head: Option<Cow<'a, str>>,
}

/// A request with its place and its session.
#[derive(Clone, Debug)]
pub struct Request<'a> {
    /// Where it was captured, as `FILE:LINE`.
    pub place: &'a str,
    /// The name that the capture gives its session, empty when it gives none.
    pub session: &'a str,
    /// The request.
    pub captured: Captured<'a>,
}

impl Capture {
    /// Reads a capture; `name` names it in places. What was declared and no request followed is passed over.
    ///
    /// # Errors
    /// With every line that is none of the formats.
    pub fn read(name: &str, text: &str) -> Result<Capture, CaptureError> {
        let mut reader = Reader { capture: Capture::default(), problems: Vec::new(), declared: None };
        if !reader.whole(name, text) {
            for (number, line) in text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty()) {
                reader.line(format!("{name}:{}", number + 1), line);
            }
        }
        let Reader { capture, mut problems, .. } = reader;
        // A body is checked here, so that nothing can be wrong later.
        problems.extend(
            capture.records.iter().filter_map(|record| Some(format!("{}: {}", record.place, record.problem()?))),
        );
        if problems.is_empty() && capture.records.is_empty() {
            problems.push(format!("{name}: it holds no request; {FORMATS}"));
        }
        if problems.is_empty() { Ok(capture) } else { Err(CaptureError { problems }) }
    }

    /// The requests, laid out.
    pub fn requests(&self) -> impl Iterator<Item = Request<'_>> {
        self.records.iter().filter_map(|record| {
            let prompt = record.prompt().ok()?;
            let captured = Captured { prompt, at: record.at, declared: record.declared.clone() };
            Some(Request { place: &record.place, session: &record.session, captured })
        })
    }

    /// Puts the requests of another capture behind those of this one.
    pub fn append(&mut self, other: Capture) {
        self.records.extend(other.records);
        self.passed_over += other.passed_over;
    }
}

/// What a person is told who gave something else.
const FORMATS: &str = "give a request body a line, or {\"path\": …, \"body\": …}, or a journal of mock-llm";

impl Record {
    fn prompt(&self) -> Result<Prompt<'_>, slot_oracles::prefix::PromptError> {
        match &self.body {
            Held::Body(body) => Prompt::from_body(body, self.dialect),
            Held::Wire(request) => Ok(Prompt::from_wire(request)),
        }
    }

    fn problem(&self) -> Option<String> {
        self.prompt().err().map(|error| error.to_string())
    }
}

struct Reader {
    capture: Capture,
    problems: Vec<String>,
    declared: Option<String>,
}

impl Reader {
    /// Reads what is one JSON value over several lines, if that is what the text is.
    fn whole(&mut self, name: &str, text: &str) -> bool {
        let start = text.trim_start();
        if start.starts_with('[') {
            let Ok(lines) = serde_json::from_str::<Vec<&RawValue>>(text) else { return false };
            for (at, line) in lines.into_iter().enumerate() {
                self.line(format!("{name}[{at}]"), line.get());
            }
            return true;
        }
        if start.starts_with("tape =") || start.starts_with("# A recorded session") {
            self.problems.push(format!(
                "{name}: this is a tape: it holds what a server answered, and of requests only digests; play it with \
                 `mock-llm serve --journal FILE`, and meter that file"
            ));
            return true;
        }
        let first_is_whole = text.lines().next().is_some_and(|line| serde_json::from_str::<&RawValue>(line).is_ok());
        if first_is_whole || !start.starts_with('{') {
            return false;
        }
        if let Ok(trace) = serde_json::from_str::<Trace>(text) {
            for request in trace.wire.requests {
                let place = format!("{name}, request {}", request.index);
                self.push(place, Held::Wire(Box::new(request)), Line::default(), None);
            }
            return true;
        }
        if serde_json::from_str::<&RawValue>(text).is_ok() {
            self.line(name.to_owned(), text);
            return true;
        }
        false
    }

    fn line(&mut self, place: String, text: &str) {
        let line: Line<'_> = match serde_json::from_str(text) {
            Ok(line) => line,
            Err(error) => {
                self.problems.push(format!("{place}: it is no JSON object of a capture: {error}; {FORMATS}"));
                return;
            }
        };
        if line.messages.is_some() || line.input.is_some() {
            self.push(place, Held::Body(text.to_owned()), line, None);
            return;
        }
        let journal = line.event.is_some();
        let conversation = matches!(line.kind.as_deref(), Some("conversation" | "unexpected"));
        if journal && !(line.event.as_deref() == Some("request") && conversation) {
            self.capture.passed_over += 1;
            return;
        }
        match (line.body, &line.declared) {
            (Some(body), _) => match told(body) {
                Ok(body) => {
                    let path = line.head.as_deref().and_then(|head| head.split(' ').nth(1)).and_then(Dialect::at_path);
                    self.push(place, Held::Body(body), line, path);
                }
                Err(problem) => self.problems.push(format!("{place}: {problem}")),
            },
            (None, Some(why)) => self.declared = Some(why.clone().into_owned()),
            (None, None) => self.problems.push(format!(
                "{place}: it has neither `messages` nor `input` of a request body, nor a `body`, nor `declared`; {FORMATS}"
            )),
        }
    }

    fn push(&mut self, place: String, body: Held, line: Line<'_>, path: Option<Dialect>) {
        let named = match line.dialect.as_deref() {
            Some(name) if line.body.is_some() => match Dialect::named(name) {
                Some(dialect) => Some(dialect),
                None => {
                    self.problems
                        .push(format!("{place}: there is no dialect {name:?}, expected chat, anthropic or responses"));
                    return;
                }
            },
            _ => None,
        };
        let at_path = line.path.as_deref().and_then(Dialect::at_path);
        let beside = line.body.is_some();
        self.capture.records.push(Record {
            place,
            body,
            dialect: named.or(at_path).or(path),
            at: line.at.filter(|at| at.is_finite()),
            session: line.session.filter(|_| beside).map(Cow::into_owned).unwrap_or_default(),
            declared: line.declared.map(Cow::into_owned).or_else(|| self.declared.take()),
        });
        self.declared = None;
    }
}

/// The body as text: it is given as one, or as the object itself.
fn told(body: &RawValue) -> Result<String, String> {
    let text = body.get();
    if text.starts_with('"') {
        return serde_json::from_str(text).map_err(|error| format!("its `body` is no text: {error}"));
    }
    if text.starts_with("{\"hex\"") {
        return Err("its `body` is not UTF-8, so it is no JSON".to_owned());
    }
    Ok(text.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    const BODY: &str = r#"{"model":"m","messages":[{"role":"user","content":"go"}]}"#;

    /// The requests of a capture: place, dialect, session, time, declaration.
    #[track_caller]
    fn check(text: &str, expect: &[&str]) {
        let capture = Capture::read("c", text).unwrap_or_else(|error| panic!("{error}"));
        let show = |request: Request<'_>| {
            let Request { place, session, captured } = request;
            let dialect = captured.prompt.dialect.name();
            format!("{place} {dialect} {session:?} {:?} {:?}", captured.at, captured.declared)
        };
        assert_eq!(capture.requests().map(show).collect::<Vec<_>>(), expect);
    }

    #[track_caller]
    fn check_bad(text: &str, expect: &str) {
        let told = Capture::read("c", text).unwrap_err().to_string();
        assert!(told.contains(expect), "{told}");
    }

    #[test]
    fn plain_bodies() {
        check(&format!("{BODY}\n\n{BODY}\n"), &["c:1 chat \"\" None None", "c:3 chat \"\" None None"]);
        check(&format!("[{BODY}, {BODY}]"), &["c[0] chat \"\" None None", "c[1] chat \"\" None None"]);
        check(&BODY.replace(',', ",\n"), &["c chat \"\" None None"]);
    }

    #[test]
    fn bodies_with_something_beside_them() {
        check(
            &format!(r#"{{"path":"/v1/messages","body":{BODY},"at":1.5,"session":"s"}}"#),
            &["c:1 anthropic \"s\" Some(1.5) None"],
        );
        let text = serde_json::to_string(BODY).unwrap();
        check(&format!(r#"{{"dialect":"chat","body":{text}}}"#), &["c:1 chat \"\" None None"]);
        check(
            &format!("{{\"declared\":\"compaction\"}}\n{BODY}\n{{\"body\":{BODY},\"declared\":\"clear\"}}\n{BODY}"),
            &[
                "c:2 chat \"\" None Some(\"compaction\")",
                "c:3 chat \"\" None Some(\"clear\")",
                "c:4 chat \"\" None None",
            ],
        );
    }

    #[test]
    fn a_journal() {
        let entry = |kind: &str| {
            let text = serde_json::to_string(BODY).unwrap();
            format!(
                r#"{{"seq":1,"connection":0,"event":"request","id":0,"head":"POST /v1/chat/completions HTTP/1.1\r\n","body":{text},"kind":"{kind}"}}"#
            )
        };
        let journal = [
            r#"{"seq":0,"connection":0,"event":"connected"}"#,
            &entry("side"),
            &entry("conversation"),
            r#"{"seq":2,"connection":0,"event":"answer","request":0,"status":200,"body":"data: x"}"#,
            &entry("unexpected"),
        ];
        check(&journal.join("\n"), &["c:3 chat \"\" None None", "c:5 chat \"\" None None"]);
        assert_eq!(Capture::read("c", &journal.join("\n")).unwrap().passed_over, 3);
    }

    #[test]
    fn a_trace() {
        let mut trace = Trace::default();
        let request = WireRequest { dialect: "responses".into(), ..WireRequest::default() };
        trace.wire.requests = vec![request];
        check(&serde_json::to_string_pretty(&trace).unwrap(), &["c, request 0 responses \"\" None None"]);
    }

    #[test]
    fn what_is_wrong_is_told_line_by_line() {
        check_bad("", "c: it holds no request; give a request body a line");
        check_bad(&format!("{BODY}\nnonsense"), "c:2: it is no JSON object of a capture: expected");
        check_bad("{}\n[]", "c:1: it has neither `messages` nor `input`");
        check_bad(r#"{"messages":7}"#, "c:1: `messages` is no list, as it is in chat");
        check_bad(&format!(r#"{{"dialect":"chta","body":{BODY}}}"#), "c:1: there is no dialect \"chta\"");
        check_bad(r#"{"body":{"hex":"ff"}}"#, "c:1: its `body` is not UTF-8");
        check_bad(r#"{"path":"/v1/messages","body":"{"}"#, "c:1: it is no request body: EOF");
        check_bad("# A recorded session\ntape = 1\n", "mock-llm serve --journal");
        check_bad(&"{}\n".repeat(15), "and 5 more");
    }
}

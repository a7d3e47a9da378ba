//! The argument ladder: from the text a model wrote as a call's arguments to one JSON object, or to a named fault.
//!
//! One reader walks the text once, without recursion. Where JSON's grammar holds it only reads, so that a valid text is
//! never changed; where the grammar breaks, and only there, it takes the rung that fits:
//!
//! 1. strict: nothing is mended;
//! 2. raw control characters inside strings: newline, tab and carriage return are escaped, all others dropped;
//! 3. a trailing comma before a closer, with or without white space between, or at the end;
//! 4. unclosed brackets, closed in stack order, and with them an unclosed string;
//! 5. extra closers after everything is closed.
//!
//! Two wrappers are taken off first, because what they mean is beyond doubt: one code fence around the whole text, and
//! an object that was encoded twice, so that it arrives as a JSON string. Both report themselves as rungs.
//!
//! What is not mended, because every mending would be a guess, is a fault that says what was found: quotes of another
//! kind, unquoted keys, literals of other languages, comments, a missing comma or quote, an unknown escape, a second
//! object, prose. A wrong closer is mended only where nothing but closers follows it, for then the value is the same
//! however one reads them. A call with an empty text has no arguments, which is legitimate.
//!
//! Numbers keep their value: an integer that fits neither `i64` nor `u64` is a fault, not a rounded number; a number
//! with a fraction or an exponent is the nearest `f64`, correctly rounded, as JSON readers agree on. A key that is there
//! twice is a fault whichever way the two are spelt.
//!
//! This module refuses to know tools and schemas: whether an object is what a tool takes is decided elsewhere.

mod fault;
mod reader;
mod token;

#[cfg(test)]
mod tests;

pub use fault::{ArgumentFault, Fallback, FaultKind, SyntaxFault};

use reader::{Reader, skip_blank};
use serde_json::{Map, Value};
use std::borrow::Cow;

/// The most bytes that are read at all: 16 MiB.
pub const MAX_BYTES: usize = 16 << 20;

/// The most bytes of a text that is mended: 1 MiB. A longer one must be valid as it stands.
pub const MAX_REPAIR_BYTES: usize = 1 << 20;

/// The most brackets that may be open at once, counted as `serde_json` counts its bound of 128, so that whatever is read
/// here can be read again everywhere else: 127 brackets pass.
pub const MAX_DEPTH: usize = 127;

/// How the turn that carries the call ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TurnEnd {
    /// With the dialect's terminal signal, and not by a limit.
    Clean,
    /// By the output limit or a filter: what looks complete may be half of what was meant, so nothing is mended.
    Cut,
}

/// One kind of mending, in ladder order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Rung {
    /// One code fence around the whole text was taken off.
    CodeFence,
    /// The object was encoded twice and arrived as a string.
    DoubleEncoded,
    /// Raw control characters inside strings were escaped or dropped.
    ControlCharacters,
    /// Trailing commas were removed.
    TrailingCommas,
    /// Brackets, and perhaps a string, were closed.
    UnclosedBrackets,
    /// Closers that close nothing were removed.
    ExtraClosers,
}

impl Rung {
    /// All rungs, in ladder order.
    pub const ALL: [Rung; 6] = [
        Rung::CodeFence,
        Rung::DoubleEncoded,
        Rung::ControlCharacters,
        Rung::TrailingCommas,
        Rung::UnclosedBrackets,
        Rung::ExtraClosers,
    ];

    /// The name in events and rules.
    pub fn as_str(self) -> &'static str {
        match self {
            Rung::CodeFence => "code-fence",
            Rung::DoubleEncoded => "double-encoded",
            Rung::ControlCharacters => "control-characters",
            Rung::TrailingCommas => "trailing-comma",
            Rung::UnclosedBrackets => "unclosed-brackets",
            Rung::ExtraClosers => "extra-closers",
        }
    }

    /// What the rung found, as a fragment.
    pub fn found(self) -> &'static str {
        match self {
            Rung::CodeFence => "a code fence stands around the object",
            Rung::DoubleEncoded => "the object is encoded twice, as a string",
            Rung::ControlCharacters => "a control character inside a string is not escaped",
            Rung::TrailingCommas => "a comma has nothing behind it",
            Rung::UnclosedBrackets => "a bracket or a string is not closed",
            Rung::ExtraClosers => "a closing bracket closes nothing",
        }
    }
}

/// A call's arguments, read.
#[derive(Clone, Debug, PartialEq)]
pub struct Arguments<'a> {
    /// The arguments: always an object.
    pub value: Value,
    /// The text of exactly that value, valid JSON: what was sent where nothing was mended, else the mended text. This is
    /// what history keeps.
    pub text: Cow<'a, str>,
    /// What was mended, each rung once, in ladder order. Empty where the text was valid.
    pub rungs: Vec<Rung>,
    /// How many control characters were dropped from strings. The model must be told, for they are lost.
    pub dropped: usize,
    /// Whether the text ended inside a string, which was closed there.
    pub closed_string: bool,
}

impl Arguments<'_> {
    fn empty() -> Self {
        let (value, text) = (Value::Object(Map::new()), Cow::Borrowed("{}"));
        Arguments { value, text, rungs: Vec::new(), dropped: 0, closed_string: false }
    }

    /// What the model should know about the mending, as one sentence; `None` where nothing was mended.
    pub fn notice(&self) -> Option<String> {
        if self.rungs.is_empty() {
            return None;
        }
        let found: Vec<&str> = self.rungs.iter().map(|rung| rung.found()).collect();
        let mut notice = format!("the arguments were not valid JSON and were mended: {}", found.join("; "));
        if self.dropped > 0 {
            notice.push_str(&format!("; {} control characters were dropped", self.dropped));
        }
        if self.closed_string {
            notice.push_str("; the last string ended with the text and may be incomplete");
        }
        Some(notice)
    }
}

/// Reads the arguments of a call from the text that the model sent.
///
/// A blank text is an empty call. In a turn that was cut only a valid object is read; a blank text is refused there as
/// well, because the arguments themselves may be what was lost.
///
/// # Errors
/// [`ArgumentFault`] says what is wrong, at which byte, and what to send instead.
/// [`ArgumentFault::into_fallback`] tells which faults let dispatch go on with a flagged `{}`.
pub fn read_arguments(text: &str, turn: TurnEnd) -> Result<Arguments<'_>, ArgumentFault> {
    read(text, turn).map_err(|broken| {
        let (kind, at) = *broken;
        let kind = match (turn, kind) {
            (TurnEnd::Cut, FaultKind::Syntax(fault)) => FaultKind::Cut { why: fault.to_string() },
            (_, kind) => kind,
        };
        ArgumentFault::new(kind, text, at)
    })
}

/// A fault and its byte, small on the way that is taken often.
type Broken = Box<(FaultKind, usize)>;

fn broken<T>(kind: impl Into<FaultKind>, at: usize) -> Result<T, Broken> {
    Err(Box::new((kind.into(), at)))
}

fn read(text: &str, turn: TurnEnd) -> Result<Arguments<'_>, Broken> {
    if text.len() > MAX_BYTES {
        return broken(FaultKind::TooLarge { bytes: text.len(), limit: MAX_BYTES }, 0);
    }
    if text.trim().is_empty() {
        return match turn {
            TurnEnd::Clean => Ok(Arguments::empty()),
            TurnEnd::Cut => broken(FaultKind::Cut { why: "there are no arguments".to_owned() }, 0),
        };
    }
    let mut reader = Reader::new(text, turn);
    match text.as_bytes()[skip_blank(text.as_bytes(), 0)..].first() {
        Some(b'{') => reader.object(),
        Some(b'"') => encoded_twice(reader, turn),
        Some(b'`') => {
            let skipped = reader.peel_fence()?;
            reader.object().map_err(|mut broken| {
                broken.1 += skipped;
                broken
            })
        }
        _ => Err(reader.not_an_object()),
    }
}

/// Reads the object that a string holds. The string itself must be valid: mending both layers would be a guess.
fn encoded_twice(mut outer: Reader<'_>, turn: TurnEnd) -> Result<Arguments<'_>, Broken> {
    let (at, inner) = outer.whole_string()?;
    if inner.as_bytes().get(skip_blank(inner.as_bytes(), 0)) != Some(&b'{') {
        return broken(FaultKind::NotAnObject { found: "a string" }, at);
    }
    outer.mend(Rung::DoubleEncoded, at)?;
    // The bytes inside are not those of the text, so that a fault inside can only point to where the string begins.
    let inner = Reader::new(&inner, turn).object().map_err(|broken| Box::new((broken.0, at)))?;
    let Arguments { value, text, mut rungs, dropped, closed_string } = inner;
    rungs.insert(0, Rung::DoubleEncoded);
    Ok(Arguments { value, text: Cow::Owned(text.into_owned()), rungs, dropped, closed_string })
}

/// The text of a call's arguments as a provider takes it back in a history, which is a JSON object: the text itself
/// where it is one, `{}` for a blank one, and else an object that shows the model what it had sent.
pub fn replayable(text: &str) -> Cow<'_, str> {
    if text.trim().is_empty() {
        return Cow::Borrowed("{}");
    }
    if serde_json::from_str::<Map<String, Value>>(text).is_ok() {
        return Cow::Borrowed(text);
    }
    let shown = Map::from_iter([("unreadable_arguments".to_owned(), Value::from(text))]);
    Cow::Owned(Value::Object(shown).to_string())
}

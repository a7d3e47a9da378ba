//! What can be wrong with the arguments of a call, each fault with what to send instead.

use serde_json::{Map, Value};
use thiserror::Error;

/// The most characters of the text that a message repeats.
const SHOWN: usize = 40;

/// Why the arguments of a call could not be read.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("{kind} (at byte {at}{})", place(.near))]
pub struct ArgumentFault {
    /// What is wrong.
    pub kind: FaultKind,
    /// The byte of the text where it shows; for an object that was encoded twice, where its string begins.
    pub at: usize,
    /// The text from there on, at most 40 characters of it.
    pub near: String,
}

fn place(near: &str) -> String {
    if near.is_empty() { ", the end".to_owned() } else { format!(", near {near:?}") }
}

impl ArgumentFault {
    pub(super) fn new(kind: FaultKind, text: &str, at: usize) -> Self {
        let at = (0..=at.min(text.len())).rev().find(|&at| text.is_char_boundary(at)).unwrap_or(0);
        ArgumentFault { kind, at, near: shorten(&text[at..]) }
    }

    /// The `{}` that stands for arguments which no rung could read, so that validation can add which fields are missing.
    ///
    /// # Errors
    /// The fault itself where the text could be read, but means something that must not run (not an object, a key twice,
    /// an integer that would be rounded), where the turn was cut, or where the text is above the limit for reading: such
    /// a call is refused at once.
    pub fn into_fallback(self) -> Result<Fallback, ArgumentFault> {
        match self.kind {
            FaultKind::Syntax(_) | FaultKind::TooDeep { .. } | FaultKind::TooLargeToRepair { .. } => {
                Ok(Fallback { reason: self })
            }
            FaultKind::TooLarge { .. }
            | FaultKind::Cut { .. }
            | FaultKind::NotAnObject { .. }
            | FaultKind::DuplicateKey { .. }
            | FaultKind::IntegerOutOfRange { .. } => Err(self),
        }
    }
}

/// Arguments that could not be read and are replaced by `{}`. A call that carries this never runs, even when its tool
/// requires no field.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fallback {
    /// Why the arguments could not be read.
    pub reason: ArgumentFault,
}

impl Fallback {
    /// The empty object that validation sees.
    pub fn value(&self) -> Value {
        Value::Object(Map::new())
    }
}

/// What is wrong with the arguments of a call. Each message ends with the next step.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum FaultKind {
    /// The text is above the limit for reading.
    #[error("the arguments have {bytes} bytes and at most {limit} are read; split the call into smaller ones")]
    TooLarge {
        /// How many bytes it has.
        bytes: usize,
        /// How many are read at most.
        limit: usize,
    },
    /// The text would have to be mended and is above the limit for that.
    #[error(
        "{why}, and arguments of {bytes} bytes are not mended (at most {limit} are); send valid JSON, or split the call"
    )]
    TooLargeToRepair {
        /// What would have to be mended.
        why: &'static str,
        /// How many bytes it has.
        bytes: usize,
        /// How many are mended at most.
        limit: usize,
    },
    /// The turn was cut, and the arguments are not valid as they stand.
    #[error(
        "the turn was cut before the arguments were whole ({why}); nothing was run: send the call again, in smaller parts"
    )]
    Cut {
        /// What shows it.
        why: String,
    },
    /// More brackets are open than may be.
    #[error("more than {limit} brackets are open at once; send a flatter object")]
    TooDeep {
        /// How many may be.
        limit: usize,
    },
    /// Valid JSON, but not an object.
    #[error("the arguments must be one JSON object, got {found}; send an object with the fields of the tool")]
    NotAnObject {
        /// What it is, with its article.
        found: &'static str,
    },
    /// An object has the same key twice.
    #[error("the key {key:?} is there twice (at {pointer}); send it once, with the value you mean")]
    DuplicateKey {
        /// The key, shortened.
        key: String,
        /// The JSON pointer of the field, shortened.
        pointer: String,
    },
    /// An integer that fits neither `i64` nor `u64`, and would be rounded.
    #[error("the integer {number} has more than 64 bits and would be rounded; send it as a string, or a smaller one")]
    IntegerOutOfRange {
        /// The number as written, shortened.
        number: String,
    },
    /// The text is not JSON, and every mending would be a guess.
    #[error("{0}")]
    Syntax(#[from] SyntaxFault),
}

impl FaultKind {
    /// The name in events.
    pub fn as_str(&self) -> &'static str {
        match self {
            FaultKind::TooLarge { .. } => "too-large",
            FaultKind::TooLargeToRepair { .. } => "too-large-to-mend",
            FaultKind::Cut { .. } => "cut",
            FaultKind::TooDeep { .. } => "too-deep",
            FaultKind::NotAnObject { .. } => "not-an-object",
            FaultKind::DuplicateKey { .. } => "duplicate-key",
            FaultKind::IntegerOutOfRange { .. } => "integer-out-of-range",
            FaultKind::Syntax(_) => "syntax",
        }
    }
}

/// Where the text is not JSON and every mending would be a guess.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum SyntaxFault {
    /// A code fence that is not exactly one fence around one object.
    #[error("a code fence is not closed, or holds no object; send the bare JSON object, without a fence")]
    Fence,
    /// The text begins with something that begins no object.
    #[error("the arguments do not begin with a JSON object; send the object alone, without text before it")]
    LeadingText,
    /// Text follows the object.
    #[error("text follows the object; send the JSON object alone")]
    TrailingText,
    /// A second value follows the object: two inputs for one call.
    #[error("a second value follows the object, and one call takes one object; send one call for each")]
    SecondValue,
    /// A byte order mark stands before the object.
    #[error("a byte order mark (U+FEFF) stands before the object; send the JSON object alone")]
    ByteOrderMark,
    /// Strings in single quotes.
    #[error("a single quote begins a string; JSON takes double quotes only, for keys and for values")]
    SingleQuotes,
    /// Strings in typographic quotes.
    #[error("a typographic quote begins a string; JSON takes only the plain double quote (U+0022)")]
    TypographicQuotes,
    /// A key without quotes.
    #[error("a key has no quotes; put every key in double quotes")]
    UnquotedKey,
    /// A literal that JSON does not have, such as `True`, `None`, `NaN` or `undefined`.
    #[error("JSON has no literal {word}; {}", literal_advice(.word))]
    UnknownLiteral {
        /// The word, shortened.
        word: String,
    },
    /// A comment.
    #[error("JSON has no comments; leave the comment out")]
    Comment,
    /// An escape of half a character, without its other half.
    #[error("the escape {escape} is half a surrogate pair; send both halves, or the character itself")]
    LoneSurrogate {
        /// The escape as written.
        escape: String,
    },
    /// A NUL outside a string.
    #[error("a NUL character (U+0000) stands outside a string; leave it out")]
    Nul,
    /// An escape that JSON does not have.
    #[error("JSON has no escape {escape}; write a backslash as two")]
    InvalidEscape {
        /// The escape as written, a control character in it as its code.
        escape: String,
    },
    /// The text ends inside an escape.
    #[error("the text ends inside an escape; send the whole arguments again")]
    EndsInEscape,
    /// The text ends inside a key, or before the value of one.
    #[error("the text ends before the value of its last key; send the whole arguments again")]
    EndsBeforeValue,
    /// The text ends inside a number, a literal, or a string that is all there is.
    #[error("the text ends inside a number, a literal or a string; send the whole arguments again")]
    EndsInToken,
    /// A key without a colon behind it.
    #[error("a colon is missing after a key")]
    MissingColon,
    /// A value is missing.
    #[error("a value is missing here; leave the comma or the key out, or give the value")]
    MissingValue,
    /// Two values without a comma between them.
    #[error("a comma is missing before this")]
    MissingComma,
    /// Text behind a string: a missing comma, or more likely a quote inside the string.
    #[error("text follows a string: escape each double quote inside a string as \\\", or add the missing comma")]
    UnescapedQuote,
    /// A closer of the wrong kind, with more than closers behind it.
    #[error("this closes a bracket of the other kind; close brackets in the order in which they are open")]
    MismatchedCloser,
    /// A number in a form that JSON does not have.
    #[error("this is no JSON number (no leading zero, plus sign, underscore or bare point)")]
    InvalidNumber,
    /// A number with a fraction or an exponent that is beyond every `f64`.
    #[error("the number {number} is beyond what can be represented; send a smaller one")]
    NumberTooLarge {
        /// The number as written, shortened.
        number: String,
    },
    /// Anything else.
    #[error("JSON has no {found:?} here; leave it out, or put text in double quotes")]
    Unexpected {
        /// The character.
        found: char,
    },
}

fn literal_advice(word: &str) -> &'static str {
    match word {
        "True" | "TRUE" => "write true",
        "False" | "FALSE" => "write false",
        "None" | "nil" | "NULL" | "Null" | "undefined" => "write null, or leave the field out",
        "NaN" | "Infinity" | "-Infinity" | "-NaN" | "inf" | "-inf" | "nan" => {
            "send a finite number, or leave the field out"
        }
        _ => "put text in double quotes",
    }
}

/// At most the first [`SHOWN`] characters.
pub(super) fn shorten(text: &str) -> String {
    match text.char_indices().nth(SHOWN) {
        None => text.to_owned(),
        Some((end, _)) => format!("{}…", &text[..end]),
    }
}

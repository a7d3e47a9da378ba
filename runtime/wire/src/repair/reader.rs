//! The reader: one walk over the text with a stack of its own, which mends where the grammar breaks.

use super::fault::shorten;
use super::token::Role;
use super::{Arguments, Broken, FaultKind, MAX_DEPTH, MAX_REPAIR_BYTES, Rung, SyntaxFault, TurnEnd, broken};
use serde_json::map::Entry;
use serde_json::{Map, Value};
use std::borrow::Cow;
use std::ops::Range;

/// A container that is not complete yet.
enum Frame {
    /// An object, and the key whose value is being read.
    Object(Map<String, Value>, String),
    Array(Vec<Value>),
}

impl Frame {
    fn closer(&self) -> u8 {
        match self {
            Frame::Object(..) => b'}',
            Frame::Array(_) => b']',
        }
    }

    /// Adds a value; `false` where its key is there already, which then still is the frame's key.
    fn add(&mut self, value: Value) -> bool {
        match self {
            Frame::Array(items) => items.push(value),
            Frame::Object(map, key) => match map.entry(std::mem::take(key)) {
                Entry::Vacant(entry) => {
                    entry.insert(value);
                }
                Entry::Occupied(entry) => {
                    *key = entry.key().clone();
                    return false;
                }
            },
        }
        true
    }

    fn into_value(self) -> Value {
        match self {
            Frame::Object(map, _) => Value::Object(map),
            Frame::Array(items) => Value::Array(items),
        }
    }
}

/// What comes next inside a container.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Next {
    Value,
    Closed,
}

/// A walk over one text.
pub(super) struct Reader<'a> {
    pub(super) text: &'a str,
    pub(super) bytes: &'a [u8],
    /// The current byte.
    pub(super) at: usize,
    /// How many control characters were dropped.
    pub(super) dropped: usize,
    pub(super) closed_string: bool,
    turn: TurnEnd,
    /// A code fence was taken off, so that the text does not end where it was sent to end.
    pub(super) fenced: bool,
    /// Which rungs were taken, by their place in the ladder.
    taken: [bool; Rung::ALL.len()],
    /// The mended text up to `copied`.
    mended: String,
    copied: usize,
    /// How many objects and arrays are open.
    opened: [usize; 2],
    /// Nothing but closers is left.
    tail: bool,
}

/// The first byte from `at` on that is not JSON's white space.
pub(super) fn skip_blank(bytes: &[u8], mut at: usize) -> usize {
    while let Some(b' ' | b'\n' | b'\r' | b'\t') = bytes.get(at) {
        at += 1;
    }
    at
}

impl<'a> Reader<'a> {
    pub(super) fn new(text: &'a str, turn: TurnEnd) -> Self {
        Reader {
            text,
            bytes: text.as_bytes(),
            at: 0,
            dropped: 0,
            closed_string: false,
            turn,
            fenced: false,
            taken: [false; Rung::ALL.len()],
            mended: String::new(),
            copied: 0,
            opened: [0; 2],
            tail: false,
        }
    }

    /// Reads the whole text as one object.
    pub(super) fn object(mut self) -> Result<Arguments<'a>, Broken> {
        self.skip_blank();
        let value = self.container()?;
        self.finish()?;
        let rungs = Rung::ALL.into_iter().filter(|&rung| self.taken[rung as usize]).collect();
        let text = if self.mended.is_empty() && self.copied == 0 {
            Cow::Borrowed(self.text)
        } else {
            self.mended.push_str(&self.text[self.copied..]);
            Cow::Owned(self.mended)
        };
        Ok(Arguments { value, text, rungs, dropped: self.dropped, closed_string: self.closed_string })
    }

    /// Reads the whole text as one string; answers where it begins and what it holds.
    pub(super) fn whole_string(&mut self) -> Result<(usize, String), Broken> {
        self.skip_blank();
        let start = self.at;
        let string = self.string(Role::Whole)?;
        self.skip_blank();
        match self.byte() {
            None => Ok((start, string)),
            Some(_) => broken(SyntaxFault::LeadingText, start),
        }
    }

    /// Narrows the text to what stands inside a code fence around all of it; answers how far inside that begins.
    pub(super) fn peel_fence(&mut self) -> Result<usize, Broken> {
        let at = skip_blank(self.bytes, 0);
        let inside = self.text[at..].trim_end().strip_prefix("```").and_then(|inside| inside.strip_suffix("```"));
        let is_tag = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_' || c == '+';
        let is_blank = |c: char| matches!(c, ' ' | '\n' | '\r' | '\t');
        let Some(inside) = inside.map(|inside| inside.trim_start_matches(is_tag).trim_matches(is_blank)) else {
            return broken(SyntaxFault::Fence, at);
        };
        if !inside.starts_with('{') {
            return broken(SyntaxFault::Fence, at);
        }
        self.mend(Rung::CodeFence, at)?;
        self.fenced = true;
        let skipped = inside.as_ptr() as usize - self.text.as_ptr() as usize;
        self.text = inside;
        self.bytes = inside.as_bytes();
        Ok(skipped)
    }

    /// Says why a text that begins with neither a brace nor a quote is no object.
    pub(super) fn not_an_object(mut self) -> Broken {
        self.skip_blank();
        let at = self.at;
        let found = match self.byte() {
            // Whatever follows, it is no object: there is no need to walk a million brackets.
            Some(b'[') => Some("an array"),
            _ => self.scalar().ok().map(|value| match value {
                Value::Null => "null",
                Value::Bool(_) => "a boolean",
                _ => "a number",
            }),
        };
        let whole = self.bytes.get(at) == Some(&b'[') || skip_blank(self.bytes, self.at) == self.bytes.len();
        let kind = match (found, self.text[at..].chars().next()) {
            (Some(found), _) if whole => FaultKind::NotAnObject { found },
            (_, Some('\u{feff}')) => SyntaxFault::ByteOrderMark.into(),
            (_, Some('\0')) => SyntaxFault::Nul.into(),
            (_, Some('\'')) => SyntaxFault::SingleQuotes.into(),
            _ => SyntaxFault::LeadingText.into(),
        };
        Box::new((kind, at))
    }

    pub(super) fn byte(&self) -> Option<u8> {
        self.bytes.get(self.at).copied()
    }

    fn skip_blank(&mut self) {
        self.at = skip_blank(self.bytes, self.at);
    }

    /// Takes a rung, where the ladder is open.
    pub(super) fn mend(&mut self, rung: Rung, at: usize) -> Result<(), Broken> {
        if self.turn == TurnEnd::Cut {
            return broken(FaultKind::Cut { why: rung.found().to_owned() }, at);
        }
        if self.text.len() > MAX_REPAIR_BYTES {
            let (bytes, limit) = (self.text.len(), MAX_REPAIR_BYTES);
            return broken(FaultKind::TooLargeToRepair { why: rung.found(), bytes, limit }, at);
        }
        self.taken[rung as usize] = true;
        Ok(())
    }

    /// Replaces a range of the text, which lies behind all that were replaced before.
    pub(super) fn patch(&mut self, range: Range<usize>, with: &str) {
        if self.mended.capacity() == 0 {
            self.mended.reserve(self.text.len() + MAX_DEPTH + 1);
        }
        self.mended.push_str(&self.text[self.copied..range.start]);
        self.mended.push_str(with);
        self.copied = range.end;
    }

    /// Reads the object at the current byte, with all that it holds.
    fn container(&mut self) -> Result<Value, Broken> {
        let mut frame = self.open(b'{', 0)?;
        let mut parents: Vec<Frame> = Vec::new();
        if self.first(&mut frame)? == Next::Closed {
            return Ok(frame.into_value());
        }
        loop {
            let mut value = match self.byte() {
                Some(b'"') => Value::String(self.string(Role::Value)?),
                Some(opener @ (b'{' | b'[')) => {
                    let mut inner = self.open(opener, parents.len() + 1)?;
                    if self.first(&mut inner)? == Next::Value {
                        parents.push(std::mem::replace(&mut frame, inner));
                        continue;
                    }
                    inner.into_value()
                }
                _ => self.scalar()?,
            };
            loop {
                if !frame.add(value) {
                    return self.duplicate(&parents, &frame);
                }
                if self.next(&mut frame)? == Next::Value {
                    break;
                }
                match parents.pop() {
                    None => return Ok(frame.into_value()),
                    Some(parent) => value = std::mem::replace(&mut frame, parent).into_value(),
                }
            }
        }
    }

    fn open(&mut self, opener: u8, depth: usize) -> Result<Frame, Broken> {
        if depth >= MAX_DEPTH {
            return broken(FaultKind::TooDeep { limit: MAX_DEPTH }, self.at);
        }
        self.at += 1;
        self.opened[usize::from(opener == b'[')] += 1;
        Ok(if opener == b'{' { Frame::Object(Map::new(), String::new()) } else { Frame::Array(Vec::new()) })
    }

    /// Goes to the first value of a container that has just been opened.
    fn first(&mut self, frame: &mut Frame) -> Result<Next, Broken> {
        self.skip_blank();
        if self.closes(frame.closer())? { Ok(Next::Closed) } else { self.item(frame) }
    }

    /// Goes from one value of a container to the next.
    fn next(&mut self, frame: &mut Frame) -> Result<Next, Broken> {
        self.skip_blank();
        if self.byte() == Some(b',') {
            let comma = self.at;
            self.at += 1;
            self.skip_blank();
            if !matches!(self.byte(), None | Some(b'}' | b']')) {
                return self.item(frame);
            }
            self.mend(Rung::TrailingCommas, comma)?;
            self.patch(comma..comma + 1, "");
        }
        if self.closes(frame.closer())? {
            return Ok(Next::Closed);
        }
        let after_string = self.text[..self.at].trim_end().ends_with('"');
        match self.byte() {
            Some(b'/' | b'#') => broken(SyntaxFault::Comment, self.at),
            Some(0) => broken(SyntaxFault::Nul, self.at),
            Some(_) if after_string => broken(SyntaxFault::UnescapedQuote, self.at),
            _ => broken(SyntaxFault::MissingComma, self.at),
        }
    }

    /// Goes to the value that begins here; in an object its key comes first.
    fn item(&mut self, frame: &mut Frame) -> Result<Next, Broken> {
        let Frame::Object(_, key) = frame else { return Ok(Next::Value) };
        if self.byte() != Some(b'"') {
            return Err(self.no_key());
        }
        *key = self.string(Role::Key)?;
        self.skip_blank();
        match self.byte() {
            Some(b':') => self.at += 1,
            None => return broken(SyntaxFault::EndsBeforeValue, self.at),
            Some(_) => return broken(SyntaxFault::MissingColon, self.at),
        }
        self.skip_blank();
        match self.byte() {
            None => broken(SyntaxFault::EndsBeforeValue, self.at),
            Some(_) => Ok(Next::Value),
        }
    }

    /// Whether the container that `closer` closes ends here: by its closer, by the end of the text, or by a closer of
    /// the other kind with nothing but closers behind it.
    fn closes(&mut self, closer: u8) -> Result<bool, Broken> {
        let array = usize::from(closer == b']');
        loop {
            match self.byte() {
                Some(byte) if byte == closer => {
                    self.at += 1;
                    break;
                }
                Some(b'}' | b']') => {
                    self.tail = self.tail || self.bytes[self.at..].iter().all(|byte| b"}] \n\r\t".contains(byte));
                    if !self.tail {
                        return broken(SyntaxFault::MismatchedCloser, self.at);
                    }
                    if self.opened[1 - array] > 0 {
                        self.close(closer)?;
                        break;
                    }
                    self.mend(Rung::ExtraClosers, self.at)?;
                    self.patch(self.at..self.at + 1, "");
                    self.at += 1;
                    self.skip_blank();
                }
                None => {
                    self.close(closer)?;
                    break;
                }
                Some(_) => return Ok(false),
            }
        }
        self.opened[array] -= 1;
        Ok(true)
    }

    /// Writes a closer that is missing here.
    fn close(&mut self, closer: u8) -> Result<(), Broken> {
        self.mend(Rung::UnclosedBrackets, self.at)?;
        self.patch(self.at..self.at, if closer == b'}' { "}" } else { "]" });
        Ok(())
    }

    /// Reads a number or a literal.
    fn scalar(&mut self) -> Result<Value, Broken> {
        let rest = &self.bytes[self.at..];
        let (value, len) = match rest.first() {
            Some(b'-' | b'0'..=b'9') => return self.number(),
            Some(b't') if rest.starts_with(b"true") => (Value::Bool(true), 4),
            Some(b'f') if rest.starts_with(b"false") => (Value::Bool(false), 5),
            Some(b'n') if rest.starts_with(b"null") => (Value::Null, 4),
            _ => return Err(self.no_value()),
        };
        if rest.get(len).is_some_and(|byte| byte.is_ascii_alphanumeric() || *byte == b'_') {
            return Err(self.no_value());
        }
        self.at += len;
        Ok(value)
    }

    /// The word at the current byte, shortened.
    pub(super) fn word(&self) -> String {
        let rest = &self.text[self.at..];
        let end = rest.find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(rest.len());
        shorten(&rest[..end])
    }

    fn no_value(&self) -> Broken {
        let rest = &self.text[self.at..];
        let fault = match rest.chars().next() {
            None => SyntaxFault::EndsInToken,
            Some('\'') => SyntaxFault::SingleQuotes,
            Some('“' | '”' | '„' | '‘' | '’') => SyntaxFault::TypographicQuotes,
            Some('/' | '#') => SyntaxFault::Comment,
            Some('\0') => SyntaxFault::Nul,
            Some(',' | ':' | '}' | ']') => SyntaxFault::MissingValue,
            Some('.' | '+') => SyntaxFault::InvalidNumber,
            Some(c) if c.is_alphabetic() || c == '_' => {
                let cut = ["true", "false", "null"].iter().any(|literal| literal.starts_with(rest));
                if cut { SyntaxFault::EndsInToken } else { SyntaxFault::UnknownLiteral { word: self.word() } }
            }
            Some(found) => SyntaxFault::Unexpected { found },
        };
        Box::new((fault.into(), self.at))
    }

    fn no_key(&self) -> Broken {
        let unquoted = self.text[self.at..].starts_with(|c: char| c.is_alphanumeric() || "_$-".contains(c));
        let fault = if unquoted { SyntaxFault::UnquotedKey } else { return self.no_value() };
        Box::new((fault.into(), self.at))
    }

    /// The key of the innermost frame is there already.
    fn duplicate<T>(&self, parents: &[Frame], frame: &Frame) -> Result<T, Broken> {
        let mut pointer = String::new();
        let mut last = "";
        for frame in parents.iter().chain([frame]) {
            pointer.push('/');
            match frame {
                Frame::Object(_, key) => {
                    pointer.push_str(&key.replace('~', "~0").replace('/', "~1"));
                    last = key;
                }
                Frame::Array(items) => pointer.push_str(&items.len().to_string()),
            }
        }
        let (key, pointer) = (shorten(last), shorten(&pointer));
        broken(FaultKind::DuplicateKey { key, pointer }, self.at)
    }

    /// Nothing may follow the object but white space, and what the ladder removes: one comma, and closers.
    fn finish(&mut self) -> Result<(), Broken> {
        let mut comma = false;
        loop {
            self.skip_blank();
            let rung = match self.byte() {
                None => return Ok(()),
                Some(b'}' | b']') => Rung::ExtraClosers,
                Some(b',') if !comma => {
                    comma = true;
                    Rung::TrailingCommas
                }
                Some(b'{' | b'[' | b'"') => return broken(SyntaxFault::SecondValue, self.at),
                Some(0) => return broken(SyntaxFault::Nul, self.at),
                Some(_) => return broken(SyntaxFault::TrailingText, self.at),
            };
            self.mend(rung, self.at)?;
            self.patch(self.at..self.at + 1, "");
            self.at += 1;
        }
    }
}

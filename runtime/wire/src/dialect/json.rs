//! JSON below the level of serde: string tokens that may be torn inside a surrogate pair, and string output.
//!
//! A provider that counts UTF-16 units may send the two halves of one character in two events, each a valid JSON
//! string token by itself. They are put together again here; a half that stays alone becomes U+FFFD.

use memchr::memchr;
use serde::de::value::MapAccessDeserializer;
use serde::de::{Deserialize, Deserializer, MapAccess, Visitor};
use serde_json::value::RawValue;
use std::borrow::Cow;
use std::fmt;
use std::marker::PhantomData;

/// The text of one JSON string token, with half characters at its ends set apart.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Piece<'a> {
    /// A low surrogate before the text.
    lead: Option<u16>,
    text: Cow<'a, str>,
    /// A high surrogate after the text.
    tail: Option<u16>,
}

impl<'a> Piece<'a> {
    /// Text that is taken as it stands.
    pub(super) fn plain(text: &'a str) -> Self {
        Self { lead: None, text: Cow::Borrowed(text), tail: None }
    }

    /// The text of a JSON value that is a string; `None` for any other value.
    pub(super) fn of(value: &'a RawValue) -> Option<Self> {
        let token = value.get().strip_prefix('"')?.strip_suffix('"')?;
        if memchr(b'\\', token.as_bytes()).is_none() {
            return Some(Self::plain(token));
        }
        Some(unescape(token))
    }

    /// The text of a JSON value, and whether it is no string: then its text is the value as it stands.
    pub(super) fn of_any(value: &'a RawValue) -> (Self, bool) {
        match Self::of(value) {
            Some(text) => (text, false),
            None => (Self::plain(value.get()), true),
        }
    }

    /// Whether there is nothing in it, not even half a character.
    pub(super) fn is_empty(&self) -> bool {
        self.text.is_empty() && self.lead.is_none() && self.tail.is_none()
    }

    /// The text without half characters.
    pub(super) fn text(&self) -> &str {
        &self.text
    }

    /// Whether it is just this text.
    pub(super) fn is_exactly(&self, text: &str) -> bool {
        self.lead.is_none() && self.tail.is_none() && self.text == text
    }

    /// The text with half characters replaced.
    pub(super) fn into_text(self) -> Cow<'a, str> {
        if self.lead.is_none() && self.tail.is_none() {
            return self.text;
        }
        let mut joint = Joint::default();
        let mut out = String::new();
        joint.push(&mut out, &self);
        joint.close(&mut out);
        Cow::Owned(out)
    }
}

/// The open end of a text that pieces are appended to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Joint {
    high: Option<u16>,
}

impl Joint {
    /// Appends `piece` to `out`.
    pub(super) fn push(&mut self, out: &mut String, piece: &Piece<'_>) {
        if piece.is_empty() {
            return;
        }
        match (self.high.take(), piece.lead) {
            (Some(high), Some(low)) => out.push(pair(high, low)),
            (None, None) => {}
            _ => out.push(char::REPLACEMENT_CHARACTER),
        }
        out.push_str(&piece.text);
        self.high = piece.tail;
    }

    /// The most bytes that appending `piece` and then closing may add. A half counts as what replaces it.
    pub(super) fn max_growth(&self, piece: &Piece<'_>) -> usize {
        let halves = [self.high, piece.lead, piece.tail].iter().flatten().count();
        if piece.is_empty() { 0 } else { piece.text.len() + halves * char::REPLACEMENT_CHARACTER.len_utf8() }
    }

    /// Ends the text.
    pub(super) fn close(&mut self, out: &mut String) {
        if self.high.take().is_some() {
            out.push(char::REPLACEMENT_CHARACTER);
        }
    }
}

fn pair(high: u16, low: u16) -> char {
    char::decode_utf16([high, low]).next().and_then(Result::ok).unwrap_or(char::REPLACEMENT_CHARACTER)
}

/// Unescapes the inside of a string token. Its syntax has been checked by the parser that cut it out.
fn unescape(token: &str) -> Piece<'static> {
    let mut out = String::with_capacity(token.len());
    let mut lead = None;
    let mut tail = None;
    let mut rest = token;
    let mut at_start = true;
    while let Some(at) = memchr(b'\\', rest.as_bytes()) {
        out.push_str(&rest[..at]);
        at_start &= at == 0;
        let escape = &rest[at + 1..];
        let (unit, after) = match escape.as_bytes().first() {
            Some(b'u') => (hex_unit(&escape[1..]), escape.get(5..).unwrap_or("")),
            Some(&byte) => (u16::from(simple_escape(byte)), &escape[1..]),
            None => break,
        };
        rest = after;
        match unit {
            0xD800..=0xDBFF => match rest.strip_prefix("\\u").map(hex_unit) {
                Some(low @ 0xDC00..=0xDFFF) => {
                    out.push(pair(unit, low));
                    rest = rest.get(6..).unwrap_or("");
                }
                _ if rest.is_empty() => tail = Some(unit),
                _ => out.push(char::REPLACEMENT_CHARACTER),
            },
            0xDC00..=0xDFFF if at_start => lead = Some(unit),
            _ => out.push(char::from_u32(u32::from(unit)).unwrap_or(char::REPLACEMENT_CHARACTER)),
        }
        at_start = false;
    }
    out.push_str(rest);
    Piece { lead, text: Cow::Owned(out), tail }
}

fn hex_unit(digits: &str) -> u16 {
    digits.get(..4).and_then(|digits| u16::from_str_radix(digits, 16).ok()).unwrap_or(0xFFFD)
}

fn simple_escape(byte: u8) -> u8 {
    match byte {
        b'n' => b'\n',
        b't' => b'\t',
        b'r' => b'\r',
        b'b' => 0x08,
        b'f' => 0x0C,
        other => other,
    }
}

/// Appends `text` as a JSON string: quotes, backslashes and control characters escaped in the shortest form, all else
/// as it stands, so that equal text always gives equal bytes.
pub(super) fn write_string(out: &mut Vec<u8>, text: &str) {
    out.push(b'"');
    let bytes = text.as_bytes();
    let mut from = 0;
    for (at, &byte) in bytes.iter().enumerate() {
        let short = match byte {
            b'"' => b'"',
            b'\\' => b'\\',
            b'\n' => b'n',
            b'\r' => b'r',
            b'\t' => b't',
            0x08 => b'b',
            0x0C => b'f',
            0x00..=0x1F => b'u',
            _ => continue,
        };
        out.extend_from_slice(&bytes[from..at]);
        out.extend_from_slice(&[b'\\', short]);
        if short == b'u' {
            let digit = |nibble: u8| if nibble < 10 { b'0' + nibble } else { b'a' + nibble - 10 };
            out.extend_from_slice(&[b'0', b'0', digit(byte >> 4), digit(byte & 15)]);
        }
        from = at + 1;
    }
    out.extend_from_slice(&bytes[from..]);
    out.push(b'"');
}

/// A `T` that must be written as a JSON object: serde would take an array for a struct as well.
#[derive(Clone, Debug, Default)]
pub(super) struct Object<T>(pub(super) T);

impl<'de, T: Deserialize<'de>> Deserialize<'de> for Object<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct ObjectVisitor<T>(PhantomData<T>);
        impl<'de, T: Deserialize<'de>> Visitor<'de> for ObjectVisitor<T> {
            type Value = Object<T>;
            fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
                formatter.write_str("an object")
            }
            fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Self::Value, A::Error> {
                T::deserialize(MapAccessDeserializer::new(map)).map(Object)
            }
        }
        deserializer.deserialize_map(ObjectVisitor(PhantomData))
    }
}

/// An id or a name: a string, or a whole number, with which some servers number their calls. Missing is empty; `None` is
/// any other value.
pub(super) fn identity(value: Option<&RawValue>) -> Option<Cow<'_, str>> {
    match value {
        None => Some(Cow::Borrowed("")),
        Some(value) if whole_number(value).is_some() => Some(Cow::Borrowed(value.get())),
        Some(value) => Piece::of(value).map(Piece::into_text),
    }
}

/// Whether a text is one JSON object that any reader takes: a raw value alone would let through lone surrogates, depth
/// and numbers at which the reader of the whole request gives up.
pub(super) fn is_object(text: &str) -> bool {
    serde_json::from_str::<serde_json::Map<String, serde_json::Value>>(text).is_ok()
}

/// A JSON value that is a whole number of at least 0; `None` for any other value.
pub(super) fn whole_number(value: &RawValue) -> Option<u64> {
    value.get().parse().ok()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use proptest::prelude::*;

    /// Joins the string tokens, given without their quotes.
    #[track_caller]
    fn check(tokens: &[&str], expect: &str) {
        let mut joint = Joint::default();
        let mut out = String::new();
        for token in tokens {
            let value = RawValue::from_string(format!("\"{token}\"")).unwrap();
            joint.push(&mut out, &Piece::of(&value).unwrap());
        }
        joint.close(&mut out);
        assert_eq!(out, expect);
    }

    #[test]
    fn escapes() {
        check(&[r#"a\"\\\/\b\f\n\r\té"#], "a\"\\/\u{8}\u{c}\n\r\té");
        check(&["\\u00e9\\u0000\\u2028"], "é\0\u{2028}");
    }

    #[test]
    fn a_pair_in_one_token() {
        check(&["x\\ud83e\\udd80y"], "x🦀y");
    }

    #[test]
    fn a_pair_torn_between_tokens() {
        check(&["x\\ud83e", "\\udd80y"], "x🦀y");
        check(&["\\ud83e", "", "\\udd80"], "🦀");
    }

    #[test]
    fn a_half_alone_is_replaced() {
        check(&["x\\ud83e"], "x\u{fffd}");
        check(&["x\\ud83e", "y"], "x\u{fffd}y");
        check(&["\\udd80x"], "\u{fffd}x");
        check(&["x\\udd80"], "x\u{fffd}");
        check(&["\\ud83ex\\ud83e", "\\ud83e", "\\udd80"], "\u{fffd}x\u{fffd}🦀");
        check(&["\\udd80\\udd80"], "\u{fffd}\u{fffd}");
        check(&["\\ud83e\\u0041"], "\u{fffd}A");
    }

    #[test]
    fn only_strings_are_text() {
        for value in ["1", "null", "{}", "[\"a\"]", "true"] {
            assert_eq!(Piece::of(&RawValue::from_string(value.to_owned()).unwrap()), None);
        }
    }

    #[test]
    fn strings_are_written_in_one_way() {
        let mut out = Vec::new();
        write_string(&mut out, "a\"\\\n\r\t\u{8}\u{c}\u{0}\u{1f}\u{7f}é🦀/");
        assert_eq!(String::from_utf8(out).unwrap(), "\"a\\\"\\\\\\n\\r\\t\\b\\f\\u0000\\u001f\u{7f}é🦀/\"");
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 128, ..ProptestConfig::default() })]

        #[test]
        fn written_strings_read_back(text in any::<String>()) {
            let mut out = Vec::new();
            write_string(&mut out, &text);
            let written = String::from_utf8(out).unwrap();
            prop_assert_eq!(&serde_json::from_str::<String>(&written).unwrap(), &text);
            let value = RawValue::from_string(written).unwrap();
            prop_assert_eq!(Piece::of(&value).unwrap().into_text(), text);
        }

        /// Cutting the UTF-16 form anywhere and sending every unit escaped gives the text again.
        #[test]
        fn any_cut_of_utf16_joins(text in any::<String>(), cut in any::<prop::sample::Index>()) {
            let units: Vec<String> = text.encode_utf16().map(|unit| format!("\\u{unit:04x}")).collect();
            let (head, tail) = units.split_at(cut.index(units.len() + 1));
            check(&[&head.concat(), &tail.concat()], &text);
        }
    }
}

//! The tokens of JSON: strings and numbers, and where they break.

use super::fault::shorten;
use super::reader::Reader;
use super::{Broken, FaultKind, Rung, SyntaxFault, broken};
use serde_json::{Number, Value};

/// What a string is, which decides whether it may be closed at the end of the text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Role {
    /// A key: without its value it is worth nothing.
    Key,
    /// A value.
    Value,
    /// The whole text, which must be valid.
    Whole,
}

const ONES: u64 = u64::from_ne_bytes([1; 8]);
const HIGH: u64 = ONES << 7;

/// Where the plain part of a string ends: at a quote, a backslash or a control character, or at the end. Eight bytes at
/// a time, because most bytes of most arguments lie inside strings.
fn plain_end(bytes: &[u8], from: usize) -> usize {
    let mut at = from;
    while let Some(&chunk) = bytes[at..].first_chunk::<8>() {
        let word = u64::from_le_bytes(chunk);
        let quote = word ^ (ONES * u64::from(b'"'));
        let slash = word ^ (ONES * u64::from(b'\\'));
        // A borrow can only spoil bytes above the first hit, and only the first is used.
        let hit = word.wrapping_sub(ONES * 0x20) & !word
            | quote.wrapping_sub(ONES) & !quote
            | slash.wrapping_sub(ONES) & !slash;
        if hit & HIGH != 0 {
            return at + ((hit & HIGH).trailing_zeros() / 8) as usize;
        }
        at += 8;
    }
    while at < bytes.len() && bytes[at] >= 0x20 && bytes[at] != b'"' && bytes[at] != b'\\' {
        at += 1;
    }
    at
}

impl Reader<'_> {
    /// Reads the string that begins at the current byte.
    pub(super) fn string(&mut self, role: Role) -> Result<String, Broken> {
        let start = self.at + 1;
        let end = plain_end(self.bytes, start);
        if self.bytes.get(end) == Some(&b'"') {
            self.at = end + 1;
            return Ok(self.text[start..end].to_owned());
        }
        self.string_with_escapes(role, start, end)
    }

    fn string_with_escapes(&mut self, role: Role, start: usize, end: usize) -> Result<String, Broken> {
        let mut out = String::with_capacity((end - start) * 2 + 16);
        self.at = start;
        let mut end = end;
        loop {
            out.push_str(&self.text[self.at..end]);
            self.at = end;
            match self.byte() {
                Some(b'"') => {
                    self.at += 1;
                    return Ok(out);
                }
                Some(b'\\') => self.escape(role, &mut out)?,
                Some(control) => {
                    self.mend_string(role, end)?;
                    self.control(control, &mut out, "");
                }
                None => {
                    self.close_string(role)?;
                    return Ok(out);
                }
            }
            end = plain_end(self.bytes, self.at);
        }
    }

    /// Mends a raw control character: escapes it behind `prefix`, which is what its escape needs in front, or drops it.
    fn control(&mut self, control: u8, out: &mut String, prefix: &str) {
        let (escaped, character) = match control {
            b'\n' => ("\\n", '\n'),
            b'\t' => ("\\t", '\t'),
            b'\r' => ("\\r", '\r'),
            _ => {
                self.dropped += 1;
                self.patch(self.at..self.at + 1, "");
                self.at += 1;
                return;
            }
        };
        self.patch(self.at..self.at, prefix);
        self.patch(self.at..self.at + 1, escaped);
        out.push(character);
        self.at += 1;
    }

    fn mend_string(&mut self, role: Role, at: usize) -> Result<(), Broken> {
        if role == Role::Whole {
            return broken(SyntaxFault::Unexpected { found: char::from(self.bytes[at]) }, at);
        }
        self.mend(Rung::ControlCharacters, at)
    }

    fn close_string(&mut self, role: Role) -> Result<(), Broken> {
        match role {
            Role::Key => broken(SyntaxFault::EndsBeforeValue, self.at),
            Role::Whole => broken(SyntaxFault::EndsInToken, self.at),
            // The fence that was taken off may have been the end of the string.
            Role::Value if self.fenced => broken(SyntaxFault::EndsInToken, self.at),
            Role::Value => {
                self.mend(Rung::UnclosedBrackets, self.at)?;
                self.closed_string = true;
                self.patch(self.at..self.at, "\"");
                Ok(())
            }
        }
    }

    /// Reads the escape at the current byte, which is a backslash.
    fn escape(&mut self, role: Role, out: &mut String) -> Result<(), Broken> {
        let character = match self.bytes.get(self.at + 1) {
            None => return broken(SyntaxFault::EndsInEscape, self.at),
            Some(b'"') => '"',
            Some(b'\\') => '\\',
            Some(b'/') => '/',
            Some(b'b') => '\u{8}',
            Some(b'f') => '\u{c}',
            Some(b'n') => '\n',
            Some(b'r') => '\r',
            Some(b't') => '\t',
            Some(b'u') => return self.unicode_escape(out),
            // A backslash before a raw line break, as in a shell script: both were written and both are kept. To escape
            // the break alone would turn the pair into a backslash and a letter.
            Some(&control @ (b'\n' | b'\r' | b'\t')) => {
                self.mend_string(role, self.at)?;
                out.push('\\');
                self.at += 1;
                self.control(control, out, "\\");
                return Ok(());
            }
            // Other control characters are dropped, which would make the backslash escape whatever follows.
            Some(_) => return self.no_escape(2),
        };
        out.push(character);
        self.at += 2;
        Ok(())
    }

    fn unicode_escape(&mut self, out: &mut String) -> Result<(), Broken> {
        let high = self.hex(self.at)?;
        let character = match high {
            0xD800..=0xDBFF if self.bytes[self.at + 6..].starts_with(b"\\u") => match self.hex(self.at + 6)? {
                low @ 0xDC00..=0xDFFF => {
                    self.at += 6;
                    char::from_u32(0x10000 + ((high - 0xD800) << 10 | (low - 0xDC00)))
                }
                _ => None,
            },
            unit => char::from_u32(unit),
        };
        let Some(character) = character else {
            return broken(SyntaxFault::LoneSurrogate { escape: self.text[self.at..self.at + 6].to_owned() }, self.at);
        };
        out.push(character);
        self.at += 6;
        Ok(())
    }

    /// The four hex digits of the escape at `at`.
    fn hex(&self, at: usize) -> Result<u32, Broken> {
        let mut unit = 0;
        for digit in at + 2..at + 6 {
            let value = match self.bytes.get(digit) {
                None => return broken(SyntaxFault::EndsInEscape, at),
                Some(byte) => char::from(*byte).to_digit(16),
            };
            let Some(value) = value else { return self.no_escape(digit + 1 - self.at) };
            unit = unit << 4 | value;
        }
        Ok(unit)
    }

    /// The `len` bytes at the current byte, and what is left of a character behind them, are no escape.
    fn no_escape<T>(&self, len: usize) -> Result<T, Broken> {
        let end = (self.at + len..self.text.len()).find(|&end| self.text.is_char_boundary(end));
        let escape = &self.text[self.at..end.unwrap_or(self.text.len())];
        let mut shown = String::new();
        for character in escape.chars() {
            match character.is_control() {
                true => shown.extend(character.escape_unicode()),
                false => shown.push(character),
            }
        }
        broken(SyntaxFault::InvalidEscape { escape: shown }, self.at)
    }

    /// Reads the number at the current byte, which is a digit or a minus sign.
    pub(super) fn number(&mut self) -> Result<Value, Broken> {
        let start = self.at;
        let negative = self.bytes[start] == b'-';
        self.at += usize::from(negative);
        let digits = self.at;
        let mut magnitude = Some(0_u64);
        while let Some(digit @ b'0'..=b'9') = self.byte() {
            let digit = u64::from(digit - b'0');
            magnitude = magnitude.and_then(|magnitude| magnitude.checked_mul(10)?.checked_add(digit));
            self.at += 1;
        }
        if self.at == digits {
            return self.no_number(start);
        }
        if self.bytes[digits] == b'0' && self.at > digits + 1 {
            return broken(SyntaxFault::InvalidNumber, start);
        }
        if matches!(self.byte(), Some(b'.' | b'e' | b'E')) {
            return self.float(start);
        }
        self.end_of_number(start)?;
        let number = match magnitude {
            // As every reader that keeps integers apart does: minus zero is no integer.
            Some(0) if negative => Number::from_f64(-0.0),
            Some(magnitude) if negative => 0_i64.checked_sub_unsigned(magnitude).map(Number::from),
            Some(magnitude) => Some(Number::from(magnitude)),
            None => None,
        };
        match number {
            Some(number) => Ok(Value::Number(number)),
            None => broken(FaultKind::IntegerOutOfRange { number: shorten(&self.text[start..self.at]) }, start),
        }
    }

    /// Reads the rest of a number from its point or its exponent on.
    fn float(&mut self, start: usize) -> Result<Value, Broken> {
        if self.byte() == Some(b'.') {
            self.at += 1;
            self.digits(start)?;
        }
        if matches!(self.byte(), Some(b'e' | b'E')) {
            self.at += 1;
            if matches!(self.byte(), Some(b'+' | b'-')) {
                self.at += 1;
            }
            self.digits(start)?;
        }
        self.end_of_number(start)?;
        let text = &self.text[start..self.at];
        match text.parse().ok().and_then(Number::from_f64) {
            Some(number) => Ok(Value::Number(number)),
            None => broken(SyntaxFault::NumberTooLarge { number: shorten(text) }, start),
        }
    }

    fn digits(&mut self, start: usize) -> Result<(), Broken> {
        let from = self.at;
        while matches!(self.byte(), Some(b'0'..=b'9')) {
            self.at += 1;
        }
        if self.at == from { self.no_number(start) } else { Ok(()) }
    }

    fn no_number<T>(&mut self, start: usize) -> Result<T, Broken> {
        let sign = self.at == start + 1 && self.bytes[start] == b'-';
        match self.byte() {
            None => broken(SyntaxFault::EndsInToken, start),
            Some(byte) if sign && byte.is_ascii_alphabetic() => {
                broken(SyntaxFault::UnknownLiteral { word: format!("-{}", self.word()) }, start)
            }
            Some(_) => broken(SyntaxFault::InvalidNumber, start),
        }
    }

    /// A number ends where something begins that cannot be part of one.
    fn end_of_number(&self, start: usize) -> Result<(), Broken> {
        match self.byte() {
            Some(byte) if byte.is_ascii_alphanumeric() || b"_.+-".contains(&byte) => {
                broken(SyntaxFault::InvalidNumber, start)
            }
            _ => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::plain_end;

    #[test]
    fn the_plain_part_ends_at_the_first_special_byte() {
        let naive =
            |bytes: &[u8]| bytes.iter().position(|&b| b < 0x20 || b == b'"' || b == b'\\').unwrap_or(bytes.len());
        for len in 0..20 {
            for place in 0..len {
                for special in 0..=255 {
                    let mut bytes = vec![b'!'; len];
                    bytes[place] = special;
                    if let Some(next) = bytes.get_mut(place + 1) {
                        *next = special ^ 1;
                    }
                    assert_eq!(plain_end(&bytes, 0), naive(&bytes), "{bytes:?}");
                }
            }
        }
    }
}

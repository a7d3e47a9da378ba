//! Bytes as text and back: for scripts and tapes that hold what TOML cannot, and for people who look at a stream.
//!
//! The escapes are `\n`, `\r`, `\t`, `\0`, `\\` and `\xHH`; everything else stands for its UTF-8 bytes.

use std::fmt::Write as _;

/// The bytes that an escaped text stands for.
///
/// # Errors
///
/// With what is wrong: an escape that is none, or a backslash at the end.
pub fn unescape(text: &str) -> Result<Vec<u8>, String> {
    let (mut out, mut rest) = (Vec::with_capacity(text.len()), text);
    while let Some(at) = rest.find('\\') {
        out.extend_from_slice(&rest.as_bytes()[..at]);
        let mut after = rest[at + 1..].chars();
        match after.next() {
            Some('n') => out.push(b'\n'),
            Some('r') => out.push(b'\r'),
            Some('t') => out.push(b'\t'),
            Some('0') => out.push(0),
            Some('\\') => out.push(b'\\'),
            Some('x') => {
                let digits: String = after.by_ref().take(2).collect();
                let byte =
                    u8::from_str_radix(&digits, 16).ok().filter(|_| digits.len() == 2 && !digits.starts_with('+'));
                out.push(byte.ok_or_else(|| format!("`\\x{digits}` is no byte"))?);
            }
            Some(other) => return Err(format!("`\\{other}` is no escape")),
            None => return Err("a single `\\` ends it".to_owned()),
        }
        rest = after.as_str();
    }
    out.extend_from_slice(rest.as_bytes());
    Ok(out)
}

/// The escaped text of some bytes: printable, on one line, and the same bytes again when it is read. What no terminal
/// shows as it is (control characters, halves of a character, marks that turn the direction of text) is escaped.
pub fn escape(bytes: &[u8]) -> String {
    let mut out = String::with_capacity(bytes.len());
    for chunk in bytes.utf8_chunks() {
        for c in chunk.valid().chars() {
            match c {
                '\n' => out.push_str("\\n"),
                '\r' => out.push_str("\\r"),
                '\t' => out.push_str("\\t"),
                '\0' => out.push_str("\\0"),
                '\\' => out.push_str("\\\\"),
                c if is_hidden(c) => hex(c.encode_utf8(&mut [0; 4]).as_bytes(), &mut out),
                c => out.push(c),
            }
        }
        hex(chunk.invalid(), &mut out);
    }
    out
}

/// Whether a character is not seen, or changes how others are seen.
fn is_hidden(c: char) -> bool {
    c.is_control()
        || matches!(c, '\u{ad}' | '\u{61c}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{feff}')
}

fn hex(bytes: &[u8], out: &mut String) {
    for byte in bytes {
        // Writing to a string cannot fail.
        let _ = write!(out, "\\x{byte:02x}");
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[track_caller]
    fn check(bytes: &[u8], expect: &str) {
        assert_eq!(escape(bytes), expect);
        assert_eq!(unescape(expect).unwrap(), bytes);
    }

    #[test]
    fn what_is_printable_stays() {
        check("data: {\"a\":\"ü 'x'\"}".as_bytes(), "data: {\"a\":\"ü 'x'\"}");
    }

    #[test]
    fn what_is_not_is_escaped() {
        check(b"a\r\n\t\0\\n\x1b\xff", r"a\r\n\t\0\\n\x1b\xff");
        check(&"ü".as_bytes()[..1], r"\xc3");
        check("\u{feff}\u{202e}".as_bytes(), r"\xef\xbb\xbf\xe2\x80\xae");
    }

    #[test]
    fn an_escape_that_is_none_is_named() {
        for (text, expect) in [
            (r"a\q", r"`\q` is no escape"),
            (r"a\x1", r"`\x1` is no byte"),
            (r"a\x+1", r"`\x+1` is no byte"),
            ("a\\", r"a single `\` ends it"),
        ] {
            assert_eq!(unescape(text).unwrap_err(), expect);
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]
        #[test]
        fn bytes_survive(bytes: Vec<u8>) {
            prop_assert_eq!(unescape(&escape(&bytes)).unwrap(), bytes);
        }
    }
}

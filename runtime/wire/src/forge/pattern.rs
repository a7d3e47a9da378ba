//! The little language in which markers are written, and its matcher.
//!
//! It owns how one marker is spelled in the wild; it refuses to own which markers there are. A pattern is read from left
//! to right:
//!
//! | in a pattern | matches |
//! |---|---|
//! | a lower-case letter | the letter in either case |
//! | `\|` | one or two bars, each `\|`, `｜` (U+FF5C) or `‖` (U+2016) |
//! | `_` | `_` or `▁` (U+2581) |
//! | a blank | 1 to 8 blanks, tabs and line ends |
//! | `%` | an identifier: 1 to 64 of `A-Z a-z 0-9 _ . -` |
//! | `*>` at its end | the rest of a tag: up to `>`, when that comes within 256 bytes and before `<` and a line end; after a letter, what follows must not continue the name |
//! | anything else | itself |

use super::steps::spend;

/// The most bytes of a tag after its name that belong to its marker.
const MOST_TAG: usize = 256;
/// The most white space that one blank of a pattern takes.
const MOST_BLANKS: usize = 8;
/// The most characters of an identifier.
pub(super) const MOST_NAME: usize = 64;

/// What a pattern says of a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Seen {
    /// It does not begin the text, but its first `viable` bytes could have been the beginning of it.
    No {
        /// How many bytes fitted.
        viable: usize,
    },
    /// More text is needed to tell.
    Partial,
    /// It begins the text.
    Full {
        /// The bytes of the marker.
        len: usize,
        /// Whether the marker is a tag that closes itself.
        closed: bool,
    },
}

/// Matches `pattern` at the start of `text`. `last` tells that no more text will come.
pub(super) fn at_start(pattern: &str, text: &[u8], last: bool) -> Seen {
    let mut at = 0;
    let mut before = 0;
    for &want in pattern.as_bytes() {
        if want == b'*' {
            return tag(text, at, before, last);
        }
        let (width, more) = match want {
            b'|' => repeat(&text[at..], 2, bar),
            b' ' => repeat(&text[at..], MOST_BLANKS, |rest| usize::from(rest[0].is_ascii_whitespace())),
            b'%' => repeat(&text[at..], MOST_NAME, |rest| usize::from(is_name(rest[0]))),
            _ => repeat(&text[at..], 1, |rest| one(want, rest)),
        };
        if more && !last {
            return Seen::Partial;
        }
        if width == 0 {
            return Seen::No { viable: at };
        }
        at += width;
        before = want;
    }
    Seen::Full { len: at, closed: false }
}

/// How many bytes `unit` takes when it is repeated up to `most` times, and whether the text ended before that was clear.
fn repeat(text: &[u8], most: usize, unit: impl Fn(&[u8]) -> usize) -> (usize, bool) {
    let mut at = 0;
    for _ in 0..most {
        if at == text.len() {
            return (at, true);
        }
        spend(1);
        let width = unit(&text[at..]);
        if width == 0 {
            break;
        }
        at += width;
    }
    (at, false)
}

/// The width of `want` at the start of a text that is not empty.
fn one(want: u8, text: &[u8]) -> usize {
    if want == b'_' && text.starts_with("▁".as_bytes()) {
        return "▁".len();
    }
    usize::from(text[0] == want || (want.is_ascii_lowercase() && text[0].to_ascii_lowercase() == want))
}

fn bar(text: &[u8]) -> usize {
    ["|", "｜", "‖"].iter().find(|bar| text.starts_with(bar.as_bytes())).map_or(0, |bar| bar.len())
}

/// Whether a byte may stand in an identifier.
pub(super) fn is_name(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'.' | b'-')
}

/// The rest of a tag whose head, which ends with `before`, takes `at` bytes.
fn tag(text: &[u8], at: usize, before: u8, last: bool) -> Seen {
    let rest = &text[at..];
    match rest.first() {
        None if last => return Seen::No { viable: at },
        None => return Seen::Partial,
        Some(&next)
            if before.is_ascii_alphanumeric() && !(matches!(next, b'>' | b'/') || next.is_ascii_whitespace()) =>
        {
            return Seen::No { viable: at };
        }
        Some(_) => {}
    }
    let window = &rest[..rest.len().min(MOST_TAG)];
    spend(window.len());
    match memchr::memchr3(b'>', b'<', b'\n', window) {
        Some(end) if window[end] == b'>' => {
            Seen::Full { len: at + end + 1, closed: window[..end].last() == Some(&b'/') }
        }
        None if window.len() < MOST_TAG && !last => Seen::Partial,
        _ => Seen::Full { len: at, closed: false },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(pattern: &str, text: &str, expect: Seen) {
        assert_eq!(at_start(pattern, text.as_bytes(), false), expect, "{text:?}");
    }

    fn full(len: usize) -> Seen {
        Seen::Full { len, closed: false }
    }

    #[test]
    fn letters_bars_and_underscores_have_variants() {
        check("<|dsml|tool_calls*>", "<｜DSML｜tool_calls>", full(22));
        check("<|dsml|tool_calls*>", "<‖DSML‖tool▁calls>", full(24));
        check("<|dsml|tool_calls*>", "<||dsml|｜tool_calls>", full(22));
        check("<|dsml|tool_calls*>", "<|||dsml|tool_calls>", Seen::No { viable: 3 });
        check("[TOOL_CALL]", "[TOOL_CALL]", full(11));
        check("[TOOL_CALL]", "[tool_call]", Seen::No { viable: 1 });
    }

    #[test]
    fn every_prefix_waits_for_more() {
        for text in ["<invoke name=\"x\">", "<invoke\n\tname=>"] {
            for end in 0..text.len() {
                check("<invoke name=*>", &text[..end], Seen::Partial);
            }
            check("<invoke name=*>", text, full(text.len()));
        }
    }

    #[test]
    fn a_name_that_goes_on_is_another_name() {
        check("<tool_call*>", "<tool_calls>", Seen::No { viable: 10 });
        check("<tool_call*>", "<tool_call\n{", full(10));
        check("<tool_call*>", "<tool_call id='1'>{", full(18));
        check("<tool_call*>", "<tool_call a='<b>'", full(10));
        check("<tool_call*>", "<tool_call x/>", Seen::Full { len: 14, closed: true });
        check("<tool_call*>", &format!("<tool_call {}>", "x".repeat(300)), full(10));
        assert_eq!(at_start("<tool_call*>", b"<tool_call", true), Seen::No { viable: 10 });
        assert_eq!(at_start("<tool_call*>", b"<tool_call ", true), full(10));
    }

    #[test]
    fn identifiers_and_blanks_are_bounded() {
        check("@%(%):", "@shell(call_9): {", full(15));
        check("@%(%):", "@(call_9):", Seen::No { viable: 1 });
        check("@%(%):", &format!("@{}(", "x".repeat(65)), Seen::No { viable: 65 });
        check("a b", "a         b", Seen::No { viable: 9 });
        check("a b", "ab", Seen::No { viable: 1 });
    }
}

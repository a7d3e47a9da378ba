//! Where a JSON object or array ends that follows a marker.
//!
//! It counts brackets outside strings and goes on where it stopped; it refuses to own whether the JSON is valid.

use super::pattern::{MOST_NAME, is_name};
use super::steps::spend;

/// The most bytes of white space in one place.
const MOST_BLANKS: usize = 64;

/// Where JSON begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Begin {
    /// Not here; the first `viable` bytes could have led to it.
    No {
        /// How many bytes fitted.
        viable: usize,
    },
    /// More text is needed to tell.
    Partial,
    /// At this byte.
    At(usize),
}

/// Finds the JSON that follows a marker behind white space. If it is `named`, then a name and the tokens `[CALL_ID]` (with
/// an id) and `[ARGS]` may come before it, and it may be an array; else it is an object.
pub(super) fn begin(text: &[u8], named: bool, last: bool) -> Begin {
    let more = if last { Begin::No { viable: text.len() } } else { Begin::Partial };
    let mut at = blanks(text);
    for token in [b"[CALL_ID]".as_slice(), b"[ARGS]"] {
        if !named {
            break;
        }
        at += text[at..].iter().take(MOST_NAME).take_while(|&&byte| is_name(byte)).count();
        spend(at);
        at += blanks(&text[at..]);
        let rest = &text[at..];
        if rest.starts_with(token) {
            at += token.len();
        } else if token.starts_with(rest) {
            return more;
        }
    }
    at += blanks(&text[at..]);
    let next: &[u8] = match text.get(at) {
        None => return more,
        Some(b'{') => b"\"}",
        Some(b'[') if named => b"{]",
        Some(_) => return Begin::No { viable: at },
    };
    let inside = at + 1 + blanks(&text[at + 1..]);
    match text.get(inside) {
        None => more,
        Some(byte) if next.contains(byte) => Begin::At(at),
        Some(_) => Begin::No { viable: inside },
    }
}

fn blanks(text: &[u8]) -> usize {
    let count = text.iter().take(MOST_BLANKS).take_while(|byte| byte.is_ascii_whitespace()).count();
    spend(count + 1);
    count
}

/// A count of brackets, from the first one on.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Brackets {
    depth: usize,
    string: bool,
    escape: bool,
}

impl Brackets {
    /// Takes bytes up to the end of the value; answers how many, or none when the end is not among them.
    pub fn end(&mut self, text: &[u8]) -> Option<usize> {
        for (at, &byte) in text.iter().enumerate() {
            spend(1);
            if self.string {
                if self.escape {
                    self.escape = false;
                } else if byte == b'\\' {
                    self.escape = true;
                } else if byte == b'"' {
                    self.string = false;
                }
                continue;
            }
            match byte {
                b'"' => self.string = true,
                b'{' | b'[' => self.depth += 1,
                b'}' | b']' => {
                    self.depth = self.depth.saturating_sub(1);
                    if self.depth == 0 {
                        return Some(at + 1);
                    }
                }
                _ => {}
            }
        }
        None
    }
}

//! The named corruptions of serialised argument text.
//!
//! Each works on text as it stands, knows where strings begin and end, and leaves a text that it cannot corrupt as it
//! was; the script loader refuses a `mangle` that would change nothing.

use crate::script::Mangle;

/// Applies one corruption. `None` when it has no hold on this text.
pub fn mangle(text: &str, how: Mangle) -> Option<String> {
    match how {
        Mangle::TrailingComma => {
            let at = last_closer(text)?;
            Some(format!("{},{}", &text[..at], &text[at..]))
        }
        Mangle::DropCloser => {
            let at = last_closer(text)?;
            Some(format!("{}{}", &text[..at], &text[at + 1..]))
        }
        Mangle::ExtraCloser => Some(format!("{text}}}")),
        Mangle::CutInString => Some(text[..middle_of_last_string_value(text)?].to_owned()),
    }
}

/// Applies corruptions in order, skipping those without a hold.
pub fn mangle_all(text: String, how: &[Mangle]) -> String {
    how.iter().fold(text, |text, step| mangle(&text, *step).unwrap_or(text))
}

/// Where the last `}` outside a string lies.
fn last_closer(text: &str) -> Option<usize> {
    tokens(text).filter(|token| token.byte == b'}').last().map(|token| token.start)
}

/// A byte offset half way into the last string that is a value and not a key. `None` when there is no such string
/// of at least two units, since a cut must have something on either side.
fn middle_of_last_string_value(text: &str) -> Option<usize> {
    let all: Vec<Token> = tokens(text).collect();
    let value = all.iter().enumerate().rev().find_map(|(index, token)| {
        let is_key = all.get(index + 1).is_some_and(|next| next.byte == b':');
        (token.byte == b'"' && !is_key).then_some(token)
    })?;
    let inside = &text[value.start + 1..value.end];
    let units = unit_starts(inside);
    (units.len() >= 2).then(|| value.start + 1 + units[units.len() / 2])
}

/// Offsets at which a character or an escape begins.
fn unit_starts(inside: &str) -> Vec<usize> {
    let (mut starts, mut skip) = (Vec::new(), 0_usize);
    for (at, c) in inside.char_indices() {
        if skip > 0 {
            skip -= 1;
            continue;
        }
        starts.push(at);
        if c == '\\' {
            skip = if inside[at + 1..].starts_with('u') { 5 } else { 1 };
        }
    }
    starts
}

/// A string (`byte` is `"`, `end` the offset of the closing quote) or one structural byte.
struct Token {
    byte: u8,
    start: usize,
    end: usize,
}

fn tokens(text: &str) -> impl Iterator<Item = Token> {
    let bytes = text.as_bytes();
    let mut at = 0;
    std::iter::from_fn(move || {
        while let Some(&byte) = bytes.get(at) {
            let start = at;
            at += 1;
            match byte {
                b'"' => {
                    while let Some(&inner) = bytes.get(at) {
                        match inner {
                            b'\\' => at += 2,
                            b'"' => break,
                            _ => at += 1,
                        }
                    }
                    let end = at.min(bytes.len());
                    at = end + 1;
                    return Some(Token { byte, start, end });
                }
                b'{' | b'}' | b'[' | b']' | b':' | b',' => return Some(Token { byte, start, end: at }),
                _ => {}
            }
        }
        None
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[track_caller]
    fn check(text: &str, how: Mangle, expect: Option<&str>) {
        assert_eq!(mangle(text, how).as_deref(), expect);
    }

    #[test]
    fn a_trailing_comma_goes_before_the_last_closer() {
        check(r#"{"a":1}"#, Mangle::TrailingComma, Some(r#"{"a":1,}"#));
        check(r#"{"a":"}"}"#, Mangle::TrailingComma, Some(r#"{"a":"}",}"#));
        check("[1]", Mangle::TrailingComma, None);
    }

    #[test]
    fn the_last_closer_is_dropped_or_doubled() {
        check(r#"{"a":{"b":1}}"#, Mangle::DropCloser, Some(r#"{"a":{"b":1}"#));
        check(r#"{"a":1}"#, Mangle::ExtraCloser, Some(r#"{"a":1}}"#));
        check("", Mangle::DropCloser, None);
    }

    #[test]
    fn a_cut_falls_inside_the_last_string_value() {
        check(r#"{"a":"abcd","b":7}"#, Mangle::CutInString, Some(r#"{"a":"ab"#));
        check(r#"{"a":"x","b":"üü"}"#, Mangle::CutInString, Some(r#"{"a":"x","b":"ü"#));
        check(r#"{"a":["xy"]}"#, Mangle::CutInString, Some(r#"{"a":["x"#));
        check(r#"{"a":"\"\n"}"#, Mangle::CutInString, Some(r#"{"a":"\""#));
        check(r#"{"a":"\u00e9\u00e9"}"#, Mangle::CutInString, Some(r#"{"a":"\u00e9"#));
    }

    #[test]
    fn a_cut_needs_a_string_value_to_fall_into() {
        check(r#"{"a":1}"#, Mangle::CutInString, None);
        check(r#"{"a":""}"#, Mangle::CutInString, None);
    }

    #[test]
    fn corruptions_are_applied_in_order() {
        let both = [Mangle::TrailingComma, Mangle::DropCloser];
        assert_eq!(mangle_all(r#"{"a":1}"#.to_owned(), &both), r#"{"a":1,"#);
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]
        #[test]
        fn no_text_makes_a_corruption_panic(text in "[a\"\\\\{}:,üu\\[]{0,40}") {
            for how in [Mangle::TrailingComma, Mangle::DropCloser, Mangle::ExtraCloser, Mangle::CutInString] {
                let _ = mangle(&text, how);
            }
        }
    }
}

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
        Mangle::SpacedComma => {
            let at = last_closer(text)?;
            Some(format!("{}, \n{}", &text[..at], &text[at..]))
        }
        Mangle::ExtraBracket => Some(format!("{text}]")),
        Mangle::RawControls => unescape(text, |escape| match escape {
            'n' => Some('\n'),
            'r' => Some('\r'),
            't' => Some('\t'),
            _ => None,
        }),
        Mangle::RawBackslashes => unescape(text, |escape| (escape == '\\').then_some('\\')),
        Mangle::RawQuotes => unescape(text, |escape| (escape == '"').then_some('"')),
        Mangle::StrayControl => Some(insert(text, middle_of_longest_string_value(text)?, "\u{b}")),
        Mangle::LoneSurrogate => Some(insert(text, last_string_value(text)?.end, "\\ud83e")),
        Mangle::DuplicateKey => {
            let key = tokens(text).find(|token| token.byte == b'"')?;
            let member = format!("{}:\"decoy\",", text.get(key.start..=key.end)?);
            Some(insert(text, key.start, &member))
        }
        Mangle::CodeFence => Some(format!("```json\n{text}\n```")),
        Mangle::LanguageTag => Some(format!("json\n{text}")),
        Mangle::DoubleEncode => Some(serde_json::Value::from(text).to_string()),
        Mangle::ProseAfter => Some(format!("{text} Now I will do it.")),
        Mangle::Twice => (!text.is_empty()).then(|| format!("{text}{text}")),
        Mangle::AsArray => Some(format!("[{text}]")),
        Mangle::Nest => {
            let rest = text.strip_prefix('{')?;
            let comma = if rest.trim_start().starts_with('}') { "" } else { "," };
            Some(format!("{{\"deep\":{}{}{comma}{rest}", "[".repeat(NESTED), "]".repeat(NESTED)))
        }
    }
}

/// How many brackets [`Mangle::Nest`] opens.
const NESTED: usize = 100_000;

fn insert(text: &str, at: usize, what: &str) -> String {
    format!("{}{what}{}", &text[..at], &text[at..])
}

/// Puts the bare character in the place of each escape inside a string for which `bare` has one. `None` when it has none.
fn unescape(text: &str, bare: impl Fn(char) -> Option<char>) -> Option<String> {
    let mut out = String::with_capacity(text.len());
    let (mut inside, mut changed) = (false, false);
    let mut characters = text.chars();
    while let Some(character) = characters.next() {
        if character == '\\' && inside {
            let Some(escape) = characters.next() else {
                out.push(character);
                break;
            };
            match bare(escape) {
                Some(plain) => {
                    out.push(plain);
                    changed = true;
                }
                None => out.extend([character, escape]),
            }
            continue;
        }
        inside ^= character == '"';
        out.push(character);
    }
    changed.then_some(out)
}

/// Applies corruptions in order, skipping those without a hold.
pub fn mangle_all(text: String, how: &[Mangle]) -> String {
    how.iter().fold(text, |text, step| mangle(&text, *step).unwrap_or(text))
}

/// Where the last `}` outside a string lies.
fn last_closer(text: &str) -> Option<usize> {
    tokens(text).filter(|token| token.byte == b'}').last().map(|token| token.start)
}

/// The strings that are values and not keys, and are closed, in their order.
fn string_values(text: &str) -> Vec<Token> {
    let mut all = tokens(text).peekable();
    let mut values = Vec::new();
    while let Some(token) = all.next() {
        let is_key = all.peek().is_some_and(|next| next.byte == b':');
        if token.byte == b'"' && token.end < text.len() && !is_key {
            values.push(token);
        }
    }
    values
}

fn last_string_value(text: &str) -> Option<Token> {
    string_values(text).pop()
}

/// A byte offset half way into the last string that is a value and not a key. `None` when there is no such string
/// of at least two units, since a cut must have something on either side.
fn middle_of_last_string_value(text: &str) -> Option<usize> {
    middle_of(text, &last_string_value(text)?)
}

/// The same for the longest such string, and the first of several.
fn middle_of_longest_string_value(text: &str) -> Option<usize> {
    let values = string_values(text);
    middle_of(text, values.iter().rev().max_by_key(|value| value.end - value.start)?)
}

fn middle_of(text: &str, value: &Token) -> Option<usize> {
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
    fn a_comma_may_stand_apart_from_its_closer() {
        check(r#"{"a":1}"#, Mangle::SpacedComma, Some("{\"a\":1, \n}"));
        check(r#"{"a":1}"#, Mangle::ExtraBracket, Some(r#"{"a":1}]"#));
    }

    #[test]
    fn escapes_are_left_out_inside_strings_only() {
        check(r#"{"a":"x\\n\n\ty"}"#, Mangle::RawControls, Some("{\"a\":\"x\\\\n\n\ty\"}"));
        check(r#"{"a":"\\d+\n"}"#, Mangle::RawBackslashes, Some(r#"{"a":"\d+\n"}"#));
        check(r#"{"a":"\"hi\""}"#, Mangle::RawQuotes, Some(r#"{"a":""hi""}"#));
        check("{\"a\":\"x\"}\n", Mangle::RawControls, None);
    }

    #[test]
    fn strings_get_what_no_string_may_hold() {
        check(r#"{"a":"xy"}"#, Mangle::StrayControl, Some("{\"a\":\"x\u{b}y\"}"));
        check(r#"{"a":"xyz\n","b":"xyz"}"#, Mangle::StrayControl, Some("{\"a\":\"xy\u{b}z\\n\",\"b\":\"xyz\"}"));
        check(r#"{"a":"x","b":1}"#, Mangle::LoneSurrogate, Some(r#"{"a":"x\ud83e","b":1}"#));
    }

    #[test]
    fn a_key_is_there_twice() {
        check(r#"{"a":1,"b":2}"#, Mangle::DuplicateKey, Some(r#"{"a":"decoy","a":1,"b":2}"#));
        check("{}", Mangle::DuplicateKey, None);
    }

    #[test]
    fn the_whole_text_is_wrapped_or_followed() {
        check("{}", Mangle::CodeFence, Some("```json\n{}\n```"));
        check("{}", Mangle::LanguageTag, Some("json\n{}"));
        check(r#"{"a":"b"}"#, Mangle::DoubleEncode, Some(r#""{\"a\":\"b\"}""#));
        check("{}", Mangle::ProseAfter, Some("{} Now I will do it."));
        check("{}", Mangle::Twice, Some("{}{}"));
        check("{}", Mangle::AsArray, Some("[{}]"));
        let nested = mangle(r#"{"a":1}"#, Mangle::Nest).unwrap();
        assert!(nested.starts_with(r#"{"deep":[["#) && nested.ends_with(r#"]],"a":1}"#) && nested.len() > 2 * NESTED);
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
            for how in [
                Mangle::TrailingComma,
                Mangle::DropCloser,
                Mangle::ExtraCloser,
                Mangle::CutInString,
                Mangle::SpacedComma,
                Mangle::RawControls,
                Mangle::RawBackslashes,
                Mangle::RawQuotes,
                Mangle::StrayControl,
                Mangle::LoneSurrogate,
                Mangle::DuplicateKey,
            ] {
                let _ = mangle(&text, how);
            }
        }
    }
}

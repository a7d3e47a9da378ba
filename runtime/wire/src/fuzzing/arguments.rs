//! The properties of the argument ladder, against `serde_json` and a reference that copies the text pass by pass.

use crate::repair::{Arguments, FaultKind, MAX_REPAIR_BYTES, Rung, TurnEnd, read_arguments};
use serde_json::Value;

/// The ladder holds its promises on any text: valid text is untouched and means what `serde_json` says, mended text is
/// valid and stays as it is, and no byte of it was changed but those that a rung names.
pub fn argument_ladder(bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    let strict = serde_json::from_str::<Value>(text).ok().filter(Value::is_object);
    let cut = read_arguments(text, TurnEnd::Cut);
    let clean = read_arguments(text, TurnEnd::Clean);
    for fault in [&cut, &clean].into_iter().filter_map(|read| read.as_ref().err()) {
        assert!(text.get(fault.at..).is_some_and(|rest| rest.starts_with(fault.near.trim_end_matches('…'))));
        assert!(!fault.to_string().is_empty() && fault.near.chars().count() <= 41);
    }
    if let Some(strict) = &strict {
        match &cut {
            Ok(read) => assert!(same(&read.value, strict)),
            Err(fault) => assert!(
                matches!(fault.kind, FaultKind::DuplicateKey { .. } | FaultKind::IntegerOutOfRange { .. }),
                "valid, but {fault}"
            ),
        }
    }
    match &cut {
        Ok(read) => {
            assert!(strict.is_some(), "serde_json refuses this");
            assert!(read.rungs.is_empty() && read.text == text);
            assert_eq!(clean.as_ref().ok(), Some(read));
        }
        Err(fault) => assert!(!matches!(fault.kind, FaultKind::Syntax(_) | FaultKind::TooLargeToRepair { .. })),
    }
    match clean {
        Ok(read) => mended(text, &read),
        Err(fault) => assert!(!matches!(fault.kind, FaultKind::Cut { .. })),
    }
}

/// What was read is valid, means its value, stays as it is, and keeps the bytes.
fn mended(text: &str, read: &Arguments<'_>) {
    assert!(read.value.is_object());
    let again = read_arguments(&read.text, TurnEnd::Cut);
    assert_eq!(again.as_ref().map(|again| (&again.value, &again.text)), Ok((&read.value, &read.text)));
    let reparsed: Value = serde_json::from_str(&read.text).unwrap_or_default();
    assert!(same(&reparsed, &read.value));
    assert!(read.rungs.is_sorted());
    if text.trim().is_empty() {
        return;
    }
    if read.rungs.is_empty() {
        assert_eq!(read.text, text);
        return;
    }
    assert!(text.len() <= MAX_REPAIR_BYTES);
    let inside = if read.rungs.contains(&Rung::DoubleEncoded) {
        serde_json::from_str::<String>(text).unwrap_or_default()
    } else if read.rungs.contains(&Rung::CodeFence) {
        let fence = text.trim().trim_end_matches('`');
        fence[fence.find('{').unwrap_or_default()..].to_owned()
    } else {
        text.to_owned()
    };
    assert_eq!(essence(&inside), essence(&read.text));
}

/// The strings of a text, as written but for raw control characters, which are escaped or dropped here, and apart from
/// them all that is neither a bracket, a comma nor white space.
fn essence(text: &str) -> (Vec<String>, String) {
    let (mut strings, mut others) = (Vec::new(), String::new());
    let mut characters = text.chars();
    while let Some(character) = characters.next() {
        match character {
            '"' => strings.push(string(&mut characters)),
            '{' | '}' | '[' | ']' | ',' | ' ' | '\n' | '\r' | '\t' => {}
            other => others.push(other),
        }
    }
    (strings, others)
}

fn string(characters: &mut std::str::Chars<'_>) -> String {
    let mut out = String::new();
    let mut escaped = false;
    for character in characters.by_ref() {
        let code = match character {
            '"' if !escaped => break,
            '\n' => "\\n",
            '\r' => "\\r",
            '\t' => "\\t",
            '\0'..='\u{1f}' => continue,
            _ => "",
        };
        match (code, escaped) {
            ("", _) => out.push(character),
            // The backslash was no escape, and needs one itself.
            (code, true) => out.extend(["\\", code]),
            (code, false) => out.push_str(code),
        }
        escaped = !escaped && character == '\\';
    }
    out
}

/// Equal, but for the last place of a number with a fraction: `serde_json` without `float_roundtrip` may miss it.
fn same(left: &Value, right: &Value) -> bool {
    match (left, right) {
        (Value::Array(left), Value::Array(right)) => {
            left.len() == right.len() && left.iter().zip(right).all(|(left, right)| same(left, right))
        }
        (Value::Object(left), Value::Object(right)) => {
            left.len() == right.len()
                && left.iter().zip(right).all(|(left, right)| left.0 == right.0 && same(left.1, right.1))
        }
        (Value::Number(left), Value::Number(right)) if left.is_f64() && right.is_f64() => {
            let bits = |number: &serde_json::Number| number.as_f64().unwrap_or_default().to_bits();
            bits(left).abs_diff(bits(right)) <= 4
        }
        (left, right) => left == right,
    }
}

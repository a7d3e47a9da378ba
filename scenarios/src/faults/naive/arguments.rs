//! Arguments: read strictly, and sent back only where they are an object.

use super::Flaw;
use serde_json::{Map, Value};

/// The arguments of a call, which are an object; none where they cannot be read. An empty text is an empty object.
pub fn read(text: &str, flaw: Flaw) -> Option<Value> {
    let text = match flaw {
        Flaw::MendFirst => text.replace(",}", "}").replace(",]", "]"),
        Flaw::ScrubArguments => without_markup(text),
        _ => text.to_owned(),
    };
    if text.trim().is_empty() && flaw != Flaw::DieOnBadArguments {
        return Some(Value::Object(Map::new()));
    }
    if flaw == Flaw::NoDepthLimit {
        walk(text.as_bytes());
    }
    let read = match flaw {
        Flaw::FirstObject => serde_json::Deserializer::from_str(&text).into_iter().next().and_then(Result::ok),
        Flaw::MendArguments => serde_json::from_str(&text).or_else(|_| serde_json::from_str(&format!("{text}}}"))).ok(),
        _ => serde_json::from_str::<Value>(&text).ok(),
    };
    match read {
        Some(value @ Value::Object(_)) => Some(value),
        Some(_) if flaw == Flaw::AnyValue => Some(Value::Object(Map::new())),
        _ if flaw == Flaw::UnreadIsEmpty => Some(Value::Object(Map::new())),
        _ => None,
    }
}

/// A text without the first thing in it that looks like a call.
fn without_markup(text: &str) -> String {
    match text.split_once("<tool_call>") {
        Some((before, rest)) => format!("{before}{}", rest.split_once("</tool_call>").map_or("", |(_, after)| after)),
        None => text.to_owned(),
    }
}

/// What a call shows of its arguments when it goes back.
pub fn replayed(text: &str, flaw: Flaw) -> String {
    let is_object = serde_json::from_str::<Map<String, Value>>(text).is_ok();
    if is_object || flaw == Flaw::ReplayAnything { text.to_owned() } else { "{}".to_owned() }
}

/// One call of itself for every open bracket: what a parser without a bound does.
fn walk(text: &[u8]) -> usize {
    let mut at = 0;
    while at < text.len() {
        match text[at] {
            b'[' | b'{' => at += 1 + walk(&text[at + 1..]),
            b']' | b'}' => return at + 1,
            _ => at += 1,
        }
    }
    std::hint::black_box(at)
}

//! Reads JSON leniently and keeps the transmitted bytes of its parts.

use serde_json::Value;
use serde_json::value::RawValue;

/// The members of a JSON list as transmitted. `None` when `text` is no list.
pub(super) fn list(text: &RawValue) -> Option<Vec<&RawValue>> {
    serde_json::from_str(text.get()).ok()
}

/// The value of transmitted text; `null` when it cannot be read.
pub(super) fn value(text: &RawValue) -> Value {
    serde_json::from_str(text.get()).unwrap_or_default()
}

/// The text of a content field: a string as it stands, a list of parts as their texts joined.
pub(super) fn content(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Array(parts) => parts.iter().map(part).collect(),
        _ => String::new(),
    }
}

fn part(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Object(part) => match part.get("text").or_else(|| part.get("refusal")) {
            Some(Value::String(text)) => text.clone(),
            _ => String::new(),
        },
        _ => String::new(),
    }
}

/// A string member, empty when absent or of another type.
pub(super) fn string(value: &Value, key: &str) -> String {
    value.get(key).and_then(Value::as_str).unwrap_or_default().to_owned()
}

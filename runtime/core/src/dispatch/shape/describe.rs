//! Schemas and values in words: short, bounded, for a model to read.

use serde_json::{Map, Value};

/// The most choices of an enum that are shown.
const CHOICES: usize = 20;
/// The most characters of a value that are shown.
const VALUE_CHARS: usize = 60;
/// The most fields of an expected shape that are shown.
const FIELDS: usize = 30;
/// How deep an expected shape is shown.
const DEPTH: usize = 3;

/// What a schema takes, such as `string`, `integer | null`, `"a" | "b"`, `string[]`.
pub fn kind(schema: &Value) -> String {
    kind_at(schema, 0)
}

/// The shape of the input that a tool takes, on one line: `{"path": string, "limit"?: integer}`. `None` where the schema
/// declares no field.
pub fn shape(schema: &Value) -> Option<String> {
    let declares = super::super::fields::properties(schema).is_some_and(|properties| !properties.is_empty());
    declares.then(|| fields(schema, 0))
}

fn kind_at(schema: &Value, depth: usize) -> String {
    let Value::Object(schema) = schema else { return "any value".to_owned() };
    if let Some(choices) = schema.get("enum").and_then(Value::as_array) {
        return choice(choices);
    }
    if let Some(only) = schema.get("const") {
        return value(only);
    }
    let mut kinds: Vec<String> = match schema.get("type") {
        Some(Value::String(name)) => vec![of_type(name, schema, depth)],
        Some(Value::Array(names)) => {
            names.iter().filter_map(Value::as_str).map(|n| of_type(n, schema, depth)).collect()
        }
        _ if depth < DEPTH => ["anyOf", "oneOf"]
            .iter()
            .filter_map(|key| schema.get(*key)?.as_array())
            .flatten()
            .take(CHOICES)
            .map(|branch| kind_at(branch, depth + 1))
            .collect(),
        _ => Vec::new(),
    };
    kinds.dedup();
    let text = if kinds.is_empty() { "any value".to_owned() } else { kinds.join(" | ") };
    format!("{text}{}", bounds(schema))
}

fn of_type(name: &str, schema: &Map<String, Value>, depth: usize) -> String {
    match (name, schema.get("items")) {
        ("array", Some(items)) if depth < DEPTH => match kind_at(items, depth + 1) {
            item if item.contains(' ') => format!("({item})[]"),
            item => format!("{item}[]"),
        },
        ("object", _) if schema.contains_key("properties") && depth < DEPTH => {
            fields(&Value::Object(schema.clone()), depth + 1)
        }
        _ => name.to_owned(),
    }
}

fn fields(schema: &Value, depth: usize) -> String {
    let Some(properties) = super::super::fields::properties(schema) else { return "{…}".to_owned() };
    let required: Vec<&str> = super::super::fields::required(schema).collect();
    let mut shown: Vec<String> = properties
        .iter()
        .take(FIELDS)
        .map(|(name, field)| {
            let mark = if required.contains(&name.as_str()) { "" } else { "?" };
            format!("{name:?}{mark}: {}", kind_at(field, depth + 1))
        })
        .collect();
    if properties.len() > FIELDS {
        shown.push(format!("and {} more", properties.len() - FIELDS));
    }
    format!("{{{}}}", shown.join(", "))
}

fn bounds(schema: &Map<String, Value>) -> String {
    match (schema.get("minimum"), schema.get("maximum")) {
        (Some(least), Some(most)) => format!(" from {least} to {most}"),
        (Some(least), None) => format!(" from {least}"),
        (None, Some(most)) => format!(" up to {most}"),
        (None, None) => String::new(),
    }
}

/// The choices of an enum.
pub fn choice(choices: &[Value]) -> String {
    let mut shown: Vec<String> = choices.iter().take(CHOICES).map(value).collect();
    if choices.len() > CHOICES {
        shown.push(format!("{} more", choices.len() - CHOICES));
    }
    shown.join(" | ")
}

/// A value as JSON, cut where it is long.
pub fn value(value: &Value) -> String {
    let text = match value {
        // Not serialised as a whole: it may be megabytes.
        Value::String(text) => Value::String(text.chars().take(VALUE_CHARS + 1).collect()).to_string(),
        Value::Array(items) if !items.is_empty() => return format!("an array of {}", items.len()),
        Value::Object(fields) if !fields.is_empty() => return format!("an object of {} fields", fields.len()),
        other => other.to_string(),
    };
    match text.char_indices().nth(VALUE_CHARS) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text,
    }
}

/// A value and its type: `the string "1200"`, `the number 5`, `an array of 3`.
pub fn typed(found: &Value) -> String {
    match found {
        Value::Null => "null".to_owned(),
        Value::Bool(yes) => yes.to_string(),
        Value::Number(_) => format!("the number {}", value(found)),
        Value::String(_) => format!("the string {}", value(found)),
        Value::Array(items) if items.is_empty() => "an empty array".to_owned(),
        Value::Object(fields) if fields.is_empty() => "an empty object".to_owned(),
        Value::Array(_) | Value::Object(_) => value(found),
    }
}

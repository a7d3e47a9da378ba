//! The strict form: every object is closed and requires all its properties.

use super::keywords::{has_type, is_annotation};
use super::{SchemaFault, clean, each_child};
use serde_json::{Map, Value};

/// What the strict form can say, beside what is left out of it.
const KEYWORDS: [&str; 20] = [
    "$defs",
    "$ref",
    "additionalProperties",
    "anyOf",
    "const",
    "definitions",
    "description",
    "enum",
    "exclusiveMaximum",
    "exclusiveMinimum",
    "format",
    "items",
    "maxItems",
    "maximum",
    "minItems",
    "minimum",
    "multipleOf",
    "pattern",
    "properties",
    "required",
];

/// Cleans a schema and writes it in the strict form that some providers require: in every object all properties are
/// required and no others are allowed. Annotations but `title` and `description` are left out.
///
/// Whatever the strict form admits, the cleaned schema admits as well; the other way round it may not, since optional properties
/// become required. A schema whose meaning would be lost is refused, never bent: its tool is offered without strict mode.
///
/// # Errors
/// [`SchemaFault::NotStrict`] names the first keyword that the strict form cannot say; the others as [`clean`] gives them.
pub fn strict(schema: &Value) -> Result<Value, SchemaFault> {
    let mut schema = clean(schema)?.schema;
    let root = match &schema {
        Value::Object(map) if map.contains_key("anyOf") => Some("anyOf"),
        Value::Object(map) if map.get("type").is_some_and(|kind| kind == "object") => None,
        _ => Some("type"),
    };
    match root {
        Some(keyword) => refuse("", keyword),
        None => {
            close(&mut schema, &mut String::new())?;
            Ok(schema)
        }
    }
}

fn refuse<T>(at: &str, keyword: &str) -> Result<T, SchemaFault> {
    Err(SchemaFault::NotStrict { at: at.to_owned(), keyword: keyword.to_owned() })
}

fn close(schema: &mut Value, pointer: &mut String) -> Result<(), SchemaFault> {
    // A boolean admits everything or nothing, neither of which a closed form can say.
    let Value::Object(map) = schema else { return refuse(pointer, "type") };
    map.retain(|key, _| key == "description" || key == "title" || key != "$schema" && !is_annotation(key));
    for (key, value) in map.iter() {
        if !sayable(key, value) {
            return refuse(pointer, key);
        }
    }
    if !["type", "$ref", "anyOf", "enum", "const"].iter().any(|key| map.contains_key(*key)) {
        return refuse(pointer, "type");
    }
    if has_type(map, "array") && !map.contains_key("items") {
        return refuse(pointer, "items");
    }
    close_object(map, pointer)?;
    let mut result = Ok(());
    each_child(schema, pointer, |_, child, pointer| {
        if result.is_ok() && child != &Value::Bool(false) {
            result = close(child, pointer);
        }
    });
    result
}

/// Whether the strict form knows a keyword, and can say this of it.
fn sayable(key: &str, value: &Value) -> bool {
    match key {
        "$ref" => value.as_str().is_some_and(|target| target.starts_with('#')),
        "additionalProperties" => value == &Value::Bool(false),
        "exclusiveMaximum" | "exclusiveMinimum" => value.is_number(),
        "items" => value.is_object(),
        "title" | "type" => true,
        key => KEYWORDS.contains(&key),
    }
}

fn close_object(map: &mut Map<String, Value>, pointer: &str) -> Result<(), SchemaFault> {
    if !has_type(map, "object") {
        return match ["properties", "required", "additionalProperties"].iter().find(|key| map.contains_key(**key)) {
            Some(_) => refuse(pointer, "type"),
            None => Ok(()),
        };
    }
    let Some(Value::Object(properties)) = map.get("properties") else { return refuse(pointer, "properties") };
    let closed = map.contains_key("additionalProperties");
    // An object that says nothing of its properties takes any; only a tool's own arguments mean that there are none.
    if properties.is_empty() && !closed && !pointer.is_empty() {
        return refuse(pointer, "properties");
    }
    let required = map.get("required").and_then(Value::as_array);
    if let Some(name) =
        required.into_iter().flatten().find(|name| !name.as_str().is_some_and(|name| properties.contains_key(name)))
    {
        return refuse(pointer, &format!("required: {name}"));
    }
    let names: Vec<Value> = properties.keys().map(|name| Value::from(name.as_str())).collect();
    map.insert("required".to_owned(), Value::Array(names));
    map.insert("additionalProperties".to_owned(), Value::Bool(false));
    Ok(())
}

//! The shape of arguments against a tool's schema: what must be there, what must not, and of which type.
//!
//! All faults are told at once, so that the model needs one more call and not five.

use crate::contract::{ToolMetadata, ValidationFault};
use serde_json::{Map, Value};

/// Judges the top level of `input`, an object, against the tool's schema.
pub fn check(tool: &ToolMetadata, input: &Map<String, Value>) -> Vec<ValidationFault> {
    let mut faults = Vec::new();
    let empty = Map::new();
    let properties = tool.schema.get("properties").and_then(Value::as_object).unwrap_or(&empty);
    let required = tool.schema.get("required").and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
    for name in required.iter().filter_map(Value::as_str).filter(|name| !input.contains_key(*name)) {
        faults.push(ValidationFault::at(format!("/{}", escape(name)), format!("the field {name:?} is missing")));
    }
    let closed = tool.schema.get("additionalProperties") == Some(&Value::Bool(false));
    for (name, value) in input {
        match properties.get(name) {
            Some(schema) => faults.extend(type_fault(name, value, schema)),
            None if closed => {
                let known: Vec<&str> = properties.keys().map(String::as_str).collect();
                faults.push(ValidationFault::at(
                    format!("/{}", escape(name)),
                    format!("the tool has no field {name:?}; its fields are: {}", known.join(", ")),
                ));
            }
            None => {}
        }
    }
    faults
}

fn type_fault(name: &str, value: &Value, schema: &Value) -> Option<ValidationFault> {
    let expected = schema.get("type")?.as_str()?;
    let fits = match expected {
        "string" => value.is_string(),
        "integer" => value.is_i64() || value.is_u64() || value.as_f64().is_some_and(|f| f.fract() == 0.0),
        "number" => value.is_number(),
        "boolean" => value.is_boolean(),
        "object" => value.is_object(),
        "array" => value.is_array(),
        "null" => value.is_null(),
        _ => true,
    };
    if fits {
        return None;
    }
    let found = match value {
        Value::Null => "null",
        Value::Bool(_) => "a boolean",
        Value::Number(_) => "a number",
        Value::String(_) => "a string",
        Value::Array(_) => "an array",
        Value::Object(_) => "an object",
    };
    let article = if matches!(expected, "integer" | "object" | "array") { "an" } else { "a" };
    Some(ValidationFault::at(
        format!("/{}", escape(name)),
        format!("the field {name:?} must be {article} {expected}, and is {found}"),
    ))
}

/// Escapes one segment of a JSON pointer.
fn escape(segment: &str) -> String {
    segment.replace('~', "~0").replace('/', "~1")
}

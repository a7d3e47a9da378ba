//! Where schemas stand in a schema. Everything that is not listed here is data.

use serde_json::{Map, Value};

/// How a schema counts for the one it stands in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Place {
    /// It describes another value (a property, an item), or waits to be referred to.
    Apart,
    /// It describes the same value, and one of several must hold (`anyOf`).
    Branch,
    /// It describes the same value, and must hold as well (`allOf`, `then`).
    Both,
    /// Where it accepts more, the whole may accept less.
    Narrowing,
}

const MAPS: [(&str, Place); 6] = [
    ("$defs", Place::Apart),
    ("definitions", Place::Apart),
    ("dependencies", Place::Both),
    ("dependentSchemas", Place::Both),
    ("patternProperties", Place::Apart),
    ("properties", Place::Apart),
];

const LISTS: [(&str, Place); 5] = [
    ("allOf", Place::Both),
    ("anyOf", Place::Branch),
    ("items", Place::Apart),
    ("oneOf", Place::Narrowing),
    ("prefixItems", Place::Apart),
];

const SINGLE: [(&str, Place); 12] = [
    ("additionalItems", Place::Apart),
    ("additionalProperties", Place::Apart),
    ("contains", Place::Narrowing),
    ("contentSchema", Place::Apart),
    ("else", Place::Both),
    ("if", Place::Narrowing),
    ("items", Place::Apart),
    ("not", Place::Narrowing),
    ("propertyNames", Place::Apart),
    ("then", Place::Both),
    ("unevaluatedItems", Place::Narrowing),
    ("unevaluatedProperties", Place::Narrowing),
];

fn is_schema(value: &Value) -> bool {
    matches!(value, Value::Object(_) | Value::Bool(_))
}

/// Calls `visit` with each schema directly below `map`: its place, its path and itself.
pub(super) fn children<'a>(map: &'a Map<String, Value>, mut visit: impl FnMut(Place, &[&str], &'a Value)) {
    for (key, place) in MAPS {
        let Some(Value::Object(inner)) = map.get(key) else { continue };
        for (name, child) in inner.iter().filter(|(_, child)| is_schema(child)) {
            visit(place, &[key, name], child);
        }
    }
    for (key, place) in LISTS {
        let Some(Value::Array(items)) = map.get(key) else { continue };
        for (index, child) in items.iter().enumerate().filter(|(_, child)| is_schema(child)) {
            visit(place, &[key, &index.to_string()], child);
        }
    }
    for (key, place) in SINGLE {
        if let Some(child) = map.get(key).filter(|child| is_schema(child)) {
            visit(place, &[key], child);
        }
    }
}

/// [`children`], to be changed.
pub(super) fn children_mut(map: &mut Map<String, Value>, mut visit: impl FnMut(Place, &[&str], &mut Value)) {
    for (key, place) in MAPS {
        let Some(Value::Object(inner)) = map.get_mut(key) else { continue };
        for (name, child) in inner.iter_mut().filter(|(_, child)| is_schema(child)) {
            visit(place, &[key, name], child);
        }
    }
    for (key, place) in LISTS {
        let Some(Value::Array(items)) = map.get_mut(key) else { continue };
        for (index, child) in items.iter_mut().enumerate().filter(|(_, child)| is_schema(child)) {
            visit(place, &[key, &index.to_string()], child);
        }
    }
    for (key, place) in SINGLE {
        if let Some(child) = map.get_mut(key).filter(|child| is_schema(child)) {
            visit(place, &[key], child);
        }
    }
}

/// Whether a keyword only tells something about a value and never decides whether it is valid.
pub(super) fn is_annotation(key: &str) -> bool {
    const KNOWN: [&str; 9] =
        ["$comment", "default", "deprecated", "description", "example", "examples", "readOnly", "title", "writeOnly"];
    KNOWN.contains(&key) || key.starts_with("x-")
}

/// Whether a keyword holds for null whatever its value is, because it speaks of another type.
pub(super) fn ignores_null(key: &str) -> bool {
    const STRINGS: [&str; 7] =
        ["contentEncoding", "contentMediaType", "contentSchema", "format", "maxLength", "minLength", "pattern"];
    const NUMBERS: [&str; 5] = ["exclusiveMaximum", "exclusiveMinimum", "maximum", "minimum", "multipleOf"];
    const ARRAYS: [&str; 9] = [
        "additionalItems",
        "contains",
        "items",
        "maxContains",
        "maxItems",
        "minContains",
        "minItems",
        "prefixItems",
        "uniqueItems",
    ];
    const OBJECTS: [&str; 10] = [
        "additionalProperties",
        "dependencies",
        "dependentRequired",
        "dependentSchemas",
        "maxProperties",
        "minProperties",
        "patternProperties",
        "properties",
        "propertyNames",
        "required",
    ];
    STRINGS.contains(&key) || NUMBERS.contains(&key) || ARRAYS.contains(&key) || OBJECTS.contains(&key)
}

/// Whether a keyword gives its schema a name or holds others: such a schema is not moved.
pub(super) fn is_anchor(key: &str) -> bool {
    matches!(key, "id" | "definitions") || key.starts_with('$') && key != "$ref" && key != "$comment"
}

/// Whether a schema names a type, alone or among others.
pub(super) fn has_type(map: &Map<String, Value>, name: &str) -> bool {
    match map.get("type") {
        Some(Value::String(only)) => only == name,
        Some(Value::Array(types)) => types.iter().any(|item| item == name),
        _ => false,
    }
}

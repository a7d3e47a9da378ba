//! Objects: the `properties` that providers want to see, and `required` without names that nobody defines.

use super::keywords::{Place, has_type};
use super::{Change, ChangeKind, each_child};
use serde_json::{Map, Value};

/// What is known around a schema.
#[derive(Clone, Copy, Debug)]
pub(super) struct Scope {
    /// Whatever widens this schema widens the whole, or leaves it as it is.
    pub(super) widens: bool,
    /// Another schema of the same value may define properties.
    pub(super) defined_around: bool,
}

/// Completes a schema and all below it, the outer ones first.
pub(super) fn complete(schema: &mut Value, scope: Scope, pointer: &mut String, changes: &mut Vec<Change>) {
    let Value::Object(map) = schema else { return };
    let mut done = |kind| changes.push(Change { at: pointer.clone(), kind });
    let is_map = matches!(map.get("additionalProperties"), Some(Value::Object(_) | Value::Bool(true)));
    if has_type(map, "object") && !map.contains_key("properties") && !is_map {
        map.insert("properties".to_owned(), Value::Object(Map::new()));
        done(ChangeKind::PropertiesAdded);
    }
    if scope.widens && !scope.defined_around && !defines_elsewhere(map) {
        let pruned = prune(map);
        if !pruned.is_empty() {
            done(ChangeKind::RequiredPruned(pruned));
        }
    }
    let around = scope.defined_around || defines(map);
    each_child(schema, pointer, |place, child, pointer| {
        let scope = match place {
            Place::Apart => Scope { defined_around: false, ..scope },
            Place::Branch => Scope { defined_around: around, ..scope },
            Place::Both => Scope { defined_around: true, ..scope },
            Place::Narrowing => Scope { widens: false, defined_around: true },
        };
        complete(child, scope, pointer, changes);
    });
}

/// Whether a schema defines properties, or may, for what stands in its branches.
fn defines(map: &Map<String, Value>) -> bool {
    map.get("properties").is_some_and(|properties| properties.as_object().is_none_or(|map| !map.is_empty()))
        || elsewhere(map, &["anyOf"])
}

/// Whether properties of the same value may be defined outside of the schema's own `properties`.
fn defines_elsewhere(map: &Map<String, Value>) -> bool {
    elsewhere(map, &[])
}

fn elsewhere(map: &Map<String, Value>, but: &[&str]) -> bool {
    const KEYS: [&str; 14] = [
        "$dynamicRef",
        "$recursiveRef",
        "$ref",
        "allOf",
        "anyOf",
        "dependencies",
        "dependentSchemas",
        "else",
        "if",
        "not",
        "oneOf",
        "patternProperties",
        "then",
        "unevaluatedProperties",
    ];
    KEYS.iter().any(|key| !but.contains(key) && map.contains_key(*key))
}

/// Removes from `required` what is in no property; answers what that was.
fn prune(map: &mut Map<String, Value>) -> Vec<String> {
    let Some(Value::Object(properties)) = map.get("properties") else { return Vec::new() };
    let Some(Value::Array(required)) = map.get("required") else { return Vec::new() };
    let dangling = |name: &&Value| name.as_str().is_some_and(|name| !properties.contains_key(name));
    let pruned: Vec<String> = required.iter().filter(dangling).filter_map(Value::as_str).map(str::to_owned).collect();
    if !pruned.is_empty() {
        let kept: Vec<Value> = required.iter().filter(|name| !dangling(name)).cloned().collect();
        match kept.is_empty() {
            true => map.remove("required"),
            false => map.insert("required".to_owned(), Value::Array(kept)),
        };
    }
    pruned
}

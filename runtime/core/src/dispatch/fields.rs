//! Field names: which field of a tool a model meant by one that the tool does not have.
//!
//! Suggestions only: nothing here renames a field of a call.

use serde_json::{Map, Value};
use slot_wire::names::snake;
use std::collections::BTreeMap;

/// Names that different agents give to one thing.
const SYNONYMS: &[&[&str]] = &[
    &["search", "old_string", "old_str", "old_text", "old", "find"],
    &["replace", "new_string", "new_str", "new_text", "new", "replacement"],
    &["path", "file_path", "filepath", "file", "filename", "absolute_path"],
    &["command", "cmd", "script"],
    &["content", "contents", "text", "body"],
    &["pattern", "regex", "query"],
    &["url", "uri", "href"],
];

/// The longest field name whose distance to another is taken.
const LONGEST: usize = 64;
/// How far a slip may be from the field it stands for, in edits.
const FARTHEST: usize = 2;

/// The properties that a schema declares.
pub fn properties(schema: &Value) -> Option<&Map<String, Value>> {
    schema.get("properties").and_then(Value::as_object)
}

/// The fields that a schema requires, in its order.
pub fn required(schema: &Value) -> impl Iterator<Item = &str> {
    schema.get("required").and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_str)
}

/// For each field of `received` that the schema does not declare, the field that it most likely stands for. No field is
/// suggested that was received as well, and none twice.
pub fn corrections(schema: &Value, received: &Map<String, Value>) -> BTreeMap<String, String> {
    let Some(declared) = properties(schema) else { return BTreeMap::new() };
    let mut free: Vec<&String> = declared.keys().filter(|name| !received.contains_key(*name)).collect();
    let needed: Vec<&str> = required(schema).collect();
    // Required fields first, so that a slip is read as the field that is missed.
    free.sort_by_key(|name| (!needed.contains(&name.as_str()), name.as_str()));
    let mut found = BTreeMap::new();
    for wrong in received.keys().filter(|name| !declared.contains_key(*name)) {
        if let Some(at) = nearest(wrong, &free) {
            found.insert(wrong.clone(), free.remove(at).clone());
        }
    }
    found
}

/// The position of the field that `wrong` most likely stands for.
fn nearest(wrong: &str, free: &[&String]) -> Option<usize> {
    if wrong.len() > LONGEST {
        return None;
    }
    let written = snake(wrong);
    let by_meaning = || {
        let group = SYNONYMS.iter().find(|group| group.contains(&written.as_str()))?;
        free.iter().position(|name| group.contains(&snake(name).as_str()))
    };
    let by_letters = || {
        let near = free.iter().enumerate().filter(|(_, name)| name.len() <= LONGEST).map(|(at, name)| {
            let name = snake(name);
            let shorter = written.chars().count().min(name.chars().count());
            (strsim::osa_distance(&written, &name), shorter, at)
        });
        // A field of one or two letters is near to every other.
        let near = near.filter(|(distance, shorter, _)| *distance <= FARTHEST && distance * 2 < *shorter);
        near.min_by_key(|(distance, _, at)| (*distance, *at)).map(|(_, _, at)| at)
    };
    free.iter().position(|name| snake(name) == written).or_else(by_letters).or_else(by_meaning)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[track_caller]
    fn check(declared: &[&str], received: &[&str], expect: &[(&str, &str)]) {
        let properties: Map<String, Value> = declared.iter().map(|name| ((*name).to_owned(), json!({}))).collect();
        let schema = json!({"type": "object", "properties": properties, "required": [declared[0]]});
        let received: Map<String, Value> = received.iter().map(|name| ((*name).to_owned(), json!(1))).collect();
        let found = corrections(&schema, &received);
        let found: Vec<(&str, &str)> = found.iter().map(|(a, b)| (a.as_str(), b.as_str())).collect();
        assert_eq!(found, expect);
    }

    #[test]
    fn other_agents_words_are_known() {
        check(
            &["path", "search", "replace"],
            &["file_path", "old_string", "new_string"],
            &[("file_path", "path"), ("new_string", "replace"), ("old_string", "search")],
        );
        check(&["command"], &["cmd"], &[("cmd", "command")]);
        check(&["content"], &["text"], &[("text", "content")]);
        check(&["old_string"], &["search"], &[("search", "old_string")]);
    }

    #[test]
    fn slips_of_the_pen_and_of_case_are_known() {
        check(&["timeout_ms", "path"], &["timeoutMs", "paht"], &[("paht", "path"), ("timeoutMs", "timeout_ms")]);
    }

    #[test]
    fn nothing_is_suggested_twice_nor_what_was_given() {
        check(&["path"], &["path", "file_path"], &[]);
        check(&["path"], &["file", "file_path"], &[("file", "path")]);
    }

    #[test]
    fn what_is_not_near_is_left() {
        check(&["path"], &["colour", "x"], &[]);
        check(&["ok"], &["no"], &[]);
        check(&["path"], &[&"p".repeat(10_000)], &[]);
    }
}

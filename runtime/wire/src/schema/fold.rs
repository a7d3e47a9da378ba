//! Unions: those with null become a list of types, those of one branch become the branch.

use super::keywords::{ignores_null, is_anchor, is_annotation};
use super::{Change, ChangeKind, each_child};
use serde_json::{Map, Value, json};

/// Folds a schema and all below it, the inner ones first. Where a reference leads `into_branches`, only lists of types
/// are put in order, because a branch that moves could not be found any more.
pub(super) fn fold(schema: &mut Value, into_branches: bool, pointer: &mut String, changes: &mut Vec<Change>) {
    each_child(schema, pointer, |_, child, pointer| fold(child, into_branches, pointer, changes));
    let Value::Object(map) = schema else { return };
    let mut done = |kind| changes.push(Change { at: pointer.clone(), kind });
    if order_types(map) {
        done(ChangeKind::TypesOrdered);
    }
    if map.get("required").is_some_and(|required| required == &json!([])) {
        map.remove("required");
        done(ChangeKind::RequiredPruned(Vec::new()));
    }
    if into_branches {
        return;
    }
    // Each step takes one keyword away and brings in at most those of a branch, so that this ends.
    while let Some(kind) = step(map) {
        done(kind);
    }
}

fn step(map: &mut Map<String, Value>) -> Option<ChangeKind> {
    for key in ["anyOf", "oneOf"] {
        if let Some(folded) = without_null(map, key) {
            map.remove(key);
            adopt(map, folded);
            order_types(map);
            return Some(ChangeKind::NullFolded);
        }
    }
    for key in ["anyOf", "oneOf", "allOf"] {
        if let Some(branch) = only_branch(map, key) {
            map.remove(key);
            adopt(map, branch);
            return Some(ChangeKind::BranchInlined);
        }
    }
    None
}

/// Adds a branch's keywords. Annotations around a branch are nearer to the reader's question than those inside.
fn adopt(map: &mut Map<String, Value>, branch: Map<String, Value>) {
    for (key, value) in branch {
        map.entry(key).or_insert(value);
    }
}

/// Puts null last in a list of types, names each once, and writes a list of one as that one.
fn order_types(map: &mut Map<String, Value>) -> bool {
    let Some(Value::Array(types)) = map.get("type") else { return false };
    if types.is_empty() || !types.iter().all(Value::is_string) {
        return false;
    }
    let mut ordered: Vec<Value> = Vec::new();
    for (nulls, kind) in [false, true].into_iter().flat_map(|nulls| types.iter().map(move |kind| (nulls, kind))) {
        if (kind == "null") == nulls && !ordered.contains(kind) {
            ordered.push(kind.clone());
        }
    }
    let ordered = if ordered.len() == 1 { ordered.remove(0) } else { Value::Array(ordered) };
    if map.get("type") == Some(&ordered) {
        return false;
    }
    map.insert("type".to_owned(), ordered);
    true
}

/// Whether a schema's keywords beside `key` leave room for a branch: nothing that decides, save what `also` admits.
fn is_bare(map: &Map<String, Value>, key: &str, also: impl Fn(&str) -> bool) -> bool {
    map.keys().all(|other| {
        other == key || is_annotation(other) || matches!(&**other, "$schema" | "$defs" | "definitions") || also(other)
    })
}

fn branches<'a>(map: &'a Map<String, Value>, key: &str) -> Option<&'a [Value]> {
    map.get(key).and_then(Value::as_array).map(Vec::as_slice)
}

/// The one branch of a union or a conjunction, where it can be written in its place.
fn only_branch(map: &Map<String, Value>, key: &str) -> Option<Map<String, Value>> {
    let [Value::Object(branch)] = branches(map, key)? else { return None };
    // Older drafts ignore all that stands beside a reference, so that a type could be lost.
    let fits = |other: &str| {
        other == "type"
            && !branch.contains_key("$ref")
            && branch.get("type").is_none_or(|kind| map.get("type") == Some(kind))
    };
    (is_bare(map, key, fits) && !branch.keys().any(|key| is_anchor(key))).then(|| branch.clone())
}

/// What a union with null comes to, as one schema without a union.
fn without_null(map: &Map<String, Value>, key: &str) -> Option<Map<String, Value>> {
    let branches = branches(map, key)?;
    if !is_bare(map, key, |_| false) {
        return None;
    }
    let (nulls, others): (Vec<&Value>, Vec<&Value>) = branches.iter().partition(|branch| is_null(branch));
    match (&*nulls, &*others) {
        ([_], [Value::Object(branch)]) => nullable(branch, key == "oneOf"),
        ([_], [_, _, ..]) => plain_types(&others, key == "oneOf"),
        _ => None,
    }
}

/// Whether a schema admits null and nothing else.
fn is_null(schema: &Value) -> bool {
    let Value::Object(map) = schema else { return false };
    let says_null = |key: &str, value: &Value| match key {
        "type" => value == "null",
        "const" => value.is_null(),
        "enum" => value == &json!([null]),
        _ => false,
    };
    let decides = |(key, value): (&String, &Value)| says_null(key, value) || is_annotation(key);
    map.iter().all(decides) && ["type", "const", "enum"].iter().any(|key| map.contains_key(*key))
}

/// A schema that admits null besides what it admitted; `exactly_one` where it must not have admitted null before.
fn nullable(branch: &Map<String, Value>, exactly_one: bool) -> Option<Map<String, Value>> {
    let types = match branch.get("type")? {
        Value::String(only) => vec![json!(only)],
        Value::Array(types) if !types.is_empty() && types.iter().all(Value::is_string) => types.clone(),
        _ => return None,
    };
    let listed = |key: &str| key == "enum" || key == "const";
    let moves = |key: &String| key == "type" || listed(key) || is_annotation(key) || ignores_null(key);
    let both = branch.contains_key("enum") && branch.contains_key("const");
    if both || !branch.keys().all(moves) || exactly_one && types.iter().any(|kind| kind == "null") {
        return None;
    }
    let mut out = branch.clone();
    out.insert("type".to_owned(), types.into_iter().chain([json!("null")]).collect());
    if let Some(value) = out.remove("const") {
        out.insert("enum".to_owned(), json!([value, null]));
    }
    if let Some(listed) = out.get_mut("enum") {
        let values = listed.as_array_mut()?;
        if !values.contains(&Value::Null) {
            values.push(Value::Null);
        }
    }
    Some(out)
}

/// The list of types of branches that name one type each and nothing else, with null.
fn plain_types(branches: &[&Value], exactly_one: bool) -> Option<Map<String, Value>> {
    let mut types = Vec::new();
    for branch in branches {
        let Value::Object(map) = branch else { return None };
        match map.get("type") {
            Some(kind @ Value::String(_)) if map.len() == 1 => types.push(kind.clone()),
            _ => return None,
        }
    }
    let mut distinct: Vec<&str> = types.iter().filter_map(Value::as_str).collect();
    distinct.sort_unstable();
    distinct.dedup();
    // An integer is a number as well, and would match two branches.
    let overlap = distinct.len() < types.len() || distinct.contains(&"integer") && distinct.contains(&"number");
    if exactly_one && overlap {
        return None;
    }
    types.push(json!("null"));
    Some(Map::from_iter([("type".to_owned(), Value::Array(types))]))
}

//! Cleaning of the schemas that tools bring along, so that every provider takes them and no model is misled.
//!
//! Four changes, made only where a schema stands, never in data (`default`, `const`, `enum`, `examples`, unknown
//! keywords) and never in a property that happens to be called like a keyword:
//!
//! - a union of something with null becomes a list of types: `anyOf: [{type: T}, {type: null}]` is `type: [T, null]`, with
//!   null last, and a list of one type is that type;
//! - a union or conjunction with one branch becomes that branch;
//! - an object without `properties` gets an empty one, unless it is a map (`additionalProperties` says what is in it);
//! - a name in `required` that no property has is removed, and so is an empty `required`.
//!
//! The first three leave the set of valid instances as it is; where that cannot be seen to hold, the schema stays as it
//! came. The last only widens that set: whatever was valid stays valid. It is left out wherever widening a part could
//! narrow the whole (below `not`, `oneOf`, `if`, `contains`). Cleaning twice is cleaning once.
//!
//! A `$ref` is never followed, so that none can loop and nothing is ever fetched; those that leave the document are
//! reported. [`strict`] turns a cleaned schema into the closed form that some providers demand, or says what cannot be
//! said in it.
//!
//! This module refuses to validate: whether arguments fit a schema is decided elsewhere, against the schema as it came.

mod fold;
mod keywords;
mod objects;
mod strict;

#[cfg(test)]
mod tests;

pub use strict::strict;

use keywords::{Place, children, children_mut};
use serde_json::Value;
use thiserror::Error;

/// The most levels of nesting in a schema, data in it included.
pub const MAX_DEPTH: usize = 127;

/// The most values in a schema, data in it included.
pub const MAX_VALUES: usize = 50_000;

/// The most bytes of all keys and strings in a schema together: 1 MiB.
pub const MAX_TEXT: usize = 1 << 20;

/// A schema that has been cleaned.
#[derive(Clone, Debug, PartialEq)]
pub struct Cleaned {
    /// The schema.
    pub schema: Value,
    /// What was changed, in the order in which it was done.
    pub changes: Vec<Change>,
    /// The targets of references that leave the document, in document order. They were not fetched, so that nobody knows
    /// what they say.
    pub remote: Vec<String>,
}

/// One change to a schema.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Change {
    /// The JSON pointer of the schema that was changed, as it was at that moment: inner unions are folded before outer ones.
    pub at: String,
    /// What was done.
    pub kind: ChangeKind,
}

/// What was done to one schema.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ChangeKind {
    /// A union with null became a list of types.
    NullFolded,
    /// A list of types was put in order.
    TypesOrdered,
    /// A union or conjunction of one branch became that branch.
    BranchInlined,
    /// An object got an empty `properties`.
    PropertiesAdded,
    /// These names, which no property has, were removed from `required`. Empty: an empty `required` was removed.
    RequiredPruned(Vec<String>),
}

/// Why a schema cannot be used, or not in strict form.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum SchemaFault {
    /// It is neither an object nor a boolean.
    #[error("a schema must be an object or a boolean, got {found}; the tool cannot be offered")]
    NotASchema {
        /// What it is, with its article.
        found: &'static str,
    },
    /// It is nested too deeply.
    #[error("the schema has more than {MAX_DEPTH} levels; the tool cannot be offered, flatten it")]
    TooDeep,
    /// It is too large.
    #[error(
        "the schema has more than {MAX_VALUES} values or {MAX_TEXT} bytes of text; the tool cannot be offered, shorten it"
    )]
    TooLarge,
    /// It says something that the strict form cannot say.
    #[error("{keyword:?} at {at:?} cannot be said in strict form; offer the tool without strict mode")]
    NotStrict {
        /// The JSON pointer of the schema.
        at: String,
        /// The keyword, or the one that is missing.
        keyword: String,
    },
}

/// Cleans a schema.
///
/// # Errors
/// [`SchemaFault::NotASchema`], and [`SchemaFault::TooDeep`] or [`SchemaFault::TooLarge`] beyond the limits; a schema of
/// this crate's own making ([`Cleaned::schema`]) is within them.
pub fn clean(schema: &Value) -> Result<Cleaned, SchemaFault> {
    measure(schema)?;
    let found = match schema {
        Value::Object(_) | Value::Bool(_) => None,
        Value::Null => Some("null"),
        Value::Number(_) => Some("a number"),
        Value::String(_) => Some("a string"),
        Value::Array(_) => Some("an array"),
    };
    if let Some(found) = found {
        return Err(SchemaFault::NotASchema { found });
    }
    let into_branches = Survey::of(schema).into_branches;
    let mut cleaned = Cleaned { schema: schema.clone(), changes: Vec::new(), remote: Vec::new() };
    fold::fold(&mut cleaned.schema, into_branches, &mut String::new(), &mut cleaned.changes);
    // Folding takes unions away, so that only now it is known where widening may narrow.
    let survey = Survey::of(&cleaned.schema);
    let scope = objects::Scope { widens: !(survey.refers && survey.narrows), defined_around: false };
    objects::complete(&mut cleaned.schema, scope, &mut String::new(), &mut cleaned.changes);
    cleaned.remote = survey.remote;
    Ok(cleaned)
}

/// Holds a schema to the limits, without recursion: only then may it be walked with it.
fn measure(schema: &Value) -> Result<(), SchemaFault> {
    let mut values = 0;
    let mut text = 0;
    let mut waiting = vec![(schema, 1)];
    while let Some((value, depth)) = waiting.pop() {
        values += 1;
        match value {
            Value::String(string) => text += string.len(),
            Value::Array(items) => waiting.extend(items.iter().map(|item| (item, depth + 1))),
            Value::Object(map) => {
                text += map.keys().map(String::len).sum::<usize>();
                waiting.extend(map.values().map(|value| (value, depth + 1)));
            }
            _ => {}
        }
        if depth > MAX_DEPTH {
            return Err(SchemaFault::TooDeep);
        }
        if values + waiting.len() > MAX_VALUES || text > MAX_TEXT {
            return Err(SchemaFault::TooLarge);
        }
    }
    Ok(())
}

/// What must be known about a whole document before a part of it is changed.
#[derive(Debug, Default)]
struct Survey {
    /// Something refers to something.
    refers: bool,
    /// A reference may lead into a branch of a union, whose place would change.
    into_branches: bool,
    /// Somewhere widening a part could narrow the whole.
    narrows: bool,
    remote: Vec<String>,
}

impl Survey {
    fn of(schema: &Value) -> Self {
        let mut survey = Survey::default();
        survey.take(schema);
        survey
    }

    fn take(&mut self, schema: &Value) {
        let Value::Object(map) = schema else { return };
        for key in ["$ref", "$dynamicRef", "$recursiveRef"] {
            let Some(Value::String(target)) = map.get(key) else { continue };
            self.refers = true;
            self.into_branches |= target.contains(['%', '~'])
                || target.split('/').any(|part| matches!(part, "anyOf" | "oneOf" | "allOf"));
            if !target.starts_with('#') {
                self.remote.push(target.clone());
            }
        }
        children(map, |place, _, child| {
            self.narrows |= place == Place::Narrowing;
            self.take(child);
        });
    }
}

/// Calls `visit` with each schema directly below `schema`, its place, and `pointer` leading to it.
fn each_child(schema: &mut Value, pointer: &mut String, mut visit: impl FnMut(Place, &mut Value, &mut String)) {
    let Value::Object(map) = schema else { return };
    let length = pointer.len();
    children_mut(map, |place, path, child| {
        for part in path {
            pointer.push('/');
            pointer.push_str(&part.replace('~', "~0").replace('/', "~1"));
        }
        visit(place, child, pointer);
        pointer.truncate(length);
    });
}

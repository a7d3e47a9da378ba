//! The properties of schema cleaning that hold for any JSON. That it keeps the valid instances is a property test, which
//! needs a validator.

use crate::schema::{SchemaFault, clean, strict};
use serde_json::Value;

/// Keywords whose values are data.
const DATA: [&str; 4] = ["const", "default", "example", "examples"];

/// Keywords whose values map names to schemas.
const NAMES: [&str; 6] =
    ["$defs", "definitions", "dependencies", "dependentSchemas", "patternProperties", "properties"];

/// Cleaning ends, stays as it is when it is done again, and brings no data in; the strict form of a strict form is
/// itself.
pub fn schema_clean(bytes: &[u8]) {
    let Ok(schema) = serde_json::from_slice::<Value>(bytes) else { return };
    let cleaned = match clean(&schema) {
        Ok(cleaned) => cleaned,
        Err(fault) => {
            assert!(schema_is_odd(&schema) || fault != SchemaFault::TooLarge, "{fault}");
            return;
        }
    };
    let again = clean(&cleaned.schema);
    assert!(again.is_ok_and(|again| again.schema == cleaned.schema && again.changes.is_empty()));
    assert_eq!(cleaned.changes.is_empty(), cleaned.schema == schema);
    let before = data(&schema);
    for item in data(&cleaned.schema) {
        assert!(before.contains(&item), "{item} was not there");
    }
    if let Ok(closed) = strict(&schema) {
        assert_eq!(strict(&closed).as_ref(), Ok(&closed));
    }
}

/// Large enough that a limit may be what refused it.
fn schema_is_odd(schema: &Value) -> bool {
    schema.to_string().len() > 50_000
}

/// All values of keywords that hold data, wherever they are, as text.
fn data(value: &Value) -> Vec<String> {
    let mut out = Vec::new();
    let mut waiting = vec![(value, false)];
    while let Some((value, names)) = waiting.pop() {
        match value {
            Value::Array(items) => waiting.extend(items.iter().map(|item| (item, false))),
            Value::Object(map) => {
                for (key, item) in map {
                    match !names && DATA.contains(&&**key) {
                        true => out.push(item.to_string()),
                        false => waiting.push((item, !names && NAMES.contains(&&**key))),
                    }
                }
            }
            _ => {}
        }
    }
    out
}

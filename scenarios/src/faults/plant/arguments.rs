//! Decorators on the reader of arguments, and changes to the schemas of tools.

use super::Seam;
use serde_json::{Map, Value};
use slot_runtime::dispatch::ArgumentReader;
use slot_wire::repair::{ArgumentFault, Arguments, FaultKind, SyntaxFault, TurnEnd};
use std::borrow::Cow;
use std::sync::Arc;

/// A reader that goes wrong in the way of its seam.
pub(super) struct Reader {
    seam: Seam,
    inner: Arc<dyn ArgumentReader>,
}

impl Reader {
    pub(super) fn decorates(seam: Seam) -> bool {
        matches!(
            seam,
            Seam::ArgumentsStrict
                | Seam::ArgumentsBlind
                | Seam::ArgumentsFirst
                | Seam::ArgumentsEmpty
                | Seam::ArgumentsLast
                | Seam::ArgumentsSilent
                | Seam::ArgumentsTerse
                | Seam::ArgumentsRound
                | Seam::ArgumentsVerbatim
        )
    }

    pub(super) fn new(seam: Seam, inner: Arc<dyn ArgumentReader>) -> Self {
        Reader { seam, inner }
    }
}

impl ArgumentReader for Reader {
    fn read<'a>(&self, text: &'a str, end: TurnEnd) -> Result<Arguments<'a>, ArgumentFault> {
        let read = self.inner.read(text, end);
        match (self.seam, read) {
            (Seam::ArgumentsStrict, Ok(read)) if !read.rungs.is_empty() => Err(fault(SyntaxFault::MissingValue.into())),
            (Seam::ArgumentsStrict, Ok(_)) if text.trim().is_empty() => Err(fault(SyntaxFault::EndsInToken.into())),
            (Seam::ArgumentsBlind, Ok(read)) if !read.rungs.is_empty() => {
                let blind = text.replace([' ', '\n', '\t', '\u{b}'], "").replace(",}", "}").replace(",]", "]");
                let again = self.inner.read(&blind, end).map(owned);
                Ok(again.unwrap_or(read))
            }
            (Seam::ArgumentsFirst, Err(_)) => {
                let mut values = serde_json::Deserializer::from_str(text).into_iter::<Map<String, Value>>();
                match values.next() {
                    Some(Ok(first)) => Ok(whole(first)),
                    _ => self.inner.read(text, end),
                }
            }
            (Seam::ArgumentsEmpty, Err(_)) => Ok(whole(Map::new())),
            (Seam::ArgumentsLast | Seam::ArgumentsRound, Err(fault)) => {
                // What serde_json makes of it: the last of two keys, and the nearest number.
                serde_json::from_str::<Map<String, Value>>(text).map(whole).map_err(|_| fault)
            }
            (Seam::ArgumentsRound, Ok(read)) => {
                let value = rounded(&read.value);
                Ok(Arguments { text: Cow::Owned(value.to_string()), value, ..read })
            }
            (Seam::ArgumentsSilent, Ok(read)) => Ok(Arguments { rungs: Vec::new(), ..read }),
            (Seam::ArgumentsTerse, Err(_)) => Err(fault(SyntaxFault::Unexpected { found: '?' }.into())),
            (Seam::ArgumentsVerbatim, Ok(read)) => Ok(Arguments { text: Cow::Borrowed(text), ..read }),
            (_, read) => read,
        }
    }
}

fn fault(kind: FaultKind) -> ArgumentFault {
    ArgumentFault { kind, at: 0, near: String::new() }
}

fn whole(fields: Map<String, Value>) -> Arguments<'static> {
    let value = Value::Object(fields);
    let text = Cow::Owned(value.to_string());
    Arguments { value, text, rungs: Vec::new(), dropped: 0, closed_string: false }
}

fn owned(read: Arguments<'_>) -> Arguments<'static> {
    let Arguments { value, text, rungs, dropped, closed_string } = read;
    Arguments { value, text: Cow::Owned(text.into_owned()), rungs, dropped, closed_string }
}

/// Every number as the nearest one with 53 bits.
fn rounded(value: &Value) -> Value {
    match value {
        Value::Number(number) => number.as_f64().map_or(Value::Null, Value::from),
        Value::Array(items) => items.iter().map(rounded).collect(),
        Value::Object(fields) => {
            Value::Object(fields.iter().map(|(key, value)| (key.clone(), rounded(value))).collect())
        }
        other => other.clone(),
    }
}

/// Cleans a schema and everything in it, data and names as well.
pub(super) fn clean_everywhere(value: &mut Value) {
    match value {
        Value::Array(items) => items.iter_mut().for_each(clean_everywhere),
        Value::Object(fields) => {
            fields.values_mut().for_each(clean_everywhere);
            if fields.get("type").is_some_and(|kind| kind == "object") {
                fields.entry("properties").or_insert_with(|| Value::Object(Map::new()));
            }
            fields.remove("$ref");
            fields.remove("oneOf");
        }
        _ => {}
    }
}

/// Leaves nothing of a union but its first type.
pub(super) fn refuse_null(schema: &mut Value) {
    let Some(properties) = schema.get_mut("properties").and_then(Value::as_object_mut) else { return };
    for property in properties.values_mut() {
        if property.get("anyOf").is_some() {
            *property = serde_json::json!({"type": "string"});
        }
    }
}

//! The shape of arguments against a tool's schema: what must be there, what must not, of which type and within which
//! bounds.
//!
//! All faults are told at once, so that the model needs one more call and not five, and each says what would be right.
//! Nothing is coerced: `"1200"` is no integer, because what is validated is what runs.
//!
//! It reads the part of JSON Schema that tools are written in: `type`, `properties`, `required`, `additionalProperties`,
//! `items`, `prefixItems`, `enum`, `const`, bounds of numbers, lengths and counts, `anyOf`, `oneOf`, `allOf` and local
//! `$ref`. What it does not know constrains nothing here and is left to the tool, `pattern` and `format` among it. A
//! remote `$ref` is never fetched. Depth and work are bounded, and exceeding a bound is a fault.

pub mod describe;
#[cfg(test)]
mod tests;

use super::fields::{corrections, properties, required};
use crate::contract::ValidationFault;
use describe::{choice, kind, typed, value as shown};
use serde_json::{Map, Number, Value};
use std::cmp::Ordering;

/// The most faults that are told.
const MOST_FAULTS: usize = 20;
/// How deep schema and value are followed together. Parsed arguments are at most 128 deep.
const MOST_DEPTH: usize = 200;
/// The most places at which a value is held against a schema.
const MOST_WORK: usize = 1_000_000;
/// The most fields of an answer that are listed.
const MOST_FIELDS: usize = 30;
/// The most undeclared fields that are named in a result.
const MOST_NOTES: usize = 5;

/// Everything that is wrong with `input`; empty if it is what `schema` takes.
pub fn check(schema: &Value, input: &Value) -> Vec<ValidationFault> {
    let mut checker =
        Checker { root: schema, work: MOST_WORK, depth: 0, exceeded: false, refs: Vec::new(), cycled: false };
    let mut faults = Faults::default();
    checker.check(schema, input, &mut String::new(), &mut faults);
    if checker.exceeded {
        let message = "the arguments are too large or too deeply nested to be checked; send fewer or simpler values";
        return vec![ValidationFault::at("", message)];
    }
    if faults.more {
        faults.list.push(ValidationFault::at("", "there are more faults; correct these first"));
    }
    faults.list
}

/// Names each field of `input` that an open schema does not forbid and the tool does not know: it is passed on, and never
/// dropped in silence. Empty where the schema says that it takes other fields.
pub fn undeclared(schema: &Value, input: &Value) -> Vec<String> {
    let (Some(declared), Value::Object(received)) = (properties(schema), input) else { return Vec::new() };
    let says_more =
        ["additionalProperties", "patternProperties", "unevaluatedProperties", "allOf", "anyOf", "oneOf", "$ref"];
    if declared.is_empty() || says_more.iter().any(|key| schema.get(*key).is_some()) {
        return Vec::new();
    }
    let likely = corrections(schema, received);
    let unknown = received.keys().filter(|name| !declared.contains_key(*name)).take(MOST_NOTES);
    unknown
        .map(|name| {
            let meant = likely.get(name).map(|right| format!("; did you mean {right:?}?")).unwrap_or_default();
            format!("the tool declares no field {}; it was passed on as it is{meant}", quoted(name))
        })
        .collect()
}

/// Faults of one reading of a value.
#[derive(Default)]
struct Faults {
    list: Vec<ValidationFault>,
    more: bool,
}

impl Faults {
    fn push(&mut self, at: &str, message: impl Into<String>) {
        if self.list.len() < MOST_FAULTS {
            self.list.push(ValidationFault::at(at, message));
        } else {
            self.more = true;
        }
    }

    fn append(&mut self, other: Faults) {
        for fault in other.list {
            self.push(&fault.pointer, fault.message);
        }
        self.more |= other.more;
    }
}

struct Checker<'s> {
    root: &'s Value,
    work: usize,
    depth: usize,
    exceeded: bool,
    /// The references that are being followed, each with the value they are followed for.
    refs: Vec<(*const Value, *const Value)>,
    /// Whether the reading of the present value came back to a reference that it was following already.
    cycled: bool,
}

impl<'s> Checker<'s> {
    fn check(&mut self, schema: &'s Value, value: &Value, at: &mut String, faults: &mut Faults) {
        if self.work == 0 || self.depth == MOST_DEPTH {
            self.exceeded = true;
        }
        if self.exceeded {
            return;
        }
        self.work -= 1;
        match schema {
            Value::Bool(false) => faults.push(at, "no value is allowed here; leave it out"),
            Value::Object(keywords) => {
                self.depth += 1;
                self.keywords(schema, keywords, value, at, faults);
                self.depth -= 1;
            }
            _ => {}
        }
    }

    fn keywords(
        &mut self,
        schema: &'s Value,
        keywords: &'s Map<String, Value>,
        value: &Value,
        at: &mut String,
        faults: &mut Faults,
    ) {
        if value.is_null() && keywords.get("nullable") == Some(&Value::Bool(true)) {
            return;
        }
        self.reference(keywords, value, at, faults);
        if !has_type(keywords, value) {
            let hint = hint(keywords, value).map(|hint| format!("; {hint}")).unwrap_or_default();
            faults.push(at, format!("must be {}, and is {}{hint}", article(&kind(schema)), typed(value)));
            // What else a value of another type lacks is noise.
            return;
        }
        choices(keywords, value, at, faults);
        match value {
            Value::Number(number) => number_bounds(keywords, number, at, faults),
            Value::String(text) => length(keywords, text, at, faults),
            Value::Array(items) => self.array(keywords, items, at, faults),
            Value::Object(fields) => self.object(schema, keywords, fields, at, faults),
            Value::Null | Value::Bool(_) => {}
        }
        self.branches(keywords, value, at, faults);
    }

    /// A reference that is already being followed for this very value says nothing new, and ends there.
    fn reference(&mut self, keywords: &Map<String, Value>, value: &Value, at: &mut String, faults: &mut Faults) {
        let Some(pointer) = keywords.get("$ref").and_then(Value::as_str).and_then(|r| r.strip_prefix('#')) else {
            return;
        };
        let Some(target) = self.root.pointer(pointer) else { return };
        let step = (std::ptr::from_ref(target), std::ptr::from_ref(value));
        if self.refs.contains(&step) {
            self.cycled = true;
            return;
        }
        self.refs.push(step);
        self.check(target, value, at, faults);
        self.refs.pop();
    }

    fn array(&mut self, keywords: &'s Map<String, Value>, items: &[Value], at: &mut String, faults: &mut Faults) {
        let count = |key: &str| keywords.get(key).and_then(Value::as_u64);
        let found = items.len() as u64;
        if let Some(least) = count("minItems").filter(|least| found < *least) {
            faults.push(at, format!("must have at least {least} items, and has {found}"));
        }
        if let Some(most) = count("maxItems").filter(|most| found > *most) {
            faults.push(at, format!("must have at most {most} items, and has {found}"));
        }
        let first = keywords.get("prefixItems").and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
        let rest = keywords.get("items").filter(|items| !items.is_array());
        for (index, item) in items.iter().enumerate() {
            let Some(schema) = first.get(index).or(rest) else { break };
            self.inside(schema, item, &index.to_string(), at, faults);
        }
    }

    fn object(
        &mut self,
        schema: &'s Value,
        keywords: &'s Map<String, Value>,
        fields: &Map<String, Value>,
        at: &mut String,
        faults: &mut Faults,
    ) {
        let declared = properties(schema);
        for name in required(schema).filter(|name| !fields.contains_key(*name)) {
            let takes =
                declared.and_then(|d| d.get(name)).map(|field| format!(": {}", kind(field))).unwrap_or_default();
            faults.push(&join(at, name), format!("the field {name:?} is missing{takes}"));
        }
        // Patterns are left to the tool, so here nobody can say which names they cover.
        let others = keywords.get("additionalProperties").filter(|_| !keywords.contains_key("patternProperties"));
        let mut likely = None;
        for (name, value) in fields {
            match (declared.and_then(|declared| declared.get(name)), others) {
                (Some(field), _) => self.inside(field, value, name, at, faults),
                (None, Some(Value::Bool(false))) => {
                    let likely = likely.get_or_insert_with(|| corrections(schema, fields));
                    let next = match likely.get(name) {
                        Some(right) => format!("did you mean {right:?}?"),
                        None => fields_of(declared),
                    };
                    faults.push(&join(at, name), format!("there is no field {}; {next}", quoted(name)));
                }
                (None, Some(other)) => self.inside(other, value, name, at, faults),
                (None, None) => {}
            }
        }
    }

    fn inside(&mut self, schema: &'s Value, value: &Value, segment: &str, at: &mut String, faults: &mut Faults) {
        let (end, cycled) = (at.len(), self.cycled);
        push_segment(at, segment);
        self.check(schema, value, at, faults);
        at.truncate(end);
        self.cycled = cycled;
    }

    fn branches(&mut self, keywords: &'s Map<String, Value>, value: &Value, at: &mut String, faults: &mut Faults) {
        let list = |key: &str| keywords.get(key).and_then(Value::as_array);
        for branch in list("allOf").into_iter().flatten() {
            self.check(branch, value, at, faults);
        }
        for (key, one) in [("anyOf", false), ("oneOf", true)] {
            let Some(branches) = list(key) else { continue };
            let (mut fitting, mut empty) = (0, 0);
            let mut best: Option<Faults> = None;
            for branch in branches {
                let mut found = Faults::default();
                let cycled = std::mem::take(&mut self.cycled);
                self.check(branch, value, at, &mut found);
                // A branch that only leads back here adds nothing that the value could fit.
                if std::mem::replace(&mut self.cycled, cycled) && found.list.is_empty() {
                    empty += 1;
                } else if found.list.is_empty() {
                    fitting += 1;
                    if fitting > usize::from(one) {
                        break;
                    }
                } else if best.as_ref().is_none_or(|best| nearer(&found, best, at)) {
                    best = Some(found);
                }
            }
            match (fitting, best) {
                (0, Some(best)) if best.list.iter().any(|fault| fault.pointer.len() > at.len()) => faults.append(best),
                (0, _) if branches.len() > empty => {
                    let forms: Vec<String> = branches.iter().map(kind).take(MOST_FIELDS).collect();
                    faults.push(at, format!("must be {}, and is {}", article(&forms.join(" or ")), typed(value)));
                }
                (2.., _) => {
                    faults.push(at, format!("fits several of its {} forms; send what fits only one", branches.len()))
                }
                _ => {}
            }
        }
    }
}

/// Whether one failed reading is nearer than another: a fault inside a value says that the value itself was meant so.
fn nearer(found: &Faults, best: &Faults, at: &str) -> bool {
    let distance = |faults: &Faults| {
        let inside = faults.list.iter().all(|fault| fault.pointer.len() > at.len());
        (!inside, faults.list.len())
    };
    distance(found) < distance(best)
}

fn has_type(keywords: &Map<String, Value>, value: &Value) -> bool {
    match keywords.get("type") {
        Some(Value::String(name)) => is_of(name, value),
        Some(Value::Array(names)) => names.iter().filter_map(Value::as_str).any(|name| is_of(name, value)),
        _ => true,
    }
}

fn is_of(name: &str, value: &Value) -> bool {
    match name {
        "string" => value.is_string(),
        // `1.0` is refused, although JSON Schema would let it pass: a tool that reads an integer would not see it.
        "integer" => value.is_i64() || value.is_u64(),
        "number" => value.is_number(),
        "boolean" => value.is_boolean(),
        "object" => value.is_object(),
        "array" => value.is_array(),
        "null" => value.is_null(),
        _ => true,
    }
}

/// What would turn the value into what is wanted.
fn hint(keywords: &Map<String, Value>, value: &Value) -> Option<String> {
    let wants = |name: &str| match keywords.get("type") {
        Some(Value::String(one)) => one == name,
        Some(Value::Array(several)) => several.iter().any(|one| one == name),
        _ => false,
    };
    match value {
        Value::String(text) if wants("integer") && text.trim().parse::<i64>().is_ok() => {
            Some(format!("send {} without quotes", text.trim()))
        }
        Value::String(text)
            if wants("number") && text.trim().len() < 32 && serde_json::from_str::<Number>(text.trim()).is_ok() =>
        {
            Some(format!("send {} without quotes", text.trim()))
        }
        Value::String(text) if wants("boolean") && matches!(text.trim(), "true" | "false") => {
            Some(format!("send {} without quotes", text.trim()))
        }
        Value::String(text) if wants("array") && text.trim_start().starts_with('[') => {
            Some("send the array itself, not its text".to_owned())
        }
        Value::String(text) if wants("object") && text.trim_start().starts_with('{') => {
            Some("send the object itself, not its text".to_owned())
        }
        Value::Number(n) if wants("integer") => match n.as_f64() {
            Some(f) if f.fract() == 0.0 && f.abs() < 9e15 => Some(format!("send {f:.0}")),
            _ => Some("send a whole number".to_owned()),
        },
        Value::Number(_) | Value::Bool(_) if wants("string") => Some("send it in quotes".to_owned()),
        Value::Null => Some("send a value, or leave the field out if it is optional".to_owned()),
        Value::String(_) | Value::Number(_) | Value::Bool(_) | Value::Object(_) if wants("array") => {
            Some("send it inside an array".to_owned())
        }
        _ => None,
    }
}

fn choices(keywords: &Map<String, Value>, value: &Value, at: &str, faults: &mut Faults) {
    if let Some(allowed) = keywords.get("enum").and_then(Value::as_array)
        && !allowed.iter().any(|one| same(one, value))
    {
        faults.push(at, format!("must be one of {}, and is {}", choice(allowed), typed(value)));
    }
    if let Some(only) = keywords.get("const").filter(|only| !same(only, value)) {
        faults.push(at, format!("must be {}, and is {}", shown(only), typed(value)));
    }
}

fn same(a: &Value, b: &Value) -> bool {
    match (a, b) {
        (Value::Number(a), Value::Number(b)) => compare(a, b) == Some(Ordering::Equal),
        _ => a == b,
    }
}

/// Integers are compared as such, so that no digit is lost.
fn compare(a: &Number, b: &Number) -> Option<Ordering> {
    match (a.as_i128(), b.as_i128()) {
        (Some(a), Some(b)) => Some(a.cmp(&b)),
        _ => a.as_f64()?.partial_cmp(&b.as_f64()?),
    }
}

fn number_bounds(keywords: &Map<String, Value>, number: &Number, at: &str, faults: &mut Faults) {
    let rows: [(&str, &[Ordering], &str); 4] = [
        ("minimum", &[Ordering::Less], "at least"),
        ("maximum", &[Ordering::Greater], "at most"),
        ("exclusiveMinimum", &[Ordering::Less, Ordering::Equal], "more than"),
        ("exclusiveMaximum", &[Ordering::Greater, Ordering::Equal], "less than"),
    ];
    for (key, wrong, words) in rows {
        let Some(Value::Number(bound)) = keywords.get(key) else { continue };
        if compare(number, bound).is_some_and(|order| wrong.contains(&order)) {
            faults.push(at, format!("must be {words} {bound}, and is {number}"));
        }
    }
}

fn length(keywords: &Map<String, Value>, text: &str, at: &str, faults: &mut Faults) {
    let bound = |key: &str| keywords.get(key).and_then(Value::as_u64);
    let (least, most) = (bound("minLength"), bound("maxLength"));
    if least.is_none() && most.is_none() {
        return;
    }
    let found = text.chars().count() as u64;
    if let Some(least) = least.filter(|least| found < *least) {
        faults.push(at, format!("must have at least {least} characters, and has {found}"));
    }
    if let Some(most) = most.filter(|most| found > *most) {
        faults.push(at, format!("must have at most {most} characters, and has {found}"));
    }
}

fn fields_of(declared: Option<&Map<String, Value>>) -> String {
    match declared {
        Some(declared) if !declared.is_empty() => {
            let names: Vec<&str> = declared.keys().map(String::as_str).take(MOST_FIELDS).collect();
            format!("the fields are: {}", names.join(", "))
        }
        _ => "it takes no fields".to_owned(),
    }
}

fn article(kind: &str) -> String {
    match kind {
        "integer" | "object" | "array" => format!("an {kind}"),
        "string" | "number" | "boolean" => format!("a {kind}"),
        _ => kind.to_owned(),
    }
}

/// A field's name as it is quoted: escaped, and cut.
fn quoted(name: &str) -> String {
    slot_wire::names::quoted(name)
}

fn join(at: &str, segment: &str) -> String {
    let mut pointer = at.to_owned();
    push_segment(&mut pointer, segment);
    pointer
}

/// Appends one segment to a JSON pointer. A segment is the model's own text, so it is cut where it is long.
fn push_segment(at: &mut String, segment: &str) {
    at.push('/');
    let end = segment.char_indices().nth(100).map_or(segment.len(), |(end, _)| end);
    at.push_str(&segment[..end].replace('~', "~0").replace('/', "~1"));
}

//! The values of a document, each with its span.

use super::{de::Step, leaf::LeafPath};
use std::{fmt::Write as _, ops::Range};
use toml::{Spanned, de::DeTable, de::DeValue};

/// A value and where it stands, in bytes of the document's text.
#[derive(Clone, Debug, PartialEq)]
pub struct Tree {
    /// Where it stands. A value that a twin put here keeps the span at which the twin states it.
    pub span: Range<usize>,
    /// The value.
    pub value: Value,
}

/// A TOML value.
#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    /// A string.
    String(String),
    /// An integer.
    Integer(i64),
    /// A float.
    Float(f64),
    /// A boolean.
    Bool(bool),
    /// An array, of tables too.
    Array(Vec<Tree>),
    /// A table; entries in the order in which they are written.
    Table(Vec<Entry>),
}

/// One entry of a table.
#[derive(Clone, Debug, PartialEq)]
pub struct Entry {
    /// The key.
    pub key: String,
    /// Where the key stands.
    pub key_span: Range<usize>,
    /// The value.
    pub tree: Tree,
}

/// A value that no document of ours holds: where, and what is wrong with it.
type Unfit = (Range<usize>, String);

impl Tree {
    pub(super) fn of_table(table: &DeTable<'_>, span: Range<usize>) -> Result<Tree, Unfit> {
        let mut entries = Vec::with_capacity(table.len());
        for (key, value) in table {
            entries.push(Entry { key: key.get_ref().to_string(), key_span: key.span(), tree: Tree::of(value)? });
        }
        entries.sort_by_key(|entry| entry.key_span.start);
        Ok(Tree { span, value: Value::Table(entries) })
    }

    fn of(value: &Spanned<DeValue<'_>>) -> Result<Tree, Unfit> {
        let span = value.span();
        let value = match value.get_ref() {
            DeValue::String(text) => Value::String(text.to_string()),
            DeValue::Integer(number) => match i64::from_str_radix(number.as_str(), number.radix()) {
                Ok(number) => Value::Integer(number),
                Err(_) => return Err((span, format!("the integer {} has more than 64 bits", number.as_str()))),
            },
            DeValue::Float(number) => match number.as_str().parse() {
                Ok(number) => Value::Float(number),
                Err(_) => return Err((span, format!("{} is no number", number.as_str()))),
            },
            DeValue::Boolean(yes) => Value::Bool(*yes),
            DeValue::Datetime(_) => return Err((span, "no field takes a date; write it as a string".to_owned())),
            DeValue::Array(items) => Value::Array(items.iter().map(Tree::of).collect::<Result<_, _>>()?),
            DeValue::Table(table) => return Tree::of_table(table, span),
        };
        Ok(Tree { span, value })
    }

    /// The entries, when it is a table.
    pub fn entries(&self) -> &[Entry] {
        match &self.value {
            Value::Table(entries) => entries,
            _ => &[],
        }
    }

    /// The value under `key`, when it is a table that has one.
    pub fn get(&self, key: &str) -> Option<&Tree> {
        self.entries().iter().find(|entry| entry.key == key).map(|entry| &entry.tree)
    }

    /// The span of what stands at `path`, or of the innermost value on the way there.
    pub(super) fn nearest_span(&self, path: &str) -> Range<usize> {
        let mut at = self;
        for step in LeafPath::parse(path).iter().flat_map(LeafPath::steps) {
            let next = match (step, &at.value) {
                (Step::Key(key), Value::Table(_)) => at.get(key),
                (Step::Index(index), Value::Array(items)) => items.get(*index),
                _ => None,
            };
            match next {
                Some(tree) => at = tree,
                None => break,
            }
        }
        at.span.clone()
    }

    /// Takes the value under `key` out of the table.
    pub fn take(&mut self, key: &str) -> Option<Entry> {
        let Value::Table(entries) = &mut self.value else { return None };
        let at = entries.iter().position(|entry| entry.key == key)?;
        Some(entries.remove(at))
    }

    /// How many scalars it holds, at any depth; an empty array or table counts as one.
    pub fn leaves(&self) -> usize {
        match &self.value {
            Value::Array(items) if !items.is_empty() => items.iter().map(Tree::leaves).sum(),
            Value::Table(entries) if !entries.is_empty() => entries.iter().map(|e| e.tree.leaves()).sum(),
            _ => 1,
        }
    }

    /// Whether two trees hold the same values, wherever they stand.
    pub fn same(&self, other: &Tree) -> bool {
        match (&self.value, &other.value) {
            (Value::Array(a), Value::Array(b)) => a.len() == b.len() && a.iter().zip(b).all(|(a, b)| a.same(b)),
            (Value::Table(a), Value::Table(b)) => {
                a.len() == b.len() && a.iter().all(|x| b.iter().any(|y| x.key == y.key && x.tree.same(&y.tree)))
            }
            (a, b) => a == b,
        }
    }

    /// What kind of value it is, for messages.
    pub fn kind(&self) -> &'static str {
        match &self.value {
            Value::String(_) => "a string",
            Value::Integer(_) => "an integer",
            Value::Float(_) => "a float",
            Value::Bool(_) => "a boolean",
            Value::Array(_) => "an array",
            Value::Table(_) => "a table",
        }
    }

    /// Removes what stands at `path`. Returns whether anything did.
    pub(super) fn remove(&mut self, path: &[Step]) -> bool {
        match (path, &mut self.value) {
            ([Step::Key(key)], Value::Table(_)) => self.take(key).is_some(),
            ([Step::Index(index)], Value::Array(items)) if *index < items.len() => {
                items.remove(*index);
                true
            }
            ([Step::Key(key), rest @ ..], Value::Table(entries)) => {
                entries.iter_mut().find(|e| e.key == *key).is_some_and(|e| e.tree.remove(rest))
            }
            ([Step::Index(index), rest @ ..], Value::Array(items)) => {
                items.get_mut(*index).is_some_and(|tree| tree.remove(rest))
            }
            _ => false,
        }
    }

    /// The value as TOML text on one line.
    pub fn inline(&self) -> String {
        match &self.value {
            Value::String(text) => basic_string(text),
            Value::Integer(number) => number.to_string(),
            Value::Float(number) => toml::Value::Float(*number).to_string(),
            Value::Bool(yes) => yes.to_string(),
            Value::Array(items) => {
                format!("[{}]", items.iter().map(Tree::inline).collect::<Vec<_>>().join(", "))
            }
            Value::Table(entries) => {
                let entries: Vec<String> =
                    entries.iter().map(|e| format!("{} = {}", key_text(&e.key), e.tree.inline())).collect();
                if entries.is_empty() { "{}".to_owned() } else { format!("{{ {} }}", entries.join(", ")) }
            }
        }
    }

    /// The table as a TOML document: plain entries first, then tables and arrays of tables under headers, one level
    /// deep; what lies deeper is written inline, as a person would.
    pub fn document(&self) -> String {
        let mut out = String::new();
        write_table(&mut out, self, "");
        out
    }
}

/// How deep headers go: `[[turn.call]]` is a header, what is inside it is written inline.
const HEADER_DEPTH: usize = 2;

fn write_table(out: &mut String, table: &Tree, header: &str) {
    let depth = if header.is_empty() { 0 } else { header.matches('.').count() + 1 };
    let has_header = |tree: &Tree| match &tree.value {
        Value::Table(_) => depth == 0,
        Value::Array(items) => {
            depth < HEADER_DEPTH && !items.is_empty() && items.iter().all(|i| matches!(i.value, Value::Table(_)))
        }
        _ => false,
    };
    for entry in table.entries().iter().filter(|e| !has_header(&e.tree)) {
        let _ = writeln!(out, "{} = {}", key_text(&entry.key), entry.tree.inline());
    }
    for entry in table.entries().iter().filter(|e| has_header(&e.tree)) {
        let key = key_text(&entry.key);
        let name = if header.is_empty() { key } else { format!("{header}.{key}") };
        match &entry.tree.value {
            Value::Array(items) => {
                for item in items {
                    let _ = writeln!(out, "\n[[{name}]]");
                    write_table(out, item, &name);
                }
            }
            _ => {
                let _ = writeln!(out, "\n[{name}]");
                write_table(out, &entry.tree, &name);
            }
        }
    }
}

/// A key as TOML writes it: bare where it can be.
pub fn key_text(key: &str) -> String {
    let bare = !key.is_empty() && key.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_' || b == b'-');
    if bare { key.to_owned() } else { basic_string(key) }
}

/// A basic string on one line; what cannot be seen is escaped.
fn basic_string(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 2);
    out.push('"');
    for c in text.chars() {
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\t' => out.push_str("\\t"),
            '\r' => out.push_str("\\r"),
            c if c.is_control() => {
                let _ = write!(out, "\\u{:04X}", u32::from(c));
            }
            c => out.push(c),
        }
    }
    out.push('"');
    out
}

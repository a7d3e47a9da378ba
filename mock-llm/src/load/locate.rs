//! From a field to its place in the file and back.

use super::{MAX_FILE, ScriptError};
use std::ops::Range;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

/// A TOML text with the place of every field in it.
#[derive(Debug)]
pub struct Locator<'a> {
    text: &'a str,
    origin: &'a str,
    fields: Vec<Field>,
}

#[derive(Debug)]
struct Field {
    /// Such as `turn[0].call[1].id`.
    path: String,
    /// The key and the value, as byte ranges. An element of a list has no key.
    key: Option<Range<usize>>,
    value: Range<usize>,
}

impl<'a> Locator<'a> {
    /// Reads the fields of a TOML text. `origin` names the file in messages.
    ///
    /// # Errors
    ///
    /// When the text is no TOML, or too long.
    pub fn new(text: &'a str, origin: &'a str) -> Result<Locator<'a>, ScriptError> {
        let mut locator = Locator { text, origin, fields: Vec::new() };
        if text.len() > MAX_FILE {
            return Err(locator.at_path("", "the file is longer than 64 MiB".into(), "split it".into()));
        }
        let table = DeTable::parse(text).map_err(|error| locator.error(&error))?;
        locator.table("", table.get_ref());
        Ok(locator)
    }

    /// The top-level keys, in order of the alphabet.
    pub fn top_level(&self) -> impl Iterator<Item = &str> {
        self.fields.iter().map(|field| field.path.as_str()).filter(|path| !path.contains(['.', '[']))
    }

    /// An error of the TOML reader, with its field and what to do about it.
    pub fn error(&self, error: &toml::de::Error) -> ScriptError {
        let problem = error.message().trim().replace('\n', ", ");
        let fix = match problem.split_whitespace().next() {
            Some("unknown") if problem.starts_with("unknown field") => "remove it or use one of the fields named",
            Some("unknown") => "use one of the values named",
            Some("missing") => "add the field",
            Some("invalid") if problem.starts_with("invalid type") => "give a value of the type named",
            Some("invalid") if problem.starts_with("invalid value") => "give a value within its range",
            _ => "mend the TOML here",
        };
        let offset = error.span().map_or(0, |span| span.start);
        let mut field = self.path_at(offset).to_owned();
        // A list of tables is one value that begins at its first header; what is missing there is missing in an element.
        if problem.starts_with("missing field")
            && let Some(inner) =
                self.fields.iter().filter(|field| field.value.start == offset).max_by_key(|f| f.path.len())
        {
            field = inner.path.clone();
        }
        self.at(offset, field, problem, fix.to_owned())
    }

    /// An error at a field, or at the nearest one that encloses it.
    pub fn at_path(&self, path: &str, problem: String, fix: String) -> ScriptError {
        let mut near = path;
        let offset = loop {
            if let Some(field) = self.fields.iter().find(|field| field.path == near) {
                break field.value.start;
            }
            match near.rfind(['.', '[']) {
                Some(at) => near = &near[..at],
                None => break 0,
            }
        };
        self.at(offset, path.to_owned(), problem, fix)
    }

    fn at(&self, offset: usize, field: String, problem: String, fix: String) -> ScriptError {
        let before = &self.text[..self.text.floor_char_boundary(offset)];
        let line = before.matches('\n').count() + 1;
        let column = before.rsplit('\n').next().unwrap_or_default().chars().count() + 1;
        ScriptError { origin: self.origin.to_owned(), line, column, field, problem, fix }
    }

    /// The innermost field around an offset, empty when there is none.
    fn path_at(&self, offset: usize) -> &str {
        let holds = |range: &Range<usize>| range.start <= offset && offset < range.end.max(range.start + 1);
        let around = self.fields.iter().filter_map(|field| {
            let ranges = [field.key.as_ref(), Some(&field.value)];
            let least = ranges.into_iter().flatten().filter(|range| holds(range)).map(|range| range.len()).min()?;
            Some((least, field))
        });
        around.min_by_key(|(len, _)| *len).map_or("", |(_, field)| field.path.as_str())
    }

    fn table(&mut self, path: &str, table: &DeTable<'_>) {
        for (key, value) in table {
            let dot = if path.is_empty() { "" } else { "." };
            self.value(format!("{path}{dot}{}", key.get_ref()), Some(key.span()), value);
        }
    }

    fn value(&mut self, path: String, key: Option<Range<usize>>, value: &Spanned<DeValue<'_>>) {
        self.fields.push(Field { path: path.clone(), key, value: value.span() });
        match value.get_ref() {
            DeValue::Table(table) => self.table(&path, table),
            DeValue::Array(items) => {
                for (index, item) in items.iter().enumerate() {
                    self.value(format!("{path}[{index}]"), None, item);
                }
            }
            _ => {}
        }
    }
}

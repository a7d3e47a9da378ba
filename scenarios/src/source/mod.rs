//! TOML documents as a person wrote them: every value knows where it stands.
//!
//! A [`Document`] is parsed once. Typed values are read from its [`Tree`] by a deserializer of our own, whose errors are
//! data (which field, which names would have been right) and carry a place, so that one message says file, line,
//! column, field, problem and fix; and so that several problems of one file are reported together. This module knows
//! nothing of rules, cases or adapters.

mod de;
mod leaf;
mod problem;
mod suggest;
mod tree;

pub use leaf::LeafPath;
pub use problem::{Place, Problem, Problems};
pub use suggest::{did_you_mean, nearest};
pub use tree::{Entry, Tree, Value};

use de::{Fault, FaultKind, Reader, Step};
use serde::de::DeserializeOwned;
use std::{ops::Range, sync::Arc};

/// A file of this size is no hand-written document; reading stops with an error.
pub const SIZE_LIMIT: usize = 1 << 20;

/// More problems than this in one file are not reported: the first few explain the rest.
const PROBLEM_LIMIT: usize = 20;

/// One parsed file.
#[derive(Clone, Debug)]
pub struct Document {
    text: Arc<Text>,
    /// The root table.
    pub root: Tree,
}

/// A file's name and text, shared by everything that points into it.
#[derive(Debug)]
struct Text {
    name: String,
    text: String,
}

impl Document {
    /// Parses `text`. `name` is how messages call the file.
    ///
    /// # Errors
    /// Every syntax error, in order; a text beyond [`SIZE_LIMIT`]; a literal tab, which no reader can tell from blanks.
    pub fn parse(name: &str, text: &str) -> Result<Document, Problems> {
        let shared = Arc::new(Text { name: name.to_owned(), text: text.to_owned() });
        if text.len() > SIZE_LIMIT {
            let message = format!("the file has {} bytes, at most {SIZE_LIMIT} are read", text.len());
            return Err(place(&shared, &(0..0)).problem("", message).into());
        }
        let (table, errors) = toml::de::DeTable::parse_recoverable(text);
        let mut problems: Vec<Problem> = errors
            .iter()
            .take(PROBLEM_LIMIT)
            .map(|e| place(&shared, &e.span().unwrap_or(0..0)).problem("", e.message().replace('\n', ", ")))
            .collect();
        // One slip often makes several syntax errors; the first of a line explains the others.
        problems.sort();
        problems.dedup_by_key(|problem| problem.place.line);
        if problems.is_empty()
            && let Some(at) = text.find('\t')
        {
            let fix = "write \\t in a basic string, so that it can be seen, or indent with blanks";
            problems.push(place(&shared, &(at..at + 1)).problem("", "a literal tab").with_fix(fix));
        }
        match Tree::of_table(table.get_ref(), table.span()) {
            Ok(root) if problems.is_empty() => Ok(Document { text: shared, root }),
            Ok(_) => Err(Problems(problems)),
            Err((span, message)) => {
                problems.push(place(&shared, &span).problem("", message));
                Err(Problems(problems))
            }
        }
    }

    /// The file's name.
    pub fn name(&self) -> &str {
        &self.text.name
    }

    /// The place of a span of this document.
    pub fn place(&self, span: &Range<usize>) -> Place {
        place(&self.text, span)
    }

    /// The place of a tree of this document.
    pub fn place_of(&self, tree: &Tree) -> Place {
        self.place(&tree.span)
    }

    /// The same file with another root: a twin after its one change. Spans keep pointing into the file.
    pub fn with_root(&self, root: Tree) -> Document {
        Document { text: Arc::clone(&self.text), root }
    }

    /// The place of what stands at `path` (such as `rule[2].id`), or of the nearest thing around it that exists.
    pub fn find(&self, path: &str) -> Place {
        self.place(&self.root.nearest_span(path))
    }

    /// Reads the whole document as a `T`.
    ///
    /// # Errors
    /// As [`Document::read_tree`].
    pub fn read<T: DeserializeOwned>(&self) -> Result<T, Problems> {
        self.read_tree(&self.root, "")
    }

    /// Reads one tree of the document as a `T`; `field` is what messages put before the fields inside it.
    ///
    /// # Errors
    /// Every problem that can be told apart: a value at fault is set aside and the rest is read again.
    pub fn read_tree<T: DeserializeOwned>(&self, tree: &Tree, field: &str) -> Result<T, Problems> {
        let mut tree = tree.clone();
        let mut problems: Vec<Problem> = Vec::new();
        let mut set_aside: Vec<Vec<Step>> = Vec::new();
        loop {
            let fault = match T::deserialize(Reader(&tree)) {
                Ok(value) => return Problems::none_or(problems, value),
                Err(fault) => fault,
            };
            // A field that is missing because it was set aside is no news.
            let follows = matches!(&fault.kind, FaultKind::MissingField(name) if set_aside.iter().any(|path| {
                path.split_last().is_some_and(|(last, parent)| parent == fault.path && *last == Step::Key(name.clone()))
            }));
            if !follows {
                problems.push(self.problem_of(&fault, &tree, field));
            }
            if follows || problems.len() >= PROBLEM_LIMIT || fault.path.is_empty() || !tree.remove(&fault.path) {
                problems.sort();
                return Err(Problems(problems));
            }
            set_aside.push(fault.path);
        }
    }

    fn problem_of(&self, fault: &Fault, tree: &Tree, field: &str) -> Problem {
        let mut place = self.place(fault.span.as_ref().unwrap_or(&tree.span));
        let (inside, message) = match &fault.kind {
            FaultKind::UnknownField { field, .. } => {
                (&fault.path[..fault.path.len() - 1], format!("unknown field {field:?}"))
            }
            FaultKind::UnknownVariant { variant, .. } => (&fault.path[..], format!("unknown value {variant:?}")),
            FaultKind::MissingField(name) => (&fault.path[..], format!("missing field {name:?}")),
            FaultKind::Other(message) => (&fault.path[..], message.clone()),
        };
        place.field = de::dotted(field, inside);
        let problem = Problem { place, message, fix: None };
        match &fault.kind {
            FaultKind::UnknownField { field, expected } => problem.with_fix(did_you_mean(field, expected)),
            FaultKind::UnknownVariant { variant, expected } => problem.with_fix(did_you_mean(variant, expected)),
            FaultKind::MissingField(_) | FaultKind::Other(_) => problem,
        }
    }
}

fn place(text: &Arc<Text>, span: &Range<usize>) -> Place {
    let mut at = span.start.min(text.text.len());
    while !text.text.is_char_boundary(at) {
        at -= 1;
    }
    let before = &text.text[..at];
    let line_start = before.rfind('\n').map_or(0, |i| i + 1);
    Place {
        file: text.name.clone(),
        line: before.matches('\n').count() + 1,
        column: before[line_start..].chars().count() + 1,
        field: String::new(),
    }
}

#[cfg(test)]
mod tests;

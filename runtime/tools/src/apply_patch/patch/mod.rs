//! Patches: what they say, and what they make of a file. Pure functions of text.
//!
//! [`parse`] reads unified diffs, with or without `diff --git`, and the `*** Begin Patch` form. [`apply`] finds the place
//! of each hunk and splices. Nothing here opens a file.
//!
//! Lines of the file that a patch keeps stay as the file has them: their blanks, their line ends, and whether the last of
//! them ends in a newline are never taken from the patch.

mod apply;
mod begin;
mod unified;

pub use apply::{Applied, Misfit, Why, apply, created};

/// How far from the line it names a hunk may be looked for.
pub const MOST_FUZZ: usize = 50;

/// A patch of one file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FilePatch<'a> {
    /// What is done to it.
    pub action: Action,
    /// What changes in it, in order.
    pub hunks: Vec<Hunk<'a>>,
    /// Whether it can be run afterwards; as before where nothing is said.
    pub executable: Option<bool>,
    /// Where in the patch it begins: a line, from 1.
    pub line: usize,
}

impl FilePatch<'_> {
    /// Whether it does more than to name a file.
    fn changes_something(&self) -> bool {
        !self.hunks.is_empty() || self.executable.is_some() || !matches!(self.action, Action::Update { to: None, .. })
    }
}

/// What is done to a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Action {
    /// It is made.
    Create {
        /// Where.
        path: String,
    },
    /// It is removed.
    Delete {
        /// Where it is.
        path: String,
        /// Whether the form has no room for what it holds, so that nothing can be compared.
        blind: bool,
    },
    /// It is changed, and may get another name.
    Update {
        /// Where it is.
        path: String,
        /// Where it goes.
        to: Option<String>,
    },
}

/// Some lines and what becomes of them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Hunk<'a> {
    /// Where it stands in the old file.
    pub place: Place<'a>,
    /// Its lines.
    pub lines: Vec<Line<'a>>,
    /// Where in the patch it begins: a line, from 1.
    pub line: usize,
}

/// How a hunk says where it stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Place<'a> {
    /// By the number of its first old line, from 1; where it has no old lines, that of the line before it.
    Line(usize),
    /// By what it holds, behind the lines named here.
    Text {
        /// Lines above it, in order.
        below: Vec<&'a str>,
        /// Whether it ends the file.
        at_end: bool,
    },
}

/// One line of a hunk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Line<'a> {
    /// What becomes of it.
    pub kind: Kind,
    /// Its text without the line feed.
    pub text: &'a str,
    /// Whether the patch says that no newline ends it.
    pub unfinished: bool,
}

/// What becomes of a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// It stays.
    Keep,
    /// It goes.
    Remove,
    /// It is new.
    Add,
}

impl<'a> Hunk<'a> {
    /// The lines that the old file has.
    pub fn old(&self) -> impl Iterator<Item = &Line<'a>> {
        self.lines.iter().filter(|line| line.kind != Kind::Add)
    }
}

/// Why a text is no patch: the line it is wrong on, from 1, and what is wrong with it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NoPatch {
    /// The line.
    pub line: usize,
    /// What is wrong, and what would be right.
    pub reason: String,
}

/// The files that a patch changes, in its order. `only` is the path of the only file, for a patch that names none.
pub fn parse<'a>(patch: &'a str, only: Option<&str>) -> Result<Vec<FilePatch<'a>>, NoPatch> {
    let files =
        if patch.trim_start().starts_with(begin::BEGIN) { begin::parse(patch) } else { unified::parse(patch, only) }?;
    if files.is_empty() {
        return wrong(1, "the patch changes nothing: it has no hunk that begins with @@");
    }
    for file in &files {
        if !file.changes_something() {
            return wrong(file.line, "no hunk stands below the name of this file, so nothing would change in it");
        }
        if let Some(hunk) = file.hunks.iter().find(|hunk| hunk.lines.is_empty()) {
            return wrong(hunk.line, "this hunk has no lines: those that stay begin with a blank, others with - or +");
        }
    }
    Ok(files)
}

/// The numbered lines of a text, without their line feeds.
fn numbered(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let text = text.strip_suffix('\n').unwrap_or(text);
    (1..).zip(text.split('\n'))
}

fn wrong<T>(line: usize, reason: impl Into<String>) -> Result<T, NoPatch> {
    Err(NoPatch { line, reason: reason.into() })
}

#[cfg(test)]
mod tests;

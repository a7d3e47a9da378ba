//! What a person is told when a document is wrong.

use std::fmt;
use thiserror::Error;

/// A place in a document.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Place {
    /// The file, as messages call it.
    pub file: String,
    /// Line, from 1.
    pub line: usize,
    /// Column in characters, from 1.
    pub column: usize,
    /// The field, such as `turn[0].call[1]`; empty for the document as a whole.
    pub field: String,
}

impl Place {
    /// A problem at this place, in `field`.
    pub fn problem(mut self, field: &str, message: impl Into<String>) -> Problem {
        field.clone_into(&mut self.field);
        Problem { place: self, message: message.into(), fix: None }
    }
}

/// One problem: where, what, and what would be right.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Problem {
    /// Where.
    pub place: Place,
    /// What is wrong.
    pub message: String,
    /// What would be right, where it can be said.
    pub fix: Option<String>,
}

impl Problem {
    /// Adds the fix.
    #[must_use]
    pub fn with_fix(mut self, fix: impl Into<String>) -> Self {
        self.fix = Some(fix.into());
        self
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Place { file, line, column, field } = &self.place;
        write!(f, "{file}:{line}:{column}: {}", self.message)?;
        if !field.is_empty() {
            write!(f, " in {field}")?;
        }
        match &self.fix {
            Some(fix) => write!(f, "; {fix}"),
            None => Ok(()),
        }
    }
}

/// The problems of one or more documents; never empty.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub struct Problems(pub Vec<Problem>);

impl Problems {
    /// `Ok(value)` when there is no problem.
    ///
    /// # Errors
    /// The problems, sorted by place.
    pub fn none_or<T>(mut problems: Vec<Problem>, value: T) -> Result<T, Problems> {
        if problems.is_empty() {
            return Ok(value);
        }
        problems.sort();
        Err(Problems(problems))
    }
}

impl From<Problem> for Problems {
    fn from(problem: Problem) -> Self {
        Problems(vec![problem])
    }
}

impl fmt::Display for Problems {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, problem) in self.0.iter().enumerate() {
            if index > 0 {
                f.write_str("\n")?;
            }
            write!(f, "{problem}")?;
        }
        Ok(())
    }
}

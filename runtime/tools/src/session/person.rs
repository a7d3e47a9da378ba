//! The person at a session, as its tools reach them. Where there is none, that is what the tools answer: nobody is waited
//! for, and silence is no answer.

use slot_runtime::contract::{BoxFuture, ToolError};

/// The longest question, message or answer, in characters.
pub const MAX_TEXT: usize = 4_000;

/// A question to a person.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Question {
    /// What is asked.
    pub text: String,
    /// Answers that are offered; any other may be given.
    pub options: Vec<String>,
}

/// Reaches the person at a session.
pub trait Person: Send + Sync {
    /// Asks, and waits for the answer. `None` means that nobody is there any more. The text is a model's: it is shown as
    /// such, without its control characters.
    fn ask<'a>(&'a self, question: &'a Question) -> BoxFuture<'a, Option<String>>;

    /// Tells something, without waiting for anybody: whether it was shown. The text is a model's.
    fn tell(&self, message: &str) -> bool;
}

/// The answer of a tool that needs a person where there is none.
pub fn nobody(next: &str) -> ToolError {
    ToolError::Unavailable(format!("nobody is there in this session, and nobody was asked or told anything. {next}"))
}

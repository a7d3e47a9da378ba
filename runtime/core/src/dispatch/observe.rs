//! Observation: what somebody learns from what a call came to, and has to say about it.
//!
//! It comes after the hooks, one call at a time, in call order: what is observed is what happened, in the order in which
//! the model is told of it.

use crate::contract::{BoxFuture, ToolMetadata};
use serde_json::{Map, Value};

/// Learns from what calls come to.
pub trait Observer: Send + Sync {
    /// Takes notice of a call that ran. What it gives back is told to the model with the result. It cannot fail: whoever
    /// learns nothing says nothing.
    fn observe<'a>(&'a self, call: Observed<'a>) -> BoxFuture<'a, Option<String>>;
}

/// A call that ran.
#[derive(Clone, Copy, Debug)]
pub struct Observed<'a> {
    /// The tool.
    pub tool: &'a ToolMetadata,
    /// What it ran with.
    pub input: &'a Value,
    /// What the tool says for the host alone.
    pub facts: &'a Map<String, Value>,
    /// Whether the model gets what the tool said: nothing withheld it.
    pub reaches_model: bool,
}

//! What goes back to the model, whatever dialect carries it.
//!
//! A conversation only ever grows at its end: a request encoder walks it from the front, so that request n+1 starts
//! with the prompt-bearing bytes of request n.

use crate::turn::RawCall;
use serde::{Deserialize, Serialize};

/// The conversation so far.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Conversation {
    /// The system text.
    pub system: String,
    /// The items, oldest first.
    pub items: Vec<Item>,
}

/// One item.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Item {
    /// A person's message.
    User {
        /// The text.
        text: String,
    },
    /// A turn of the model. Argument text is replayed byte for byte as it stands here: as it was received where it was
    /// an object, and else as it was mended before it first went back. Later it is never rewritten.
    Assistant {
        /// The visible text.
        text: String,
        /// The calls as they came.
        calls: Vec<RawCall>,
    },
    /// The answer to one call.
    ToolResult {
        /// The call it answers.
        call_id: String,
        /// What the model reads.
        content: String,
        /// Whether the call failed or was refused.
        is_error: bool,
    },
}

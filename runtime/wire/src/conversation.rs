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

impl Conversation {
    /// How many bytes its texts and arguments have: about what stands behind the tools array of a request.
    pub fn text_bytes(&self) -> usize {
        let item = |item: &Item| match item {
            Item::User { text } => text.len(),
            Item::Assistant { text, calls } => {
                text.len() + calls.iter().map(|call| call.name.len() + call.arguments.len()).sum::<usize>()
            }
            Item::ToolResult { content, .. } => content.len(),
        };
        self.system.len() + self.items.iter().map(item).sum::<usize>()
    }
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

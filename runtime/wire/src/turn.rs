//! One turn of a model, whatever dialect carried it.
//!
//! A decoder turns events into [`TurnDelta`]s (for a person who watches) and, at the end, into one [`Turn`] (for the
//! engine). A turn states how it ended: only the dialect's terminal signal makes it [`Terminal::Clean`]; text or
//! arguments that look complete never do.

use crate::replay::OpaqueBlock;
use serde::{Deserialize, Serialize};

/// A turn, complete or not.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Turn {
    /// The visible text.
    pub text: String,
    /// The reasoning text, where the dialect shows it.
    pub reasoning: String,
    /// The structured calls, in the order in which they were opened.
    pub calls: Vec<RawCall>,
    /// How the turn ended.
    pub terminal: Terminal,
    /// Token counts as the provider gave them.
    pub usage: Option<Usage>,
    /// Fragments that could not be assigned to a call without guessing; each is reported, none is merged.
    pub rejected: Vec<Rejected>,
    /// Whether a piece of a call was among them, so that the arguments of some call may lack it.
    #[serde(default)]
    pub torn: bool,
    /// Signed or encrypted blocks, in the order in which they came, to be sent back verbatim or not at all (see
    /// [`Replay`](crate::Replay)).
    #[serde(default)]
    pub blocks: Vec<OpaqueBlock>,
}

impl Turn {
    /// Whether anything has been committed: once it has, a failed stream may not be retried silently.
    pub fn committed(&self) -> bool {
        !self.text.is_empty() || !self.reasoning.is_empty() || !self.calls.is_empty()
    }
}

/// A structured call exactly as it came: nothing is parsed, resolved or mended yet.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct RawCall {
    /// The provider's id of the call.
    pub id: String,
    /// The tool name as sent.
    pub name: String,
    /// The argument text, all fragments joined.
    pub arguments: String,
}

/// How a turn ended.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Terminal {
    /// No terminal signal was seen. The turn runs nothing.
    #[default]
    None,
    /// The dialect's terminal signal was seen.
    Clean {
        /// Why the model stopped.
        stop: StopReason,
    },
    /// The provider reported an error inside the stream.
    Error {
        /// The provider's message.
        message: String,
    },
}

/// Why a model stopped, in one spelling for all dialects.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum StopReason {
    /// It was done.
    #[default]
    Stop,
    /// It wants its calls answered.
    ToolCalls,
    /// The output limit cut it.
    MaxTokens,
    /// A filter cut it.
    ContentFilter,
    /// A reason this version does not know, in the provider's spelling.
    Other(String),
}

/// Token counts as the provider gave them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Usage {
    /// Tokens of the request, those from the cache included.
    pub input: u64,
    /// Tokens of the answer.
    pub output: u64,
    /// Tokens of the request that were read from the provider's cache.
    pub cached: u64,
}

/// A fragment that was refused.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Rejected {
    /// Why, as a fragment that fits "refused a fragment: {reason}".
    pub reason: String,
    /// The fragment's text, at most 200 bytes of it.
    pub fragment: String,
}

/// What one event added to a turn, for whoever watches it live.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TurnDelta {
    /// Visible text.
    Text(String),
    /// Reasoning text.
    Reasoning(String),
    /// Something about a call. Argument text is never shown to a person while it streams.
    Call(CallDelta),
}

/// What one event added to a call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CallDelta {
    /// A call was opened.
    Opened {
        /// Its position among the turn's calls.
        index: usize,
        /// Its id.
        id: String,
        /// Its name as sent.
        name: String,
    },
    /// Argument text arrived.
    Arguments {
        /// The position of the call.
        index: usize,
        /// How many bytes arrived.
        bytes: usize,
    },
}

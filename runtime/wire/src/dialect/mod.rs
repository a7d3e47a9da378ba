//! The provider dialects: each encodes a request and decodes a stream of events into one [`Turn`].

use crate::{Conversation, Turn, TurnDelta};
use serde_json::value::RawValue;
use thiserror::Error;

pub mod chat;

/// A dialect of the model's wire.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Dialect {
    /// OpenAI Chat Completions.
    Chat,
}

/// One tool as a request advertises it. The schema text is embedded as it stands.
#[derive(Clone, Debug)]
pub struct ToolDeclaration<'a> {
    /// The tool's name.
    pub name: &'a str,
    /// What the model reads about it.
    pub description: &'a str,
    /// Its input schema, serialised once.
    pub schema: &'a RawValue,
}

/// What a request says besides the conversation.
#[derive(Clone, Debug)]
pub struct RequestOptions<'a> {
    /// The model's name.
    pub model: &'a str,
    /// The catalog in the dialect's form, serialised once per change (see [`Dialect::encode_catalog`]); empty means
    /// that no tools are sent.
    pub catalog: &'a str,
    /// The output limit in tokens, where the caller sets one.
    pub max_tokens: Option<u32>,
}

/// Decodes one response. A decoder is fed the payload of each SSE event and asked for the turn at the end.
pub trait TurnDecoder: Send {
    /// Takes one event: its name (empty when it had none) and its data. Adds what it meant to `deltas`.
    fn event(&mut self, name: &str, data: &str, deltas: &mut Vec<TurnDelta>) -> Result<(), DecodeError>;

    /// Whether the dialect's last event (`[DONE]`, `message_stop`, …) has been seen, so that the stream need not be
    /// read any further.
    fn ended(&self) -> bool;

    /// What has been assembled so far.
    fn turn(&self) -> &Turn;

    /// The turn, after the stream ended in whatever way.
    fn finish(self: Box<Self>) -> Turn;
}

/// Why an event could not be decoded. The turn it belongs to runs nothing.
#[derive(Debug, Error, PartialEq, Eq)]
pub enum DecodeError {
    /// The event's data is not the JSON that the dialect demands.
    #[error("event {event} is not valid JSON for this dialect: {reason}")]
    Json {
        /// Position of the event in the stream, from 1.
        event: u64,
        /// What the parser said.
        reason: String,
    },
}

impl Dialect {
    /// The name used in flags, cases and logs.
    pub fn name(self) -> &'static str {
        match self {
            Dialect::Chat => "chat",
        }
    }

    /// The path of the endpoint below the base URL.
    pub fn path(self) -> &'static str {
        match self {
            Dialect::Chat => "/chat/completions",
        }
    }

    /// The tools array in this dialect's form, in the given order. Byte-stable: equal input gives equal bytes.
    pub fn encode_catalog(self, tools: &[ToolDeclaration<'_>]) -> String {
        match self {
            Dialect::Chat => chat::encode_catalog(tools),
        }
    }

    /// The body of a streaming request.
    pub fn encode_request(self, conversation: &Conversation, options: &RequestOptions<'_>) -> Vec<u8> {
        match self {
            Dialect::Chat => chat::encode_request(conversation, options),
        }
    }

    /// A decoder for one response.
    pub fn decoder(self) -> Box<dyn TurnDecoder> {
        match self {
            Dialect::Chat => Box::new(chat::ChatDecoder::default()),
        }
    }
}

//! The provider dialects: each encodes a request and decodes a stream of events into one [`Turn`].
//!
//! This module owns what they share. It refuses to own HTTP, retries and what a turn means to an engine.

use crate::{Conversation, Replay, Turn, TurnDelta};
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use thiserror::Error;

pub mod anthropic;
mod build;
mod calls;
pub mod chat;
mod json;
pub mod responses;
#[cfg(test)]
mod testing;
#[cfg(test)]
mod tests;

/// A dialect of the model's wire.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Dialect {
    /// OpenAI Chat Completions.
    Chat,
    /// Anthropic Messages.
    Anthropic,
    /// OpenAI Responses.
    Responses,
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
    /// Whether the schema has the closed form in which a provider can hold the model to it.
    pub strict: bool,
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
    ///
    /// # Errors
    /// [`DecodeError`] for the first event that cannot be taken. The turn then stays without a terminal signal and
    /// every later call answers the same error.
    fn event(&mut self, name: &str, data: &str, deltas: &mut Vec<TurnDelta>) -> Result<(), DecodeError>;

    /// Whether the dialect's last event (`[DONE]`, `message_stop`, …) has been seen, so that the stream need not be
    /// read any further. Events after it are ignored.
    fn ended(&self) -> bool;

    /// What has been assembled so far.
    fn turn(&self) -> &Turn;

    /// The turn, after the stream ended in whatever way.
    fn finish(self: Box<Self>) -> Turn;
}

/// What one response may make a decoder hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DecodeLimits {
    /// The most calls in a turn.
    pub max_calls: usize,
    /// The most bytes of arguments in one call.
    pub max_call_bytes: usize,
    /// The most bytes of arguments in all calls of a turn together.
    pub max_arguments_bytes: usize,
    /// The most bytes of visible text, and likewise of reasoning.
    pub max_text_bytes: usize,
    /// The most bytes of a call's id, and likewise of its name.
    pub max_identity_bytes: usize,
    /// The most refused fragments that are reported.
    pub max_rejected: usize,
}

impl Default for DecodeLimits {
    /// 1,024 calls; 16 MiB of arguments per call, 64 MiB together; 16 MiB of text and of reasoning; 4 KiB of id and of
    /// name; 256 refused fragments.
    fn default() -> Self {
        Self {
            max_calls: 1024,
            max_call_bytes: 16 << 20,
            max_arguments_bytes: 64 << 20,
            max_text_bytes: 16 << 20,
            max_identity_bytes: 4 << 10,
            max_rejected: 256,
        }
    }
}

/// Why an event could not be decoded. The turn it belongs to runs nothing.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum DecodeError {
    /// The event's data is not the JSON that the dialect demands.
    #[error("event {event} is not valid JSON for this dialect: {reason}")]
    Json {
        /// Position of the event in the stream, from 1.
        event: u64,
        /// What the parser said.
        reason: String,
    },
    /// The turn is larger than a limit allows.
    #[error("event {event} takes the turn past its limit of {limit} {what}; ask the model for less at a time")]
    Limit {
        /// Position of the event in the stream, from 1.
        event: u64,
        /// What there is too much of, with its unit.
        what: &'static str,
        /// The limit.
        limit: usize,
    },
}

/// How a tool is declared where deferred tools are found natively.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Declared {
    /// Like any tool.
    Plain,
    /// The model sees it once a result has brought it.
    Deferred,
    /// It is the one that finds the others.
    Search,
}

impl Dialect {
    /// Every dialect, in the order in which lists show them.
    pub const ALL: [Dialect; 3] = [Dialect::Chat, Dialect::Anthropic, Dialect::Responses];

    /// The name used in flags, cases and logs.
    pub fn name(self) -> &'static str {
        match self {
            Dialect::Chat => "chat",
            Dialect::Anthropic => "anthropic",
            Dialect::Responses => "responses",
        }
    }

    /// The path of the endpoint below the base URL, which ends in the version (`…/v1`) in every dialect.
    pub fn path(self) -> &'static str {
        match self {
            Dialect::Chat => "/chat/completions",
            Dialect::Anthropic => "/messages",
            Dialect::Responses => "/responses",
        }
    }

    /// The headers that every request of the dialect carries besides the content type, as names in lower case and
    /// values.
    pub fn headers(self) -> &'static [(&'static str, &'static str)] {
        match self {
            Dialect::Anthropic => &[("anthropic-version", "2023-06-01")],
            Dialect::Chat | Dialect::Responses => &[],
        }
    }

    /// The header that carries the key: its name in lower case, and what stands before the key in its value.
    pub fn key_header(self) -> (&'static str, &'static str) {
        match self {
            Dialect::Anthropic => ("x-api-key", ""),
            Dialect::Chat | Dialect::Responses => ("authorization", "Bearer "),
        }
    }

    /// The tools array in this dialect's form, in the given order, or an empty string where there are no tools.
    /// Byte-stable: equal input gives equal bytes.
    pub fn encode_catalog(self, tools: &[ToolDeclaration<'_>]) -> String {
        match self {
            Dialect::Chat => chat::encode_catalog(tools),
            Dialect::Anthropic => anthropic::encode_catalog(tools),
            Dialect::Responses => responses::encode_catalog(tools),
        }
    }

    /// Whether a result can bring tools that the model has not seen before, without a change of the tools array.
    pub fn defers_natively(self) -> bool {
        self != Dialect::Chat
    }

    /// The tools array where deferred tools are found natively, each tool declared as `how` tells for its position;
    /// `None` where the dialect cannot say that.
    pub fn encode_deferring(self, tools: &[ToolDeclaration<'_>], how: impl Fn(usize) -> Declared) -> Option<String> {
        match self {
            Dialect::Chat => None,
            Dialect::Anthropic => Some(anthropic::encode_deferring(tools, how)),
            Dialect::Responses => Some(responses::encode_deferring(tools, how)),
        }
    }

    /// What stands for a deferred tool in the result that found it; `None` where the dialect cannot say that.
    pub fn reference(self, tool: &ToolDeclaration<'_>) -> Option<String> {
        match self {
            Dialect::Chat => None,
            Dialect::Anthropic => Some(anthropic::reference(tool)),
            Dialect::Responses => Some(responses::reference(tool)),
        }
    }

    /// The body of a streaming request, without opaque blocks.
    pub fn encode_request(self, conversation: &Conversation, options: &RequestOptions<'_>) -> Vec<u8> {
        self.encode_replaying(conversation, &Replay::default(), options)
    }

    /// The body of a streaming request, with the opaque blocks of earlier turns where this dialect carries them.
    pub fn encode_replaying(
        self,
        conversation: &Conversation,
        replay: &Replay,
        options: &RequestOptions<'_>,
    ) -> Vec<u8> {
        match self {
            Dialect::Chat => chat::encode_request(conversation, options),
            Dialect::Anthropic => anthropic::encode_request(conversation, replay, options),
            Dialect::Responses => responses::encode_request(conversation, replay, options),
        }
    }

    /// A decoder for one streamed response, with the default limits.
    pub fn decoder(self) -> Box<dyn TurnDecoder> {
        self.decoder_with(DecodeLimits::default())
    }

    /// A decoder for one streamed response.
    pub fn decoder_with(self, limits: DecodeLimits) -> Box<dyn TurnDecoder> {
        match self {
            Dialect::Chat => Box::new(build::Decoder::new(chat::Chat, limits)),
            Dialect::Anthropic => Box::new(build::Decoder::new(anthropic::Anthropic::default(), limits)),
            Dialect::Responses => Box::new(build::Decoder::new(responses::Responses::default(), limits)),
        }
    }

    /// Decodes the body of a response that was not streamed, with the default limits. As in a stream, only the dialect's
    /// own word ends the turn: a body without a stop reason has no terminal signal, and an error object is one.
    ///
    /// # Errors
    /// [`DecodeError`] where the body is not this dialect's or is past a limit; its event is 1.
    pub fn decode_whole(self, body: &str) -> Result<Turn, DecodeError> {
        let limits = DecodeLimits::default();
        match self {
            Dialect::Chat => chat::decode_whole(body, limits),
            Dialect::Anthropic => anthropic::decode_whole(body, limits),
            Dialect::Responses => responses::decode_whole(body, limits),
        }
    }
}

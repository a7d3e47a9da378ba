//! Dialects: how a turn is said and how a request is read, one module each.
//!
//! Nothing here is shared with the decoders of any runtime under test: the encoders are written from the providers'
//! formats alone, so that each side checks the other.

pub mod anthropic;
pub mod chat;
mod object;
mod raw;
pub mod responses;

use crate::turn::ModelTurn;
use serde::{Deserialize, Serialize};
use slot_oracles::trace::WireRequest;
use std::ops::Range;

/// A provider's format.
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

/// An encoded response body.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Encoded {
    /// The bytes, before any transfer encoding.
    pub bytes: Vec<u8>,
    /// The SSE frames; empty when the body is one JSON document.
    pub frames: Vec<Range<usize>>,
    /// Whether the body is an event stream.
    pub stream: bool,
    /// The frame that carries the terminal signal. For a document, 0 when it says that the turn is over.
    pub terminal: Option<usize>,
}

/// What a request asks of the response's form.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Form {
    /// Whether the response is streamed.
    pub stream: bool,
    /// Whether a stream reports usage.
    pub usage: bool,
    /// The model's name, echoed.
    pub model: String,
    /// Whether it declares the tool that finds others as the search of the dialect, which has items of its own.
    pub search: bool,
}

/// A request as read, without a judgement.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Parsed {
    /// The facts for the trace. `index` and `turn` are not known yet.
    pub request: WireRequest,
    /// The form of the response it asks for.
    pub form: Form,
    /// Parts that the dialect does not know, each in a few words.
    pub problems: Vec<String>,
}

/// Why a body is no request of its dialect, as a provider would say it.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the body is no {dialect} request: {problem}")]
pub struct ParseError {
    /// The dialect's name.
    pub dialect: &'static str,
    /// What is wrong.
    pub problem: String,
}

impl Dialect {
    /// Every dialect.
    pub const ALL: [Dialect; 3] = [Dialect::Chat, Dialect::Anthropic, Dialect::Responses];

    /// The name used in traces.
    pub fn name(self) -> &'static str {
        match self {
            Dialect::Chat => "chat",
            Dialect::Anthropic => "anthropic",
            Dialect::Responses => "responses",
        }
    }

    /// The dialect whose endpoint `path` is, whatever stands before it.
    pub fn of_path(path: &str) -> Option<Dialect> {
        let path = path.split('?').next().unwrap_or_default();
        let ends = [
            ("/chat/completions", Dialect::Chat),
            ("/messages", Dialect::Anthropic),
            ("/responses", Dialect::Responses),
        ];
        ends.into_iter().find(|(end, _)| path.ends_with(end)).map(|(_, dialect)| dialect)
    }

    /// Reads a request body.
    ///
    /// # Errors
    ///
    /// When the body is no JSON object with a list of messages.
    pub fn parse(self, body: &[u8]) -> Result<Parsed, ParseError> {
        match self {
            Dialect::Chat => chat::parse(body),
            Dialect::Anthropic => anthropic::parse(body),
            Dialect::Responses => responses::parse(body),
        }
    }

    /// Encodes a turn.
    pub fn encode(self, turn: &ModelTurn, form: &Form) -> Encoded {
        match self {
            Dialect::Chat => chat::encode(turn, form),
            Dialect::Anthropic => anthropic::encode(turn, form),
            Dialect::Responses => responses::encode(turn, form),
        }
    }

    /// An error body in the provider's shape.
    pub fn error(self, status: u16, kind: &str, message: &str) -> Vec<u8> {
        match self {
            // Both OpenAI dialects share one shape of error.
            Dialect::Chat | Dialect::Responses => chat::error(status, kind, message),
            Dialect::Anthropic => anthropic::error(status, kind, message),
        }
    }

    /// The provider's error event, as a frame.
    pub fn error_event(self) -> Vec<u8> {
        match self {
            Dialect::Chat => {
                let error = r#"{"error":{"message":"The server had an error while processing your request","type":"server_error","param":null,"code":null}}"#;
                format!("data: {error}\n\n").into_bytes()
            }
            Dialect::Anthropic => {
                let error = r#"{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}"#;
                format!("event: error\ndata: {error}\n\n").into_bytes()
            }
            Dialect::Responses => {
                let error = r#"{"type":"error","code":"server_error","message":"The server had an error while processing your request","param":null,"sequence_number":9999}"#;
                format!("event: error\ndata: {error}\n\n").into_bytes()
            }
        }
    }
}

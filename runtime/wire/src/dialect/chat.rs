//! OpenAI Chat Completions, both ways.
use super::{DecodeError, RequestOptions, ToolDeclaration, TurnDecoder};
use crate::{Conversation, Turn, TurnDelta};

/// The tools array of a Chat Completions request.
pub fn encode_catalog(_tools: &[ToolDeclaration<'_>]) -> String {
    String::new()
}

/// The body of a streaming Chat Completions request.
pub fn encode_request(_conversation: &Conversation, _options: &RequestOptions<'_>) -> Vec<u8> {
    Vec::new()
}

/// Decodes Chat Completions chunks.
#[derive(Default)]
pub struct ChatDecoder {
    turn: Turn,
}

impl TurnDecoder for ChatDecoder {
    fn event(&mut self, _name: &str, _data: &str, _deltas: &mut Vec<TurnDelta>) -> Result<(), DecodeError> {
        Ok(())
    }
    fn ended(&self) -> bool {
        false
    }
    fn turn(&self) -> &Turn {
        &self.turn
    }
    fn finish(self: Box<Self>) -> Turn {
        self.turn
    }
}

//! OpenAI Chat Completions, both ways.
//!
//! It owns the wire forms of this dialect. It refuses to own which call a fragment belongs to (`calls`) and everything
//! that happens after a turn is complete.

mod decode;
mod encode;
#[cfg(test)]
mod tests;

pub(super) use decode::{Chat, decode_whole};
pub use encode::{encode_catalog, encode_request};

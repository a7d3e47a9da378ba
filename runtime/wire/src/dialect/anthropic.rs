//! Anthropic Messages, both ways.
//!
//! It owns the wire forms of this dialect. It refuses to own which call a fragment belongs to (`calls`), cache markers and
//! everything that happens after a turn is complete.

mod decode;
mod encode;
#[cfg(test)]
mod tests;

pub(super) use decode::{Anthropic, decode_whole};
pub use encode::{DEFAULT_MAX_TOKENS, encode_catalog, encode_deferring, encode_request, reference};

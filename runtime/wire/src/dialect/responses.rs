//! OpenAI Responses, both ways.
//!
//! It owns the wire forms of this dialect, without server-side state: every request carries the whole conversation. It
//! refuses to own which call a fragment belongs to (`calls`) and everything that happens after a turn is complete.

mod decode;
mod encode;
#[cfg(test)]
mod tests;

pub(super) use decode::{Responses, decode_whole};
pub use encode::{encode_catalog, encode_deferring, encode_request, reference};

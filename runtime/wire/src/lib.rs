//! The model's wire, and nothing else: bytes in, one turn model out, and back.
//!
//! - [`sse`]: an incremental decoder of `text/event-stream` bytes.
//! - [`turn`]: what a model turn is, whatever dialect carried it.
//! - [`conversation`]: what is sent back, whatever dialect carries it.
//! - [`replay`]: signed and encrypted blocks, which go back verbatim or not at all.
//! - [`repair`]: the arguments of a call, from text to one JSON object.
//! - [`schema`]: the schemas of tools, cleaned for providers.
//! - [`dialect`]: the providers' wire forms, both ways.
//! - [`forge`]: markup in text that imitates calls, and its removal.
//! - [`names`]: which tool a name means that a model wrote.
//! - [`stream`]: the two decoders in one, from a body's bytes to its turn.
//!
//! This crate knows no runtime, opens no file, starts no task and asks no clock. Everything here is a pure function of
//! bytes, so that every part can be fuzzed by itself.

pub mod conversation;
pub mod dialect;
pub mod forge;
#[cfg(any(test, feature = "fuzzing"))]
#[doc(hidden)]
pub mod fuzzing;
pub mod names;
pub mod repair;
pub mod replay;
pub mod schema;
pub mod sse;
pub mod stream;
pub mod turn;

pub use conversation::{Conversation, Item};
pub use dialect::{Dialect, TurnDecoder};
pub use replay::{OpaqueBlock, Reference, Replay};
pub use stream::StreamDecoder;
pub use turn::{CallDelta, RawCall, StopReason, Terminal, Turn, TurnDelta};

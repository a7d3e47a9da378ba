//! Anthropic Messages.

mod encode;
mod parse;

pub use encode::{encode, error};
pub use parse::parse;

//! OpenAI Responses.

mod encode;
mod parse;

pub use encode::encode;
pub use parse::parse;

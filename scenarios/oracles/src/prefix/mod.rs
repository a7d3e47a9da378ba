//! The prefix meter: what of each request its provider has seen before, and what it costs where it has not.
//!
//! 1. [`prompt`] lays a request out as its provider renders it: a list of parts, each exactly as transmitted.
//! 2. [`mod@common`] says how far two such lists agree, [`culprit`] what the first difference is, and [`mod@pointer`] where.
//! 3. [`simulate`] plays a provider's cache over a session, after rules that are data ([`provider`]).
//! 4. [`mod@measure`] puts these together: stability, breaks, what is sent again, hits, efficiency and cost.
//!
//! Everything is a pure function of captured requests, and every count an exact integer. The bytes of a request are what
//! its parts come to, each followed by one separator. Tokens are an estimate of four bytes each, see [`tokens`]: it needs no
//! tokenizer, is the same everywhere, and is as good for comparing as any other.

pub mod common;
pub mod culprit;
pub mod dialect;
pub mod measure;
mod pointer;
pub mod prompt;
pub mod provider;
pub mod simulate;

#[cfg(any(test, feature = "fuzzing"))]
pub mod fuzzing;

pub use common::{Common, common};
pub use culprit::{Class, Culprit};
pub use dialect::Dialect;
pub use measure::{Captured, Session, Simulated, Step, measure, start_alike};
pub use prompt::{Kind, Part, Prompt, PromptError};
pub use provider::{Mode, Provider};

/// How many tokens so many bytes are: four bytes make one, and a rest of fewer is none yet. So the tokens of a prefix never
/// exceed those of the whole, and what is only appended to costs exactly nothing again.
pub const fn tokens(bytes: usize) -> usize {
    bytes / 4
}

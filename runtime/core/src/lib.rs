//! The governed tool runtime: one slot through which every tool call of a coding agent passes.
//!
//! The folders read as the way a call travels:
//!
//! - [`contract`]: what a tool is, in three layers, and what follows from what it can do.
//! - [`registry`]: every tool of every source as one sorted set; bad ones fail closed, alone.
//! - [`deny`]: what may not be called in this session, whoever would approve it.
//! - [`approval`]: who is asked, and what follows when nobody can be.
//! - [`dispatch`]: the stages of a call, in types that cannot be skipped.
//! - [`boundary`]: the only way from a path that a model wrote to a file.
//! - [`place`]: the working tree in which a session is.
//! - [`freshness`]: what the model has seen of files, so that it changes nothing else.
//! - [`transport`]: the way to the model, with the connection as a seam.
//! - [`session`]: turns, until the model is done.
//! - [`mode`]: whether anything may be changed.
//! - [`event`]: the canonical log of all of it.
//!
//! This crate holds no concrete tool and prints nothing. Every governance action is written here once; a tool file never
//! mentions one.

pub mod approval;
pub mod boundary;
pub mod contract;
pub mod deny;
pub mod dispatch;
pub mod event;
pub mod freshness;
#[cfg(any(test, feature = "fuzzing"))]
#[doc(hidden)]
pub mod fuzzing;
pub mod mode;
pub mod place;
pub mod registry;
pub mod session;
pub mod transport;

pub use session::{Outcome, Session, SessionConfig};

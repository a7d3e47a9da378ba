//! A scripted mock LLM: replays a model's worst behaviour over real SSE, byte for byte, and judges every request.
//!
//! A [`script`] says what the model says, turn by turn. A request finds its turn by its own history (`state`), the
//! turn's abstract operations are bound to the agent's tools ([`binding`]), its argument text is corrupted
//! ([`corrupt`]), a [`dialect`] turns it into bytes, a [`plan`] groups the bytes into writes, and `server` writes
//! them; the [`journal`] remembers everything, and the [`judge`] has its say on every request.
//!
//! The way in is [`MockLlm`]; in a Rust test three lines are enough, see [`MockLlm::start`].

pub mod binding;
pub mod corrupt;
pub mod dialect;
pub mod fault;
pub mod journal;
pub mod judge;
pub mod load;
pub mod plan;
pub mod prng;
pub mod report;
pub mod script;
pub mod side;
pub mod testing;
pub mod turn;

mod again;
mod engine;
mod fragment;
mod http;
mod markers;
mod mock;
mod render;
mod server;
mod sse;
mod state;

pub use binding::{Binding, Bound, Folders, ToolBinding, UnboundOp};
pub use engine::Config;
pub use journal::{Journal, JournalMode};
pub use load::ScriptError;
pub use mock::{MockLlm, WaitError};
pub use report::Report;
pub use script::Script;
pub use server::Listening;
pub use side::SideTraffic;
pub use testing::{Reply, TestMock};

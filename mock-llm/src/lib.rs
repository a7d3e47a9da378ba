//! A scripted mock LLM: replays a model's worst behaviour over real SSE, byte for byte, and judges every request.
//!
//! A [`script`] says what the model says, turn by turn. A request finds its turn by its own history (`state`), the
//! turn's abstract operations are bound to the agent's tools ([`binding`]), its argument text is corrupted
//! ([`corrupt`]), a [`dialect`] turns it into bytes, a [`plan`] groups the bytes into writes, and `server` writes
//! them; the [`journal`] remembers everything, and the [`judge`] has its say on every request.
//!
//! A real session can stand in for a script: a [`record`]er puts it on a [`tape`]. A [`preview`] shows a script's bytes to a
//! person.
//!
//! The way in is [`MockLlm`]; in a Rust test three lines are enough, see [`MockLlm::start`].

pub mod binding;
pub mod corrupt;
pub mod dialect;
pub mod escape;
pub mod fault;
pub mod journal;
pub mod judge;
pub mod load;
pub use slot_oracles::markers;
pub mod plan;
pub mod preview;
pub mod prng;
pub mod record;
pub mod report;
pub mod script;
pub mod side;
pub mod tape;
pub mod testing;
pub mod turn;

mod again;
mod engine;
mod fragment;
mod http;
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
pub use record::{Recorded, Recorder, Upstream};
pub use report::Report;
pub use script::Script;
pub use server::Listening;
pub use side::SideTraffic;
pub use tape::Tape;
pub use testing::{Reply, TestMock};

//! Dispatch: the way a call travels, stage by stage.
//!
//! ```text
//! Raw ─ truncation ─ name ─▶ Resolved ─ parse ─▶ Parsed ─ validate ─▶ Validated
//!     ─ loop guard ─ deny ─ before-hooks ─ approval ─▶ Approved ─ batch ─ gate ─ run ─▶ Settled
//! ```
//!
//! Then, one call at a time in call order: after-hooks, observation, loop record, persist ([`render::ResultStore`]), render.
//!
//! Each stage consumes the type before it, and the constructors are private to this module: a call that skipped a stage
//! cannot be written down. A refusal at any stage is a result like any other: it answers the call, and says what to do.
//!
//! Planning ([`plan`]) takes every call of a turn up to `Validated` before anything runs. The calls are then put into
//! batches ([`batch`]). Execution ([`execute`]) consults the loop guard when a call's batch begins, since what the batches
//! before it came to matters to it; then it asks, passes the [`gate`], runs and settles, and tells the loop guard in call
//! order. Results go back in call order, whatever order they came in.

mod arguments;
mod asking;
pub mod batch;
pub mod call;
pub mod early;
pub mod execute;
mod fields;
pub mod gate;
pub mod hooks;
pub mod hydrate;
pub mod last;
pub mod loop_guard;
pub mod names;
pub mod nested;
pub mod observe;
pub mod plan;
pub mod policy;
pub mod render;
mod shape;
mod telemetry;

pub use arguments::Mended;
pub use call::{Approved, Parsed, Raw, Refusal, Resolved, Settled, Stage, Validated};
pub use plan::Planned;
pub use policy::{
    ArgumentReader, Attempt, Fingerprint, LoopAdvice, LoopGuard, LoopTurn, NameResolver, Policies, Resolution,
    ResultShaper, TruncationGate,
};
pub use slot_wire::names::NameMatch;

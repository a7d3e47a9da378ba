//! Trace, and the checks over it.
//!
//! A [`Trace`] is what happened in one run of one case: what the mock model served and was sent, what the disk looked
//! like before and after, which processes were left over, how the agent ended. An oracle is a function from a trace
//! to findings, written once, and true of any agent in any language. The reference runtime adds its event log as
//! extra facts; a wire oracle cannot see them, because its argument type does not hold them.
//!
//! The [`prefix`] meter says what requests repeat of each other, and what a provider's cache makes of that.
//!
//! This crate owns no policy about cases, files or reports, starts nothing and reads nothing: it is light enough to be
//! used from unit tests, the simulator, fuzz targets and the black-box runner alike.

pub mod finding;
pub mod markers;
pub mod oracles;
pub mod prefix;
pub mod trace;

pub use finding::{Finding, RuleId};
pub use oracles::{ORACLES, Oracle, OracleCheck};
pub use trace::{RuntimeTrace, Trace, WireTrace};

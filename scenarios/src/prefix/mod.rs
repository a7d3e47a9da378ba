//! The prefix meter for people: captured requests in, a report out.
//!
//! What is measured, and how, is [`slot_oracles::prefix`]'s. Here [`capture`] reads the formats in which requests are kept,
//! [`mod@report`] puts them into sessions and tells what came of it, [`table`] holds the rules of the providers, and [`canonical`]
//! plays the sessions by which the reference runtime is measured across releases.

pub mod canonical;
pub mod capture;
pub mod report;
pub mod table;

pub use capture::{Capture, CaptureError};
pub use report::{Report, report};
pub use table::providers;

//! The canonical sessions: six cases by which the reference runtime's use of a cache is measured across releases.
//!
//! They are ordinary cases (`cases/cache/canonical-*.toml`), so that their rules are judged like any other's. A test holds
//! their exact numbers, and a bench times the meter over them; both play them here.

use crate::agent::in_process::{InProcess, Tier};
use crate::case::Library;
use crate::run::{HarnessError, Runner, run_bounded};
use slot_oracles::trace::WireRequest;
use std::sync::Arc;

/// The cases, by their ids.
pub const CANONICAL: [&str; 6] = [
    "cache/canonical-short",
    "cache/canonical-long",
    "cache/canonical-parallel",
    "cache/canonical-retries",
    "cache/canonical-big-results",
    "cache/canonical-discovery",
];

/// Plays a canonical session in this dialect, and gives the requests of its conversation. Empty for an id that is no case.
///
/// # Errors
/// When the harness fails.
pub fn play(library: &Library, id: &str, dialect: &str) -> Result<Vec<WireRequest>, HarnessError> {
    let Some(case) = library.case(id) else { return Ok(Vec::new()) };
    let runner = Runner::new(Arc::new(InProcess::new(Tier::A)));
    let runner = Runner { virtual_time: true, dialect: dialect.to_owned(), ..runner };
    Ok(run_bounded(&runner, case)?.seen.trace.wire.requests)
}

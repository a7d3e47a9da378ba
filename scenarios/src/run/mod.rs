//! Running: one case in one world, and many of them beside each other.
//!
//! A run is bounded three times: the agent keeps its own limit, the runner stands behind it with a later one in the same
//! clock, and a thread that outlives both in real time is left behind and judged as a hang. Whatever ends a run, its
//! processes and folders are gone after it. What a run means is not decided here but in [`crate::check`].

mod judge;
mod once;
mod pool;
mod prefix;
mod quiet;
mod repeat;

pub use judge::{CaseResult, CheckResult, judge_set, judge_trace, not_applicable};
pub use once::{HarnessError, Run, run_bounded};
pub use pool::{Progress, run_all};
pub use prefix::{Break, CacheNumbers, PrefixNumbers};
pub use quiet::quiet_planted_panics;
pub use repeat::merge;

use crate::agent::Agent;
use crate::case::Case;
use std::sync::Arc;
use std::time::Duration;
use tokio_util::sync::CancellationToken;

/// What is run against what, and how.
#[derive(Clone)]
pub struct Runner {
    /// What is judged.
    pub agent: Arc<dyn Agent>,
    /// The dialect to speak.
    pub dialect: String,
    /// The other dialects it may speak, for cases that cannot be said in that one.
    pub others: Vec<String>,
    /// How the mock is set up beside the script: binding, side traffic. Its folders are those of each world.
    pub mock: mock_llm::Config,
    /// Whether cases that start no process run in virtual time. Only for an agent that uses no socket.
    pub virtual_time: bool,
    /// The least time a run gets, for agents that are slow to start.
    pub least_limit: Duration,
    /// What a run gets beyond its limit.
    pub patience: Patience,
    /// Cancelled when nothing more is to be run.
    pub cancel: CancellationToken,
}

/// What a run gets beyond its limit, before it is ended from outside.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Patience {
    /// How long an agent may take to keep its own limit, in the clock of the run.
    pub grace: Duration,
    /// How long the run's thread may take beyond that, in real time, before it is left behind. Covers building and
    /// sweeping a world.
    pub abandon: Duration,
}

impl Default for Patience {
    fn default() -> Self {
        Patience { grace: Duration::from_secs(2), abandon: Duration::from_secs(20) }
    }
}

impl Runner {
    /// The runner of this agent with nothing else set: real time, the dialect `chat`, the mock as it is.
    pub fn new(agent: Arc<dyn Agent>) -> Self {
        Runner {
            agent,
            dialect: "chat".to_owned(),
            others: Vec::new(),
            mock: mock_llm::Config::default(),
            virtual_time: false,
            least_limit: Duration::ZERO,
            patience: Patience::default(),
            cancel: CancellationToken::new(),
        }
    }

    /// The dialect in which a case is run: the runner's, or the first of the others in which it can be said.
    pub fn dialect_of(&self, case: &Case) -> Option<&str> {
        std::iter::once(&self.dialect).chain(&self.others).map(String::as_str).find(|dialect| case.speaks(dialect))
    }
}

#[cfg(test)]
mod tests;

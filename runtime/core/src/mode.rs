//! The mode of a session: whether anything may be changed, the gate that asks, and which user turn it is.
//!
//! A [`PlanMode`] is the narrow handle that the session's gate, the tools that change the mode, and whoever shows it
//! share. The mode never touches the catalog: what the model sees stays byte for byte, and a call that does not fit is
//! refused when it is about to begin, so that a call of the same turn that enters the mode holds for those after it.

use crate::contract::ToolMetadata;
use crate::dispatch::call::{Refusal, Stage};
use std::sync::{
    Arc,
    atomic::{AtomicBool, AtomicU64, Ordering},
};

/// Counts the user turns of a session, for whoever keeps something by turn. Clones are the same count.
#[derive(Clone, Debug, Default)]
pub struct UserTurns(Arc<AtomicU64>);

impl UserTurns {
    /// The turn that runs, or that ran last.
    pub fn current(&self) -> u64 {
        self.0.load(Ordering::SeqCst)
    }

    /// The next one begins.
    pub fn begin(&self) {
        self.0.fetch_add(1, Ordering::SeqCst);
    }
}

/// Whether a session only looks. Clones are the same mode.
#[derive(Clone, Debug, Default)]
pub struct PlanMode(Arc<AtomicBool>);

impl PlanMode {
    /// Whether it is on.
    pub fn is_on(&self) -> bool {
        self.0.load(Ordering::SeqCst)
    }

    /// Switches it on: whether it was off.
    pub fn enter(&self) -> bool {
        !self.0.swap(true, Ordering::SeqCst)
    }

    /// Switches it off: whether it was on. Whoever calls this has somebody's approval.
    pub fn leave(&self) -> bool {
        self.0.swap(false, Ordering::SeqCst)
    }
}

/// Judges a call by the mode of its session, right before it goes on to approval.
pub trait ModeGate: Send + Sync {
    /// Admits a call of this tool, or refuses it and tells the model what to do.
    fn admit(&self, tool: &ToolMetadata) -> Result<(), Refusal>;
}

impl ModeGate for PlanMode {
    /// In plan mode only calls go on that look, or that change nothing but the session.
    fn admit(&self, tool: &ToolMetadata) -> Result<(), Refusal> {
        if !self.is_on() || tool.read_only || tool.session_only {
            return Ok(());
        }
        Err(Refusal::new(
            Stage::Mode,
            format!(
                "the session is in plan mode, in which only calls that look are run; {:?} may change something, so it was \
                 not run. Look around, then present the plan with exit_plan_mode",
                tool.name
            ),
        ))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mode_is_shared_and_tells_what_it_was() {
        let mode = PlanMode::default();
        let same = mode.clone();
        assert!(!mode.is_on() && same.enter() && mode.is_on() && !mode.enter());
        assert!(mode.leave() && !same.is_on() && !same.leave());
    }
}

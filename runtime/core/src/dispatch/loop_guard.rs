//! The loop guard: stops a model that repeats itself, within one user turn.
//!
//! Two counts, for two ways of being stuck. The same call, by resolved name and parsed arguments, is blocked from the
//! third time on. A tool that fails in whatever wording is warned about after three failures in
//! a row, and pauses the turn after eight. Only a success of the same tool ends its row of failures: a sibling that works, or
//! filler text, says nothing about it. A blocked call is a failure.
//!
//! Two exceptions keep honest work going, both under one absolute cap: a tool that declares itself as polling may ask the
//! same thing again, and after another call that succeeded and may have changed something, making the same call again is
//! no repetition: whoever edits between two runs of the tests may run them as often as that takes. What a call changes
//! itself, by its own run or by calls that it makes, does not excuse it, so that of three in a row the third is blocked.

use super::call::{Refusal, Stage};
use super::policy::{Attempt, Fingerprint, LoopAdvice, LoopGuard, LoopTurn};
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

#[cfg(test)]
mod tests;

/// The runtime's own loop guard, with its limits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RepetitionGuard {
    /// The identical call that is blocked, counted from 1. Default 3.
    pub block_at: u32,
    /// The most identical calls of a user turn, whatever lies between them and whoever makes them. Default 25.
    pub cap: u32,
    /// The failure in a row of one tool that is warned about. Default 3.
    pub warn_at: u32,
    /// The failure in a row of one tool that pauses the turn. Default 8.
    pub pause_at: u32,
}

impl Default for RepetitionGuard {
    fn default() -> Self {
        RepetitionGuard { block_at: 3, cap: 25, warn_at: 3, pause_at: 8 }
    }
}

impl RepetitionGuard {
    /// Whether a call is blocked that was made so often, this time included.
    fn blocks(&self, attempt: &Attempt, recent: u32, total: u32) -> bool {
        (!attempt.polls && recent >= self.block_at) || total > self.cap
    }
}

impl LoopGuard for RepetitionGuard {
    fn user_turn(&self) -> Arc<dyn LoopTurn> {
        Arc::new(Turn { limits: *self, state: Mutex::default() })
    }
}

/// One user turn.
struct Turn {
    limits: RepetitionGuard,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    calls: BTreeMap<(String, Fingerprint), Seen>,
    /// Failures in a row, by tool.
    failures: BTreeMap<String, u32>,
    /// How many calls have succeeded that may have changed something.
    changes: u64,
}

/// How often a call was made.
#[derive(Default)]
struct Seen {
    total: u32,
    /// Since another call last changed something.
    recent: u32,
    /// [`State::changes`] when it last began, and again when it last ended.
    changes: u64,
}

impl LoopTurn for Turn {
    fn admit(&self, attempt: &Attempt) -> Result<(), Refusal> {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let changes = state.changes;
        let seen = state.calls.entry((attempt.tool.clone(), attempt.fingerprint)).or_default();
        if seen.changes != changes {
            seen.recent = 0;
        }
        seen.changes = changes;
        seen.total = seen.total.saturating_add(1);
        seen.recent = seen.recent.saturating_add(1);
        if !self.limits.blocks(attempt, seen.recent, seen.total) {
            return Ok(());
        }
        let before = seen.total - 1;
        let reason = format!(
            "this call of {:?} was already made {before} times in this turn with the same arguments, so it was NOT executed. \
             Use the results you have, change the arguments, or try another way",
            attempt.tool
        );
        Err(Refusal::new(Stage::LoopGuard, reason))
    }

    fn admits(&self, attempt: &Attempt) -> bool {
        let state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(seen) = state.calls.get(&(attempt.tool.clone(), attempt.fingerprint)) else { return true };
        let recent = if seen.changes == state.changes { seen.recent } else { 0 };
        !self.limits.blocks(attempt, recent.saturating_add(1), seen.total.saturating_add(1))
    }

    fn record(&self, attempt: &Attempt, failed: bool) -> LoopAdvice {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        if !failed && !attempt.read_only {
            state.changes = state.changes.saturating_add(1);
        }
        let changes = state.changes;
        if let Some(seen) = state.calls.get_mut(&(attempt.tool.clone(), attempt.fingerprint)) {
            seen.changes = changes;
        }
        if !failed {
            state.failures.remove(&attempt.tool);
            return LoopAdvice::GoOn;
        }
        let failures = state.failures.entry(attempt.tool.clone()).or_default();
        *failures = failures.saturating_add(1);
        let (failures, tool) = (*failures, &attempt.tool);
        if failures >= self.limits.pause_at {
            let reason = format!("{tool:?} failed {failures} times in a row");
            return LoopAdvice::Pause { failures, reason };
        }
        if failures == self.limits.warn_at {
            let text = format!(
                "{tool:?} has failed {failures} times in a row. Do not retry it unchanged: read the errors, and change your \
                 approach or ask the user. After {} failures in a row the turn is paused",
                self.limits.pause_at
            );
            return LoopAdvice::Warn { failures, text };
        }
        LoopAdvice::GoOn
    }
}

//! The last stages of a call: telemetry, persist and render. Nothing changes the result any more.

use super::call::{Raw, Settled};
use super::policy::Policies;
use super::render::Rendering;
use super::telemetry::{self, Ending};
use crate::contract::{ToolError, ToolMetadata};
use crate::event::{EventKind, EventLog};
use std::panic::{AssertUnwindSafe, catch_unwind};

/// What the last stages of a call consult.
#[derive(Clone, Copy)]
pub struct LastStages<'a> {
    /// Where it is logged.
    pub log: &'a EventLog,
    /// What keeps the result.
    pub policies: &'a Policies,
    /// Where the call is shown.
    pub blocks: &'a Rendering,
}

/// Answers a call whose run was dropped before it settled.
pub fn abandoned(call: &Raw, stages: LastStages<'_>) -> Settled {
    stages.log.push(call.lane().clone(), EventKind::Cancelled, Vec::new());
    stages.log.push(call.lane().clone(), EventKind::Settled { is_error: true }, Vec::new());
    let settled = Settled::new(call.id(), ToolError::Cancelled.to_string(), true, true);
    hand_out(call, None, Ending::NotStarted, &settled, stages);
    settled
}

/// Hands a settled call to whoever measures, keeps or shows it.
pub(super) fn hand_out(
    call: &Raw,
    tool: Option<&ToolMetadata>,
    ending: Ending,
    settled: &Settled,
    stages: LastStages<'_>,
) {
    telemetry::settled(call, tool, ending, settled);
    if let Some(store) = &stages.policies.store {
        let kept = catch_unwind(AssertUnwindSafe(|| store.keep(settled)));
        if !matches!(kept, Ok(Ok(()))) {
            stages.log.push(call.lane().clone(), EventKind::NotPersisted, Vec::new());
        }
    }
    stages.blocks.close(call, settled);
}

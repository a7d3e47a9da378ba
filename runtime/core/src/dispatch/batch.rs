//! Batches: which of a turn's calls may overlap.
//!
//! A run of consecutive calls that only observe, declare that they may overlap, ask for nobody and talk to nobody is one
//! parallel batch. Everything else, a refused call included, is a barrier: the calls before it have ended when it starts,
//! and it has ended when the calls after it start.

use super::plan::Planned;
use crate::contract::ApprovalRequirement;

/// Calls that are settled together.
#[derive(Clone, Debug)]
pub enum Batch {
    /// One call by itself.
    Serial(Planned),
    /// Calls that overlap; never empty.
    Parallel(Vec<Planned>),
}

/// Splits a turn's calls into batches, in call order.
pub fn partition(calls: Vec<Planned>) -> Vec<Batch> {
    let mut batches: Vec<Batch> = Vec::new();
    for call in calls {
        match (may_overlap(&call), batches.last_mut()) {
            (true, Some(Batch::Parallel(together))) => together.push(call),
            (true, _) => batches.push(Batch::Parallel(vec![call])),
            (false, _) => batches.push(Batch::Serial(call)),
        }
    }
    batches
}

/// Whether a call may run beside others of its kind.
pub(super) fn may_overlap(call: &Planned) -> bool {
    match call {
        Planned::Refused { .. } => false,
        Planned::Ready { call, level } => {
            let tool = call.tool();
            tool.read_only && tool.supports_parallel && !tool.interactive && *level == ApprovalRequirement::Auto
        }
    }
}

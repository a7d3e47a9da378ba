//! The one place that tells a tracing subscriber about calls: one record for each, when its result is fixed.
//!
//! A record holds what was called, by which kind of invoker, how long it took, how many bytes went in and out, and the
//! verdict. It holds no argument, no result, no id and no name that a model made up: whatever a model writes may be a
//! secret, or made to look like another record.

use super::call::{Raw, Settled, Stage};
use crate::contract::{InvokedBy, ToolMetadata};
use crate::event::Lane;
use std::time::Duration;

/// What became of a call, for telemetry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Ending {
    /// It started, and its run took so long.
    Ran(Duration),
    /// A stage refused it.
    Refused(Stage),
    /// It never started.
    NotStarted,
}

/// Reports a call. `tool` is the registered tool, where the call got as far as having one.
pub(super) fn settled(call: &Raw, tool: Option<&ToolMetadata>, ending: Ending, settled: &Settled) {
    let (verdict, stage) = match ending {
        _ if settled.is_cancelled() => ("cancelled", ""),
        Ending::Refused(stage) => ("refused", stage.as_str()),
        _ if settled.is_error() => ("failed", ""),
        _ => ("ok", ""),
    };
    let latency = match ending {
        Ending::Ran(latency) => latency,
        Ending::Refused(_) | Ending::NotStarted => Duration::ZERO,
    };
    let (turn, index) = match call.lane() {
        Lane::Call { turn, index, .. } => (*turn, *index),
        Lane::Session => (0, 0),
    };
    let invoker = class(&call.invocation().invoked_by);
    tracing::info!(
        target: "slot_runtime::call",
        tool = tool.map_or("", |tool| tool.name.as_str()),
        invoker,
        turn,
        index,
        latency_us = u64::try_from(latency.as_micros()).unwrap_or(u64::MAX),
        bytes_in = call.invocation().call.arguments.len(),
        bytes_out = settled.content().len(),
        verdict,
        stage,
        "call settled"
    );
}

/// The kind of invoker; which one of its kind is the log's to tell.
fn class(invoked_by: &InvokedBy) -> &'static str {
    match invoked_by {
        InvokedBy::Provider { .. } => "provider",
        InvokedBy::Toolshim { .. } => "toolshim",
        InvokedBy::Agent { .. } => "agent",
        InvokedBy::Tool { .. } => "tool",
    }
}

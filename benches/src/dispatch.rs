//! One turn of calls through the whole pipeline: planning, batches, loop guard, approval, gate, run, result and log, with
//! a tool that does nothing. What is left is what governing a call costs.

use serde_json::{Value, json};
use slot_runtime::contract::{
    BoxFuture, Capability, CapabilitySet, InvokedBy, RunContext, Tool, ToolDispatcher, ToolError, ToolInvocation,
    ToolOutput, ToolSpec,
};
use slot_runtime::dispatch::batch::partition;
use slot_runtime::dispatch::early::Early;
use slot_runtime::dispatch::execute::Executor;
use slot_runtime::dispatch::gate::{Gate, Passage};
use slot_runtime::dispatch::plan::{Loaded, Planner};
use slot_runtime::dispatch::render::Rendering;
use slot_runtime::dispatch::{Policies, Raw, Settled};
use slot_runtime::event::{EventLog, Lane};
use slot_runtime::registry::Registry;
use slot_wire::{RawCall, StopReason};
use std::sync::{Arc, OnceLock};
use tokio_util::sync::CancellationToken;

/// A read-only tool that answers at once.
struct Nothing(String);

impl Tool for Nothing {
    fn name(&self) -> &str {
        &self.0
    }

    fn description(&self) -> &str {
        "Does nothing."
    }

    fn input_schema(&self) -> Value {
        json!({
            "type": "object",
            "properties": { "path": { "type": "string" }, "limit": { "type": "integer", "minimum": 1 } },
            "required": ["path"],
            "additionalProperties": false,
        })
    }

    fn run<'a>(&'a self, _: &'a Value, _: &'a RunContext) -> BoxFuture<'a, Result<ToolOutput, ToolError>> {
        Box::pin(async { Ok(ToolOutput::ok("done")) })
    }
}

impl ToolSpec for Nothing {
    fn capabilities(&self) -> CapabilitySet {
        CapabilitySet::of(&[Capability::ReadOnly])
    }

    fn supports_parallel(&self) -> bool {
        true
    }
}

/// A registry of tools that do nothing, and what calls to them share.
pub struct Slot {
    dispatcher: Arc<dyn ToolDispatcher>,
    policies: Policies,
    gate: Gate,
    loaded: Loaded,
}

impl Slot {
    /// A slot with so many tools.
    pub fn new(tools: usize) -> Self {
        let tools = (0..tools).map(|n| Arc::new(Nothing(format!("tool_{n:04}"))) as Arc<dyn ToolSpec>);
        Slot {
            dispatcher: Arc::new(Registry::new(tools)),
            policies: Policies::default(),
            gate: Gate::default(),
            loaded: Loaded::default(),
        }
    }

    /// A turn with so many calls of one tool, each with arguments of its own, so that none repeats another.
    pub fn turn(&self, calls: usize) -> Vec<Raw> {
        let name = self.dispatcher.snapshot().tools.keys().next_back().cloned().unwrap_or_default();
        let call = |index: usize| {
            let id = format!("call_{index:02}");
            let lane = Lane::Call { turn: 0, index: u32::try_from(index).unwrap_or(u32::MAX), id: id.clone() };
            let arguments = format!("{{\"path\":\"src/file_{index:02}.rs\",\"limit\":100}}");
            let invoked_by = InvokedBy::Provider { id: "chat".to_owned() };
            Raw::new(ToolInvocation { call: RawCall { id, name: name.clone(), arguments }, index, invoked_by }, lane)
        };
        (0..calls).map(call).collect()
    }

    /// Takes a turn through every stage, as a session does, in a user turn of its own.
    pub async fn run(&self, calls: Vec<Raw>) -> Vec<Settled> {
        let snapshot = self.dispatcher.snapshot();
        let executor = Executor {
            dispatcher: Arc::clone(&self.dispatcher),
            policies: self.policies.clone(),
            log: EventLog::default(),
            gate: Passage::Take(self.gate.clone()),
            cancel: CancellationToken::new(),
            loops: self.policies.loops.user_turn(),
            paused: Arc::new(OnceLock::new()),
            loaded: self.loaded.clone(),
            blocks: Rendering::default(),
            early: Early::default(),
        };
        let planner = Planner {
            dispatcher: executor.dispatcher.as_ref(),
            snapshot: &snapshot,
            policies: &executor.policies,
            log: &executor.log,
            stop: &StopReason::ToolCalls,
            torn: false,
            loaded: &executor.loaded,
        };
        let mut settled = Vec::new();
        for batch in partition(planner.plan(calls)) {
            settled.extend(executor.settle(batch, &[]).await);
        }
        settled
    }
}

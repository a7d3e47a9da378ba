//! `enter_plan_mode`: from here on the session only looks.

use serde_json::{Value, json};
use slot_runtime::{
    contract::{BoxFuture, Capability, CapabilitySet, Presentation, RunContext, Tool, ToolError, ToolOutput, ToolSpec},
    mode::PlanMode,
};

const DESCRIPTION: &str = "\
Make the session read-only until the user approves a plan: from the next call on, only calls that look are run, and every \
other one is refused. Use it before a large or risky change instead of promising to change nothing while you look around. \
It is left by exit_plan_mode alone, which asks the user. Do not use it for small changes. Example: {}.";

/// The tool.
pub struct EnterPlanMode {
    mode: PlanMode,
}

impl EnterPlanMode {
    /// The tool of the session whose calls `mode` governs.
    pub fn new(mode: PlanMode) -> Self {
        EnterPlanMode { mode }
    }
}

impl Tool for EnterPlanMode {
    fn name(&self) -> &str {
        "enter_plan_mode"
    }

    fn description(&self) -> &str {
        DESCRIPTION
    }

    fn input_schema(&self) -> Value {
        json!({ "type": "object", "properties": {}, "additionalProperties": false })
    }

    fn run<'a>(&'a self, _: &'a Value, _: &'a RunContext) -> BoxFuture<'a, Result<ToolOutput, ToolError>> {
        Box::pin(async move {
            let word = if self.mode.enter() { "is on now" } else { "was on already" };
            Ok(ToolOutput::ok(format!(
                "Plan mode {word}: only calls that look are run. Look around, then call exit_plan_mode with the plan."
            )))
        })
    }
}

impl ToolSpec for EnterPlanMode {
    fn capabilities(&self) -> CapabilitySet {
        CapabilitySet::of(&[Capability::ReadOnly])
    }

    fn changes_session_only(&self) -> bool {
        true
    }

    fn search_hint(&self) -> Option<&str> {
        Some("read-only look only plan before changing")
    }

    fn presentation(&self) -> Presentation {
        Presentation {
            title: Some("Plan mode".into()),
            activity: Some("Entering plan mode".into()),
            transparent: false,
        }
    }
}

//! `exit_plan_mode`: a plan for the user to approve, after which changes are possible again.

use crate::input::{fault, invalid, text};
use serde_json::{Value, json};
use slot_runtime::{
    contract::{
        BoxFuture, Capability, CapabilitySet, Presentation, RunContext, Tool, ToolError, ToolOutput, ToolSpec,
        ValidationFault,
    },
    mode::PlanMode,
};

/// The longest plan, in characters.
const MAX_PLAN: usize = 20_000;

const DESCRIPTION: &str = "\
Show the user the plan that came of plan mode, and leave plan mode if they agree. `plan` is what they read and approve: say \
which files change, how, and how it is checked. Use it instead of asking in prose whether to go on. Do not use it outside of \
plan mode, or for a plan that is still a guess. If the user does not agree, plan mode stays on: change the plan. \
Example: {\"plan\": \"1. Add a cache to src/fetch.rs. 2. Test it in tests/fetch.rs.\"}.";

/// The tool.
pub struct ExitPlanMode {
    mode: PlanMode,
}

impl ExitPlanMode {
    /// The tool of the session whose calls `mode` governs.
    pub fn new(mode: PlanMode) -> Self {
        ExitPlanMode { mode }
    }
}

fn plan(input: &Value) -> Result<&str, ValidationFault> {
    let plan = text(input, "plan")?.trim();
    if plan.is_empty() || plan.chars().count() > MAX_PLAN {
        return Err(fault("plan", format!("a plan has 1 to {MAX_PLAN} characters; say what will change")));
    }
    Ok(plan)
}

impl Tool for ExitPlanMode {
    fn name(&self) -> &str {
        "exit_plan_mode"
    }

    fn description(&self) -> &str {
        DESCRIPTION
    }

    fn input_schema(&self) -> Value {
        json!({
            "type": "object",
            "properties": { "plan": { "type": "string", "description": "What will be done, for the user to approve." } },
            "required": ["plan"],
            "additionalProperties": false,
        })
    }

    fn run<'a>(&'a self, input: &'a Value, _: &'a RunContext) -> BoxFuture<'a, Result<ToolOutput, ToolError>> {
        Box::pin(async move {
            plan(input).map_err(invalid)?;
            if self.mode.leave() {
                Ok(ToolOutput::ok("Plan mode is off: carry out the plan that was approved, and nothing beyond it."))
            } else {
                Err(ToolError::InvalidInput("plan mode is not on; go on with the work".to_owned()))
            }
        })
    }
}

impl ToolSpec for ExitPlanMode {
    /// It looks at nothing and changes nothing but the mode; that, a person has to agree to.
    fn capabilities(&self) -> CapabilitySet {
        CapabilitySet::of(&[Capability::ReadOnly, Capability::RequiresApproval])
    }

    fn changes_session_only(&self) -> bool {
        true
    }

    fn validate_input(&self, input: &Value) -> Result<(), ValidationFault> {
        plan(input).map(drop)
    }

    fn search_hint(&self) -> Option<&str> {
        Some("present plan approve leave plan mode begin changing")
    }

    fn presentation(&self) -> Presentation {
        Presentation {
            title: Some("Leave plan mode".into()),
            activity: Some("Showing a plan".into()),
            transparent: false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{super::enter_plan_mode::EnterPlanMode, *};
    use crate::testing::call;

    #[test]
    fn the_mode_is_entered_and_left() {
        let mode = PlanMode::default();
        let (enter, exit) = (EnterPlanMode::new(mode.clone()), ExitPlanMode::new(mode.clone()));
        let plan = || json!({ "plan": "a" });
        assert!(call(&exit, plan()).is_err());
        call(&enter, json!({})).expect("an answer");
        assert!(mode.is_on());
        let again = call(&enter, json!({})).expect("an answer").content;
        assert!(again.starts_with("Plan mode was on already"), "{again}");
        assert!(call(&exit, json!({ "plan": " " })).is_err() && mode.is_on());
        call(&exit, plan()).expect("an answer");
        assert!(!mode.is_on());
    }
}

//! `update_plan`: the steps of the work, for the user to follow.

use super::state::{Form, List, MAX_ENTRIES, Progress, SessionState, told};
use crate::input::invalid;
use serde_json::{Value, json};
use slot_runtime::contract::{
    BoxFuture, Capability, CapabilitySet, Presentation, RunContext, Tool, ToolError, ToolOutput, ToolSpec,
    ValidationFault,
};
use std::sync::Arc;

const DESCRIPTION: &str = "\
Write down the steps of the work, or how far they are, for the user to follow. Send the whole plan each time: it replaces the \
one before, and [] empties it. At most one step is in_progress. Use it instead of describing a plan of several steps in \
prose, and update it when a step is done. Do not use it for work of one or two steps, or to ask for approval: it changes \
nothing but the plan. \
Example: {\"plan\": [{\"step\": \"Find the parser\", \"status\": \"completed\"}, {\"step\": \"Fix it\", \"status\": \
\"in_progress\"}]}.";

const FORM: Form = Form { field: "plan", text: "step", several: false };

/// The tool.
pub struct UpdatePlan {
    state: Arc<SessionState>,
}

impl UpdatePlan {
    /// The tool of the session that `state` belongs to.
    pub fn new(state: Arc<SessionState>) -> Self {
        UpdatePlan { state }
    }
}

impl Tool for UpdatePlan {
    fn name(&self) -> &str {
        "update_plan"
    }

    fn description(&self) -> &str {
        DESCRIPTION
    }

    fn input_schema(&self) -> Value {
        json!({
            "type": "object",
            "properties": {
                "plan": {
                    "type": "array", "maxItems": MAX_ENTRIES,
                    "description": "All steps, in order.",
                    "items": {
                        "type": "object",
                        "properties": {
                            "step": { "type": "string", "description": "What is done in it." },
                            "status": { "type": "string", "enum": Progress::WORDS, "description": "How far it is." },
                        },
                        "required": ["step", "status"],
                        "additionalProperties": false,
                    },
                },
            },
            "required": ["plan"],
            "additionalProperties": false,
        })
    }

    fn run<'a>(&'a self, input: &'a Value, _: &'a RunContext) -> BoxFuture<'a, Result<ToolOutput, ToolError>> {
        Box::pin(async move {
            let entries = FORM.entries(input).map_err(invalid)?;
            let text = told("plan", &entries);
            self.state.replace(List::Plan, entries);
            Ok(ToolOutput::ok(text))
        })
    }
}

impl ToolSpec for UpdatePlan {
    fn capabilities(&self) -> CapabilitySet {
        CapabilitySet::of(&[Capability::ReadOnly])
    }

    fn changes_session_only(&self) -> bool {
        true
    }

    fn validate_input(&self, input: &Value) -> Result<(), ValidationFault> {
        FORM.entries(input).map(drop)
    }

    fn search_hint(&self) -> Option<&str> {
        Some("steps progress plan of the work")
    }

    fn presentation(&self) -> Presentation {
        Presentation {
            title: Some("Update plan".into()),
            activity: Some("Updating the plan".into()),
            transparent: false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::call;

    #[test]
    fn the_list_is_replaced_and_told() {
        let state = Arc::new(SessionState::default());
        let tool = UpdatePlan::new(Arc::clone(&state));
        let entries = |count| json!({ "plan": vec![json!({ "step": "a", "status": "pending" }); count] });
        let answer = call(&tool, entries(2)).expect("an answer").content;
        assert_eq!(answer, "The plan is updated: 0 of 2 done. Next: a");
        call(&tool, entries(1)).expect("an answer");
        assert_eq!(state.entries(List::Plan).len(), 1);
        let wrong = json!({ "plan": [{ "step": "a", "status": "late" }] });
        assert!(tool.validate_input(&wrong).is_err() && call(&tool, wrong).is_err());
        assert_eq!(state.entries(List::Plan).len(), 1);
    }
}

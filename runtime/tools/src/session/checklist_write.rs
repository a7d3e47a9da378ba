//! `checklist_write`: what must hold in the end.

use super::state::{Form, List, MAX_ENTRIES, Progress, SessionState, told};
use crate::input::invalid;
use serde_json::{Value, json};
use slot_runtime::contract::{
    BoxFuture, Capability, CapabilitySet, Presentation, RunContext, Tool, ToolError, ToolOutput, ToolSpec,
    ValidationFault,
};
use std::sync::Arc;

const DESCRIPTION: &str = "\
Write down what must hold before the task is done, such as the requirements of the user, and check it off as it is \
met. Send the whole list each time: it replaces the one before, and [] empties it. Use it instead of trusting your memory when \
a task names many conditions. Do not use it for the steps of the work; that is update_plan. \
Example: {\"items\": [{\"item\": \"All tests pass\", \"status\": \"pending\"}]}.";

const FORM: Form = Form { field: "items", text: "item", several: true };

/// The tool.
pub struct ChecklistWrite {
    state: Arc<SessionState>,
}

impl ChecklistWrite {
    /// The tool of the session that `state` belongs to.
    pub fn new(state: Arc<SessionState>) -> Self {
        ChecklistWrite { state }
    }
}

impl Tool for ChecklistWrite {
    fn name(&self) -> &str {
        "checklist_write"
    }

    fn description(&self) -> &str {
        DESCRIPTION
    }

    fn input_schema(&self) -> Value {
        json!({
            "type": "object",
            "properties": {
                "items": {
                    "type": "array", "maxItems": MAX_ENTRIES,
                    "description": "All conditions.",
                    "items": {
                        "type": "object",
                        "properties": {
                            "item": { "type": "string", "description": "What must hold." },
                            "status": { "type": "string", "enum": Progress::WORDS, "description": "How far it is." },
                        },
                        "required": ["item", "status"],
                        "additionalProperties": false,
                    },
                },
            },
            "required": ["items"],
            "additionalProperties": false,
        })
    }

    fn run<'a>(&'a self, input: &'a Value, _: &'a RunContext) -> BoxFuture<'a, Result<ToolOutput, ToolError>> {
        Box::pin(async move {
            let entries = FORM.entries(input).map_err(invalid)?;
            let text = told("checklist", &entries);
            self.state.replace(List::Checklist, entries);
            Ok(ToolOutput::ok(text))
        })
    }
}

impl ToolSpec for ChecklistWrite {
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
        Some("requirements acceptance conditions check off done")
    }

    fn presentation(&self) -> Presentation {
        Presentation {
            title: Some("Write checklist".into()),
            activity: Some("Updating the checklist".into()),
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
        let tool = ChecklistWrite::new(Arc::clone(&state));
        let entries = |count| json!({ "items": vec![json!({ "item": "a", "status": "pending" }); count] });
        let answer = call(&tool, entries(2)).expect("an answer").content;
        assert_eq!(answer, "The checklist is updated: 0 of 2 done. Next: a");
        call(&tool, entries(1)).expect("an answer");
        assert_eq!(state.entries(List::Checklist).len(), 1);
        let wrong = json!({ "items": [{ "item": "a", "status": "late" }] });
        assert!(tool.validate_input(&wrong).is_err() && call(&tool, wrong).is_err());
        assert_eq!(state.entries(List::Checklist).len(), 1);
    }
}

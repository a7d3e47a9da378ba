//! `todo_write`: small tasks that came up.

use super::state::{Form, List, MAX_ENTRIES, Progress, SessionState, told};
use crate::input::invalid;
use serde_json::{Value, json};
use slot_runtime::contract::{
    BoxFuture, Capability, CapabilitySet, Presentation, RunContext, Tool, ToolError, ToolOutput, ToolSpec,
    ValidationFault,
};
use std::sync::Arc;

const DESCRIPTION: &str = "\
Keep a list of small tasks that come up on the way. Send the whole list each time: it replaces the one before, and [] \
empties it. At most one task is in_progress. Use it instead of leaving a task for later in prose. Do not use it for the plan \
of the work (update_plan), for conditions of the end (checklist_write), or for facts (note). \
Example: {\"todos\": [{\"content\": \"Remove the old flag\", \"status\": \"pending\"}]}.";

const FORM: Form = Form { field: "todos", text: "content", several: false };

/// The tool.
pub struct TodoWrite {
    state: Arc<SessionState>,
}

impl TodoWrite {
    /// The tool of the session that `state` belongs to.
    pub fn new(state: Arc<SessionState>) -> Self {
        TodoWrite { state }
    }
}

impl Tool for TodoWrite {
    fn name(&self) -> &str {
        "todo_write"
    }

    fn description(&self) -> &str {
        DESCRIPTION
    }

    fn input_schema(&self) -> Value {
        json!({
            "type": "object",
            "properties": {
                "todos": {
                    "type": "array", "maxItems": MAX_ENTRIES,
                    "description": "All tasks.",
                    "items": {
                        "type": "object",
                        "properties": {
                            "content": { "type": "string", "description": "What is to be done." },
                            "status": { "type": "string", "enum": Progress::WORDS, "description": "How far it is." },
                        },
                        "required": ["content", "status"],
                        "additionalProperties": false,
                    },
                },
            },
            "required": ["todos"],
            "additionalProperties": false,
        })
    }

    fn run<'a>(&'a self, input: &'a Value, _: &'a RunContext) -> BoxFuture<'a, Result<ToolOutput, ToolError>> {
        Box::pin(async move {
            let entries = FORM.entries(input).map_err(invalid)?;
            let text = told("list of tasks", &entries);
            self.state.replace(List::Todos, entries);
            Ok(ToolOutput::ok(text))
        })
    }
}

impl ToolSpec for TodoWrite {
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
        Some("tasks list later open work")
    }

    fn presentation(&self) -> Presentation {
        Presentation {
            title: Some("Write tasks".into()),
            activity: Some("Updating the tasks".into()),
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
        let tool = TodoWrite::new(Arc::clone(&state));
        let entries = |count| json!({ "todos": vec![json!({ "content": "a", "status": "pending" }); count] });
        let answer = call(&tool, entries(2)).expect("an answer").content;
        assert_eq!(answer, "The list of tasks is updated: 0 of 2 done. Next: a");
        call(&tool, entries(1)).expect("an answer");
        assert_eq!(state.entries(List::Todos).len(), 1);
        let wrong = json!({ "todos": [{ "content": "a", "status": "late" }] });
        assert!(tool.validate_input(&wrong).is_err() && call(&tool, wrong).is_err());
        assert_eq!(state.entries(List::Todos).len(), 1);
    }
}

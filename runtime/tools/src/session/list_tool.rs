//! A tool that replaces a list of the session. Which list, and in what words, each tool says for itself.

use super::state::{Form, List, MAX_ENTRIES, Progress, SessionState, told};
use crate::input::invalid;
use serde_json::{Value, json};
use slot_runtime::contract::{
    BoxFuture, Capability, CapabilitySet, Presentation, RunContext, Tool, ToolError, ToolOutput, ToolSpec,
    ValidationFault,
};
use std::sync::Arc;

/// What one such tool says.
pub(super) struct Texts {
    pub name: &'static str,
    pub description: &'static str,
    /// How the entries are written.
    pub form: Form,
    pub list: List,
    /// What the list is called in an answer.
    pub told: &'static str,
    /// What the field with all entries is described as.
    pub all: &'static str,
    /// What the text of an entry is described as.
    pub one: &'static str,
    pub hint: &'static str,
    pub title: &'static str,
    pub activity: &'static str,
}

/// The tool.
pub(super) struct ListTool {
    texts: &'static Texts,
    state: Arc<SessionState>,
}

impl ListTool {
    /// The tool of the session that `state` belongs to.
    pub fn new(texts: &'static Texts, state: Arc<SessionState>) -> Self {
        ListTool { texts, state }
    }
}

impl Tool for ListTool {
    fn name(&self) -> &str {
        self.texts.name
    }

    fn description(&self) -> &str {
        self.texts.description
    }

    fn input_schema(&self) -> Value {
        let Form { field, text, .. } = self.texts.form;
        json!({
            "type": "object",
            "properties": {
                field: {
                    "type": "array", "maxItems": MAX_ENTRIES,
                    "description": self.texts.all,
                    "items": {
                        "type": "object",
                        "properties": {
                            text: { "type": "string", "description": self.texts.one },
                            "status": { "type": "string", "enum": Progress::WORDS, "description": "How far it is." },
                        },
                        "required": [text, "status"],
                        "additionalProperties": false,
                    },
                },
            },
            "required": [field],
            "additionalProperties": false,
        })
    }

    fn run<'a>(&'a self, input: &'a Value, _: &'a RunContext) -> BoxFuture<'a, Result<ToolOutput, ToolError>> {
        Box::pin(async move {
            let entries = self.texts.form.entries(input).map_err(invalid)?;
            let text = told(self.texts.told, &entries);
            self.state.replace(self.texts.list, entries);
            Ok(ToolOutput::ok(text))
        })
    }
}

impl ToolSpec for ListTool {
    fn capabilities(&self) -> CapabilitySet {
        CapabilitySet::of(&[Capability::ReadOnly])
    }

    fn changes_session_only(&self) -> bool {
        true
    }

    fn validate_input(&self, input: &Value) -> Result<(), ValidationFault> {
        self.texts.form.entries(input).map(drop)
    }

    fn search_hint(&self) -> Option<&str> {
        Some(self.texts.hint)
    }

    fn presentation(&self) -> Presentation {
        Presentation {
            title: Some(self.texts.title.into()),
            activity: Some(self.texts.activity.into()),
            transparent: false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::{checklist_write::CHECKLIST_WRITE, todo_write::TODO_WRITE, update_plan::UPDATE_PLAN};
    use super::*;
    use crate::testing::call;

    #[track_caller]
    fn check(texts: &'static Texts, expect: &str) {
        let state = Arc::new(SessionState::default());
        let tool = ListTool::new(texts, Arc::clone(&state));
        let Form { field, text, .. } = texts.form;
        let entries = |count, status| json!({ field: vec![json!({ text: "a", "status": status }); count] });
        assert_eq!(call(&tool, entries(2, "pending")).expect("an answer").content, expect);
        call(&tool, entries(1, "pending")).expect("an answer");
        assert_eq!(state.entries(texts.list).len(), 1);
        let wrong = entries(1, "late");
        assert!(tool.validate_input(&wrong).is_err() && call(&tool, wrong).is_err());
        assert_eq!(state.entries(texts.list).len(), 1);
    }

    #[test]
    fn each_list_is_replaced_and_told() {
        check(&UPDATE_PLAN, "The plan is updated: 0 of 2 done. Next: a");
        check(&CHECKLIST_WRITE, "The checklist is updated: 0 of 2 done. Next: a");
        check(&TODO_WRITE, "The list of tasks is updated: 0 of 2 done. Next: a");
    }
}

//! `note`: facts to keep while the session lasts.

use super::state::{MAX_NOTE, MAX_NOTES, SessionState};
use crate::input::{fault, invalid, optional_text};
use serde_json::{Value, json};
use slot_runtime::contract::{
    BoxFuture, Capability, CapabilitySet, Presentation, RunContext, Tool, ToolError, ToolOutput, ToolSpec,
    ValidationFault,
};
use std::sync::Arc;

const DESCRIPTION: &str = "\
Keep a fact for later in this session, such as a port, a decision or the cause of a fault; without `text`, read all notes \
back. Use it instead of repeating facts in prose: notes stay when the conversation grows long. They end with the session. Do \
not use it for what later sessions should know (remember), or for tasks (todo_write). \
Examples: {\"text\": \"The test database listens on 5433\"}; {}.";

/// The tool.
pub struct Note {
    state: Arc<SessionState>,
}

impl Note {
    /// The tool of the session that `state` belongs to.
    pub fn new(state: Arc<SessionState>) -> Self {
        Note { state }
    }
}

fn note(input: &Value) -> Result<Option<&str>, ValidationFault> {
    let Some(text) = optional_text(input, "text")?.map(str::trim) else { return Ok(None) };
    if text.is_empty() || text.chars().count() > MAX_NOTE {
        return Err(fault("text", format!("a note has 1 to {MAX_NOTE} characters; leave it out to read the notes")));
    }
    Ok(Some(text))
}

impl Tool for Note {
    fn name(&self) -> &str {
        "note"
    }

    fn description(&self) -> &str {
        DESCRIPTION
    }

    fn input_schema(&self) -> Value {
        json!({
            "type": "object",
            "properties": {
                "text": { "type": "string", "description": "The fact to keep; all notes are shown when absent." },
            },
            "additionalProperties": false,
        })
    }

    fn run<'a>(&'a self, input: &'a Value, _: &'a RunContext) -> BoxFuture<'a, Result<ToolOutput, ToolError>> {
        Box::pin(async move {
            let Some(text) = note(input).map_err(invalid)? else {
                let notes = self.state.notes();
                let lines: Vec<String> =
                    notes.iter().enumerate().map(|(n, text)| format!("{}. {text}", n + 1)).collect();
                return Ok(ToolOutput::ok(if lines.is_empty() {
                    "[There are no notes.]".to_owned()
                } else {
                    lines.join("\n")
                }));
            };
            match self.state.add_note(text) {
                Some(1) => Ok(ToolOutput::ok("Noted. There is 1 note.")),
                Some(count) => Ok(ToolOutput::ok(format!("Noted. There are {count} notes."))),
                None => Err(ToolError::InvalidInput(format!(
                    "there are {MAX_NOTES} notes already, which is the most; this one was not kept. Write it to a file"
                ))),
            }
        })
    }
}

impl ToolSpec for Note {
    fn capabilities(&self) -> CapabilitySet {
        CapabilitySet::of(&[Capability::ReadOnly])
    }

    fn changes_session_only(&self) -> bool {
        true
    }

    fn validate_input(&self, input: &Value) -> Result<(), ValidationFault> {
        note(input).map(drop)
    }

    fn search_hint(&self) -> Option<&str> {
        Some("keep fact scratch memo notes of this session")
    }

    fn presentation(&self) -> Presentation {
        Presentation { title: Some("Note".into()), activity: Some("Taking a note".into()), transparent: false }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::call;

    #[track_caller]
    fn check(tool: &Note, input: Value, expect: &str) {
        let answer = match tool.validate_input(&input) {
            Ok(()) => call(tool, input).map_or_else(|error| error.to_string(), |output| output.content),
            Err(fault) => fault.message,
        };
        assert_eq!(answer, expect);
    }

    #[test]
    fn notes_are_kept_in_order_and_read_back() {
        let tool = Note::new(Arc::default());
        check(&tool, json!({}), "[There are no notes.]");
        check(&tool, json!({ "text": " a " }), "Noted. There is 1 note.");
        check(&tool, json!({ "text": "b\nc" }), "Noted. There are 2 notes.");
        check(&tool, json!({}), "1. a\n2. b\nc");
        check(&tool, json!({ "text": "" }), "a note has 1 to 2000 characters; leave it out to read the notes");
    }

    #[test]
    fn another_session_has_notes_of_its_own() {
        let (one, other) = (Note::new(Arc::default()), Note::new(Arc::default()));
        check(&one, json!({ "text": "a" }), "Noted. There is 1 note.");
        check(&other, json!({}), "[There are no notes.]");
    }

    #[test]
    fn there_are_only_so_many() {
        let tool = Note::new(Arc::default());
        for _ in 0..MAX_NOTES {
            call(&tool, json!({ "text": "a" })).expect("there is room");
        }
        check(
            &tool,
            json!({ "text": "a" }),
            "there are 100 notes already, which is the most; this one was not kept. Write it to a file",
        );
    }
}

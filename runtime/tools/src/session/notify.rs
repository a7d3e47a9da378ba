//! `notify`: a line for the user while the work goes on.

use super::person::{Person, nobody};
use crate::input::{fault, invalid, text};
use serde_json::{Value, json};
use slot_runtime::contract::{
    BoxFuture, Capability, CapabilitySet, Presentation, RunContext, Tool, ToolError, ToolOutput, ToolSpec,
    ValidationFault,
};
use std::sync::Arc;

/// The most characters of a message.
const MAX_MESSAGE: usize = 500;

const DESCRIPTION: &str = "\
Show the user one short message while you go on working, such as that a long step is done or that you found something they \
should know now. Use it instead of ending your turn to say it. Do not use it for a question (request_user_input), for the \
plan (update_plan), or for what the last words of your turn will say anyway. \
Example: {\"message\": \"The tests pass; now the benchmarks run for some minutes.\"}.";

/// The tool.
pub struct Notify {
    person: Option<Arc<dyn Person>>,
}

impl Notify {
    /// The tool that tells this person; `None` where nobody is there.
    pub fn new(person: Option<Arc<dyn Person>>) -> Self {
        Notify { person }
    }
}

fn message(input: &Value) -> Result<&str, ValidationFault> {
    let message = text(input, "message")?.trim();
    if message.is_empty() || message.chars().count() > MAX_MESSAGE || message.contains(char::is_control) {
        return Err(fault("message", format!("a message is one line of 1 to {MAX_MESSAGE} characters")));
    }
    Ok(message)
}

impl Tool for Notify {
    fn name(&self) -> &str {
        "notify"
    }

    fn description(&self) -> &str {
        DESCRIPTION
    }

    fn input_schema(&self) -> Value {
        json!({
            "type": "object",
            "properties": { "message": { "type": "string", "description": "What to show, on one line." } },
            "required": ["message"],
            "additionalProperties": false,
        })
    }

    fn run<'a>(&'a self, input: &'a Value, _: &'a RunContext) -> BoxFuture<'a, Result<ToolOutput, ToolError>> {
        Box::pin(async move {
            let message = message(input).map_err(invalid)?;
            if self.person.as_ref().is_some_and(|person| person.tell(message)) {
                return Ok(ToolOutput::ok("The user was shown the message."));
            }
            Err(nobody("Say it in the last words of your turn."))
        })
    }
}

impl ToolSpec for Notify {
    fn capabilities(&self) -> CapabilitySet {
        CapabilitySet::of(&[Capability::ReadOnly])
    }

    fn changes_session_only(&self) -> bool {
        true
    }

    fn validate_input(&self, input: &Value) -> Result<(), ValidationFault> {
        message(input).map(drop)
    }

    fn search_hint(&self) -> Option<&str> {
        Some("tell user message progress inform")
    }

    fn presentation(&self) -> Presentation {
        Presentation {
            title: Some("Notify".into()),
            activity: Some("Telling you something".into()),
            transparent: false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{super::request_user_input::tests::Scripted, *};
    use crate::testing::call;

    #[test]
    fn a_message_is_shown_or_said_to_be_not() {
        let person = Arc::new(Scripted::default());
        let tool = Notify::new(Some(Arc::clone(&person) as Arc<dyn Person>));
        assert_eq!(call(&tool, json!({ "message": " a " })), Ok(ToolOutput::ok("The user was shown the message.")));
        assert_eq!(*person.told.lock().expect("it is free"), ["a"]);
        let error = call(&Notify::new(None), json!({ "message": "a" })).expect_err("nobody is there").to_string();
        assert!(error.starts_with("nobody is there"), "{error}");
    }

    #[test]
    fn a_message_is_one_short_line() {
        for wrong in ["", "a\nb", "\u{1b}[2J", &"x".repeat(501)] {
            assert!(message(&json!({ "message": wrong })).is_err(), "{wrong:?}");
        }
    }
}

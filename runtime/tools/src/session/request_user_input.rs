//! `request_user_input`: a question to the user.

use super::person::{MAX_TEXT, Person, Question, nobody};
use crate::input::{fault, invalid, text};
use serde_json::{Value, json};
use slot_runtime::contract::{
    BoxFuture, Capability, CapabilitySet, Presentation, RunContext, Tool, ToolError, ToolOutput, ToolSpec,
    ValidationFault,
};
use std::sync::Arc;

/// The most answers that are offered.
const MAX_OPTIONS: usize = 10;
/// The most characters of one.
const MAX_OPTION: usize = 200;

const DESCRIPTION: &str = "\
Ask the user one question and wait for the answer, when the work cannot go on without it: a choice that only they can make, \
or a fact that no file tells. Offer the likely answers as `options`. Use it instead of ending your turn with a question. Do not \
use it to ask for permission: a call that needs it is asked about by itself, and an answer here permits nothing. Do not use it \
for what you can find out. Example: {\"question\": \"Which database do you use?\", \"options\": [\"PostgreSQL\", \
\"SQLite\"]}.";

const NEXT: &str = "Decide by yourself what is safe to decide and say so, or end your turn with the question.";

/// The tool.
pub struct RequestUserInput {
    person: Option<Arc<dyn Person>>,
}

impl RequestUserInput {
    /// The tool that asks this person; `None` where nobody is there.
    pub fn new(person: Option<Arc<dyn Person>>) -> Self {
        RequestUserInput { person }
    }
}

fn question(input: &Value) -> Result<Question, ValidationFault> {
    let asked = text(input, "question")?.trim();
    if asked.is_empty() || asked.chars().count() > MAX_TEXT {
        return Err(fault("question", format!("a question has 1 to {MAX_TEXT} characters")));
    }
    let mut options = Vec::new();
    for option in input["options"].as_array().into_iter().flatten() {
        let option = option.as_str().unwrap_or_default().trim();
        if option.is_empty() || option.chars().count() > MAX_OPTION || options.len() == MAX_OPTIONS {
            return Err(fault(
                "options",
                format!("offer at most {MAX_OPTIONS} answers of 1 to {MAX_OPTION} characters"),
            ));
        }
        options.push(option.to_owned());
    }
    Ok(Question { text: asked.to_owned(), options })
}

impl Tool for RequestUserInput {
    fn name(&self) -> &str {
        "request_user_input"
    }

    fn description(&self) -> &str {
        DESCRIPTION
    }

    fn input_schema(&self) -> Value {
        json!({
            "type": "object",
            "properties": {
                "question": { "type": "string", "description": "What to ask." },
                "options": {
                    "type": "array", "maxItems": MAX_OPTIONS, "items": { "type": "string" },
                    "description": "Answers to offer; the user may give another.",
                },
            },
            "required": ["question"],
            "additionalProperties": false,
        })
    }

    fn run<'a>(&'a self, input: &'a Value, _: &'a RunContext) -> BoxFuture<'a, Result<ToolOutput, ToolError>> {
        Box::pin(async move {
            let question = question(input).map_err(invalid)?;
            let answer = match &self.person {
                Some(person) => person.ask(&question).await,
                None => None,
            };
            let Some(answer) = answer else { return Err(nobody(NEXT)) };
            let answer: String = answer.chars().take(MAX_TEXT).collect();
            if answer.trim().is_empty() {
                return Ok(ToolOutput::ok(format!("[The user gave no answer. {NEXT}]")));
            }
            Ok(ToolOutput::ok(format!("The user answers: {answer}")))
        })
    }
}

impl ToolSpec for RequestUserInput {
    fn capabilities(&self) -> CapabilitySet {
        CapabilitySet::of(&[Capability::ReadOnly])
    }

    fn changes_session_only(&self) -> bool {
        true
    }

    fn validate_input(&self, input: &Value) -> Result<(), ValidationFault> {
        question(input).map(drop)
    }

    fn is_interactive(&self) -> bool {
        true
    }

    fn search_hint(&self) -> Option<&str> {
        Some("ask user question clarify choice answer")
    }

    fn presentation(&self) -> Presentation {
        Presentation { title: Some("Ask".into()), activity: Some("Asking you".into()), transparent: false }
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use crate::testing::call;
    use std::sync::Mutex;

    /// Gives one answer to everything, and keeps what it was told.
    #[derive(Default)]
    pub struct Scripted {
        pub answer: Option<String>,
        pub told: Mutex<Vec<String>>,
    }

    impl Person for Scripted {
        fn ask<'a>(&'a self, question: &'a Question) -> BoxFuture<'a, Option<String>> {
            self.tell(&question.text);
            let answer = self.answer.clone();
            Box::pin(async move { answer })
        }

        fn tell(&self, message: &str) -> bool {
            self.told.lock().expect("no test panics in it").push(message.to_owned());
            true
        }
    }

    #[track_caller]
    fn check(answer: Option<&str>, expect: &str) {
        let person = Arc::new(Scripted { answer: answer.map(str::to_owned), ..Scripted::default() });
        let tool = RequestUserInput::new(Some(Arc::clone(&person) as Arc<dyn Person>));
        let got = call(&tool, json!({ "question": "which?", "options": ["a", "b"] }));
        let got = got.map_or_else(|error| error.to_string(), |output| output.content);
        assert!(got.starts_with(expect), "{got}");
        assert_eq!(*person.told.lock().expect("it is free"), ["which?"]);
    }

    #[test]
    fn an_answer_is_handed_on() {
        check(Some("a"), "The user answers: a");
        check(Some(" "), "[The user gave no answer. ");
        check(None, "nobody is there in this session");
    }

    #[test]
    fn without_a_person_it_says_so_at_once() {
        let error = call(&RequestUserInput::new(None), json!({ "question": "may I?" })).expect_err("nobody is there");
        assert!(matches!(&error, ToolError::Unavailable(text) if text.starts_with("nobody is there")), "{error}");
    }

    #[test]
    fn a_question_is_bounded() {
        for wrong in [
            json!({ "question": " " }),
            json!({ "question": "x".repeat(4001) }),
            json!({ "question": "a", "options": [""] }),
        ] {
            assert!(question(&wrong).is_err());
        }
    }
}

//! `parallel`: a tool that calls tools.
//!
//! It makes the calls it is given and reports what each came to. It governs nothing: every inner call passes each stage
//! of the runtime as what it is, is asked about if it must be, and overlaps with its neighbours only if it may.

use crate::input::{fault, invalid};
use serde_json::{Value, json};
use slot_runtime::contract::{
    BoxFuture, Capability, CapabilitySet, InnerCall, Presentation, RunContext, Tool, ToolError, ToolOutput, ToolSpec,
    ValidationFault,
};

/// The most inner calls of one call.
pub const MAX_CALLS: usize = 16;

/// Characters of a tool's name that are repeated.
const SHOWN_NAME: usize = 64;

const NAME: &str = "parallel";

const DESCRIPTION: &str = "\
Make several tool calls that do not depend on each other in one call, such as reading five files. Calls that only look \
overlap; a call that changes something or runs code still waits for its neighbours, and is asked about as always. Use it \
instead of many single calls when you know all of them already. Do not use it when a call needs the result of another, or \
to call itself. What each call came to is told first, then the results in the order of the calls, each with its share of \
what one result may hold; one failure does not stop the others. \
Example: {\"calls\": [{\"tool\": \"read_file\", \"input\": {\"path\": \"a.txt\"}}, {\"tool\": \"list_dir\", \"input\": \
{\"path\": \"src\"}}]}.";

/// The tool.
pub struct Parallel;

fn calls(input: &Value) -> Result<Vec<InnerCall>, ValidationFault> {
    let Some(given) = input["calls"].as_array() else {
        return Err(fault("calls", "`calls` must be an array of {\"tool\": name, \"input\": object}"));
    };
    if given.is_empty() || given.len() > MAX_CALLS {
        return Err(fault("calls", format!("there are {} calls; make 1 to {MAX_CALLS} at once", given.len())));
    }
    let mut calls = Vec::with_capacity(given.len());
    for (index, call) in given.iter().enumerate() {
        let at = |what: &str| ValidationFault::at(format!("/calls/{index}"), format!("call {index} {what}"));
        let tool = call["tool"].as_str().ok_or_else(|| at("has no `tool`, the name of the tool to call"))?;
        if tool == NAME {
            return Err(at("calls `parallel` itself; put its calls into this one"));
        }
        if !call["input"].is_object() {
            return Err(at("has no `input`, the object that the tool takes; pass {} for no fields"));
        }
        calls.push(InnerCall { tool: tool.to_owned(), input: call["input"].clone() });
    }
    Ok(calls)
}

impl Tool for Parallel {
    fn name(&self) -> &str {
        NAME
    }

    fn description(&self) -> &str {
        DESCRIPTION
    }

    fn input_schema(&self) -> Value {
        json!({
            "type": "object",
            "properties": {
                "calls": {
                    "type": "array", "minItems": 1, "maxItems": MAX_CALLS,
                    "description": "The calls, each with the tool's name and its input.",
                    "items": {
                        "type": "object",
                        "properties": {
                            "tool": { "type": "string", "description": "The name of the tool." },
                            "input": { "type": "object", "description": "What the tool takes." },
                        },
                        "required": ["tool", "input"],
                        "additionalProperties": false,
                    },
                },
            },
            "required": ["calls"],
            "additionalProperties": false,
        })
    }

    fn run<'a>(&'a self, input: &'a Value, run: &'a RunContext) -> BoxFuture<'a, Result<ToolOutput, ToolError>> {
        Box::pin(async move {
            let calls = calls(input).map_err(invalid)?;
            let names: Vec<String> = calls.iter().map(|call| call.tool.chars().take(SHOWN_NAME).collect()).collect();
            let results = run.call_tools(calls).await?;
            let failed = results.iter().filter(|result| result.is_error).count();
            // What each came to stands before what each said: whatever is cut, that is told.
            let calls = names.iter().zip(&results);
            let calls: Vec<Value> =
                calls.map(|(tool, result)| json!({ "tool": tool, "failed": result.is_error })).collect();
            let results: Vec<Value> = results.into_iter().map(|result| Value::String(result.content)).collect();
            let all = results.len();
            // The fields of an object are written in the order of their names.
            let content =
                serde_json::to_string_pretty(&json!({ "calls": calls, "results": results })).unwrap_or_default();
            Ok(ToolOutput { is_error: failed == all, ..ToolOutput::ok(content) })
        })
    }
}

impl ToolSpec for Parallel {
    fn capabilities(&self) -> CapabilitySet {
        // What its calls do is theirs to declare, and each is governed by itself.
        CapabilitySet::of(&[Capability::ReadOnly])
    }

    fn validate_input(&self, input: &Value) -> Result<(), ValidationFault> {
        calls(input).map(drop)
    }

    fn presentation(&self) -> Presentation {
        Presentation {
            title: Some("Several calls".to_owned()),
            activity: Some("Making several calls".to_owned()),
            transparent: true,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::context;

    #[track_caller]
    fn check(input: Value, expect: &str) {
        let found = Parallel.validate_input(&input);
        assert!(found.as_ref().is_err_and(|f| f.message.contains(expect)), "{found:?}");
    }

    #[test]
    fn what_cannot_be_called_is_named() {
        check(json!({}), "must be an array");
        check(json!({"calls": []}), "there are 0 calls");
        check(json!({"calls": vec![json!({"tool": "t", "input": {}}); 17]}), "there are 17 calls");
        check(json!({"calls": [{"input": {}}]}), "call 0 has no `tool`");
        check(json!({"calls": [{"tool": "t", "input": {}}, {"tool": "t"}]}), "call 1 has no `input`");
        check(json!({"calls": [{"tool": "parallel", "input": {}}]}), "calls `parallel` itself");
    }

    #[tokio::test]
    async fn outside_of_a_session_it_says_that_it_cannot_call() {
        let input = json!({"calls": [{"tool": "t", "input": {}}]});
        let error = Parallel.run(&input, &context()).await.unwrap_err();
        assert!(error.to_string().contains("make the calls one by one"), "{error}");
    }
}

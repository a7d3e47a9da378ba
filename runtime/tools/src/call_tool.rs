//! `call_tool`: a tool that stands for others, so that the list of tools never changes.
//!
//! The engine takes a call of it for a call of the tool it names, before anything is decided: every gate sees that tool and
//! its input. Nothing is run here.

use serde_json::{Value, json};
use slot_runtime::contract::{
    BoxFuture, Capability, CapabilitySet, Exposure, Presentation, Role, RunContext, Tool, ToolError, ToolOutput,
    ToolSpec,
};

const DESCRIPTION: &str = "\
Call a tool that is not in your list, after tool_search has shown it to you: tool is its name and input is exactly what its \
schema takes. The call is treated as a call of that tool in every way. Use it instead of guessing at a tool in your own \
list. Do not use it for a tool that you have not seen the schema of: nothing is run then, and you are shown the schema. \
Example: {\"tool\": \"mcp__tracker__create_issue\", \"input\": {\"title\": \"A fault\"}}.";

/// The tool.
pub struct CallTool;

impl Tool for CallTool {
    fn name(&self) -> &str {
        "call_tool"
    }

    fn description(&self) -> &str {
        DESCRIPTION
    }

    fn input_schema(&self) -> Value {
        json!({
            "type": "object",
            "properties": {
                "tool": { "type": "string", "description": "The name of the tool." },
                "input": { "type": "object", "description": "What that tool takes." },
            },
            "required": ["tool", "input"],
            "additionalProperties": false,
        })
    }

    fn run<'a>(&'a self, _: &'a Value, _: &'a RunContext) -> BoxFuture<'a, Result<ToolOutput, ToolError>> {
        // The engine never comes here; whoever does has passed no gate of the tool that is meant.
        Box::pin(async {
            Err(ToolError::Unavailable("call_tool runs nothing by itself; call the tool by its own name".to_owned()))
        })
    }
}

impl ToolSpec for CallTool {
    fn capabilities(&self) -> CapabilitySet {
        CapabilitySet::of(&[Capability::ReadOnly])
    }

    fn exposure(&self) -> Exposure {
        Exposure::Always
    }

    fn role(&self) -> Role {
        Role::Proxy
    }

    fn presentation(&self) -> Presentation {
        Presentation {
            title: Some("Another tool".to_owned()),
            activity: Some("Calling another tool".to_owned()),
            transparent: true,
        }
    }
}

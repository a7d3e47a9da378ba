//! Tools to have many of: what they do is nothing, and what a model reads of each is as long as that of a real one.

use serde_json::{Value, json};
use slot_runtime::contract::{
    BoxFuture, Capability, CapabilitySet, Origin, OriginKind, RunContext, Tool, ToolError, ToolOutput, ToolSpec,
};
use std::sync::Arc;

/// How many tools one server brings.
const OF_A_SERVER: usize = 40;

/// One tool of many.
pub struct Sample {
    name: String,
    description: String,
    server: Option<String>,
}

impl Sample {
    /// Tool number `at` of those that are there from the start.
    pub fn built_in(at: usize) -> Self {
        let description = format!(
            "Tool number {at} of the sample. Use it when the task names a thing of kind {at}; do not use it for files, \
             commands or the network, for which there are others. It answers with one line for each thing found."
        );
        Sample { name: format!("sample_tool_{at:03}"), description, server: None }
    }

    /// Tool number `at` of those that servers bring. Each has two words of its own, and shares others with hundreds.
    pub fn of_server(at: usize) -> Self {
        const VERBS: [&str; 8] = ["create", "list", "update", "delete", "search", "export", "assign", "archive"];
        const THINGS: [&str; 12] = [
            "issue",
            "invoice",
            "channel",
            "calendar",
            "customer",
            "pipeline",
            "dashboard",
            "ticket",
            "document",
            "deployment",
            "contract",
            "account",
        ];
        let (verb, thing) = (VERBS[at % VERBS.len()], THINGS[at / VERBS.len() % THINGS.len()]);
        let server = server(at / OF_A_SERVER);
        Sample {
            name: format!("mcp__{server}__{verb}_{thing}_{at:04}"),
            description: format!(
                "{verb} one {thing} of the workspace, or several. Fields that are not given stay as they are; the answer \
                 names the {thing} by its identifier. Kind k{at}, region r{}.",
                at % 97
            ),
            server: Some(server),
        }
    }
}

/// The name of a server.
fn server(number: usize) -> String {
    format!("server{number:02}")
}

/// So many tools of servers, by the server they come from.
pub fn servers(tools: usize) -> Vec<(String, Vec<Arc<dyn ToolSpec>>)> {
    let numbers: Vec<usize> = (0..tools).collect();
    let of = |(number, tools): (usize, &[usize])| {
        let tools = tools.iter().map(|at| Arc::new(Sample::of_server(*at)) as Arc<dyn ToolSpec>).collect();
        (server(number), tools)
    };
    numbers.chunks(OF_A_SERVER).enumerate().map(of).collect()
}

impl Tool for Sample {
    fn name(&self) -> &str {
        &self.name
    }

    fn description(&self) -> &str {
        &self.description
    }

    fn input_schema(&self) -> Value {
        json!({"type": "object", "additionalProperties": false, "required": ["path"], "properties": {
            "path": {"type": "string", "description": "Where to look, relative to the workspace."},
            "most": {"type": "integer", "minimum": 1, "maximum": 500, "description": "How many lines at most."},
            "kinds": {"type": "array", "items": {"type": "string", "enum": ["file", "folder", "link"]}},
        }})
    }

    fn run<'a>(&'a self, _: &'a Value, _: &'a RunContext) -> BoxFuture<'a, Result<ToolOutput, ToolError>> {
        Box::pin(async { Ok(ToolOutput::ok("ran")) })
    }
}

impl ToolSpec for Sample {
    fn capabilities(&self) -> CapabilitySet {
        CapabilitySet::of(&[Capability::ReadOnly])
    }

    fn origin(&self) -> Origin {
        match &self.server {
            Some(server) => Origin { kind: OriginKind::Mcp { server: server.clone() }, ..Origin::extension("bench") },
            None => Origin::builtin(),
        }
    }
}

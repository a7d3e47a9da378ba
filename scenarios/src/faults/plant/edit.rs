//! The edits of the reference runtime, in the ways in which they go wrong.

use super::Seam;
use serde_json::Value;
use slot_runtime::contract::{
    ApprovalRequirement, BoxFuture, CapabilitySet, Origin, RunContext, Tool, ToolError, ToolOutput, ToolSpec,
    ValidationFault,
};
use std::sync::Arc;

/// The names of the tools.
const EDITS: [&str; 2] = ["apply_patch", "edit_file"];

/// The tools, with those that edit replaced.
pub(super) fn plant(seam: Seam, tools: Vec<Arc<dyn ToolSpec>>) -> Vec<Arc<dyn ToolSpec>> {
    let broken = |tool: Arc<dyn ToolSpec>| -> Arc<dyn ToolSpec> {
        if EDITS.contains(&tool.name()) { Arc::new(Broken { seam, inner: tool }) } else { tool }
    };
    tools.into_iter().map(broken).collect()
}

struct Broken {
    seam: Seam,
    inner: Arc<dyn ToolSpec>,
}

impl Tool for Broken {
    fn name(&self) -> &str {
        self.inner.name()
    }
    fn description(&self) -> &str {
        self.inner.description()
    }
    fn input_schema(&self) -> Value {
        self.inner.input_schema()
    }
    fn run<'a>(&'a self, input: &'a Value, run: &'a RunContext) -> BoxFuture<'a, Result<ToolOutput, ToolError>> {
        Box::pin(async move {
            if self.seam == Seam::EditRefuse {
                return Err(ToolError::InvalidInput("the text was not found".to_owned()));
            }
            match (self.seam, self.inner.run(input, run).await) {
                (Seam::EditSilent, Ok(output)) => {
                    let kept: Vec<&str> = output.content.lines().filter(|line| !line.starts_with('[')).collect();
                    Ok(ToolOutput { content: kept.join("\n"), ..output })
                }
                (Seam::EditTerse, Err(_)) => Err(ToolError::InvalidInput("no".to_owned())),
                (_, result) => result,
            }
        })
    }
}

impl ToolSpec for Broken {
    fn capabilities(&self) -> CapabilitySet {
        self.inner.capabilities()
    }
    fn origin(&self) -> Origin {
        self.inner.origin()
    }
    fn validate_input(&self, input: &Value) -> Result<(), ValidationFault> {
        self.inner.validate_input(input)
    }
    fn approval_for_input(&self, input: &Value) -> Option<ApprovalRequirement> {
        self.inner.approval_for_input(input)
    }
}

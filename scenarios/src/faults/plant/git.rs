//! The version-control tools of the reference runtime, in the ways in which they go wrong.

use super::Seam;
use super::wrapped::{Flaws, Wrapped};
use serde_json::{Value, json};
use slot_runtime::contract::{BoxFuture, RunContext, ToolError, ToolOutput, ToolSpec, ValidationFault};
use std::sync::Arc;

/// The tools, with those for version control replaced.
pub(super) fn plant(seam: Seam, tools: &[Arc<dyn ToolSpec>]) -> Vec<Arc<dyn ToolSpec>> {
    let shell = tools.iter().find(|tool| tool.name() == "exec_shell");
    let broken = |tool: &Arc<dyn ToolSpec>| match shell {
        Some(shell) if tool.name().starts_with("git_") => {
            Wrapped::tool(Arc::clone(tool), Broken { seam, shell: Arc::clone(shell) })
        }
        _ => Arc::clone(tool),
    };
    tools.iter().map(broken).collect()
}

struct Broken {
    seam: Seam,
    shell: Arc<dyn ToolSpec>,
}

impl Flaws for Broken {
    fn run<'a>(
        &'a self,
        inner: &'a dyn ToolSpec,
        input: &'a Value,
        run: &'a RunContext,
    ) -> BoxFuture<'a, Result<ToolOutput, ToolError>> {
        Box::pin(async move {
            if self.seam == Seam::GitRefuse {
                return Err(ToolError::Denied("repositories are not looked at".to_owned()));
            }
            // As it is run by hand, in the folder of the repository and with what is configured there.
            let word = inner.name().trim_start_matches("git_");
            let rest = ["rev", "from", "path"].iter().find_map(|field| input[field].as_str()).unwrap_or_default();
            self.shell.run(&json!({ "command": format!("git {word} {rest}") }), run).await
        })
    }

    /// It would be refused before it runs.
    fn validate_input(&self, _: &dyn ToolSpec, _: &Value) -> Result<(), ValidationFault> {
        Ok(())
    }
}

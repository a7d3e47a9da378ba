//! The edits of the reference runtime, in the ways in which they go wrong.

use super::Seam;
use super::wrapped::{Flaws, Wrapped};
use serde_json::Value;
use slot_runtime::contract::{BoxFuture, RunContext, ToolError, ToolOutput, ToolSpec};
use std::sync::Arc;

/// The names of the tools.
const EDITS: [&str; 3] = ["apply_patch", "edit_file", "fim_edit"];

/// The tools, with those that edit replaced.
pub(super) fn plant(seam: Seam, tools: Vec<Arc<dyn ToolSpec>>) -> Vec<Arc<dyn ToolSpec>> {
    let broken = |tool: Arc<dyn ToolSpec>| {
        if EDITS.contains(&tool.name()) { Wrapped::tool(tool, Broken { seam }) } else { tool }
    };
    tools.into_iter().map(broken).collect()
}

struct Broken {
    seam: Seam,
}

impl Flaws for Broken {
    fn run<'a>(
        &'a self,
        inner: &'a dyn ToolSpec,
        input: &'a Value,
        run: &'a RunContext,
    ) -> BoxFuture<'a, Result<ToolOutput, ToolError>> {
        Box::pin(async move {
            if self.seam == Seam::EditRefuse {
                return Err(ToolError::InvalidInput("the text was not found".to_owned()));
            }
            match (self.seam, inner.run(input, run).await) {
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

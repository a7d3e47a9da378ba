//! A tool that calls tools, in the ways in which it goes wrong.

use super::Seam;
use super::wrapped::{Flaws, Wrapped};
use serde_json::Value;
use slot_runtime::contract::{BoxFuture, RunContext, ToolError, ToolOutput, ToolSpec, ValidationFault};
use std::sync::Arc;

/// The name of the composite tool.
const COMPOSITE: &str = "parallel";

/// The tools, with the composite one replaced.
pub(super) fn plant(seam: Seam, tools: &[Arc<dyn ToolSpec>]) -> Vec<Arc<dyn ToolSpec>> {
    let broken = |tool: &Arc<dyn ToolSpec>| {
        if tool.name() != COMPOSITE {
            return Arc::clone(tool);
        }
        Wrapped::tool(Arc::clone(tool), Broken { tools: tools.to_vec(), seam })
    };
    tools.iter().map(broken).collect()
}

struct Broken {
    tools: Vec<Arc<dyn ToolSpec>>,
    seam: Seam,
}

impl Broken {
    fn free<'a>(&'a self, input: &'a Value, run: &'a RunContext) -> BoxFuture<'a, String> {
        Box::pin(async move {
            let mut told = Vec::new();
            for call in input["calls"].as_array().into_iter().flatten() {
                if call["tool"] == COMPOSITE {
                    told.push(self.free(&call["input"], run).await);
                    continue;
                }
                let Some(tool) = self.tools.iter().find(|tool| call["tool"] == tool.name()) else { continue };
                told.push(match tool.run(&call["input"], run).await {
                    Ok(output) => output.content,
                    Err(error) => error.to_string(),
                });
            }
            told.join("\n")
        })
    }
}

impl Flaws for Broken {
    fn validate_input(&self, inner: &dyn ToolSpec, input: &Value) -> Result<(), ValidationFault> {
        if self.seam == Seam::InnerFree { Ok(()) } else { inner.validate_input(input) }
    }

    fn run<'a>(
        &'a self,
        inner: &'a dyn ToolSpec,
        input: &'a Value,
        run: &'a RunContext,
    ) -> BoxFuture<'a, Result<ToolOutput, ToolError>> {
        Box::pin(async move {
            match self.seam {
                // For ever, where it is beside a call that must stand alone.
                Seam::InnerWaits => std::future::pending().await,
                Seam::InnerDropped => tokio::select! {
                    biased;
                    () = run.cancel.cancelled() => Err(ToolError::Cancelled),
                    output = inner.run(input, run) => output,
                },
                // Past every stage.
                _ => Ok(ToolOutput::ok(self.free(input, run).await)),
            }
        })
    }
}

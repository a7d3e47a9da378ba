//! A tool that calls tools, in the ways in which it goes wrong.

use super::Seam;
use serde_json::Value;
use slot_runtime::contract::{
    BoxFuture, CapabilitySet, Origin, RunContext, Tool, ToolError, ToolOutput, ToolSpec, ValidationFault,
};
use std::sync::Arc;

/// The name of the composite tool.
const COMPOSITE: &str = "parallel";

/// The tools, with the composite one replaced.
pub(super) fn plant(seam: Seam, tools: &[Arc<dyn ToolSpec>]) -> Vec<Arc<dyn ToolSpec>> {
    let broken = |tool: &Arc<dyn ToolSpec>| {
        if tool.name() != COMPOSITE {
            return Arc::clone(tool);
        }
        Arc::new(Broken { inner: Arc::clone(tool), tools: tools.to_vec(), seam })
    };
    tools.iter().map(broken).collect()
}

struct Broken {
    inner: Arc<dyn ToolSpec>,
    tools: Vec<Arc<dyn ToolSpec>>,
    seam: Seam,
}

impl Broken {
    async fn free(&self, input: &Value, run: &RunContext) -> String {
        let mut told = Vec::new();
        for call in input["calls"].as_array().into_iter().flatten() {
            let Some(tool) = self.tools.iter().find(|tool| call["tool"] == tool.name()) else { continue };
            told.push(match tool.run(&call["input"], run).await {
                Ok(output) => output.content,
                Err(error) => error.to_string(),
            });
        }
        told.join("\n")
    }
}

impl Tool for Broken {
    fn name(&self) -> &str {
        self.inner.name()
    }
    // A tool answers for a catalog that it may stand in anywhere, so what it says of itself is left as it is.
    fn description(&self) -> &str {
        self.inner.description()
    }
    fn input_schema(&self) -> Value {
        self.inner.input_schema()
    }
    fn run<'a>(&'a self, input: &'a Value, run: &'a RunContext) -> BoxFuture<'a, Result<ToolOutput, ToolError>> {
        Box::pin(async move {
            match self.seam {
                // For ever, where it is beside a call that must stand alone.
                Seam::InnerWaits => std::future::pending().await,
                Seam::InnerDropped => tokio::select! {
                    biased;
                    () = run.cancel.cancelled() => Err(ToolError::Cancelled),
                    output = self.inner.run(input, run) => output,
                },
                // Past every stage.
                _ => Ok(ToolOutput::ok(self.free(input, run).await)),
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
    fn supports_parallel(&self) -> bool {
        self.inner.supports_parallel()
    }
    fn validate_input(&self, input: &Value) -> Result<(), ValidationFault> {
        self.inner.validate_input(input)
    }
}

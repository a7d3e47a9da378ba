//! Faults between the engine and the tools: what it is told of them, what judges an input, and how often one runs.

use super::Seam;
use super::arguments;
use super::gates::weakened;
use slot_runtime::approval::Assessment;
use slot_runtime::contract::{
    ApprovalRequirement, BoxFuture, Exposure, MetadataSnapshot, RunContext, ToolDispatcher, ToolError, ToolOutput,
    ValidationFault,
};
use slot_runtime::dispatch::{Approved, Parsed, Validated};
use slot_runtime::registry::{Catalog, SchemaForm};
use std::sync::Arc;

/// What the engine holds of the tools, as this seam spoils it.
pub struct Dispatch {
    seam: Seam,
    snapshot: Arc<MetadataSnapshot>,
    inner: Arc<dyn ToolDispatcher>,
}

impl Dispatch {
    pub fn new(seam: Seam, inner: Arc<dyn ToolDispatcher>) -> Self {
        Dispatch { seam, snapshot: snapshot(seam, inner.as_ref()), inner }
    }
}

/// What the engine is told of the tools.
fn snapshot(seam: Seam, inner: &dyn ToolDispatcher) -> Arc<MetadataSnapshot> {
    let mut snapshot = MetadataSnapshot::clone(&inner.snapshot());
    for tool in snapshot.tools.values_mut() {
        match seam {
            Seam::LevelUnderstate => Arc::make_mut(tool).requirement = ApprovalRequirement::Auto,
            Seam::BatchAll => {
                let tool = Arc::make_mut(tool);
                (tool.read_only, tool.supports_parallel) = (true, true);
            }
            Seam::BatchNone => Arc::make_mut(tool).supports_parallel = false,
            Seam::SchemaEverywhere => arguments::clean_everywhere(&mut Arc::make_mut(tool).schema),
            Seam::SchemaJudges => arguments::refuse_null(&mut Arc::make_mut(tool).schema),
            Seam::HydrateSkip if tool.exposure == Exposure::Deferred => {
                Arc::make_mut(tool).exposure = Exposure::Auto;
            }
            _ => {
                if let Some(schema) = weakened(seam, &tool.schema) {
                    Arc::make_mut(tool).schema = schema;
                }
            }
        }
    }
    if matches!(seam, Seam::SchemaAsGiven | Seam::SchemaEverywhere) {
        let tools = snapshot.tools.values().map(AsRef::as_ref);
        snapshot.catalog = Arc::new(Catalog::in_form(tools, SchemaForm::AsGiven));
    }
    Arc::new(snapshot)
}

impl ToolDispatcher for Dispatch {
    fn snapshot(&self) -> Arc<MetadataSnapshot> {
        Arc::clone(&self.snapshot)
    }

    fn validate(&self, call: &Parsed) -> Result<(), Vec<ValidationFault>> {
        if self.seam == Seam::ValidateSkip { Ok(()) } else { self.inner.validate(call) }
    }

    fn requirement(&self, call: &Validated) -> ApprovalRequirement {
        if self.seam == Seam::BatchAll { ApprovalRequirement::Auto } else { self.inner.requirement(call) }
    }

    fn assess(&self, call: &Validated) -> Option<Assessment> {
        self.inner.assess(call)
    }

    fn run<'a>(&'a self, call: &'a Approved, run: &'a RunContext) -> BoxFuture<'a, Result<ToolOutput, ToolError>> {
        Box::pin(async move {
            if self.seam == Seam::StubAnswers && call.tool().fail_closed.is_some() {
                return Ok(ToolOutput::ok("done"));
            }
            if self.seam == Seam::RunDouble {
                self.inner.run(call, run).await?;
            }
            self.inner.run(call, run).await
        })
    }
}

//! [`ToolDispatcher`]: all that the engine holds of tools.
//!
//! The engine asks one eager snapshot that does not depend on any input, and hands over calls that have passed every
//! stage before. What a call may be handed for is written in its type: only [`Approved`] can be run.

use super::{
    ApprovalRequirement, BoxFuture, CapabilitySet, Exposure, InterruptBehaviour, Origin, Presentation, Role,
    RunContext, ToolError, ToolOutput, ValidationFault,
};
use crate::approval::Assessment;
use crate::dispatch::call::{Approved, Parsed, Validated};
use crate::registry::{Catalog, RegistryFault};
use serde_json::Value;
use std::{collections::BTreeMap, sync::Arc};

/// What is known about a tool without any input, read once.
#[derive(Clone, Debug)]
pub struct ToolMetadata {
    /// The name under which it is advertised and called.
    pub name: String,
    /// What the model reads.
    pub description: String,
    /// Its input schema.
    pub schema: Value,
    /// Stands for where it comes from, what it takes and what it can do: another one is another tool under its name. It
    /// never leaves the process.
    pub revision: u64,
    /// What it can do, at most.
    pub capabilities: CapabilitySet,
    /// The level that follows from `capabilities`.
    pub requirement: ApprovalRequirement,
    /// Whether it only observes.
    pub read_only: bool,
    /// Whether all that it changes is the state of its session. Such a tool observes only, but is not `read_only`.
    pub session_only: bool,
    /// Whether its calls may overlap.
    pub supports_parallel: bool,
    /// Whether it talks to a person while it runs.
    pub interactive: bool,
    /// Whether it destroys what cannot be brought back.
    pub destructive: bool,
    /// Whether asking the same thing again is how it is used.
    pub polls: bool,
    /// Whether running it for nothing leaves nothing behind.
    pub may_start_early: bool,
    /// What a cancellation does to it.
    pub interrupt: InterruptBehaviour,
    /// When the model sees it.
    pub exposure: Exposure,
    /// What it is to the others.
    pub role: Role,
    /// Other names for it.
    pub aliases: Vec<String>,
    /// Words for the search.
    pub search_hint: Option<String>,
    /// Its output schema.
    pub output_schema: Option<Value>,
    /// Where it comes from.
    pub origin: Origin,
    /// How it is shown.
    pub presentation: Presentation,
    /// Why it is a stub that always answers unavailable; `None` for a working tool.
    pub fail_closed: Option<String>,
}

/// Everything the engine may know of the tools in one moment.
#[derive(Clone, Debug)]
pub struct MetadataSnapshot {
    /// The tools by name.
    pub tools: BTreeMap<String, Arc<ToolMetadata>>,
    /// What is advertised, in order, with its bytes.
    pub catalog: Arc<Catalog>,
    /// What could not be registered, and why, sorted.
    pub faults: Vec<RegistryFault>,
}

impl MetadataSnapshot {
    /// What a tool that calls tools sees: those it alone reaches are there as well.
    pub fn inside(self: &Arc<Self>) -> Arc<Self> {
        if self.tools.values().all(|tool| tool.exposure != Exposure::Inner) {
            return Arc::clone(self);
        }
        let mut inside = MetadataSnapshot::clone(self);
        for tool in inside.tools.values_mut().filter(|tool| tool.exposure == Exposure::Inner) {
            Arc::make_mut(tool).exposure = Exposure::Auto;
        }
        Arc::new(inside)
    }
}

/// The seam between the engine and the tools.
pub trait ToolDispatcher: Send + Sync {
    /// What is known of the tools now. Cheap: the snapshot is made when the tools change, not when it is asked for.
    fn snapshot(&self) -> Arc<MetadataSnapshot>;

    /// Asks the tool whether the input means something. Runs before anybody is asked for approval.
    fn validate(&self, call: &Parsed) -> Result<(), Vec<ValidationFault>>;

    /// Who must be asked for this call.
    fn requirement(&self, call: &Validated) -> ApprovalRequirement;

    /// What the tool knows of this input, for whoever is asked about it. There is no answer by default: a dispatcher that
    /// stands before another and forgot to hand this on would blind every rule about commands.
    fn assess(&self, call: &Validated) -> Option<Assessment>;

    /// Runs an approved call.
    fn run<'a>(&'a self, call: &'a Approved, run: &'a RunContext) -> BoxFuture<'a, Result<ToolOutput, ToolError>>;
}

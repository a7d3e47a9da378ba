//! A tool of a source: as it is, but that it can neither ship with the runtime nor stand for other tools.

use serde_json::Value;
use slot_runtime::contract::{
    ApprovalRequirement, BoxFuture, CapabilitySet, Exposure, InterruptBehaviour, Origin, Presentation, RunContext,
    Tool, ToolError, ToolOutput, ToolSpec, ValidationFault,
};
use std::sync::Arc;

/// A tool of a source.
pub struct External(pub Arc<dyn ToolSpec>);

impl Tool for External {
    fn name(&self) -> &str {
        self.0.name()
    }
    fn description(&self) -> &str {
        self.0.description()
    }
    fn input_schema(&self) -> Value {
        self.0.input_schema()
    }
    fn run<'a>(&'a self, input: &'a Value, run: &'a RunContext) -> BoxFuture<'a, Result<ToolOutput, ToolError>> {
        self.0.run(input, run)
    }
}

impl ToolSpec for External {
    fn capabilities(&self) -> CapabilitySet {
        self.0.capabilities()
    }
    fn origin(&self) -> Origin {
        let origin = self.0.origin();
        if origin.is_builtin() { Origin::extension("unknown") } else { origin }
    }
    fn approval_for_input(&self, input: &Value) -> Option<ApprovalRequirement> {
        self.0.approval_for_input(input)
    }
    fn validate_input(&self, input: &Value) -> Result<(), ValidationFault> {
        self.0.validate_input(input)
    }
    fn supports_parallel(&self) -> bool {
        self.0.supports_parallel()
    }
    fn is_interactive(&self) -> bool {
        self.0.is_interactive()
    }
    fn is_destructive(&self) -> bool {
        self.0.is_destructive()
    }
    fn polls(&self) -> bool {
        self.0.polls()
    }
    fn interrupt_behaviour(&self) -> InterruptBehaviour {
        self.0.interrupt_behaviour()
    }
    fn exposure(&self) -> Exposure {
        // Reached by tools that call tools alone: that is for the host to say.
        match self.0.exposure() {
            Exposure::Inner => Exposure::Hidden,
            exposure => exposure,
        }
    }
    fn may_start_early(&self) -> bool {
        self.0.may_start_early()
    }
    fn aliases(&self) -> &[&str] {
        self.0.aliases()
    }
    fn search_hint(&self) -> Option<&str> {
        self.0.search_hint()
    }
    fn output_schema(&self) -> Option<Value> {
        self.0.output_schema()
    }
    fn presentation(&self) -> Presentation {
        self.0.presentation()
    }
}

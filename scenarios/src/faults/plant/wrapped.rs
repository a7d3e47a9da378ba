//! A tool of the runtime in which one thing is broken: everything else it says of itself is handed through, so that a
//! fault differs from the sound tool in what it names and in nothing else.

use serde_json::Value;
use slot_runtime::approval::Assessment;
use slot_runtime::contract::{
    ApprovalRequirement, BoxFuture, CapabilitySet, Exposure, InterruptBehaviour, Origin, Presentation, Role,
    RunContext, Tool, ToolError, ToolOutput, ToolSpec, ValidationFault,
};
use std::sync::Arc;

/// What is broken of a tool. What is not overridden is the tool's own.
pub(super) trait Flaws: Send + Sync {
    fn name<'a>(&'a self, inner: &'a dyn ToolSpec) -> &'a str {
        inner.name()
    }

    fn description<'a>(&'a self, inner: &'a dyn ToolSpec) -> &'a str {
        inner.description()
    }

    fn origin(&self, inner: &dyn ToolSpec) -> Origin {
        inner.origin()
    }

    fn assess(&self, inner: &dyn ToolSpec, input: &Value) -> Option<Assessment> {
        inner.assess_input(input)
    }

    fn validate_input(&self, inner: &dyn ToolSpec, input: &Value) -> Result<(), ValidationFault> {
        inner.validate_input(input)
    }

    fn role(&self, inner: &dyn ToolSpec) -> Role {
        inner.role()
    }

    fn run<'a>(
        &'a self,
        inner: &'a dyn ToolSpec,
        input: &'a Value,
        run: &'a RunContext,
    ) -> BoxFuture<'a, Result<ToolOutput, ToolError>>;
}

/// The tool with its flaws.
pub(super) struct Wrapped<F> {
    inner: Arc<dyn ToolSpec>,
    flaws: F,
}

impl<F: Flaws + 'static> Wrapped<F> {
    pub(super) fn tool(inner: Arc<dyn ToolSpec>, flaws: F) -> Arc<dyn ToolSpec> {
        Arc::new(Wrapped { inner, flaws })
    }
}

impl<F: Flaws> Tool for Wrapped<F> {
    fn name(&self) -> &str {
        self.flaws.name(self.inner.as_ref())
    }
    fn description(&self) -> &str {
        self.flaws.description(self.inner.as_ref())
    }
    fn input_schema(&self) -> Value {
        self.inner.input_schema()
    }
    fn run<'a>(&'a self, input: &'a Value, run: &'a RunContext) -> BoxFuture<'a, Result<ToolOutput, ToolError>> {
        self.flaws.run(self.inner.as_ref(), input, run)
    }
}

impl<F: Flaws> ToolSpec for Wrapped<F> {
    fn capabilities(&self) -> CapabilitySet {
        self.inner.capabilities()
    }
    fn origin(&self) -> Origin {
        self.flaws.origin(self.inner.as_ref())
    }
    fn approval_for_input(&self, input: &Value) -> Option<ApprovalRequirement> {
        let assessed = self.flaws.assess(self.inner.as_ref(), input).map(|assessment| assessment.level);
        assessed.or_else(|| self.inner.approval_for_input(input))
    }
    fn assess_input(&self, input: &Value) -> Option<Assessment> {
        self.flaws.assess(self.inner.as_ref(), input)
    }
    fn validate_input(&self, input: &Value) -> Result<(), ValidationFault> {
        self.flaws.validate_input(self.inner.as_ref(), input)
    }
    fn supports_parallel(&self) -> bool {
        self.inner.supports_parallel()
    }
    fn is_interactive(&self) -> bool {
        self.inner.is_interactive()
    }
    fn is_destructive(&self) -> bool {
        self.inner.is_destructive()
    }
    fn changes_session_only(&self) -> bool {
        self.inner.changes_session_only()
    }
    fn polls(&self) -> bool {
        self.inner.polls()
    }
    fn may_start_early(&self) -> bool {
        self.inner.may_start_early()
    }
    fn interrupt_behaviour(&self) -> InterruptBehaviour {
        self.inner.interrupt_behaviour()
    }
    fn exposure(&self) -> Exposure {
        self.inner.exposure()
    }
    fn role(&self) -> Role {
        self.flaws.role(self.inner.as_ref())
    }
    fn aliases(&self) -> &[&str] {
        self.inner.aliases()
    }
    fn search_hint(&self) -> Option<&str> {
        self.inner.search_hint()
    }
    fn output_schema(&self) -> Option<Value> {
        self.inner.output_schema()
    }
    fn presentation(&self) -> Presentation {
        self.inner.presentation()
    }
}

//! The registry: every tool of every source, as one sorted set.
//!
//! It owns what is registered under which name, and what the engine may know of it without input. It decides nothing
//! about approval and runs nothing but what the engine hands it as approved.
//!
//! 1. Each tool is sampled once: name, description, schema, capabilities. A panic while sampling is a fault of that tool.
//! 2. A tool that cannot be advertised becomes a fail-closed stub; see [`stub`].
//! 3. Names are given out in an order that does not depend on the order of registration, so that reconnecting servers or
//!    hash seeds never change a byte of the catalog.

mod catalog;
pub mod deferral;
#[cfg(any(test, feature = "fuzzing"))]
pub mod fuzzing;
mod placement;
mod sample;
mod stub;

#[cfg(test)]
mod tests;

pub use catalog::{Catalog, SchemaForm};
pub use placement::{AsDeclared, Placement};
pub use slot_wire::names::is_legal as is_legal_name;
pub use stub::FAIL_CLOSED_DESCRIPTION;

use crate::approval::Assessment;
use crate::contract::{
    ApprovalRequirement, BoxFuture, MetadataSnapshot, RunContext, ToolDispatcher, ToolError, ToolMetadata, ToolOutput,
    ToolSpec, ValidationFault,
};
use crate::dispatch::call::{Approved, Parsed, Validated};
use placement::placed;
use sample::{Sampled, sample};
use std::{
    collections::BTreeMap,
    panic::{AssertUnwindSafe, catch_unwind},
    sync::Arc,
};

/// A set of tools, fixed once built. A change of tools builds a new one: there is one path, not many mutations.
pub struct Registry {
    tools: BTreeMap<String, Arc<dyn ToolSpec>>,
    snapshot: Arc<MetadataSnapshot>,
}

/// Something that was wrong with a tool when it was registered. Nothing is dropped in silence: each fault is reported.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct RegistryFault {
    /// The name the tool gave itself; empty if it panicked before it could.
    pub tool: String,
    /// What kind of fault.
    pub kind: FaultKind,
    /// What is wrong, in words.
    pub reason: String,
    /// The name of the stub that stands for the tool; `None` when it has none, as with a duplicate.
    pub stub: Option<String>,
}

/// The kinds of fault.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum FaultKind {
    /// The name is not one that every provider accepts.
    Name,
    /// The schema is not one of an object, is too large, or says something that only another host knows.
    Schema,
    /// The tool panicked while it was asked about itself.
    Panic,
    /// Another tool has the name.
    Duplicate,
}

impl Registry {
    /// Registers these tools. Never fails: what cannot be registered becomes a stub or a reported duplicate.
    pub fn new(tools: impl IntoIterator<Item = Arc<dyn ToolSpec>>) -> Self {
        Self::in_form(tools, SchemaForm::default())
    }

    /// Registers these tools; they are advertised with schemas in this form.
    pub fn in_form(tools: impl IntoIterator<Item = Arc<dyn ToolSpec>>, form: SchemaForm) -> Self {
        Self::assemble(tools, form, &AsDeclared)
    }

    /// Registers these tools and puts each where `placement` says. Names are given out before that: a tool that is hidden
    /// keeps its name from every other.
    pub fn assemble(
        tools: impl IntoIterator<Item = Arc<dyn ToolSpec>>,
        form: SchemaForm,
        placement: &dyn Placement,
    ) -> Self {
        let mut good = Vec::new();
        let mut bad = Vec::new();
        for tool in tools {
            match sample(tool.as_ref()) {
                Ok(metadata) => good.push((metadata, tool)),
                Err(fault) => bad.push(fault),
            }
        }
        let mut faults = Vec::new();
        let mut metadata = BTreeMap::new();
        let mut working = BTreeMap::new();
        // The order in which names are given out: built-in before external, then by origin, then by content. It is a
        // property of the tools alone.
        good.sort_by_cached_key(|(m, _)| (!m.origin.is_builtin(), m.origin.clone(), m.name.clone(), content_of(m)));
        for (m, tool) in good {
            if metadata.contains_key(&m.name) {
                faults.push(duplicate(&m.name, &metadata));
                continue;
            }
            working.insert(m.name.clone(), tool);
            metadata.insert(m.name.clone(), Arc::new(m));
        }
        bad.sort_by_cached_key(|s: &Sampled| (s.name.clone(), s.reason.clone(), s.origin.clone()));
        for sampled in bad {
            let stub = stub::place(&sampled, &metadata);
            faults.push(RegistryFault {
                tool: sampled.name.clone(),
                kind: sampled.kind,
                reason: sampled.reason.clone(),
                stub: Some(stub.name.clone()),
            });
            metadata.insert(stub.name.clone(), Arc::new(stub));
        }
        faults.sort();
        for tool in metadata.values_mut() {
            let exposure = placed(tool, placement);
            Arc::make_mut(tool).exposure = exposure;
        }
        let shown = metadata.values().map(AsRef::as_ref);
        let catalog = Arc::new(Catalog::with_first(shown, form, placement.first()));
        Registry { tools: working, snapshot: Arc::new(MetadataSnapshot { tools: metadata, catalog, faults }) }
    }

    /// What was wrong with the tools, sorted.
    pub fn faults(&self) -> &[RegistryFault] {
        &self.snapshot.faults
    }
}

/// All that a tool says of itself, in one form: what is left out here would let the order of registration decide.
fn content_of(m: &ToolMetadata) -> String {
    format!("{m:?}")
}

fn duplicate(name: &str, taken: &BTreeMap<String, Arc<ToolMetadata>>) -> RegistryFault {
    let holder = taken
        .get(name)
        .map_or("another tool", |m| if m.origin.is_builtin() { "a built-in tool" } else { "another tool" });
    RegistryFault {
        tool: name.to_owned(),
        kind: FaultKind::Duplicate,
        reason: format!("{holder} is registered as {name:?}; this one is left out. Rename it to use it"),
        stub: None,
    }
}

/// Runs something that belongs to a tool; a panic becomes its message.
fn contained<T>(work: impl FnOnce() -> T) -> Result<T, String> {
    catch_unwind(AssertUnwindSafe(work)).map_err(|payload| {
        let text = payload
            .downcast_ref::<&str>()
            .map(|s| (*s).to_owned())
            .or_else(|| payload.downcast_ref::<String>().cloned());
        text.unwrap_or_else(|| "no message".to_owned())
    })
}

impl ToolDispatcher for Registry {
    fn snapshot(&self) -> Arc<MetadataSnapshot> {
        Arc::clone(&self.snapshot)
    }

    fn validate(&self, call: &Parsed) -> Result<(), Vec<ValidationFault>> {
        let Some(tool) = self.tools.get(call.tool().name.as_str()) else { return Ok(()) };
        // An error inside a gate is a refusal: a tool that panics while judging its input has not accepted it.
        contained(|| tool.validate_input(call.input()))
            .unwrap_or_else(|message| {
                Err(ValidationFault::at(
                    "",
                    format!("the tool failed to check this input ({message}); it was not run. Try different input"),
                ))
            })
            .map_err(|fault| vec![fault])
    }

    fn requirement(&self, call: &Validated) -> ApprovalRequirement {
        let derived = call.tool().requirement;
        let Some(tool) = self.tools.get(call.tool().name.as_str()) else { return derived };
        match contained(|| tool.approval_for_input(call.input())) {
            // A tool that ships with the runtime knows which of its inputs are harmless. One from outside may only raise
            // its level: what it says of itself lowers nothing.
            Ok(Some(answer)) if call.tool().origin.is_builtin() => answer,
            Ok(Some(answer)) => answer.max(derived),
            Ok(None) => derived,
            Err(_) => ApprovalRequirement::Required,
        }
    }

    fn assess(&self, call: &Validated) -> Option<Assessment> {
        // A tool from outside has no say in what an approval of its calls covers: exactly their input.
        let tool = self.tools.get(call.tool().name.as_str()).filter(|_| call.tool().origin.is_builtin())?;
        let mut assessment = contained(|| tool.assess_input(call.input())).ok().flatten()?;
        // The tool says what its input is, and nothing about any other tool.
        assessment.subject.tool.clone_from(&call.tool().name);
        Some(assessment)
    }

    fn run<'a>(&'a self, call: &'a Approved, run: &'a RunContext) -> BoxFuture<'a, Result<ToolOutput, ToolError>> {
        match self.tools.get(call.tool().name.as_str()) {
            Some(tool) => tool.run(call.input(), run),
            None => Box::pin(async move { Err(ToolError::Unavailable(stub::answer(call.tool()))) }),
        }
    }
}

//! A decorator on what the engine asks of the tools: each call is judged once, when its turn is planned.

use super::Seam;
use slot_runtime::approval::Assessment;
use slot_runtime::contract::{
    ApprovalRequirement, BoxFuture, MetadataSnapshot, RunContext, ToolDispatcher, ToolError, ToolOutput,
    ValidationFault,
};
use slot_runtime::dispatch::{Approved, Parsed, Validated};
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

/// Remembers what was said of each call, by its id.
pub(super) struct Once {
    inner: Arc<dyn ToolDispatcher>,
    valid: Mutex<BTreeMap<String, Result<(), Vec<ValidationFault>>>>,
    levels: Mutex<BTreeMap<String, ApprovalRequirement>>,
}

impl Once {
    pub(super) fn decorates(seam: Seam) -> bool {
        seam == Seam::JudgeOnce
    }

    pub(super) fn new(inner: Arc<dyn ToolDispatcher>) -> Self {
        Once { inner, valid: Mutex::default(), levels: Mutex::default() }
    }
}

impl ToolDispatcher for Once {
    fn snapshot(&self) -> Arc<MetadataSnapshot> {
        self.inner.snapshot()
    }

    fn validate(&self, call: &Parsed) -> Result<(), Vec<ValidationFault>> {
        let mut known = self.valid.lock().unwrap_or_else(PoisonError::into_inner);
        known.entry(call.raw().id().to_owned()).or_insert_with(|| self.inner.validate(call)).clone()
    }

    fn requirement(&self, call: &Validated) -> ApprovalRequirement {
        let mut known = self.levels.lock().unwrap_or_else(PoisonError::into_inner);
        *known.entry(call.raw().id().to_owned()).or_insert_with(|| self.inner.requirement(call))
    }

    fn assess(&self, call: &Validated) -> Option<Assessment> {
        self.inner.assess(call)
    }

    fn run<'a>(&'a self, call: &'a Approved, run: &'a RunContext) -> BoxFuture<'a, Result<ToolOutput, ToolError>> {
        self.inner.run(call, run)
    }
}

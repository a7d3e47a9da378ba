//! Faults of what is advertised during a session: the catalog changes once a tool has run.

use super::Seam;
use super::wrapped::{Flaws, Wrapped};
use serde_json::Value;
use slot_runtime::approval::Assessment;
use slot_runtime::contract::{
    ApprovalRequirement, BoxFuture, MetadataSnapshot, Origin, RunContext, ToolDispatcher, ToolError, ToolMetadata,
    ToolOutput, ToolSpec, ValidationFault,
};
use slot_runtime::dispatch::{Approved, Parsed, Validated};
use slot_runtime::registry::Catalog;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// Hands out one catalog until a tool has run, and another one from then on.
pub(super) struct Shifting {
    inner: Arc<dyn ToolDispatcher>,
    before: Arc<MetadataSnapshot>,
    after: Arc<MetadataSnapshot>,
    ran: AtomicBool,
}

impl Shifting {
    pub(super) fn shifts(seam: Seam) -> bool {
        matches!(seam, Seam::CatalogDrops | Seam::CatalogInserts | Seam::CatalogReorders | Seam::CatalogRedescribes)
    }

    pub(super) fn new(seam: Seam, inner: Arc<dyn ToolDispatcher>) -> Self {
        let whole = inner.snapshot();
        let names = whole.catalog.names();
        let (first, last) = (names.first().cloned().unwrap_or_default(), names.last().cloned().unwrap_or_default());
        let without = |name: &str| with_catalog(&whole, |tool| (tool.name != name).then(|| tool.clone()));
        let changed = |name: &str, change: fn(&mut ToolMetadata)| {
            with_catalog(&whole, |tool| {
                let mut tool = tool.clone();
                if tool.name == name {
                    change(&mut tool);
                }
                Some(tool)
            })
        };
        let (before, after) = match seam {
            Seam::CatalogDrops => (Arc::clone(&whole), without(&last)),
            Seam::CatalogInserts => (without(&first), Arc::clone(&whole)),
            Seam::CatalogReorders => {
                (Arc::clone(&whole), changed(&first, |tool| tool.origin = Origin::extension("elsewhere")))
            }
            _ => (Arc::clone(&whole), changed(&first, |tool| tool.description.push_str(" It was used before."))),
        };
        Shifting { inner, before, after, ran: AtomicBool::new(false) }
    }
}

/// The same tools under another catalog.
fn with_catalog(
    whole: &MetadataSnapshot,
    shown: impl Fn(&ToolMetadata) -> Option<ToolMetadata>,
) -> Arc<MetadataSnapshot> {
    let tools: Vec<ToolMetadata> = whole.tools.values().filter_map(|tool| shown(tool)).collect();
    Arc::new(MetadataSnapshot { catalog: Arc::new(Catalog::new(tools.iter())), ..whole.clone() })
}

impl ToolDispatcher for Shifting {
    fn snapshot(&self) -> Arc<MetadataSnapshot> {
        Arc::clone(if self.ran.load(Ordering::SeqCst) { &self.after } else { &self.before })
    }

    fn validate(&self, call: &Parsed) -> Result<(), Vec<ValidationFault>> {
        self.inner.validate(call)
    }

    fn requirement(&self, call: &Validated) -> ApprovalRequirement {
        self.inner.requirement(call)
    }

    fn assess(&self, call: &Validated) -> Option<Assessment> {
        self.inner.assess(call)
    }

    fn run<'a>(&'a self, call: &'a Approved, run: &'a RunContext) -> BoxFuture<'a, Result<ToolOutput, ToolError>> {
        self.ran.store(true, Ordering::SeqCst);
        self.inner.run(call, run)
    }
}

/// Each tool says as which it was registered.
pub(super) fn numbered(tools: Vec<Arc<dyn ToolSpec>>) -> Vec<Arc<dyn ToolSpec>> {
    let number = |(at, tool): (usize, Arc<dyn ToolSpec>)| {
        let description = format!("Tool {at}. {}", tool.description());
        Wrapped::tool(tool, Numbered(description))
    };
    tools.into_iter().enumerate().map(number).collect()
}

struct Numbered(String);

impl Flaws for Numbered {
    fn description<'a>(&'a self, _: &'a dyn ToolSpec) -> &'a str {
        &self.0
    }

    fn run<'a>(
        &'a self,
        inner: &'a dyn ToolSpec,
        input: &'a Value,
        run: &'a RunContext,
    ) -> BoxFuture<'a, Result<ToolOutput, ToolError>> {
        inner.run(input, run)
    }
}

//! A pool that changes while a session runs: servers come and go, extensions are loaded, rules are replaced.
//!
//! There is one way: whatever changes, all tools are put together anew, and the session sees the result with its next
//! request. A call that was written for a tool as it was before does not run against what has its name now.

use super::{Placing, PoolSettings, Reason, offered, together, view};
use crate::call_tool::CallTool;
use crate::tool_search::{Shelf, ToolSearch};
use slot_runtime::approval::Assessment;
use slot_runtime::contract::{
    ApprovalRequirement, BoxFuture, Exposure, MetadataSnapshot, RunContext, ToolDispatcher, ToolError, ToolMetadata,
    ToolOutput, ToolSpec, ValidationFault,
};
use slot_runtime::dispatch::{Approved, Parsed, Validated};
use slot_runtime::registry::Registry;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError, RwLock};

/// The tools of a session, as they are now.
pub struct LivePool {
    made: Vec<Arc<dyn ToolSpec>>,
    parts: Mutex<Parts>,
    now: RwLock<Arc<Registry>>,
    shelf: Shelf,
}

/// What the pool is put together from.
struct Parts {
    settings: PoolSettings,
    /// The tools of each source, by its name.
    sources: BTreeMap<String, Vec<Arc<dyn ToolSpec>>>,
}

/// The tools that find tools, looking on this shelf.
pub fn finders(shelf: &Shelf, settings: &PoolSettings) -> Vec<Arc<dyn ToolSpec>> {
    let proxy = settings.discovery.as_ref().is_some_and(|discovery| discovery.proxy);
    vec![Arc::new(ToolSearch::new(shelf.clone(), proxy)), Arc::new(CallTool)]
}

impl LivePool {
    /// The pool of these built-in tools, before any source has come. `shelf` is where the tools that find tools look.
    pub fn new(made: Vec<Arc<dyn ToolSpec>>, settings: PoolSettings, shelf: Shelf) -> Self {
        let parts = Parts { settings, sources: BTreeMap::new() };
        let now = RwLock::new(Arc::new(put_together(&made, &parts)));
        let pool = LivePool { made, parts: Mutex::new(parts), now, shelf };
        pool.shelf.put(pool.registry().snapshot());
        pool
    }

    /// Replaces everything that comes from a source: a server that connected again, or an extension that was loaded
    /// again. What it no longer brings is gone, also where it came with only some of its tools.
    pub fn replace(&self, source: &str, tools: Vec<Arc<dyn ToolSpec>>) {
        self.change(|parts| drop(parts.sources.insert(source.to_owned(), tools)));
    }

    /// Takes away everything that comes from a source.
    pub fn remove(&self, source: &str) {
        self.change(|parts| drop(parts.sources.remove(source)));
    }

    /// Changes the settings.
    pub fn configure(&self, change: impl FnOnce(&mut PoolSettings)) {
        self.change(|parts| change(&mut parts.settings));
    }

    /// Puts the tools together again, after something changed that the settings only point to, such as the deny rules.
    pub fn refresh(&self) {
        self.change(|_| ());
    }

    /// When the model sees each tool, and why, by name.
    pub fn explain(&self) -> BTreeMap<String, (Exposure, Reason)> {
        let parts = self.parts.lock().unwrap_or_else(PoisonError::into_inner);
        // As they declare themselves, so that the answer is what they were placed by.
        let declared = Registry::in_form(gathered(&self.made, &parts), parts.settings.form).snapshot();
        let placing = Placing::new(&parts.settings);
        declared.tools.iter().map(|(name, tool)| (name.clone(), placing.explain(tool))).collect()
    }

    fn change(&self, change: impl FnOnce(&mut Parts)) {
        // Held until the new registry is in its place, so that the last change wins.
        let mut parts = self.parts.lock().unwrap_or_else(PoisonError::into_inner);
        change(&mut parts);
        let registry = Arc::new(put_together(&self.made, &parts));
        self.shelf.put(registry.snapshot());
        *self.now.write().unwrap_or_else(PoisonError::into_inner) = registry;
    }

    fn registry(&self) -> Arc<Registry> {
        Arc::clone(&self.now.read().unwrap_or_else(PoisonError::into_inner))
    }
}

fn gathered(made: &[Arc<dyn ToolSpec>], parts: &Parts) -> Vec<Arc<dyn ToolSpec>> {
    together(offered(made.to_vec(), &parts.settings), parts.sources.values().flatten().cloned())
}

fn put_together(made: &[Arc<dyn ToolSpec>], parts: &Parts) -> Registry {
    view(gathered(made, parts), &parts.settings)
}

/// The registry in which the tool is still what a call was written for.
fn same(registry: Arc<Registry>, tool: &ToolMetadata) -> Option<Arc<Registry>> {
    let snapshot = registry.snapshot();
    let now = snapshot.tools.get(&tool.name)?;
    // Whether it is shown may have changed; a tool that was hidden is refused by who hid it.
    (now.revision == tool.revision).then_some(registry)
}

fn changed(tool: &ToolMetadata) -> String {
    format!(
        "the tool {:?} is no longer what it was when this call was made: where it comes from has changed or gone. It was not \
         run. Look at the tools again, and call it anew if it is still there",
        tool.name
    )
}

impl ToolDispatcher for LivePool {
    fn snapshot(&self) -> Arc<MetadataSnapshot> {
        self.registry().snapshot()
    }

    fn validate(&self, call: &Parsed) -> Result<(), Vec<ValidationFault>> {
        match same(self.registry(), call.tool()) {
            Some(registry) => registry.validate(call),
            None => Err(vec![ValidationFault::at("", changed(call.tool()))]),
        }
    }

    fn requirement(&self, call: &Validated) -> ApprovalRequirement {
        same(self.registry(), call.tool()).map_or(ApprovalRequirement::Required, |registry| registry.requirement(call))
    }

    fn assess(&self, call: &Validated) -> Option<Assessment> {
        same(self.registry(), call.tool())?.assess(call)
    }

    fn run<'a>(&'a self, call: &'a Approved, run: &'a RunContext) -> BoxFuture<'a, Result<ToolOutput, ToolError>> {
        let registry = same(self.registry(), call.tool());
        Box::pin(async move {
            match registry {
                Some(registry) => registry.run(call, run).await,
                None => Err(ToolError::Unavailable(changed(call.tool()))),
            }
        })
    }
}

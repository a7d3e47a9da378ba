//! The pool: which tools a session has, in three steps over the base list.
//!
//! 1. [`offered`]: the built-in tools that are there under the circumstances.
//! 2. [`together`]: these and the tools of every source, as one set.
//! 3. [`view`]: that set as a model sees it, with deny rules, mode, deferral and start-up tools.
//!
//! [`LivePool`] is the way in which they change: whatever is replaced, the same three steps run again. No tool is run here,
//! and no call is judged.

mod external;
mod live;
mod placing;

#[cfg(test)]
mod tests;

pub use live::{LivePool, finders};
pub(crate) use placing::source;
pub use placing::{Placing, Reason};

use crate::base::{Gate, entry};
use external::External;
use slot_runtime::contract::ToolSpec;
use slot_runtime::deny::{DenyPolicy, DenyRules};
use slot_runtime::registry::{Registry, SchemaForm};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// What a session is for, as far as it decides which tools there are.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Mode {
    /// Everything.
    #[default]
    Standard,
    /// The few tools that every task needs, and no others.
    Simple,
    /// The simple steps are made through a tool that calls tools.
    Wrapper,
    /// The work is done by others: only tools that direct them.
    Coordinator,
    /// Nothing is changed: only tools that look, and those that a plan is made with.
    Plan,
}

/// What the host knows of where it runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Circumstances {
    /// The workspace is under version control.
    pub repository: bool,
    /// Somebody can be asked.
    pub person: bool,
    /// A server for tools is configured.
    pub servers: bool,
}

impl Default for Circumstances {
    /// Everything is there.
    fn default() -> Self {
        Circumstances { repository: true, person: true, servers: true }
    }
}

/// Which deferred tools may be found.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SearchScope {
    /// All of them.
    #[default]
    All,
    /// Only those of MCP servers.
    McpOnly,
    /// Only those that ship with the runtime.
    BuiltinsOnly,
    /// None: what would be deferred is not there at all.
    None,
}

/// How tools are deferred and found.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Discovery {
    /// Which of them may be found.
    pub scope: SearchScope,
    /// Tools that are loaded whatever else decides, by name.
    pub always_load: BTreeSet<String>,
    /// In how many of a hundred sessions a tool is used, by name, where that was counted.
    pub used_percent: BTreeMap<String, u8>,
    /// Sources that the session's policy does not trust yet, by the name of the server or extension.
    pub untrusted: BTreeSet<String>,
    /// Whether the proxy `call_tool` is there.
    pub proxy: bool,
}

/// Everything that decides which tools there are.
#[derive(Clone)]
pub struct PoolSettings {
    /// What the session is for.
    pub mode: Mode,
    /// Names of tools that stand before all others, in this order.
    pub startup: Vec<String>,
    /// What is denied.
    pub deny: Arc<dyn DenyPolicy>,
    /// How tools are deferred and found. Without it no tool is deferred but those that say so themselves.
    pub discovery: Option<Discovery>,
    /// Where it runs.
    pub circumstances: Circumstances,
    /// How schemas are written.
    pub form: SchemaForm,
}

impl Default for PoolSettings {
    /// Every tool as it declares itself; nothing denied.
    fn default() -> Self {
        PoolSettings {
            mode: Mode::default(),
            startup: Vec::new(),
            deny: Arc::new(DenyRules::default()),
            discovery: None,
            circumstances: Circumstances::default(),
            form: SchemaForm::default(),
        }
    }
}

impl PoolSettings {
    fn opens(&self, gate: Gate, name: &str) -> bool {
        match gate {
            Gate::Open => true,
            Gate::NotBuilt => false,
            Gate::Repository => self.circumstances.repository,
            Gate::Person => self.circumstances.person,
            Gate::Servers => self.circumstances.servers,
            Gate::Discovery => self.discovery.as_ref().is_some_and(|discovery| {
                // What finds nothing is not offered.
                discovery.scope != SearchScope::None && (name != "call_tool" || discovery.proxy)
            }),
        }
    }
}

/// The built-in tools that are there under the circumstances. A tool that is not in the base list is none.
pub fn offered(made: Vec<Arc<dyn ToolSpec>>, settings: &PoolSettings) -> Vec<Arc<dyn ToolSpec>> {
    made.into_iter()
        .filter(|tool| entry(tool.name()).is_some_and(|base| settings.opens(base.gate, base.name)))
        .collect()
}

/// The built-in tools and those of every source. What comes from a source is external, whatever it says of itself.
pub fn together(
    offered: Vec<Arc<dyn ToolSpec>>,
    sources: impl IntoIterator<Item = Arc<dyn ToolSpec>>,
) -> Vec<Arc<dyn ToolSpec>> {
    let external = sources.into_iter().map(|tool| Arc::new(External(tool)) as Arc<dyn ToolSpec>);
    offered.into_iter().chain(external).collect()
}

/// The set as a model sees it: sorted, each name once, conflicts reported, and each tool where the settings put it.
pub fn view(tools: Vec<Arc<dyn ToolSpec>>, settings: &PoolSettings) -> Registry {
    Registry::assemble(tools, settings.form, &Placing::new(settings))
}

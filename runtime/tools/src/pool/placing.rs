//! Where each tool stands, and why: deny rules first, then the mode, then deferral.

use super::{Discovery, Mode, PoolSettings, SearchScope};
use crate::base::{BaseTool, Owner, entry};
use slot_runtime::contract::{Exposure, OriginKind, ToolMetadata};
use slot_runtime::registry::Placement;
use slot_runtime::registry::deferral::{Deferral, DeferralFacts, DeferralReason, defer, is_remote, tokens};

/// Puts tools where the settings say.
pub struct Placing<'a> {
    settings: &'a PoolSettings,
}

/// Why a tool stands where it does.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Reason {
    /// This rule denies it.
    Denied(String),
    /// The mode has no place for it, or another.
    Mode(Mode),
    /// It says so itself, and nothing else decides.
    Declared,
    /// It would be deferred, and what is deferred may not be found.
    OutOfScope,
    /// The decision about deferral.
    Deferral(DeferralReason),
}

impl<'a> Placing<'a> {
    /// The placing of these settings.
    pub fn new(settings: &'a PoolSettings) -> Self {
        Placing { settings }
    }

    /// When the model sees the tool, and why.
    pub fn explain(&self, tool: &ToolMetadata) -> (Exposure, Reason) {
        if let Some(rule) = self.settings.deny.hides(tool) {
            return (Exposure::Hidden, Reason::Denied(rule));
        }
        let base = if tool.origin.is_builtin() { entry(&tool.name) } else { None };
        if let Some(exposure) = in_mode(self.settings.mode, tool, base) {
            return (exposure, Reason::Mode(self.settings.mode));
        }
        if matches!(tool.exposure, Exposure::Hidden | Exposure::Inner) || tool.fail_closed.is_some() {
            return (tool.exposure, Reason::Declared);
        }
        match &self.settings.discovery {
            None => (tool.exposure, Reason::Declared),
            Some(discovery) => deferred(discovery, tool, base),
        }
    }
}

impl Placement for Placing<'_> {
    fn place(&self, tool: &ToolMetadata) -> Exposure {
        self.explain(tool).0
    }

    fn first(&self) -> &[String] {
        &self.settings.startup
    }
}

/// Where the mode puts the tool; `None` where it leaves that to others.
fn in_mode(mode: Mode, tool: &ToolMetadata, base: Option<&BaseTool>) -> Option<Exposure> {
    let is = |flag: fn(&BaseTool) -> bool| base.is_some_and(flag);
    let stays = match mode {
        Mode::Standard => true,
        Mode::Simple => is(|base| base.simple),
        Mode::Wrapper => {
            return is(|base| base.primitive).then_some(Exposure::Inner);
        }
        Mode::Coordinator => is(|base| base.coordinator) || matches!(tool.origin.kind, OriginKind::SubAgent { .. }),
        // What a remote tool says of itself lowers nothing.
        Mode::Plan => is(|base| base.plan) || tool.read_only && !is_remote(tool) && tool.fail_closed.is_none(),
    };
    (!stays).then_some(Exposure::Hidden)
}

fn deferred(discovery: &Discovery, tool: &ToolMetadata, base: Option<&BaseTool>) -> (Exposure, Reason) {
    let facts = DeferralFacts {
        trusted: source(tool).is_none_or(|source| !discovery.untrusted.contains(source)),
        always_load: discovery.always_load.contains(&tool.name),
        remote: is_remote(tool),
        declared: base.map_or(tool.exposure, |base| match base.exposure {
            Exposure::Deferred => Exposure::Deferred,
            _ => tool.exposure,
        }),
        needed_at_once: base.is_some_and(|base| base.exposure == Exposure::Always || base.owner == Owner::Discovery),
        used_percent: discovery.used_percent.get(&tool.name).copied(),
        tokens: tokens(tool),
    };
    let (decision, reason) = defer(&facts);
    let may_be_found = match discovery.scope {
        SearchScope::All => true,
        SearchScope::McpOnly => matches!(tool.origin.kind, OriginKind::Mcp { .. }),
        SearchScope::BuiltinsOnly => tool.origin.is_builtin(),
        SearchScope::None => false,
    };
    match decision {
        Deferral::Load => (Exposure::Auto, Reason::Deferral(reason)),
        Deferral::Defer if may_be_found => (Exposure::Deferred, Reason::Deferral(reason)),
        Deferral::Defer => (Exposure::Hidden, Reason::OutOfScope),
        Deferral::Withhold => (Exposure::Hidden, Reason::Deferral(reason)),
    }
}

/// The name of where a tool comes from; `None` for what ships with the runtime.
pub(crate) fn source(tool: &ToolMetadata) -> Option<&str> {
    match &tool.origin.kind {
        OriginKind::Builtin => None,
        OriginKind::Mcp { server } => Some(server),
        OriginKind::Extension { name } => Some(name),
        OriginKind::SubAgent { agent_type } => Some(agent_type),
        OriginKind::Delegated { agent } => Some(agent),
    }
}

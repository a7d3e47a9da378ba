//! What a request advertises: the catalog, and the deferred tools that were found, in the way the session was told.

use crate::contract::{Exposure, MetadataSnapshot};
use crate::event::EventKind;
use crate::registry::Catalog;
use slot_wire::Dialect;
use std::sync::Arc;

/// How a deferred tool that was found gets to the model. The first two change no byte of the tools array, so that the
/// prefix of the conversation stays cached.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Activation {
    /// Its schema is in the result that found it, and it is called by its own name or through a proxy.
    #[default]
    Proxy,
    /// It is declared from the start and marked as deferred; a result refers to it. Where the dialect cannot say that,
    /// as [`Activation::Proxy`].
    Native,
    /// It is added at the end of the tools array, in the order in which tools were found. Everything behind the tools
    /// moves, which the log says.
    Append,
}

impl Activation {
    /// What costs the least in this dialect.
    pub fn for_dialect(dialect: Dialect) -> Self {
        if dialect.defers_natively() { Activation::Native } else { Activation::Proxy }
    }
}

/// The tools array of a request.
#[derive(Clone, Debug)]
pub(super) struct Shown {
    catalog: Arc<Catalog>,
    found: Vec<String>,
    names: Vec<String>,
    pub text: Arc<str>,
}

impl Shown {
    /// The tools array for a turn that is asked for now; `before` is that of the turn before.
    pub fn of(
        snapshot: &MetadataSnapshot,
        dialect: Dialect,
        activation: Activation,
        loaded: Vec<String>,
        before: Option<&Shown>,
    ) -> Shown {
        let found = if activation == Activation::Append { loaded } else { Vec::new() };
        if let Some(before) = before.filter(|b| Arc::ptr_eq(&b.catalog, &snapshot.catalog) && b.found == found) {
            return before.clone();
        }
        let (names, text) = match activation {
            Activation::Proxy => (snapshot.catalog.names().to_vec(), snapshot.catalog.encoded(dialect).to_owned()),
            Activation::Native => {
                let (names, text) = snapshot.catalog.deferring(dialect);
                (names.to_vec(), text.to_owned())
            }
            Activation::Append => {
                // A tool that is gone or hidden by now is not added, however it was found.
                let tools = found.iter().filter_map(|name| snapshot.tools.get(name));
                let tools: Vec<_> = tools.map(AsRef::as_ref).filter(|t| t.exposure == Exposure::Deferred).collect();
                let more = tools.iter().map(|tool| tool.name.clone());
                let names = snapshot.catalog.names().iter().cloned().chain(more).collect();
                (names, snapshot.catalog.appending(dialect, &tools))
            }
        };
        Shown { catalog: Arc::clone(&snapshot.catalog), found, names, text: text.into() }
    }

    /// Whether the tool is declared.
    pub fn declares(&self, name: &str) -> bool {
        self.names.iter().any(|known| known == name)
    }

    /// The event that says how this differs from what was shown before, if it does.
    pub fn change(&self, before: &Shown, turn: u32) -> Option<EventKind> {
        if self.text == before.text {
            return None;
        }
        let without = |of: &Shown, other: &Shown| {
            of.names.iter().filter(|name| !other.declares(name)).cloned().collect::<Vec<String>>()
        };
        let (added, removed) = (without(self, before), without(before, self));
        let appended = before.text.strip_suffix(']').is_some_and(|head| self.text.starts_with(head));
        let reason = if appended && self.found != before.found { "found" } else { "tools_changed" };
        Some(EventKind::CatalogChanged { turn, reason, added, removed })
    }
}

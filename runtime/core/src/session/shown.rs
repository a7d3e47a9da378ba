//! What a request advertises: the catalog, and the deferred tools that were found, in the way the session was told.

use crate::contract::{Exposure, MetadataSnapshot};
use crate::event::EventKind;
use crate::registry::Catalog;
use crate::registry::deferral::{break_even_turns, tokens};
use slot_wire::Dialect;
use std::sync::Arc;

/// How a deferred tool that was found gets to the model. The first two change no byte of the tools array, so that the
/// prefix of the conversation stays cached.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Activation {
    /// Its schema is in the result that found it, and it is called by its own name or through a proxy.
    #[default]
    Proxy,
    /// A result brings it, in the way the dialect has for that: it is declared from the start and marked as deferred, and a
    /// result refers to it (Anthropic), or the result of a search declares it (Responses). Where the dialect has none, as
    /// [`Activation::Proxy`].
    Native,
    /// It is added at the end of the tools array, in the order in which tools were found. Everything behind the tools
    /// moves, which the log says.
    Append,
}

impl Activation {
    /// What costs the least among what every server of this dialect takes. The search of Responses is younger than most of
    /// its servers and models, which refuse a tool of an unknown type; a host that knows its server chooses it.
    pub fn for_dialect(dialect: Dialect) -> Self {
        if dialect == Dialect::Anthropic { Activation::Native } else { Activation::Proxy }
    }
}

/// The tools array of a request.
#[derive(Clone, Debug)]
pub(super) struct Shown {
    catalog: Arc<Catalog>,
    found: Vec<String>,
    names: Vec<String>,
    /// What the declarations cost that are not shown because they are deferred, in tokens.
    saved: u64,
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
        let saved = snapshot.tools.values().filter(|t| t.exposure == Exposure::Deferred && !names.contains(&t.name));
        let saved = saved.map(|tool| u64::try_from(tokens(tool)).unwrap_or(u64::MAX)).fold(0, u64::saturating_add);
        Shown { catalog: Arc::clone(&snapshot.catalog), found, names, saved, text: text.into() }
    }

    /// Whether the tool is declared.
    pub fn declares(&self, name: &str) -> bool {
        self.names.iter().any(|known| known == name)
    }

    /// The event that says how this differs from what was shown before, if it does. `behind` are the tokens of the request
    /// that stand behind the tools array, and are read anew.
    pub fn change(&self, before: &Shown, turn: u32, behind: u64) -> Option<EventKind> {
        if self.text == before.text {
            return None;
        }
        let without = |of: &Shown, other: &Shown| {
            of.names.iter().filter(|name| !other.declares(name)).cloned().collect::<Vec<String>>()
        };
        let (added, removed) = (without(self, before), without(before, self));
        let appended = before.text.strip_suffix(']').is_some_and(|head| self.text.starts_with(head));
        let reason = if appended && self.found != before.found { "found" } else { "tools_changed" };
        let break_even_turns = if reason == "found" { break_even_turns(behind, self.saved) } else { None };
        Some(EventKind::CatalogChanged { turn, reason, added, removed, break_even_turns })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::contract::{
        BoxFuture, Capability, CapabilitySet, RunContext, Tool, ToolDispatcher, ToolError, ToolOutput, ToolSpec,
    };
    use crate::registry::Registry;
    use serde_json::{Value, json};

    struct Named(&'static str, Exposure);

    impl Tool for Named {
        fn name(&self) -> &str {
            self.0
        }
        fn description(&self) -> &str {
            "d"
        }
        fn input_schema(&self) -> Value {
            json!({"type": "object"})
        }
        fn run<'a>(&'a self, _: &'a Value, _: &'a RunContext) -> BoxFuture<'a, Result<ToolOutput, ToolError>> {
            Box::pin(async { Ok(ToolOutput::ok("ran")) })
        }
    }

    impl ToolSpec for Named {
        fn capabilities(&self) -> CapabilitySet {
            CapabilitySet::of(&[Capability::ReadOnly])
        }
        fn exposure(&self) -> Exposure {
            self.1
        }
    }

    fn tools(late: Exposure) -> Arc<MetadataSnapshot> {
        let tools = [Named("b", Exposure::Auto), Named("a", late), Named("c", late)];
        Registry::new(tools.map(|tool| Arc::new(tool) as Arc<dyn ToolSpec>)).snapshot()
    }

    /// The names that are shown in Anthropic once `loaded` were found, and what the log says of it.
    #[track_caller]
    fn check(activation: Activation, loaded: &[&str], names: &[&str], change: Option<&str>) {
        let snapshot = tools(Exposure::Deferred);
        let show = |loaded: &[&str], before: Option<&Shown>| {
            let loaded = loaded.iter().map(|name| (*name).to_owned()).collect();
            Shown::of(&snapshot, Dialect::Anthropic, activation, loaded, before)
        };
        let first = show(&[], None);
        let second = show(loaded, Some(&first));
        assert_eq!(second.names, names);
        let reason = second.change(&first, 1, 0).map(|change| match change {
            EventKind::CatalogChanged { reason, .. } => reason,
            _ => "another event",
        });
        assert_eq!(reason, change);
        let text: Value = serde_json::from_str(&second.text).unwrap();
        let written: Vec<&str> = text.as_array().unwrap().iter().filter_map(|tool| tool["name"].as_str()).collect();
        assert_eq!(written, names);
    }

    #[test]
    fn found_tools_are_added_in_the_order_in_which_they_were_found() {
        check(Activation::Append, &["c", "a"], &["b", "c", "a"], Some("found"));
        check(Activation::Append, &["gone", "a"], &["b", "a"], Some("found"));
        check(Activation::Append, &[], &["b"], None);
    }

    #[test]
    fn an_activation_is_told_with_the_turns_in_which_it_pays() {
        let snapshot = tools(Exposure::Deferred);
        let show = |loaded: &[&str], before: Option<&Shown>| {
            let loaded = loaded.iter().map(|name| (*name).to_owned()).collect();
            Shown::of(&snapshot, Dialect::Chat, Activation::Append, loaded, before)
        };
        let first = show(&[], None);
        let told = |loaded: &[&str], behind| match show(loaded, Some(&first)).change(&first, 1, behind) {
            Some(EventKind::CatalogChanged { break_even_turns, .. }) => break_even_turns,
            other => panic!("{other:?}"),
        };
        // Each declaration is 19 bytes, so 5 tokens; one is still deferred.
        assert_eq!(told(&["c"], 50), Some(90));
        assert_eq!(told(&["c"], 0), Some(0));
        // Nothing is deferred any more, so that nothing is saved.
        assert_eq!(told(&["c", "a"], 50), None);
    }

    #[test]
    fn the_other_ways_change_no_byte() {
        check(Activation::Proxy, &["c", "a"], &["b"], None);
        check(Activation::Native, &["c", "a"], &["a", "b", "c"], None);
    }

    #[test]
    fn a_tool_that_was_hidden_since_is_not_added() {
        let snapshot = tools(Exposure::Hidden);
        let shown = Shown::of(&snapshot, Dialect::Chat, Activation::Append, vec!["a".into()], None);
        assert_eq!(shown.names, ["b"]);
    }

    #[test]
    fn what_came_and_went_is_told() {
        let of = |snapshot: &MetadataSnapshot| Shown::of(snapshot, Dialect::Chat, Activation::Proxy, Vec::new(), None);
        let (before, after) = (of(&tools(Exposure::Auto)), of(&tools(Exposure::Hidden)));
        let expect = EventKind::CatalogChanged {
            turn: 3,
            reason: "tools_changed",
            added: Vec::new(),
            removed: vec!["a".into(), "c".into()],
            break_even_turns: None,
        };
        assert_eq!(after.change(&before, 3, 9), Some(expect));
        assert_eq!(after.change(&after, 3, 9), None);
    }
}

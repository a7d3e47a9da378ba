//! Pools in every mode, and pools that change.

use super::*;
use crate::base::{Owner, base};
use serde_json::{Value, json};
use slot_runtime::contract::{
    BoxFuture, Capability, CapabilitySet, Exposure, Origin, OriginKind, RunContext, Tool, ToolDispatcher, ToolError,
    ToolOutput,
};
use slot_runtime::deny::{LiveRules, Roots};

struct Made {
    name: &'static str,
    kind: OriginKind,
    capability: Capability,
    field: &'static str,
}

impl Tool for Made {
    fn name(&self) -> &str {
        self.name
    }
    fn description(&self) -> &str {
        "does it"
    }
    fn input_schema(&self) -> Value {
        json!({"type": "object", "properties": {self.field: {"type": "string"}}})
    }
    fn run<'a>(&'a self, _: &'a Value, _: &'a RunContext) -> BoxFuture<'a, Result<ToolOutput, ToolError>> {
        Box::pin(async { Ok(ToolOutput::ok("ran")) })
    }
}

impl ToolSpec for Made {
    fn capabilities(&self) -> CapabilitySet {
        CapabilitySet::of(&[self.capability])
    }
    fn origin(&self) -> Origin {
        Origin { kind: self.kind.clone(), ..Origin::builtin() }
    }
}

fn made(name: &'static str, kind: OriginKind, capability: Capability) -> Arc<dyn ToolSpec> {
    Arc::new(Made { name, kind, capability, field: "a" })
}

fn mcp(name: &'static str) -> Arc<dyn ToolSpec> {
    made(name, OriginKind::Mcp { server: "x".into() }, Capability::ReadOnly)
}

/// Every tool that can be made.
fn everything() -> (tempfile::TempDir, Vec<Arc<dyn ToolSpec>>) {
    let folder = tempfile::tempdir().expect("a folder");
    let workspace = slot_runtime::boundary::Workspace::open(folder.path()).expect("it exists");
    let host = crate::session::SessionHost {
        memory: Some(folder.path().join("memory")),
        mode: Some(slot_runtime::mode::PlanMode::default()),
        turns: Some(slot_runtime::mode::UserTurns::default()),
        place: Some(slot_runtime::place::Place::default()),
        ..crate::session::SessionHost::default()
    };
    let tools = crate::builtins_for(Arc::new(workspace), Vec::new(), Vec::new(), &host);
    (folder, tools)
}

/// Those of them that work on files and commands.
fn builtins() -> (tempfile::TempDir, Vec<Arc<dyn ToolSpec>>) {
    let (folder, mut tools) = everything();
    tools.retain(|tool| EDITS.contains(&tool.name()));
    (folder, tools)
}

fn live(mut made: Vec<Arc<dyn ToolSpec>>, settings: PoolSettings) -> LivePool {
    let shelf = crate::tool_search::Shelf::default();
    made.extend(finders(&shelf, &settings));
    LivePool::new(made, settings, shelf)
}

fn discovering() -> PoolSettings {
    PoolSettings { discovery: Some(Discovery { proxy: true, ..Discovery::default() }), ..PoolSettings::default() }
}

#[track_caller]
fn check(settings: PoolSettings, expect: &[&str]) {
    let (_folder, tools) = builtins();
    let pool = live(tools, settings);
    let kind = OriginKind::Extension { name: "e".into() };
    pool.replace("x", vec![mcp("mcp__x__look"), made("ext", kind, Capability::ReadOnly)]);
    pool.replace("helper", vec![made("helper", OriginKind::SubAgent { agent_type: "h".into() }, Capability::Unknown)]);
    assert_eq!(pool.snapshot().catalog.names(), expect);
}

const EDITS: [&str; 10] = [
    "apply_patch",
    "edit_file",
    "exec_shell",
    "file_search",
    "glob_files",
    "grep_files",
    "list_dir",
    "parallel",
    "read_file",
    "write_file",
];

#[test]
fn the_list_and_the_tools_are_the_same() {
    let (_folder, tools) = everything();
    let pool = live(tools, discovering());
    let snapshot = pool.snapshot();
    let open: Vec<&str> = base().iter().filter(|tool| tool.gate != Gate::NotBuilt).map(|tool| tool.name).collect();
    for name in &open {
        let tool = snapshot.tools.get(*name).unwrap_or_else(|| panic!("{name} is in the list and nobody makes it"));
        let entry = entry(name).expect("it is in the list");
        assert_eq!(tool.capabilities, CapabilitySet::of(entry.capabilities), "{name}");
    }
    assert_eq!(snapshot.tools.len(), open.len());
    let (_folder, tools) = everything();
    for tool in tools {
        let entry = entry(tool.name()).unwrap_or_else(|| panic!("{} is made and not in the list", tool.name()));
        assert_ne!(entry.gate, Gate::NotBuilt, "{} is made and said not to be built", tool.name());
    }
    assert!(base().iter().any(|tool| tool.owner == Owner::Composite));
}

#[test]
fn built_in_tools_stand_before_external_ones() {
    let expect: Vec<&str> = EDITS.into_iter().chain(["ext", "helper", "mcp__x__look"]).collect();
    check(PoolSettings::default(), &expect);
}

#[test]
fn what_is_remote_is_deferred_where_it_can_be_found() {
    check(
        discovering(),
        &[
            "apply_patch",
            "call_tool",
            "edit_file",
            "exec_shell",
            "file_search",
            "glob_files",
            "grep_files",
            "list_dir",
            "parallel",
            "read_file",
            "tool_search",
            "write_file",
            "ext",
            "helper",
        ],
    );
    let mut settings = discovering();
    settings.discovery.as_mut().expect("it is set").always_load.insert("mcp__x__look".into());
    settings.discovery.as_mut().expect("it is set").untrusted.insert("e".into());
    settings.discovery.as_mut().expect("it is set").proxy = false;
    check(
        settings,
        &[
            "apply_patch",
            "edit_file",
            "exec_shell",
            "file_search",
            "glob_files",
            "grep_files",
            "list_dir",
            "parallel",
            "read_file",
            "tool_search",
            "write_file",
            "helper",
            "mcp__x__look",
        ],
    );
}

#[test]
fn each_mode_is_a_filter() {
    let mode = |mode| PoolSettings { mode, ..PoolSettings::default() };
    check(mode(Mode::Simple), &["edit_file", "exec_shell", "read_file"]);
    check(mode(Mode::Wrapper), &["parallel", "ext", "helper", "mcp__x__look"]);
    check(mode(Mode::Coordinator), &["helper"]);
    check(mode(Mode::Plan), &["file_search", "glob_files", "grep_files", "list_dir", "parallel", "read_file", "ext"]);
}

#[test]
fn a_wrapper_reaches_what_it_hides() {
    let (_folder, tools) = builtins();
    let pool = live(tools, PoolSettings { mode: Mode::Wrapper, ..PoolSettings::default() });
    let snapshot = pool.snapshot();
    assert_eq!(snapshot.tools["read_file"].exposure, Exposure::Inner);
    assert_eq!(snapshot.inside().tools["read_file"].exposure, Exposure::Auto);
}

#[test]
fn start_up_tools_come_first_and_once() {
    let settings = PoolSettings {
        startup: vec!["mcp__x__look".into(), "read_file".into(), "gone".into()],
        ..PoolSettings::default()
    };
    check(
        settings,
        &[
            "mcp__x__look",
            "read_file",
            "apply_patch",
            "edit_file",
            "exec_shell",
            "file_search",
            "glob_files",
            "grep_files",
            "list_dir",
            "parallel",
            "write_file",
            "ext",
            "helper",
        ],
    );
}

#[test]
fn nothing_from_a_source_ships_with_the_runtime_or_stands_for_others() {
    struct Liar;
    impl Tool for Liar {
        fn name(&self) -> &str {
            "aaa"
        }
        fn description(&self) -> &str {
            "lies"
        }
        fn input_schema(&self) -> Value {
            json!({"type": "object"})
        }
        fn run<'a>(&'a self, _: &'a Value, _: &'a RunContext) -> BoxFuture<'a, Result<ToolOutput, ToolError>> {
            Box::pin(async { Ok(ToolOutput::ok("ran")) })
        }
    }
    impl ToolSpec for Liar {
        fn capabilities(&self) -> CapabilitySet {
            CapabilitySet::of(&[Capability::ReadOnly])
        }
        fn role(&self) -> slot_runtime::contract::Role {
            slot_runtime::contract::Role::Proxy
        }
        fn exposure(&self) -> Exposure {
            Exposure::Inner
        }
    }
    let pool = live(Vec::new(), PoolSettings::default());
    pool.replace("liar", vec![Arc::new(Liar)]);
    let tool = &pool.snapshot().tools["aaa"];
    assert!(!tool.origin.is_builtin());
    assert_eq!((tool.role, tool.exposure), (slot_runtime::contract::Role::Plain, Exposure::Hidden));
}

#[test]
fn a_name_that_is_taken_is_reported() {
    let (_folder, tools) = builtins();
    let pool = live(tools, PoolSettings::default());
    pool.replace("x", vec![mcp("read_file"), mcp("mcp__x__look"), mcp("mcp__x__look")]);
    let snapshot = pool.snapshot();
    assert!(snapshot.tools["read_file"].origin.is_builtin());
    assert_eq!(snapshot.faults.len(), 2);
}

#[test]
fn a_denied_name_is_not_free() {
    let (_folder, tools) = builtins();
    let deny = Arc::new(DenyRules::parse(["read_file"], Roots::default()).expect("a rule"));
    let pool = live(tools, PoolSettings { deny, ..PoolSettings::default() });
    pool.replace("x", vec![mcp("read_file")]);
    let snapshot = pool.snapshot();
    assert_eq!(snapshot.tools["read_file"].exposure, Exposure::Hidden);
    assert!(!snapshot.catalog.advertises("read_file"));
}

#[test]
fn a_server_that_comes_back_with_less_has_less() {
    let pool = live(Vec::new(), PoolSettings::default());
    pool.replace("x", vec![mcp("mcp__x__look"), mcp("mcp__x__find")]);
    pool.replace("x", vec![mcp("mcp__x__find")]);
    assert_eq!(pool.snapshot().catalog.names(), ["mcp__x__find"]);
    pool.remove("x");
    assert!(pool.snapshot().tools.is_empty());
}

#[test]
fn the_order_in_which_sources_came_does_not_show() {
    let bytes = |order: &[&str]| {
        let pool = live(Vec::new(), PoolSettings::default());
        for source in order {
            pool.replace(source, vec![mcp(if *source == "a" { "mcp__x__a" } else { "mcp__x__b" })]);
        }
        pool.snapshot().catalog.encoded(slot_wire::Dialect::Chat).to_owned()
    };
    assert_eq!(bytes(&["a", "b"]), bytes(&["b", "a", "b"]));
}

#[test]
fn replaced_rules_hide_after_a_refresh_and_tell_why() {
    let rules = Arc::new(LiveRules::default());
    let (_folder, tools) = builtins();
    let settings = PoolSettings { deny: Arc::clone(&rules) as Arc<dyn DenyPolicy>, ..PoolSettings::default() };
    let pool = live(tools, settings);
    rules.replace(DenyRules::parse(["Bash"], Roots::default()).expect("a rule"));
    pool.refresh();
    assert!(!pool.snapshot().catalog.advertises("exec_shell"));
    assert_eq!(pool.explain()["exec_shell"], (Exposure::Hidden, Reason::Denied("Bash".into())));
    assert_eq!(pool.explain()["read_file"].1, Reason::Declared);
}

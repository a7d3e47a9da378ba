//! Rules against tools and calls. The attacks stand here by name; what reaches the engine is in the suite's cases.

mod commands;
mod paths;

use super::*;
use crate::contract::{
    BoxFuture, Capability, CapabilitySet, Exposure, Origin, RunContext, Tool, ToolDispatcher, ToolError, ToolOutput,
    ToolSpec,
};
use crate::registry::Registry;
use proptest::prelude::*;
use serde_json::json;

struct Named(String, Origin, CapabilitySet);

impl Tool for Named {
    fn name(&self) -> &str {
        &self.0
    }
    fn description(&self) -> &str {
        "a tool"
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
        self.2
    }
    fn origin(&self) -> Origin {
        self.1.clone()
    }
    fn exposure(&self) -> Exposure {
        Exposure::Auto
    }
}

fn tool_of(name: &str, origin: Origin) -> Arc<ToolMetadata> {
    let runs = ["exec_shell", "task_shell_start", "run_tests", "write_stdin", "exec_shell_interact"].contains(&name);
    let capability = if runs { Capability::ExecutesCode } else { Capability::ReadOnly };
    let tool = Named(name.to_owned(), origin, CapabilitySet::of(&[capability]));
    Arc::clone(&Registry::new([Arc::new(tool) as Arc<dyn ToolSpec>]).snapshot().tools[name])
}

fn tool(name: &str) -> Arc<ToolMetadata> {
    let kind = OriginKind::Mcp { server: name.split("__").nth(1).unwrap_or_default().to_owned() };
    tool_of(name, if name.starts_with("mcp__") { Origin { kind, ..Origin::extension("x") } } else { Origin::builtin() })
}

fn roots() -> Roots {
    Roots { workspace: Some("/srv/space".into()), home: Some("/home/me".into()) }
}

fn rules(rule: &str) -> DenyRules {
    DenyRules::parse([rule], roots()).unwrap_or_else(|error| panic!("{error}"))
}

#[track_caller]
fn hides(rule: &str, expect: &[&str], not: &[&str]) {
    let rules = rules(rule);
    for name in expect {
        assert!(rules.hides(&tool(name)).is_some(), "{rule} hides {name}");
        assert!(rules.judge(&tool(name), &json!({})).is_err(), "{rule} denies {name}");
    }
    for name in not {
        assert_eq!(rules.hides(&tool(name)), None, "{rule} leaves {name}");
    }
}

#[track_caller]
fn call(rule: &str, name: &str, input: Value, denied: bool) {
    let found = rules(rule).judge(&tool(name), &input);
    assert_eq!(found.is_err(), denied, "{rule} on {name} {input}: {found:?}");
}

#[track_caller]
fn shell(rule: &str, command: &str, denied: bool) {
    call(rule, "exec_shell", json!({"command": command}), denied);
}

#[track_caller]
fn unreadable(rule: &str, part: &str) {
    let error = DenyRules::parse(["Read", rule], roots()).map(|rules| rules.rules().len()).unwrap_err().to_string();
    assert!(error.contains(part), "{error}");
}

#[test]
fn a_known_name_hides_every_tool_that_can_do_it() {
    hides("Bash", &["exec_shell", "task_shell_start", "write_stdin", "run_tests", "monitor"], &["read_file"]);
    hides("Bash(*)", &["exec_shell", "exec_shell_wait"], &["list_dir"]);
    hides(" bash ", &["exec_shell"], &[]);
    hides("Read", &["read_file", "grep_files", "list_dir"], &["write_file", "git_diff"]);
    hides("Edit", &["edit_file", "write_file", "apply_patch", "fim_edit"], &["read_file"]);
    hides("WebFetch", &["fetch_url"], &["web_search"]);
    hides("Agent(*)", &["agent_open", "agent_wait"], &["send_message"]);
    hides("Task", &["agent_open"], &[]);
}

#[test]
fn a_tools_own_name_is_known_in_any_spelling() {
    for rule in ["write_file", "WriteFile", "Write-File", "WRITE_FILE", "write file"] {
        if rule.contains(' ') {
            unreadable(rule, "holds no ' '");
        } else {
            hides(rule, &["write_file"], &["edit_file"]);
        }
    }
    hides("*", &["read_file", "mcp__x__y"], &[]);
    hides("git_*", &["git_diff", "git_log"], &["read_file"]);
}

#[test]
fn a_built_in_tool_that_runs_code_is_a_shell_tool_without_being_listed() {
    let spec = Named("run_it".into(), Origin::builtin(), CapabilitySet::of(&[Capability::ExecutesCode]));
    let snapshot = Registry::new([Arc::new(spec) as Arc<dyn ToolSpec>]).snapshot();
    assert!(rules("Bash").hides(&snapshot.tools["run_it"]).is_some());
}

#[test]
fn servers_are_denied_whole_and_in_part() {
    for rule in ["mcp__x", "mcp__x__*", "MCP__X", "mcp__x__"] {
        hides(rule, &["mcp__x__drop_db", "mcp__x__read"], &["mcp__xy__read", "mcp__y__x", "read_file"]);
    }
    hides("mcp__*", &["mcp__x__drop_db", "mcp__y__z", "list_mcp_resources"], &["read_file"]);
    hides("mcp__x__drop_db", &["mcp__x__drop_db"], &["mcp__x__drop", "mcp__x__read"]);
    hides("mcp__x__get_*", &["mcp__x__get_issue"], &["mcp__x__set_issue"]);
    call("mcp__x", "read_mcp_resource", json!({"server": "X", "uri": "a"}), true);
    call("mcp__x", "read_mcp_resource", json!({"server": "y", "uri": "a"}), false);
    assert_eq!(rules("mcp__my-server").denies_server("My Server"), Some("mcp__my-server"));
}

#[test]
fn a_server_is_known_by_its_origin_whatever_its_tools_are_called() {
    let kind = OriginKind::Mcp { server: "x".into() };
    let renamed = tool_of("harmless", Origin { kind, ..Origin::extension("x") });
    assert!(rules("mcp__x").hides(&renamed).is_some());
}

#[test]
fn sub_agents_are_denied_by_type_as_call_and_as_tool() {
    call("Agent(code-reviewer)", "agent_open", json!({"agent_type": "code-reviewer", "prompt": "x"}), true);
    call("Agent(code-reviewer)", "agent_open", json!({"agent_type": "Code_Reviewer"}), true);
    call("Agent(code-reviewer)", "agent_open", json!({"agent_type": "tester"}), false);
    call("Agent(code-reviewer)", "agent_open", json!({"prompt": "x"}), true);
    let kind = |t: &str| Origin { kind: OriginKind::SubAgent { agent_type: t.into() }, ..Origin::extension("x") };
    assert!(rules("Agent(code-reviewer)").hides(&tool_of("helper", kind("code-reviewer"))).is_some());
    assert!(rules("Agent(code-reviewer)").hides(&tool_of("helper", kind("tester"))).is_none());
    assert!(rules("Agent").hides(&tool_of("helper", kind("tester"))).is_some());
}

#[test]
fn what_cannot_be_read_is_no_rule_and_nothing_starts() {
    unreadable("", "names no tool");
    unreadable("Bash(git push:*", "not closed");
    unreadable("Bash()", "parameter is empty");
    unreadable("Bash(git push && rm:*)", "holds '&'");
    unreadable("Bash(git:*push)", "at its end only");
    unreadable("Bash(FOO=1 git:*)", "is no command");
    unreadable("Bash(\"git push\")", "holds '\"'");
    unreadable("mcp__", "names no server");
    unreadable("mcp", "names no server");
    unreadable("mcp__x__y(z)", "no parameter is understood");
    unreadable("WebSearch(domain:x.org)", "no parameter is understood");
    unreadable("note(x)", "no parameter is understood");
    unreadable("WebFetch(example.com)", "is written `domain:HOST`");
    unreadable("WebFetch(domain:https://x.org)", "is no host");
    unreadable("WebFetch(domain:bücher.example)", "is no host");
    unreadable("Read(!secrets)", "takes something out");
    unreadable("Read(a/../b)", "holds the part `..`");
    unreadable("Read([ab])", "only wild cards");
    unreadable("Read(a\nb)", "control character");
    unreadable("Ba sh", "holds no ' '");
    unreadable(&"x".repeat(5000), "longer than");
    assert!(DenyRules::parse(["Read(~/x)"], Roots::default()).is_err(), "without a home folder nothing is known of it");
    let many = std::iter::repeat_n("Read", MOST_RULES + 1);
    assert!(DenyRules::parse(many, roots()).unwrap_err().reason.contains("one more"));
}

#[test]
fn a_host_is_denied_however_it_is_written() {
    let url = |url: &str, denied: bool| call("WebFetch(domain:evil.example)", "fetch_url", json!({"url": url}), denied);
    for text in [
        "https://evil.example",
        "https://EVIL.example./x",
        "http://evil.example:8080/?q",
        "https://a.b.evil.example/",
        "HTTPS://evil.example#x",
        // What readers of URLs may disagree on is denied as well.
        "https://good.example@evil.example/",
        "https://evil.example\\@good.example/",
        "https://ev\til.example/",
        "https:evil.example",
        "https:///evil.example",
        "//evil.example",
        "evil.example",
        "https://%65vil.example/",
        "https://ｅvil.example/",
        "https://2130706433/",
        "https://0x7f.1/",
        "https://[::1]/",
        "ftp://good.example/",
        "https://good.example:x/",
    ] {
        url(text, true);
    }
    for text in [
        "https://good.example/evil.example",
        "https://notevil.example/",
        "http://127.0.0.1/",
        "https://evil.example.org/",
    ] {
        url(text, false);
    }
    assert_eq!(
        rules("WebFetch(domain:*.evil.example)").denies_host("a.evil.example"),
        Some("WebFetch(domain:*.evil.example)")
    );
    assert_eq!(rules("WebFetch").denies_host("any.example"), Some("WebFetch"));
    assert_eq!(rules("Read").denies_host("any.example"), None);
}

#[test]
fn a_rule_without_a_tool_is_told() {
    let rules = DenyRules::parse(["Read", "Raed", "mcp__gone"], roots()).unwrap();
    let tools = [tool("read_file"), tool("list_dir")];
    assert_eq!(rules.idle(tools.iter().map(AsRef::as_ref)), ["Raed", "mcp__gone"]);
}

#[test]
fn rules_that_are_replaced_hold_at_once() {
    let live = LiveRules::new(rules("Read"));
    assert!(live.judge(&tool("read_file"), &json!({"path": "a"})).is_err());
    live.replace(rules("Edit"));
    assert!(live.judge(&tool("read_file"), &json!({"path": "a"})).is_ok());
    assert!(live.hides(&tool("edit_file")).is_some());
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 256, ..ProptestConfig::default() })]

    /// No text of a rule and no text of a call makes the rules panic, and a rule that is read denies what it says.
    #[test]
    fn any_text_is_a_rule_or_a_fault(rule in "\\PC{0,30}", input in "\\PC{0,40}") {
        if let Ok(rules) = DenyRules::parse([rule], roots()) {
            for name in ["exec_shell", "read_file", "fetch_url", "apply_patch"] {
                let _ = rules.judge(&tool(name), &json!({"command": input, "path": input, "url": input, "patch": input}));
            }
        }
    }
}

//! Searches over tools of several sources.

use super::*;
use crate::pool::{Discovery, LivePool, PoolSettings, SearchScope};
use crate::testing::{call, context};
use slot_runtime::contract::{Origin, OriginKind, ToolDispatcher};
use slot_runtime::deny::{DenyRules, Roots};

/// A tool of a server.
struct Remote {
    name: String,
    text: String,
    server: String,
}

impl Tool for Remote {
    fn name(&self) -> &str {
        &self.name
    }
    fn description(&self) -> &str {
        &self.text
    }
    fn input_schema(&self) -> Value {
        json!({"type": "object", "properties": {"subject": {"type": "string"}}})
    }
    fn run<'a>(&'a self, _: &'a Value, _: &'a RunContext) -> BoxFuture<'a, Result<ToolOutput, ToolError>> {
        Box::pin(async { Ok(ToolOutput::ok("ran")) })
    }
}

impl ToolSpec for Remote {
    fn capabilities(&self) -> CapabilitySet {
        CapabilitySet::of(&[Capability::Unknown])
    }
    fn origin(&self) -> Origin {
        Origin { kind: OriginKind::Mcp { server: self.server.clone() }, ..Origin::extension("x") }
    }
}

fn remote(server: &str, tool: &str, text: &str) -> Arc<dyn ToolSpec> {
    let name = format!("mcp__{server}__{tool}");
    Arc::new(Remote { name, text: text.to_owned(), server: server.to_owned() })
}

fn pool(deny: &[&str], scope: SearchScope) -> LivePool {
    let deny = Arc::new(DenyRules::parse(deny, Roots::default()).expect("rules"));
    let discovery = Some(Discovery { scope, proxy: true, ..Discovery::default() });
    let settings = PoolSettings { deny, discovery, ..PoolSettings::default() };
    let shelf = Shelf::default();
    let pool = LivePool::new(crate::pool::finders(&shelf, &settings), settings, shelf);
    pool.replace(
        "chat",
        vec![
            remote("chat", "send_message", "Sends a message to a channel"),
            remote("chat", "list_channels", "Lists the channels"),
        ],
    );
    pool.replace(
        "tracker",
        vec![remote("tracker", "create_issue", "Creates an issue"), remote("tracker", "drop_db", "Drops the data")],
    );
    pool
}

fn search(pool: &LivePool, input: Value) -> ToolOutput {
    let shelf = Shelf::default();
    shelf.put(pool.snapshot());
    call(&ToolSearch::new(shelf, true), input).expect("an answer")
}

#[track_caller]
fn check(input: Value, expect: &[&str]) {
    let output = search(&pool(&["mcp__tracker__drop_db"], SearchScope::All), input);
    let loads: Vec<&str> = output
        .metadata
        .get("loads")
        .and_then(Value::as_array)
        .into_iter()
        .flatten()
        .filter_map(Value::as_str)
        .collect();
    assert_eq!(loads, expect, "{}", output.content);
    assert!(!output.is_error && !output.content.contains("drop_db"), "{}", output.content);
}

#[test]
fn tools_are_found_by_words_pattern_and_name() {
    check(json!({"query": "send a message"}), &["mcp__chat__send_message"]);
    check(json!({"query": "channel"}), &["mcp__chat__list_channels", "mcp__chat__send_message"]);
    check(json!({"query": "channel", "limit": 1}), &["mcp__chat__list_channels"]);
    check(json!({"query": "subject", "server": "tracker"}), &["mcp__tracker__create_issue"]);
    check(
        json!({"query": "^MCP__.*(issue|channels)$", "by": "regex"}),
        &["mcp__chat__list_channels", "mcp__tracker__create_issue"],
    );
    check(
        json!({"query": "select:mcp__tracker__create_issue, mcp__chat__send_message,nope", "by": "name"}),
        &["mcp__tracker__create_issue", "mcp__chat__send_message"],
    );
    check(json!({"by": "index"}), &[]);
    check(json!({"by": "index", "server": "tracker"}), &[]);
}

#[test]
fn a_denied_tool_is_in_no_answer() {
    for input in [
        json!({"query": "drop data"}),
        json!({"query": "mcp__tracker__drop_db", "by": "name"}),
        json!({"query": "drop", "by": "regex"}),
        json!({"query": ".", "by": "regex", "limit": 40}),
        json!({"by": "index", "server": "tracker"}),
    ] {
        let output = search(&pool(&["mcp__tracker__drop_db"], SearchScope::All), input);
        assert!(
            !output.content.contains("mcp__tracker__drop_db\n") && !output.content.contains("Drops"),
            "{}",
            output.content
        );
    }
}

#[test]
fn the_answer_says_what_to_do() {
    let search = |input| search(&pool(&[], SearchScope::All), input).content;
    let found = search(json!({"query": "issue"}));
    assert!(
        found.starts_with("1 of 4 tools that can be found match. From your next turn on, call one with call_tool"),
        "{found}"
    );
    assert!(found.contains("\nmcp__tracker__create_issue (from tracker)\nCreates an issue\ninput: {"), "{found}");
    assert!(search(json!({"query": "zebra"})).contains("by = \"index\""));
    assert!(search(json!({"query": "tool_search", "by": "name"})).contains("need not be found"));
    assert_eq!(search(json!({"by": "index"})), "chat: 2 tools\ntracker: 2 tools");
    assert!(search(json!({"by": "index", "server": "x"})).ends_with("they come from: chat, tracker"));
}

#[test]
fn what_is_out_of_scope_is_neither_found_nor_there() {
    let scoped = pool(&[], SearchScope::BuiltinsOnly);
    assert!(search(&scoped, json!({"query": "message"})).content.starts_with("There are no tools besides"));
    assert_eq!(scoped.snapshot().tools["mcp__chat__send_message"].exposure, Exposure::Hidden);
    let none = pool(&[], SearchScope::None);
    assert!(!none.snapshot().catalog.advertises("tool_search"));
    let mcp = pool(&[], SearchScope::McpOnly);
    assert_eq!(mcp.snapshot().tools["mcp__chat__send_message"].exposure, Exposure::Deferred);
}

#[test]
fn input_that_means_nothing_is_refused_before_anybody_is_asked() {
    let tool = ToolSearch::new(Shelf::default(), false);
    for (input, expect) in [
        (json!({}), "missing"),
        (json!({"query": " "}), "is empty"),
        (json!({"query": "x", "by": "magic"}), "no way to search"),
        (json!({"query": "(", "by": "regex"}), "no pattern"),
        (json!({"query": "(a{1000}){1000}", "by": "regex"}), "no pattern"),
        (json!({"query": "x".repeat(2000)}), "longer than"),
        (json!({"query": "x", "limit": 0}), "at least 1"),
    ] {
        let fault = tool.validate_input(&input).expect_err("a fault");
        assert!(fault.message.contains(expect), "{input} {}", fault.message);
    }
    let empty = futures_free(&tool, json!({"query": "x"}));
    assert!(empty.contains("There are no tools besides"));
}

fn futures_free(tool: &ToolSearch, input: Value) -> String {
    let _ = context();
    call(tool, input).expect("an answer").content
}

#[test]
fn among_thousands_the_source_is_found_first_and_then_the_tool() {
    let pool = pool(&[], SearchScope::All);
    let many = (0..60).flat_map(|server| (0..50).map(move |n| (server, n)));
    let many = many.map(|(server, n)| {
        remote(&format!("s{server}"), &format!("op{n}"), &format!("Handles record {n} of area{server}"))
    });
    pool.replace("many", many.collect());
    let output = search(&pool, json!({"query": "record 7 of area33", "limit": 3}));
    assert!(output.metadata["loads"][0] == "mcp__s33__op7", "{}", output.content);
    let output = search(&pool, json!({"query": "create issue"}));
    assert_eq!(output.metadata["loads"], json!(["mcp__tracker__create_issue"]));
    assert!(search(&pool, json!({"query": "handles", "limit": 40})).content.len() < 100_000);
}

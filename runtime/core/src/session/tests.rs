//! Whole sessions against scripted bytes over in-memory pipes.

mod batches;
mod early;
mod forgery;
mod hooks;
mod judged;
mod loops;
mod modes;
mod names;
mod prefix;
mod streams;

use super::*;
use crate::approval::{ApprovalChannel, ApprovalPolicy, ApprovalQuestion, Lasts, NoChannel};
use crate::approval::{AskPerson, DenyAll, PassSuggested, PersonAnswer, Unattended};
use crate::contract::{
    BoxFuture, Capability, CapabilitySet, InnerCall, RunContext, Tool, ToolError, ToolOutput, ToolSpec,
};
use crate::registry::Registry;
use crate::transport::{Connector, Endpoint, HttpLimits, Io};
use futures_util::FutureExt;
use serde_json::{Value, json};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use tokio::io::{AsyncReadExt, AsyncWriteExt};

/// Hands out one connection for each scripted response; the last one is repeated.
#[derive(Clone, Default)]
struct Script {
    responses: Arc<Vec<String>>,
    requests: Arc<Mutex<Vec<Value>>>,
    served: Arc<AtomicUsize>,
}

impl Script {
    fn new(responses: &[String]) -> Self {
        Script { responses: Arc::new(responses.to_vec()), ..Script::default() }
    }
}

impl Connector for Script {
    fn connect<'a>(&'a self, _: &'a Endpoint) -> BoxFuture<'a, std::io::Result<Box<dyn Io>>> {
        let script = self.clone();
        Box::pin(async move {
            let (near, mut far) = tokio::io::duplex(1 << 16);
            tokio::spawn(async move {
                let mut seen = Vec::new();
                let body = loop {
                    let mut buffer = [0; 4096];
                    let n = far.read(&mut buffer).await.unwrap();
                    seen.extend_from_slice(&buffer[..n]);
                    let text = String::from_utf8_lossy(&seen).into_owned();
                    let Some((head, body)) = text.split_once("\r\n\r\n") else { continue };
                    let length: usize = head
                        .lines()
                        .find_map(|l| {
                            l.to_ascii_lowercase().strip_prefix("content-length: ").map(|n| n.parse().unwrap())
                        })
                        .unwrap();
                    if body.len() >= length {
                        break body.to_owned();
                    }
                };
                script.requests.lock().unwrap().push(serde_json::from_str(&body).unwrap());
                let n = script.served.fetch_add(1, Ordering::Relaxed).min(script.responses.len() - 1);
                let (bytes, stalls) = match script.responses[n].strip_suffix(STALL) {
                    Some(bytes) => (bytes, true),
                    None => (script.responses[n].as_str(), false),
                };
                let _ = far.write_all(bytes.as_bytes()).await;
                if stalls && bytes.ends_with(": alive\n\n") {
                    loop {
                        tokio::time::sleep(Duration::from_secs(30)).await;
                        if far.write_all(b": alive\n\n").await.is_err() {
                            return;
                        }
                    }
                }
                if stalls {
                    std::future::pending::<()>().await;
                }
            });
            Ok(Box::new(near) as Box<dyn Io>)
        })
    }
}

/// At the end of a scripted response: the connection stays open and silent.
const STALL: &str = "<stall>";

/// A response whose events are these chunks, ended by the connection's end.
fn stream(chunks: &[Value]) -> String {
    let mut text = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n".to_owned();
    for chunk in chunks {
        text.push_str(&format!("data: {chunk}\n\n"));
    }
    text
}

fn say(text: &str) -> String {
    stream(&[
        json!({"choices": [{"index": 0, "delta": {"content": text}}]}),
        json!({"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]}),
    ])
}

fn call(calls: &[(&str, &str, &str)]) -> String {
    call_with(calls, Some("tool_calls"))
}

fn call_with(calls: &[(&str, &str, &str)], finish: Option<&str>) -> String {
    let deltas: Vec<Value> = calls
        .iter()
        .enumerate()
        .map(|(i, (id, name, arguments))| json!({"index": i, "id": id, "type": "function", "function": {"name": name, "arguments": arguments}}))
        .collect();
    let mut chunks = vec![json!({"choices": [{"index": 0, "delta": {"tool_calls": deltas}}]})];
    if let Some(finish) = finish {
        chunks.push(json!({"choices": [{"index": 0, "delta": {}, "finish_reason": finish}]}));
    }
    stream(&chunks)
}

/// A tool with these capabilities that counts its runs, and hangs or panics when it is told to.
struct Probe {
    name: &'static str,
    capabilities: CapabilitySet,
    runs: Arc<AtomicUsize>,
    together: Arc<tokio::sync::Barrier>,
}

impl Tool for Probe {
    fn name(&self) -> &str {
        self.name
    }
    fn description(&self) -> &str {
        "counts"
    }
    fn input_schema(&self) -> Value {
        if self.name == "any" {
            return json!({"type": "object"});
        }
        json!({"type": "object", "properties": {"do": {"type": "string"}}, "required": ["do"], "additionalProperties": false})
    }
    fn run<'a>(&'a self, input: &'a Value, run: &'a RunContext) -> BoxFuture<'a, Result<ToolOutput, ToolError>> {
        assert!(input["do"] != "panic at once", "planted");
        Box::pin(async move {
            self.runs.fetch_add(1, Ordering::Relaxed);
            // "nest:TOOL:WHAT": calls the tool twice from within.
            if let Some((tool, what)) = input["do"].as_str().and_then(|d| d.strip_prefix("nest:")?.split_once(':')) {
                let call = InnerCall { tool: tool.into(), input: json!({"do": what}) };
                let results = run.call_tools(vec![call.clone(), call]).await?;
                return Ok(ToolOutput::ok(results.into_iter().map(|r| r.content).collect::<Vec<_>>().join(" | ")));
            }
            match input["do"].as_str().unwrap_or_default() {
                "hang" => std::future::pending().await,
                "panic" => panic!("planted"),
                "yield" => tokio::task::yield_now().await,
                // Ends only when two calls are here at the same time.
                "meet" => {
                    self.together.wait().await;
                }
                _ => {}
            }
            Ok(ToolOutput::ok(format!("did {}", input["do"])))
        })
    }
}

impl ToolSpec for Probe {
    fn capabilities(&self) -> CapabilitySet {
        self.capabilities
    }
    fn supports_parallel(&self) -> bool {
        self.name == "look"
    }
}

struct Fixture {
    session: Session,
    script: Script,
    runs: Arc<AtomicUsize>,
}

fn fixture(responses: &[String], approval: impl ApprovalPolicy + 'static) -> Fixture {
    fixture_with(responses, Policies { approval: Arc::new(approval), ..Policies::default() })
}

fn fixture_with(responses: &[String], policies: Policies) -> Fixture {
    let script = Script::new(responses);
    let runs = Arc::new(AtomicUsize::new(0));
    let together = Arc::new(tokio::sync::Barrier::new(2));
    let probe = |name, capability| {
        let (capabilities, runs, together) =
            (CapabilitySet::of(&[capability]), Arc::clone(&runs), Arc::clone(&together));
        Arc::new(Probe { name, capabilities, runs, together }) as Arc<dyn ToolSpec>
    };
    let registry = Registry::new([
        probe("look", Capability::ReadOnly),
        probe("any", Capability::ReadOnly),
        probe("write", Capability::WritesFiles),
        probe("exec", Capability::ExecutesCode),
    ]);
    let endpoint = Endpoint { host: "mock".into(), port: 80, prefix: "/v1".into() };
    let client = ModelClient::new(Arc::new(script.clone()), endpoint, None, HttpLimits::default());
    let session = Session::new(
        SessionConfig::new("m", Dialect::Chat),
        client,
        Arc::new(registry),
        policies,
        EventLog::default(),
        Arc::new(Unobserved),
    );
    Fixture { session, script, runs }
}

/// The results of a history, as `id error? text`.
fn results(conversation: &Conversation) -> Vec<String> {
    conversation
        .items
        .iter()
        .filter_map(|item| match item {
            Item::ToolResult { call_id, content, is_error } => {
                Some(format!("{call_id} {} {content}", if *is_error { "failed" } else { "ok" }))
            }
            _ => None,
        })
        .collect()
}

/// Every call of the history has exactly one result, in order, before the next message.
#[track_caller]
fn assert_paired(conversation: &Conversation) {
    let mut open: VecDeque<&str> = VecDeque::new();
    for item in &conversation.items {
        match item {
            Item::Assistant { calls, .. } => {
                assert!(open.is_empty(), "{open:?} are unanswered");
                open.extend(calls.iter().map(|c| c.id.as_str()));
            }
            Item::ToolResult { call_id, .. } => assert_eq!(open.pop_front(), Some(call_id.as_str())),
            Item::User { .. } => assert!(open.is_empty(), "{open:?} are unanswered"),
        }
    }
    assert!(open.is_empty(), "{open:?} are unanswered");
}

const OK: &str = r#"{"do":"it"}"#;

#[track_caller]
fn check(responses: &[String], approval: impl ApprovalPolicy + 'static, expect: &[&str]) -> (Outcome, usize) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().start_paused(true).build().unwrap();
    runtime.block_on(async move {
        let mut fixture = fixture(responses, approval);
        let outcome = fixture.session.run("go", &CancellationToken::new()).await;
        let conversation = fixture.session.conversation();
        assert_paired(conversation);
        let found = results(conversation);
        assert_eq!(found.len(), expect.len(), "{found:?}");
        for (found, expect) in found.iter().zip(expect) {
            assert!(found.starts_with(expect), "{found:?} does not start with {expect:?}");
        }
        (outcome, fixture.runs.load(Ordering::Relaxed))
    })
}

fn completed(text: &str) -> Outcome {
    Outcome::Completed { text: text.into(), stop: StopReason::Stop }
}

#[test]
fn a_call_runs_once_and_its_result_goes_back() {
    let (outcome, runs) = check(&[call(&[("c1", "look", OK)]), say("done")], NoChannel, &["c1 ok did \"it\""]);
    assert_eq!((outcome, runs), (completed("done"), 1));
}

#[test]
fn several_calls_are_answered_in_call_order() {
    let calls = call(&[("b", "look", OK), ("a", "nope", OK), ("c", "look", "{")]);
    check(&[calls, say("")], NoChannel, &["b ok", "a failed there is no tool \"nope\"", "c failed the arguments"]);
}

#[test]
fn all_faults_of_an_input_are_told_at_once() {
    let calls = call(&[("c1", "look", r#"{"did":1}"#)]);
    let expect = "c1 failed the arguments of \"look\" are not what it takes, so it was not run:\n- /do: the field \"do\" is missing: string\n- /did: there is no field \"did\"; the fields are: do\nIt takes: {\"do\": string}\nCorrect them";
    let (_, runs) = check(&[calls, say("")], Unattended, &[expect]);
    assert_eq!(runs, 0);
}

#[test]
fn without_a_channel_what_asks_is_denied() {
    let calls = call(&[("w", "write", OK), ("x", "exec", OK), ("l", "look", OK)]);
    let expect = ["w failed the call of \"write\" was not run: it asks for approval, and nobody", "x failed", "l ok"];
    assert_eq!(check(&[calls, say("")], NoChannel, &expect).1, 1);
}

#[test]
fn passing_suggested_calls_still_denies_required_ones() {
    let calls = call(&[("w", "write", OK), ("x", "exec", OK)]);
    assert_eq!(check(&[calls, say("")], PassSuggested(NoChannel), &["w ok", "x failed"]).1, 1);
}

#[test]
fn a_person_is_asked_with_the_input_that_will_run() {
    struct Person;
    impl ApprovalChannel for Person {
        fn ask<'a>(&'a self, question: &'a ApprovalQuestion) -> BoxFuture<'a, Option<PersonAnswer>> {
            let approved = question.input["do"] == "it" && question.reason == "it runs code";
            Box::pin(async move { Some(PersonAnswer { approved, comment: "why though".into(), lasts: Lasts::Once }) })
        }
    }
    let calls = call(&[("a", "exec", OK), ("b", "exec", r#"{"do":"other"}"#)]);
    let expect = ["a ok", "b failed the call of \"exec\" was not run: the user denied it. The user says: why though"];
    assert_eq!(check(&[calls, say("")], AskPerson(Person), &expect).1, 1);
}

#[test]
fn a_policy_that_panics_has_denied() {
    struct Broken;
    impl ApprovalPolicy for Broken {
        fn decide<'a>(&'a self, _: &'a ApprovalQuestion) -> BoxFuture<'a, crate::approval::ApprovalDecision> {
            Box::pin(async { panic!("planted") })
        }
    }
    assert_eq!(check(&[call(&[("x", "exec", OK)]), say("")], Broken, &["x failed"]).1, 0);
    assert_eq!(check(&[call(&[("x", "exec", OK)]), say("")], DenyAll, &["x failed"]).1, 0);
}

#[tokio::test(start_paused = true)]
async fn deny_rules_that_panic_have_denied() {
    struct Broken;
    impl crate::deny::DenyPolicy for Broken {
        fn hides(&self, _: &crate::contract::ToolMetadata) -> Option<String> {
            None
        }
        fn judge(&self, _: &crate::contract::ToolMetadata, _: &Value) -> Result<(), crate::deny::Denial> {
            panic!("planted")
        }
    }
    let mut fixture = fixture(&[call(&[("x", "exec", OK), ("l", "look", OK)]), say("")], Unattended);
    fixture.session.policies.deny = Arc::new(Broken);
    fixture.session.run("go", &CancellationToken::new()).await;
    let found = results(fixture.session.conversation());
    assert!(
        found.iter().all(|result| result.contains("whether this session denies it could not be told")),
        "{found:?}"
    );
    assert_eq!(fixture.runs.load(Ordering::Relaxed), 0);
}

#[test]
fn a_tool_that_panics_fails_alone() {
    let calls = call(&[("p", "look", r#"{"do":"panic"}"#), ("l", "look", OK)]);
    check(&[calls, say("")], NoChannel, &["p failed Error: the tool \"look\" failed inside", "l ok"]);
}

#[test]
fn half_a_call_of_a_cut_turn_is_refused_and_its_whole_sibling_runs() {
    let calls = call_with(&[("c1", "look", OK), ("c2", "exec", r#"{"do":"rm -r"#)], Some("length"));
    let expect = ["c1 ok", "c2 failed this turn was cut"];
    assert_eq!(check(&[calls, say("")], Unattended, &expect).1, 1);
}

/// One call in a turn that ends as `finish` says: what it is answered, and what the history shows of it.
#[track_caller]
fn reads(tool: &str, arguments: &str, finish: &str, expect: &str, history: &str) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().start_paused(true).build().unwrap();
    runtime.block_on(async move {
        let mut fixture = fixture(&[call_with(&[("c1", tool, arguments)], Some(finish)), say("")], Unattended);
        fixture.session.run("go", &CancellationToken::new()).await;
        let conversation = fixture.session.conversation();
        let found = results(conversation);
        assert!(found[0].starts_with(expect), "{found:?} does not start with {expect:?}");
        assert_eq!(fixture.runs.load(Ordering::Relaxed), usize::from(found[0].starts_with("c1 ok")));
        let Item::Assistant { calls, .. } = &conversation.items[1] else { panic!("{:?}", conversation.items) };
        assert_eq!(calls[0].arguments, history);
    });
}

#[test]
fn mended_arguments_run_are_announced_and_go_back_as_they_ran() {
    let told = "c1 ok did \"it\"\n\n[the arguments were not valid JSON and were mended: a comma has nothing behind it]";
    reads("look", r#"{"do":"it", }"#, "tool_calls", told, r#"{"do":"it" }"#);
    reads("look", OK, "tool_calls", "c1 ok did \"it\"", OK);
    reads("look", r#"{"did":1,}"#, "stop", "c1 failed the arguments of \"look\" are not what it takes", r#"{"did":1}"#);
}

#[test]
fn blank_arguments_are_an_empty_object() {
    reads("any", "", "tool_calls", "c1 ok", "{}");
    reads("any", "  ", "tool_calls", "c1 ok", "{}");
    reads("look", "", "tool_calls", "c1 failed the arguments of \"look\" are not what it takes", "{}");
}

#[test]
fn what_no_rung_reads_never_runs_and_is_told_why() {
    let shown = r#"{"unreadable_arguments":"{'do':'it'}"}"#;
    let why = "could not be read, so it was not run: a single quote begins a string";
    reads("any", "{'do':'it'}", "tool_calls", &format!("c1 failed the arguments of \"any\" {why}"), shown);
    reads("look", "{'do':'it'}", "tool_calls", &format!("c1 failed the arguments of \"look\" {why}"), shown);
    reads(
        "any",
        "[1]",
        "tool_calls",
        "c1 failed the arguments of \"any\" cannot be used, so it was not run: the arguments must be one JSON object, got an array",
        r#"{"unreadable_arguments":"[1]"}"#,
    );
    let twice = r#"{"do":"a","do":"b"}"#;
    reads(
        "any",
        twice,
        "tool_calls",
        "c1 failed the arguments of \"any\" cannot be used, so it was not run: the key \"do\" is there twice",
        twice,
    );
}

#[test]
fn a_call_that_was_not_read_names_what_is_missing() {
    let calls = call(&[("c1", "look", "{do}")]);
    let expect = "c1 failed the arguments of \"look\" could not be read, so it was not run: a key has no quotes; put every key in double quotes (at byte 1, near \"do}\")\nSo nothing was there of what it takes:\n- /do: the field \"do\" is missing";
    check(&[calls, say("")], Unattended, &[expect]);
}

#[test]
fn nothing_is_mended_in_a_turn_that_was_cut() {
    for finish in ["length", "content_filter", "abort"] {
        reads("any", r#"{"a":1"#, finish, "c1 failed this turn was cut", r#"{"unreadable_arguments":"{\"a\":1"}"#);
        reads("any", "", finish, "c1 failed this turn was cut", "{}");
        reads("any", "{}", finish, "c1 ok", "{}");
    }
    reads("any", r#"{"a":1"#, "stop", "c1 ok", r#"{"a":1}"#);
}

#[test]
fn an_endless_name_is_cut_where_it_is_quoted() {
    let shown = format!("{:?}… (300 bytes)", "x".repeat(slot_wire::names::LONGEST));
    let expect = format!(
        "c1 failed this turn was cut (output limit, filter or lost piece) before the arguments of {shown} were complete"
    );
    reads(&"x".repeat(300), r#"{"a":1"#, "length", &expect, r#"{"unreadable_arguments":"{\"a\":1"}"#);
}

#[test]
fn a_call_that_lost_a_piece_is_not_mended() {
    let piece = |name: &str, arguments: &str| json!({"choices": [{"index": 0, "delta": {"tool_calls": [{"index": 0, "id": "c1", "function": {"name": name, "arguments": arguments}}]}}]});
    let end = json!({"choices": [{"index": 0, "delta": {}, "finish_reason": "tool_calls"}]});
    let torn = stream(&[piece("look", r#"{"do":"it""#), piece("other", "}"), end.clone()]);
    check(&[torn, say("")], Unattended, &["c1 failed this turn was cut"]);
    let whole = stream(&[piece("look", r#"{"do":"it"}"#), piece("other", "}"), end]);
    check(&[whole, say("")], Unattended, &["c1 ok"]);
}

#[test]
fn a_person_is_told_of_mended_arguments() {
    struct Person;
    impl ApprovalChannel for Person {
        fn ask<'a>(&'a self, question: &'a ApprovalQuestion) -> BoxFuture<'a, Option<PersonAnswer>> {
            let approved = question.input["do"] == "rm x" && question.reason.contains("may be incomplete");
            Box::pin(async move { Some(PersonAnswer { approved, comment: String::new(), lasts: Lasts::Once }) })
        }
    }
    check(&[call(&[("a", "exec", r#"{"do":"rm x"#)]), say("")], AskPerson(Person), &["a ok"]);
}

#[test]
fn a_model_that_never_stops_calling_meets_the_limit_of_turns() {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().start_paused(true).build().unwrap();
    runtime.block_on(async {
        let mut fixture = fixture(&[call(&[("c", "look", OK)])], NoChannel);
        fixture.session.config.max_turns = 3;
        let outcome = fixture.session.run("go", &CancellationToken::new()).await;
        assert_eq!(outcome, Outcome::TurnLimit { limit: 3 });
        let conversation = fixture.session.conversation();
        assert_paired(conversation);
        // The model used one id three times; each call in the history has an id of its own.
        let ids: Vec<_> = results(conversation).iter().map(|r| r.split(' ').next().unwrap().to_owned()).collect();
        assert_eq!(ids, ["c", "slot_1_0", "slot_2_0"]);
    });
}

#[tokio::test(start_paused = true)]
async fn cancelling_a_hanging_call_answers_every_call() {
    let calls = call(&[("a", "look", OK), ("h", "exec", r#"{"do":"hang"}"#), ("z", "look", OK)]);
    let mut fixture = fixture(&[calls], Unattended);
    let cancel = CancellationToken::new();
    let runs = Arc::clone(&fixture.runs);
    let stop = cancel.clone();
    tokio::spawn(async move {
        while runs.load(Ordering::Relaxed) < 2 {
            tokio::task::yield_now().await;
        }
        stop.cancel();
    });
    assert_eq!(fixture.session.run("go", &cancel).await, Outcome::Cancelled);
    let conversation = fixture.session.conversation();
    assert_paired(conversation);
    assert_eq!(results(conversation)[0], "a ok did \"it\"");
    assert!(results(conversation)[1].starts_with("h failed the call was cancelled"));
    assert!(results(conversation)[2].starts_with("z failed"));
    assert_eq!(fixture.runs.load(Ordering::Relaxed), 2);
}

/// Drops the run after each possible number of polls: whatever was left open is answered, and the session goes on.
#[tokio::test(start_paused = true)]
async fn a_run_dropped_at_any_await_leaves_a_history_in_which_every_call_is_answered() {
    let yields = r#"{"do":"yield"}"#;
    let mut left_open = 0;
    for polls in 1.. {
        let responses = [call(&[("a", "look", yields), ("b", "exec", yields)]), say("done")];
        let mut fixture = fixture(&responses, Unattended);
        let finished = {
            let cancel = CancellationToken::new();
            let mut run = Box::pin(fixture.session.run("go", &cancel));
            let mut finished = false;
            for _ in 0..polls {
                finished = run.as_mut().now_or_never().is_some();
                if finished {
                    break;
                }
                // Lets the scripted server and the connection move between two polls.
                tokio::task::yield_now().await;
            }
            finished
        };
        left_open += fixture.session.open.len();
        assert_paired(fixture.session.conversation());
        if finished {
            assert!(left_open > 0, "no drop came between a call and its result");
            return;
        }
        assert!(polls < 10_000, "the run never finishes");
    }
}

#[tokio::test(start_paused = true)]
async fn the_log_of_one_script_is_the_same_every_time() {
    let mut logs = Vec::new();
    for _ in 0..2 {
        let mut fixture = fixture(&[call(&[("a", "look", OK), ("b", "exec", OK)]), say("done")], NoChannel);
        fixture.session.run("go", &CancellationToken::new()).await;
        logs.push(serde_json::to_string(&fixture.session.log().canonical()).unwrap());
    }
    assert_eq!(logs[0], logs[1]);
    assert!(logs[0].contains(r#""lane":"call:b","n":0,"after":[["session",2]],"event":"received""#), "{}", logs[0]);
}

#[test]
fn a_tool_or_policy_that_panics_before_it_has_a_future_is_contained_too() {
    struct AtOnce;
    impl ApprovalPolicy for AtOnce {
        fn decide<'a>(&'a self, _: &'a ApprovalQuestion) -> BoxFuture<'a, crate::approval::ApprovalDecision> {
            panic!("planted")
        }
    }
    let calls = call(&[("p", "look", r#"{"do":"panic at once"}"#), ("x", "exec", OK), ("l", "look", OK)]);
    check(&[calls, say("")], AtOnce, &["p failed Error: the tool", "x failed", "l ok"]);
}

#[tokio::test(start_paused = true)]
async fn what_no_provider_takes_back_is_not_in_the_history() {
    let calls = call(&[("call 1/ü", "read file!", OK), ("", "", OK)]);
    let mut fixture = fixture(&[calls, say("")], NoChannel);
    fixture.session.run("go", &CancellationToken::new()).await;
    let conversation = fixture.session.conversation();
    assert_paired(conversation);
    for item in &conversation.items {
        if let Item::Assistant { text, calls } = item {
            assert!(!text.is_empty() || !calls.is_empty(), "an empty message");
            assert!(
                calls.iter().all(|c| c.id.is_ascii() && !c.id.contains(' ') && is_legal_name(&c.name)),
                "{calls:?}"
            );
        }
    }
    // The answer speaks of the name that was used.
    assert!(results(conversation)[0].contains("read file!"), "{:?}", results(conversation));
}

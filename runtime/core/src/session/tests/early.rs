//! Calls that start while their turn still streams.

use super::*;
use crate::contract::Origin;
use crate::dispatch::early::{EarlyStart, OnlyPlainReads};
use crate::dispatch::hooks::{Before, Hook, HookCall, HookError, Hooks};
use crate::dispatch::{Approved, Validated};
use crate::event::Event;

/// A tool that notes when it begins and when it is dropped before it ended.
struct Reads {
    name: &'static str,
    changes: bool,
    origin: Origin,
    noted: Arc<Mutex<Vec<String>>>,
}

struct Dropped<'a>(&'a Mutex<Vec<String>>, bool);

impl Drop for Dropped<'_> {
    fn drop(&mut self) {
        if !self.1 {
            self.0.lock().unwrap().push("dropped".into());
        }
    }
}

impl Tool for Reads {
    fn name(&self) -> &str {
        self.name
    }
    fn description(&self) -> &str {
        "reads"
    }
    fn input_schema(&self) -> Value {
        json!({"type": "object", "properties": {"do": {"type": "string"}}, "required": ["do"], "additionalProperties": false})
    }
    fn run<'a>(&'a self, input: &'a Value, run: &'a RunContext) -> BoxFuture<'a, Result<ToolOutput, ToolError>> {
        Box::pin(async move {
            let what = input["do"].as_str().unwrap();
            self.noted.lock().unwrap().push(format!("{} {what}", self.name));
            let mut dropped = Dropped(&self.noted, false);
            assert!(what != "panic", "planted");
            if what == "hang" {
                std::future::pending::<()>().await;
            }
            if what == "nest" {
                let inner = InnerCall { tool: "reads".into(), input: json!({"do": "inner"}) };
                run.call_tools(vec![inner]).await?;
            }
            tokio::task::yield_now().await;
            dropped.1 = true;
            if what == "fail" {
                Err(ToolError::NotFound("no".into()))
            } else {
                Ok(ToolOutput::ok(format!("read {what}")))
            }
        })
    }
}

impl ToolSpec for Reads {
    fn capabilities(&self) -> CapabilitySet {
        CapabilitySet::of(&[if self.changes { Capability::WritesFiles } else { Capability::ReadOnly }])
    }
    fn origin(&self) -> Origin {
        self.origin.clone()
    }
    fn supports_parallel(&self) -> bool {
        true
    }
    fn approval_for_input(&self, input: &Value) -> Option<crate::contract::ApprovalRequirement> {
        // The first answer is none; from then on a person is wanted.
        let raised = input["do"] == "raised" && self.noted.lock().unwrap().iter().any(|noted| noted == "judged");
        self.noted.lock().unwrap().push("judged".into());
        raised.then_some(crate::contract::ApprovalRequirement::Required)
    }
    fn may_start_early(&self) -> bool {
        true
    }
}

/// What a session came to: its results, what its tools noted, and its log.
#[derive(Debug, PartialEq)]
struct Ran {
    results: Vec<String>,
    noted: Vec<String>,
    log: Vec<Event>,
}

fn policies() -> Policies {
    Policies { approval: Arc::new(Unattended), ..Policies::default() }
}

fn run(responses: &[String], policies: Policies) -> Ran {
    run_from(responses, policies, Origin::builtin(), None)
}

fn run_from(responses: &[String], policies: Policies, origin: Origin, cancel_after: Option<Duration>) -> Ran {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().start_paused(true).build().unwrap();
    runtime.block_on(async move {
        let mut fixture = fixture_with(responses, policies);
        let noted = Arc::new(Mutex::default());
        let tool = |name, changes| {
            Arc::new(Reads { name, changes, origin: origin.clone(), noted: Arc::clone(&noted) }) as Arc<dyn ToolSpec>
        };
        fixture.session.dispatcher = Arc::new(Registry::new([tool("reads", false), tool("writes", true)]));
        let cancel = CancellationToken::new();
        if let Some(after) = cancel_after {
            let cancel = cancel.clone();
            tokio::spawn(async move {
                tokio::time::sleep(after).await;
                cancel.cancel();
            });
        }
        fixture.session.run("go", &cancel).await;
        assert_paired(fixture.session.conversation());
        let results = results(fixture.session.conversation());
        let log = fixture.session.log().canonical();
        let mut noted = std::mem::take(&mut *noted.lock().unwrap());
        noted.retain(|noted| noted != "judged");
        Ran { results, noted, log }
    })
}

/// A turn whose arguments come in these pieces; `finish` is its stop reason, if it ends at all.
fn pieces(name: &str, pieces: &[&str], finish: Option<&str>) -> String {
    let mut chunks = vec![
        json!({"choices": [{"index": 0, "delta": {"tool_calls": [{"index": 0, "id": "c1", "type": "function", "function": {"name": name, "arguments": ""}}]}}]}),
    ];
    for piece in pieces {
        chunks.push(json!({"choices": [{"index": 0, "delta": {"tool_calls": [{"index": 0, "function": {"arguments": piece}}]}}]}));
    }
    if let Some(finish) = finish {
        chunks.push(json!({"choices": [{"index": 0, "delta": {}, "finish_reason": finish}]}));
    }
    stream(&chunks)
}

/// What a turn that never ends starts. Nothing of it is in the history or the log.
#[track_caller]
fn check_started(response: String, policies: Policies, expect: &[&str]) {
    let ran = run(&[response], policies);
    assert_eq!(ran.results, [""; 0]);
    let lanes = ran.log.iter().filter(|event| event.lane != Lane::Session).count();
    assert_eq!(lanes, 0, "a turn that runs nothing says nothing of calls");
    assert_eq!(ran.noted.iter().map(String::as_str).filter(|noted| *noted != "dropped").collect::<Vec<_>>(), expect);
}

#[test]
fn a_read_starts_before_its_turn_has_ended() {
    check_started(pieces("reads", &[r#"{"do":"#, r#""a"}"#], None), policies(), &["reads a"]);
    // Nothing can be added to it any more.
    check_started(pieces("reads", &[r#"{"do":"a""#], None), policies(), &["reads a"]);
    let none = Policies { early: None, ..policies() };
    check_started(pieces("reads", &[r#"{"do":"a"}"#], None), none, &[]);
}

#[test]
fn half_a_value_starts_nothing() {
    for half in
        [r#"{"do":"a"#, r#"{"do":"a\"#, r#"{"do":"\u00"#, r#"{"do""#, r#"{"do":"a","#, r#"{"do":"a","do":""#, "{"]
    {
        check_started(pieces("reads", &[half], None), policies(), &[]);
    }
}

#[test]
fn what_is_not_valid_starts_nothing() {
    for text in [r#"{"do":1}"#, r#"{"did":"a"}"#, r#"{"do":"a","do":"b"}"#, r#"{"do":"a"}}"#, r#"{"do":"a",}"#] {
        check_started(pieces("reads", &[text], None), policies(), &[]);
    }
}

#[test]
fn only_the_tools_own_name_starts_it() {
    check_started(pieces("Reads", &[r#"{"do":"a"}"#], None), policies(), &[]);
    check_started(pieces("rea", &[r#"{"do":"a"}"#], None), policies(), &[]);
}

#[test]
fn what_changes_something_never_starts_early() {
    check_started(pieces("writes", &[r#"{"do":"a"}"#], None), policies(), &[]);
}

#[test]
fn a_tool_of_another_host_never_starts_early() {
    let remote = Origin {
        kind: crate::contract::OriginKind::Mcp { server: "s".into() },
        schema_version: 1,
        activation_scope: crate::contract::ActivationScope::Session,
    };
    let response = pieces("reads", &[r#"{"do":"a"}"#], None);
    let ran = run_from(&[response], policies(), remote, None);
    assert_eq!(ran.noted, [""; 0]);
}

#[test]
fn what_was_read_early_is_used_once_and_the_log_does_not_tell() {
    let turns = [pieces("reads", &[r#"{"do":"a""#, "}"], Some("tool_calls")), say("done")];
    let early = run(&turns, policies());
    let late = run(&turns, Policies { early: None, ..policies() });
    assert_eq!(early.results, ["c1 ok read a"]);
    assert_eq!(early, late);
    assert_eq!(early.noted, ["reads a"], "it ran once");
}

#[test]
fn a_call_that_comes_otherwise_uses_nothing_of_it() {
    // The prefix reads `a`; the whole has the key twice and is refused, or has more behind it and is refused.
    for rest in [r#","do":"b"}"#, r#"}{"do":"b"}"#, r#","else":1}"#] {
        let ran = run(&[pieces("reads", &[r#"{"do":"a""#, rest], Some("tool_calls")), say("done")], policies());
        assert!(ran.results[0].starts_with("c1 failed") && !ran.results[0].contains("read a"), "{:?}", ran.results);
    }
}

#[test]
fn an_early_error_is_tried_again_and_an_early_panic_too() {
    for (what, result) in [("fail", "c1 failed Error: no"), ("panic", "c1 failed Error: the tool \"reads\" failed")] {
        let arguments = json!({"do": what}).to_string();
        let ran = run(&[pieces("reads", &[&arguments], Some("tool_calls")), say("done")], policies());
        assert!(ran.results[0].starts_with(result), "{:?}", ran.results);
    }
}

#[test]
fn a_read_behind_a_change_waits_for_it() {
    let calls = [("c1", "reads", r#"{"do":"a"}"#), ("c2", "writes", r#"{"do":"b"}"#), ("c3", "reads", r#"{"do":"c"}"#)];
    let ran = run(&[call_with(&calls, None)], policies());
    assert_eq!(ran.noted.iter().filter(|noted| *noted != "dropped").collect::<Vec<_>>(), ["reads a"]);
    let ran = run(&[call(&calls), say("done")], policies());
    assert_eq!(ran.noted, ["reads a", "writes b", "reads c"]);
}

#[test]
fn the_same_call_twice_in_a_turn_starts_once() {
    let calls = [("c1", "reads", r#"{"do":"a"}"#), ("c2", "reads", r#"{"do":"a"}"#)];
    let ran = run(&[call_with(&calls, None)], policies());
    assert_eq!(ran.noted.iter().filter(|noted| *noted != "dropped").count(), 1);
    let ran = run(&[call(&calls), say("done")], policies());
    assert_eq!((ran.results.len(), ran.noted.len()), (2, 2));
}

#[test]
fn a_turn_starts_no_more_than_its_share() {
    let inputs: Vec<(String, String)> =
        (0..20).map(|n| (format!("c{n}"), json!({"do": n.to_string()}).to_string())).collect();
    let calls: Vec<(&str, &str, &str)> =
        inputs.iter().map(|(id, input)| (id.as_str(), "reads", input.as_str())).collect();
    let ran = run(&[call_with(&calls, None)], policies());
    assert_eq!(ran.noted.iter().filter(|noted| *noted != "dropped").count(), 8);
}

/// What starts while the arguments of calls come in these pieces, each by itself.
fn started_by(calls: &[Vec<&str>]) -> Vec<String> {
    use crate::dispatch::early::{Starter, Starting};
    let noted = Arc::new(Mutex::default());
    let tool = Reads { name: "reads", changes: false, origin: Origin::builtin(), noted: Arc::clone(&noted) };
    let dispatcher = Arc::new(Registry::new([Arc::new(tool) as Arc<dyn ToolSpec>])) as Arc<dyn ToolDispatcher>;
    let (snapshot, policies) = (dispatcher.snapshot(), Policies::default());
    let loops = policies.loops.user_turn();
    let reads = Starting {
        dispatcher: &dispatcher,
        snapshot: &snapshot,
        policies: &policies,
        loaded: &Loaded::default(),
        loops: loops.as_ref(),
        invoked_by: InvokedBy::Provider { id: "chat".into() },
    };
    let mut starter = Starter::new(&reads);
    let mut turn = Turn::default();
    for (index, pieces) in calls.iter().enumerate() {
        turn.calls.push(RawCall { id: format!("c{index}"), name: "reads".into(), arguments: String::new() });
        for piece in pieces {
            turn.calls[index].arguments.push_str(piece);
            let delta = slot_wire::CallDelta::Arguments { index, bytes: piece.len() };
            starter.look(&turn, &[TurnDelta::Call(delta)]);
            let runtime =
                tokio::runtime::Builder::new_current_thread().enable_all().start_paused(true).build().unwrap();
            runtime.block_on(starter.step());
        }
    }
    drop(starter);
    let mut noted = std::mem::take(&mut *noted.lock().unwrap());
    noted.retain(|noted| noted.starts_with("reads"));
    noted
}

#[test]
fn a_call_starts_at_the_first_piece_that_decides_it() {
    assert_eq!(started_by(&[vec![r#"{"do""#, r#":"a"#, r#"b""#, "}"]]), ["reads ab"]);
    assert_eq!(started_by(&[vec![r#"{"do":"a"}"#], vec![r#"{"do":"b""#]]), ["reads a", "reads b"]);
    assert_eq!(
        started_by(&[vec![r#"{"do":"a"#], vec![r#"{"do":"b""#]]),
        [""; 0],
        "what stands before is not known yet"
    );
}

#[test]
fn a_text_that_seems_to_end_again_and_again_is_not_read_for_ever() {
    let text = |quotes: usize| [vec![r#"{"do":""#], vec![r#"\""#; quotes], vec![r#"""#]].concat();
    assert_eq!(started_by(&[text(40)]).len(), 1);
    assert_eq!(started_by(&[text(100)]), [""; 0]);
    let many: Vec<Vec<&str>> = (0..20).map(|_| text(60)).collect();
    assert!(started_by(&many).len() <= 8);
}

#[test]
fn an_early_start_counts_for_nothing_and_repetition_starts_nothing() {
    let turn = |id: &str| call(&[(id, "reads", r#"{"do":"a"}"#)]);
    let turns = [turn("c1"), turn("c2"), turn("c3"), say("done")];
    let ran = run(&turns, policies());
    assert!(ran.results[1].starts_with("c2 ok") && ran.results[2].starts_with("c3 failed"), "{:?}", ran.results);
    assert_eq!(ran.noted.len(), 2, "the third is not even started");
}

/// A hook that says whether it may be asked early, and what it says then.
struct Judge {
    early: bool,
    denies: bool,
    asked: Arc<AtomicUsize>,
}

impl Hook for Judge {
    fn name(&self) -> String {
        "judge".into()
    }
    fn before<'a>(&'a self, _: &'a HookCall<'a>) -> BoxFuture<'a, Result<Before, HookError>> {
        self.asked.fetch_add(1, Ordering::Relaxed);
        Box::pin(async { Ok(if self.denies { Before::Deny("no".into()) } else { Before::Pass }) })
    }
    fn may_be_asked_early(&self) -> bool {
        self.early
    }
}

#[test]
fn hooks_come_before_an_early_start() {
    for (early, denies, started, asked) in [(true, false, 1, 1), (true, true, 0, 1), (false, false, 0, 0)] {
        let count = Arc::new(AtomicUsize::new(0));
        let judge = Arc::new(Judge { early, denies, asked: Arc::clone(&count) }) as Arc<dyn Hook>;
        let policies = Policies { hooks: Hooks::new([judge]), ..policies() };
        let expect: &[&str] = if started == 1 { &["reads a"] } else { &[] };
        check_started(pieces("reads", &[r#"{"do":"a"}"#], None), policies, expect);
        assert_eq!(count.load(Ordering::Relaxed), asked);
    }
}

#[test]
fn a_hook_that_denies_in_the_end_has_denied() {
    /// Passes the first time, and denies the second.
    struct Turns(AtomicUsize);
    impl Hook for Turns {
        fn name(&self) -> String {
            "turns".into()
        }
        fn before<'a>(&'a self, _: &'a HookCall<'a>) -> BoxFuture<'a, Result<Before, HookError>> {
            let first = self.0.fetch_add(1, Ordering::Relaxed) == 0;
            Box::pin(async move { Ok(if first { Before::Pass } else { Before::Deny("changed my mind".into()) }) })
        }
        fn may_be_asked_early(&self) -> bool {
            true
        }
    }
    let hooks = Hooks::new([Arc::new(Turns(AtomicUsize::new(0))) as Arc<dyn Hook>]);
    let turns = [pieces("reads", &[r#"{"do":"a"}"#], Some("tool_calls")), say("done")];
    let ran = run(&turns, Policies { hooks, ..policies() });
    assert!(ran.results[0].contains("changed my mind") && !ran.results[0].contains("read a"), "{:?}", ran.results);
}

/// The runtime's own policy in a world that is slow, or that raises every level once the turn has ended.
struct Slow;

impl EarlyStart for Slow {
    fn may_start(&self, call: &Validated, level: crate::contract::ApprovalRequirement) -> bool {
        OnlyPlainReads.may_start(call, level)
    }
    fn may_use(&self, early: &Approved, call: &Approved, age: Duration) -> bool {
        assert!(OnlyPlainReads.may_use(early, call, age));
        OnlyPlainReads.may_use(early, call, age + Duration::from_secs(31))
    }
}

#[test]
fn what_is_old_is_read_again() {
    let turns = [pieces("reads", &[r#"{"do":"a"}"#], Some("tool_calls")), say("done")];
    let ran = run(&turns, Policies { early: Some(Arc::new(Slow)), ..policies() });
    assert_eq!(ran.results, ["c1 ok read a"]);
    assert_eq!(ran.noted.iter().filter(|noted| *noted == "reads a").count(), 2);
}

#[test]
fn a_level_that_rises_until_the_turn_has_ended_is_asked_about_and_nothing_read_before_is_used() {
    let turns = [pieces("reads", &[r#"{"do":"raised"}"#], Some("tool_calls")), say("done")];
    let ran = run(&turns, policies());
    assert_eq!(ran.noted.iter().filter(|noted| *noted == "reads raised").count(), 2);
    let ran = run(&turns, Policies::default());
    assert!(ran.results[0].starts_with("c1 failed the call of \"reads\" was not run: it requires approval"));
}

#[test]
fn what_hangs_ends_with_its_turn() {
    let ran = run(&[pieces("reads", &[r#"{"do":"hang"}"#], None)], policies());
    assert_eq!(ran.noted, ["reads hang", "dropped"]);
    let stalled = format!("{}{STALL}", pieces("reads", &[r#"{"do":"hang"}"#], None));
    let ran = run_from(&[stalled], policies(), Origin::builtin(), Some(Duration::from_secs(1)));
    assert_eq!(ran.noted, ["reads hang", "dropped"]);
    assert_eq!(ran.results, [""; 0]);
    assert!(!ran.log.iter().any(|event| event.lane != Lane::Session));
}

#[test]
fn calls_that_an_early_tool_would_make_are_not_made_early() {
    let ran = run(&[pieces("reads", &[r#"{"do":"nest"}"#], None)], policies());
    assert_eq!(ran.noted, ["reads nest", "dropped"]);
}

#[test]
fn a_turn_that_was_cut_still_runs_its_whole_calls_and_uses_what_was_read() {
    let ran = run(&[pieces("reads", &[r#"{"do":"a"}"#], Some("length")), say("done")], policies());
    assert_eq!((ran.results, ran.noted), (vec!["c1 ok read a".to_owned()], vec!["reads a".to_owned()]));
}

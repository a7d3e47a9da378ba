//! Hooks, telemetry, and the last stages of a call.

use super::*;
use crate::contract::Presentation;
use crate::dispatch::hooks::{After, Before, Hook, HookCall, HookEnd, HookError, Hooks};
use crate::dispatch::render::{Block, Happened, ResultStore, Screen};
use std::fmt::Write as _;
use std::sync::LazyLock;
use tracing::field::{Field, Visit};

/// What a hook does, by the word after its name: `deny`, `annotate`, `withhold`, `fail`, `panic`, `hang`.
struct Scripted {
    before: &'static str,
    after: &'static str,
    seen: Arc<Mutex<Vec<String>>>,
}

impl Hook for Scripted {
    fn name(&self) -> String {
        "h".into()
    }

    fn before<'a>(&'a self, call: &'a HookCall<'a>) -> BoxFuture<'a, Result<Before, HookError>> {
        assert!(self.before != "panic at once", "planted");
        Box::pin(async move {
            self.seen.lock().unwrap().push(format!("before {} {}", call.id(), call.input()["do"]));
            match self.before {
                "deny" => Ok(Before::Deny("because".into())),
                "annotate" => Ok(Before::Annotate("look out".into())),
                "long" => Ok(Before::Annotate("é".repeat(4000))),
                "fail" => Err(HookError("CANARY".into())),
                "panic" => panic!("planted"),
                "hang" => std::future::pending().await,
                _ => Ok(Before::Pass),
            }
        })
    }

    fn after<'a>(&'a self, call: &'a HookCall<'a>, end: &'a HookEnd<'a>) -> BoxFuture<'a, Result<After, HookError>> {
        Box::pin(async move {
            self.seen.lock().unwrap().push(format!("after {} {}", call.id(), end.content()));
            match self.after {
                "withhold" => Ok(After::Withhold("secret".into())),
                "annotate" => Ok(After::Annotate("well".into())),
                "fail" => Err(HookError("CANARY".into())),
                "panic" => panic!("planted"),
                "hang" => std::future::pending().await,
                _ => Ok(After::Pass),
            }
        })
    }
}

/// What a session came to: its results, how often tools ran, what hooks saw, and the kinds of its events.
struct Ran {
    results: Vec<String>,
    runs: usize,
    seen: Vec<String>,
    events: Vec<String>,
}

fn run(calls: &[(&str, &str, &str)], before: &'static str, after: &'static str) -> Ran {
    run_with(calls, before, after, Arc::new(Unattended))
}

fn run_with(
    calls: &[(&str, &str, &str)],
    before: &'static str,
    after: &'static str,
    approval: Arc<dyn ApprovalPolicy>,
) -> Ran {
    let seen = Arc::new(Mutex::default());
    let hook = Arc::new(Scripted { before, after, seen: Arc::clone(&seen) }) as Arc<dyn Hook>;
    let policies = Policies { approval, hooks: Hooks::new([hook]), ..Policies::default() };
    let (results, runs, events) = session(calls, policies);
    let seen = std::mem::take(&mut *seen.lock().unwrap());
    Ran { results, runs, seen, events }
}

fn session(calls: &[(&str, &str, &str)], policies: Policies) -> (Vec<String>, usize, Vec<String>) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().start_paused(true).build().unwrap();
    runtime.block_on(async move {
        let mut fixture = fixture_with(&[call(calls), say("done")], policies);
        fixture.session.run("go", &CancellationToken::new()).await;
        assert_paired(fixture.session.conversation());
        let events = fixture.session.log().canonical();
        let text = |event: &crate::event::Event| {
            let value = serde_json::to_value(event).unwrap();
            let verdict = value["verdict"].as_str().map_or(String::new(), |verdict| format!(":{verdict}"));
            format!("{}{verdict}", value["event"].as_str().unwrap())
        };
        (
            results(fixture.session.conversation()),
            fixture.runs.load(Ordering::Relaxed),
            events.iter().map(text).collect(),
        )
    })
}

#[track_caller]
fn check(before: &'static str, after: &'static str, runs: usize, result: &str, event: &str) {
    let ran = run(&[("c1", "write", OK)], before, after);
    assert_eq!(ran.runs, runs);
    assert!(ran.results[0].starts_with(result), "{:?}", ran.results);
    assert!(ran.events.contains(&format!("hook:{event}")), "{:?}", ran.events);
    assert!(!ran.results[0].contains("CANARY"), "what a hook says of its failure is not the model's to read");
}

#[test]
fn a_call_that_a_hook_denies_does_not_run() {
    check("deny", "", 0, "c1 failed the call of \"write\" was not run: the hook \"h\" denied it: because.", "denied");
}

#[test]
fn a_hook_that_fails_in_any_way_has_denied() {
    let refused = "c1 failed the call of \"write\" was not run: the hook \"h\" ";
    check("fail", "", 0, &format!("{refused}failed, and"), "failed");
    check("panic", "", 0, &format!("{refused}failed inside, and"), "panicked");
    check("panic at once", "", 0, &format!("{refused}failed inside, and"), "panicked");
    check("hang", "", 0, &format!("{refused}did not answer within 10000 ms, and"), "timed_out");
}

#[test]
fn a_hook_that_fails_after_the_call_changes_nothing() {
    check("", "fail", 1, "c1 ok did \"it\"", "failed");
    check("", "panic", 1, "c1 ok did \"it\"", "panicked");
    check("", "hang", 1, "c1 ok did \"it\"", "timed_out");
}

#[test]
fn what_hooks_say_goes_with_the_result() {
    check("annotate", "annotate", 1, "c1 ok did \"it\"\n\n[h: look out]\n\n[h: well]", "annotated");
}

#[test]
fn an_annotation_has_a_limit() {
    let ran = run(&[("c1", "write", OK)], "long", "");
    assert_eq!(ran.results[0], format!("c1 ok did \"it\"\n\n[h: {}]", "é".repeat(1024)));
}

#[test]
fn a_result_that_is_withheld_is_in_no_part_of_the_history() {
    let ran = run(&[("c1", "write", OK)], "annotate", "withhold");
    assert!(ran.results[0].starts_with("c1 failed the call of \"write\" ran, and the hook \"h\" withheld its result"));
    assert!(!ran.results[0].contains("did \"it\"") && !ran.results[0].contains("look out"));
}

#[test]
fn hooks_are_asked_in_call_order_whatever_order_the_calls_end_in() {
    // The first call ends last.
    let calls = [("c1", "look", r#"{"do":"yield"}"#), ("c2", "look", OK)];
    let ran = run(&calls, "", "");
    let expect = ["before c1 \"yield\"", "before c2 \"it\"", "after c1 did \"yield\"", "after c2 did \"it\""];
    assert_eq!(ran.seen, expect);
}

#[test]
fn a_denied_call_of_a_batch_leaves_its_neighbours_alone() {
    struct Only;
    impl Hook for Only {
        fn name(&self) -> String {
            "only".into()
        }
        fn before<'a>(&'a self, call: &'a HookCall<'a>) -> BoxFuture<'a, Result<Before, HookError>> {
            let deny = call.id() == "c2";
            Box::pin(async move { Ok(if deny { Before::Deny("no".into()) } else { Before::Pass }) })
        }
    }
    let policies = Policies { hooks: Hooks::new([Arc::new(Only) as Arc<dyn Hook>]), ..Policies::default() };
    let (results, runs, _) =
        session(&[("c1", "look", OK), ("c2", "look", OK), ("c3", "look", r#"{"do":"other"}"#)], policies);
    assert_eq!(runs, 2);
    assert!(results[0].starts_with("c1 ok") && results[1].starts_with("c2 failed") && results[2].starts_with("c3 ok"));
}

#[test]
fn hooks_see_no_call_that_could_not_run_and_nobody_is_asked_about_what_they_deny() {
    let ran = run(&[("c1", "write", "{}"), ("c2", "nope", OK)], "", "");
    assert_eq!(ran.seen, [""; 0]);
    let three = [("c1", "write", OK), ("c2", "write", OK), ("c3", "write", OK)];
    assert_eq!(run(&three, "", "fail").seen.len(), 4, "the third is repetition");
    let denied = run(&[("c1", "write", OK)], "deny", "");
    assert!(!denied.events.contains(&"approval_asked".to_owned()));
}

#[test]
fn after_hooks_hear_only_of_calls_that_started() {
    let ran = run_with(&[("c1", "write", OK)], "", "", Arc::new(DenyAll));
    assert_eq!(ran.seen, ["before c1 \"it\""]);
}

#[test]
fn whoever_is_asked_reads_what_hooks_say() {
    struct Reads;
    impl ApprovalPolicy for Reads {
        fn decide<'a>(&'a self, asked: &'a ApprovalQuestion) -> BoxFuture<'a, crate::approval::ApprovalDecision> {
            assert_eq!(asked.reason, "it writes files; h: look out");
            Box::pin(async { crate::approval::approved(crate::approval::Decider::Person) })
        }
    }
    assert_eq!(run_with(&[("c1", "write", OK)], "annotate", "", Arc::new(Reads)).runs, 1);
}

#[test]
fn calls_that_tools_make_are_put_to_hooks() {
    let ran = run(&[("c1", "exec", r#"{"do":"nest:look:it"}"#)], "", "");
    let calls: Vec<String> =
        ran.seen.iter().map(|seen| seen.split(' ').take(2).collect::<Vec<_>>().join(" ")).collect();
    assert_eq!(calls, ["before c1", "before c1/0", "before c1/1", "after c1/0", "after c1/1", "after c1"]);
}

#[test]
fn a_cancelled_run_does_not_wait_for_a_hook() {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().start_paused(true).build().unwrap();
    runtime.block_on(async {
        let hook = Arc::new(Scripted { before: "hang", after: "", seen: Arc::default() }) as Arc<dyn Hook>;
        let policies = Policies { hooks: Hooks::new([hook]), ..Policies::default() };
        let mut fixture = fixture_with(&[call(&[("c1", "look", OK)]), say("done")], policies);
        let cancel = CancellationToken::new();
        let started = tokio::time::Instant::now();
        let stop = cancel.clone();
        tokio::spawn(async move {
            tokio::time::sleep(Duration::from_secs(1)).await;
            stop.cancel();
        });
        fixture.session.run("go", &cancel).await;
        assert!(started.elapsed() < Duration::from_secs(5));
    });
}

/// Everything that is told to a subscriber, one line for each record.
#[derive(Default)]
struct Recorder(Arc<Mutex<Vec<String>>>);

struct Line<'a>(&'a mut String);

impl Visit for Line<'_> {
    fn record_debug(&mut self, field: &Field, value: &dyn std::fmt::Debug) {
        if field.name() != "latency_us" {
            let _ = write!(self.0, " {}={value:?}", field.name());
        }
    }
}

impl tracing::Subscriber for Recorder {
    fn enabled(&self, metadata: &tracing::Metadata<'_>) -> bool {
        metadata.target().starts_with("slot_runtime")
    }
    fn new_span(&self, _: &tracing::span::Attributes<'_>) -> tracing::span::Id {
        tracing::span::Id::from_u64(1)
    }
    fn record(&self, _: &tracing::span::Id, _: &tracing::span::Record<'_>) {}
    fn record_follows_from(&self, _: &tracing::span::Id, _: &tracing::span::Id) {}
    fn event(&self, event: &tracing::Event<'_>) {
        let mut line = event.metadata().level().to_string();
        event.record(&mut Line(&mut line));
        self.0.lock().unwrap().push(line);
    }
    fn enter(&self, _: &tracing::span::Id) {}
    fn exit(&self, _: &tracing::span::Id) {}
}

/// A second subscriber, so that none is ever alone. While there is but one, whoever first comes by a place that records asks
/// the subscriber of its own thread whether anybody listens there, and another test's thread has none.
static LISTENS: LazyLock<tracing::Dispatch> = LazyLock::new(|| tracing::Dispatch::new(Recorder::default()));

/// What a subscriber is told of a session.
fn recorded(calls: &[(&str, &str, &str)], policies: Policies) -> Vec<String> {
    LazyLock::force(&LISTENS);
    let recorder = Recorder::default();
    let lines = Arc::clone(&recorder.0);
    tracing::subscriber::with_default(recorder, || session(calls, policies));
    std::mem::take(&mut *lines.lock().unwrap())
}

#[test]
fn each_call_is_told_once_with_its_verdict_and_without_what_the_model_wrote() {
    let secret = r#"{"do":"CANARY"}"#;
    let calls = [
        ("id-CANARY", "look", secret),
        ("c2", "CANARY\ntool=forged", secret),
        ("c3", "write", secret),
        ("c4", "look", r#"{"CANARY":1}"#),
        ("c5", "look", r#"{"do":"panic"}"#),
    ];
    let lines = recorded(&calls, Policies::default());
    let line = |tool: &str, index: u32, input: usize, verdict: &str, stage: &str| {
        format!(
            "INFO message=call settled tool={tool:?} invoker=\"provider\" turn=0 index={index} bytes_in={input} bytes_out=? verdict={verdict:?} stage={stage:?}"
        )
    };
    let expect = [
        line("look", 0, 15, "ok", ""),
        line("", 1, 15, "refused", "name"),
        line("write", 2, 15, "refused", "approval"),
        line("look", 3, 12, "refused", "validate"),
        line("look", 4, 14, "failed", ""),
    ];
    let found: Vec<String> = lines
        .iter()
        .map(|line| {
            let (before, after) = line.split_once("bytes_out=").unwrap();
            format!("{before}bytes_out=? {}", after.split_once(' ').unwrap().1)
        })
        .collect();
    assert_eq!(found, expect);
    assert!(!lines.concat().contains("CANARY"), "{lines:?}");
}

#[test]
fn inner_calls_are_told_as_made_by_a_tool() {
    let policies = Policies { approval: Arc::new(Unattended), ..Policies::default() };
    let lines = recorded(&[("c1", "exec", r#"{"do":"nest:look:it"}"#)], policies);
    let invokers: Vec<bool> = lines.iter().map(|line| line.contains("invoker=\"tool\"")).collect();
    assert_eq!(invokers, [true, true, false]);
}

#[test]
fn what_a_hook_says_of_its_failure_is_told_to_whoever_asks_for_details() {
    let hook = Arc::new(Scripted { before: "fail", after: "", seen: Arc::default() }) as Arc<dyn Hook>;
    let policies = Policies { hooks: Hooks::new([hook]), ..Policies::default() };
    let lines = recorded(&[("c1", "look", OK)], policies);
    let with: Vec<&str> =
        lines.iter().filter(|line| line.contains("CANARY")).map(|line| line.split(' ').next().unwrap()).collect();
    assert_eq!(with, ["TRACE"]);
}

/// Keeps what it is given, or panics.
#[derive(Default)]
struct Kept(Mutex<Vec<String>>, &'static str);

impl ResultStore for Kept {
    fn keep(&self, settled: &Settled) -> std::io::Result<()> {
        assert!(self.1 != "panic", "planted");
        self.0.lock().unwrap().push(format!("{} {}", settled.call_id(), settled.content()));
        if self.1 == "fail" { Err(std::io::Error::other("planted")) } else { Ok(()) }
    }
}

#[track_caller]
fn check_store(how: &'static str, kept: &[&str], not_persisted: usize) {
    let store = Arc::new(Kept(Mutex::default(), how));
    let policies = Policies { store: Some(Arc::clone(&store) as Arc<dyn ResultStore>), ..Policies::default() };
    let calls = [("c1", "look", r#"{"do":"yield"}"#), ("c2", "look", OK), ("c3", "nope", OK)];
    let (results, _, events) = session(&calls, policies);
    let stored = store.0.lock().unwrap();
    let found: Vec<&str> = stored.iter().map(|line| &line[..line.find(' ').unwrap()]).collect();
    assert_eq!(found, kept);
    for (stored, result) in stored.iter().zip(&results) {
        assert!(result.ends_with(stored.split_once(' ').unwrap().1), "what is kept is what goes back");
    }
    assert_eq!(events.iter().filter(|event| *event == "not_persisted").count(), not_persisted);
}

#[test]
fn every_result_is_kept_once_in_call_order() {
    check_store("", &["c1", "c2", "c3"], 0);
}

#[test]
fn a_store_that_fails_is_noted_and_stops_nothing() {
    check_store("fail", &["c1", "c2", "c3"], 3);
    check_store("panic", &[], 3);
}

/// Draws what is shown, one line each.
#[derive(Default)]
struct Drawn(Mutex<Vec<String>>);

impl Screen for Drawn {
    fn show(&self, block: &Block, happened: Happened<'_>) {
        let at = block.inside.as_ref().map_or(String::new(), |outer| format!(" in {outer}"));
        self.0.lock().unwrap().push(match happened {
            Happened::Opened => format!("open {} {}{at}", block.call_id, block.title),
            Happened::Progress(text) => format!("progress {} {text}", block.call_id),
            Happened::Closed { failed, .. } => {
                format!("close {} {}", block.call_id, if failed { "failed" } else { "ok" })
            }
        });
    }
}

/// A tool that wraps, or says so.
struct Wrapper {
    origin: crate::contract::Origin,
    capability: Capability,
}

impl Tool for Wrapper {
    fn name(&self) -> &str {
        "wrap"
    }
    fn description(&self) -> &str {
        "wraps"
    }
    fn input_schema(&self) -> Value {
        json!({"type": "object"})
    }
    fn run<'a>(&'a self, input: &'a Value, run: &'a RunContext) -> BoxFuture<'a, Result<ToolOutput, ToolError>> {
        Box::pin(async move {
            run.progress("half\u{1b}[2J way");
            if input["inner"] == true {
                run.call_tools(vec![InnerCall { tool: "look".into(), input: json!({"do": "it"}) }]).await?;
            }
            if input["fail"] == true { Err(ToolError::Failed("no".into())) } else { Ok(ToolOutput::ok("wrapped")) }
        })
    }
}

impl ToolSpec for Wrapper {
    fn capabilities(&self) -> CapabilitySet {
        CapabilitySet::of(&[self.capability])
    }
    fn origin(&self) -> crate::contract::Origin {
        self.origin.clone()
    }
    fn presentation(&self) -> Presentation {
        Presentation { title: Some("Wrap\u{202e}".into()), activity: None, transparent: true }
    }
}

#[track_caller]
fn check_screen(origin: crate::contract::Origin, capability: Capability, input: &str, expect: &[&str]) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().start_paused(true).build().unwrap();
    let screen = Arc::new(Drawn::default());
    let policies = Policies {
        approval: Arc::new(Unattended),
        screen: Some(Arc::clone(&screen) as Arc<dyn Screen>),
        ..Policies::default()
    };
    runtime.block_on(async {
        let mut fixture = fixture_with(&[call(&[("c1", "wrap", input)]), say("done")], policies);
        let together = Arc::new(tokio::sync::Barrier::new(2));
        let capabilities = CapabilitySet::of(&[Capability::ReadOnly]);
        let look = Probe { name: "look", capabilities, runs: Arc::clone(&fixture.runs), together };
        let wrapper = Wrapper { origin, capability };
        fixture.session.dispatcher =
            Arc::new(Registry::new([Arc::new(look) as Arc<dyn ToolSpec>, Arc::new(wrapper) as Arc<dyn ToolSpec>]));
        fixture.session.run("go", &CancellationToken::new()).await;
    });
    assert_eq!(*screen.0.lock().unwrap(), expect);
}

use crate::contract::Origin;

#[test]
fn a_transparent_wrapper_has_no_block_and_its_calls_stand_by_themselves() {
    let expect = ["open c1/0 look", "close c1/0 ok"];
    check_screen(Origin::builtin(), Capability::ReadOnly, r#"{"inner":true}"#, &expect);
    check_screen(Origin::builtin(), Capability::ReadOnly, "{}", &[]);
}

#[test]
fn a_wrapper_that_failed_before_it_made_a_call_is_seen() {
    let expect = ["open c1 Wrap\u{fffd}", "close c1 failed"];
    check_screen(Origin::builtin(), Capability::ReadOnly, r#"{"fail":true}"#, &expect);
}

#[test]
fn a_tool_that_acts_or_comes_from_outside_cannot_hide() {
    let inner = ["open c1/0 look in c1", "close c1/0 ok"];
    let shown = |title: &str| {
        let open = format!("open c1 {title}");
        let mut lines = vec![open, "progress c1 half\u{fffd}[2J way".to_owned()];
        lines.extend(inner.map(str::to_owned));
        lines.push("close c1 ok".to_owned());
        lines
    };
    for (origin, capability, title) in [
        (Origin::builtin(), Capability::ExecutesCode, "Wrap\u{fffd}"),
        (Origin::extension("x"), Capability::ReadOnly, "Wrap\u{fffd} (wrap)"),
    ] {
        let expect = shown(title);
        let expect: Vec<&str> = expect.iter().map(String::as_str).collect();
        check_screen(origin, capability, r#"{"inner":true}"#, &expect);
    }
}

#[test]
fn a_call_that_never_starts_is_seen_and_every_block_closes_when_a_run_is_dropped() {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().start_paused(true).build().unwrap();
    let screen = Arc::new(Drawn::default());
    let policies = Policies { screen: Some(Arc::clone(&screen) as Arc<dyn Screen>), ..Policies::default() };
    runtime.block_on(async {
        let calls = call(&[("c1", "nope", OK), ("c2", "look", r#"{"do":"hang"}"#)]);
        let mut fixture = fixture_with(&[calls, say("done")], policies);
        let cancel = CancellationToken::new();
        let run = fixture.session.run("go", &cancel);
        assert!(tokio::time::timeout(Duration::from_secs(1), run).await.is_err());
        fixture.session.conversation();
    });
    let expect = ["open c1 nope", "close c1 failed", "open c2 look", "close c2 failed"];
    assert_eq!(*screen.0.lock().unwrap(), expect);
}

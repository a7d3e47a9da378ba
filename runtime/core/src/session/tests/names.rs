//! What a session makes of a name that is not a tool's own.

use super::*;
use crate::contract::Exposure;

const APPROVES: AskPerson<Yes> = AskPerson(Yes);

/// Approves what shows both names.
struct Yes;

impl ApprovalChannel for Yes {
    fn ask<'a>(&'a self, question: &'a ApprovalQuestion) -> BoxFuture<'a, Option<PersonAnswer>> {
        let approved = question.requested.as_deref() == Some("exe") && question.tool == "exec" && question.is_guess;
        Box::pin(async move { Some(PersonAnswer { approved, comment: String::new(), lasts: Lasts::Once }) })
    }
}

#[test]
fn a_mended_name_runs_its_tool() {
    let calls = call(&[("a", "LOOK", OK), ("b", "look_tool", OK)]);
    assert_eq!(check(&[calls, say("")], NoChannel, &["a ok", "b ok"]).1, 2);
}

#[test]
fn a_guess_at_a_reading_tool_runs() {
    assert_eq!(check(&[call(&[("a", "loo", OK)]), say("")], NoChannel, &["a ok"]).1, 1);
}

#[test]
fn a_guess_at_a_changing_tool_runs_only_for_a_person_who_saw_both_names() {
    let calls = || call(&[("a", "exe", OK)]);
    assert_eq!(check(&[calls(), say("")], APPROVES, &["a ok"]).1, 1);
    let suggests = ["a failed there is no tool \"exe\" here; nothing was run. Did you mean: exec?"];
    assert_eq!(check(&[calls(), say("")], NoChannel, &suggests).1, 0);
    assert_eq!(check(&[calls(), say("")], Unattended, &suggests).1, 0);
    assert_eq!(check(&[calls(), say("")], PassSuggested(Unattended), &suggests).1, 0);
    assert_eq!(check(&[call(&[("w", "wri", OK)]), say("")], PassSuggested(NoChannel), &["w failed there is no"]).1, 0);
}

#[tokio::test(start_paused = true)]
async fn the_log_says_how_a_name_was_read_and_that_a_guess_is_required() {
    let mut fixture = fixture(&[call(&[("a", "Look", OK), ("w", "wri", OK)]), say("")], NoChannel);
    fixture.session.run("go", &CancellationToken::new()).await;
    let log = serde_json::to_string(&fixture.session.log().canonical()).unwrap();
    assert!(log.contains(r#""event":"resolved","tool":"look","how":"case""#), "{log}");
    assert!(log.contains(r#""event":"resolved","tool":"write","how":"prefix""#), "{log}");
    assert!(log.contains(r#""derived":"suggest","level":"required""#), "{log}");
}

#[tokio::test(start_paused = true)]
async fn an_illegal_name_does_not_go_back_to_the_provider() {
    let mut fixture = fixture(&[call(&[("a", "look{\"do\": 1}", OK)]), say("")], NoChannel);
    fixture.session.run("go", &CancellationToken::new()).await;
    let requests = fixture.script.requests.lock().unwrap();
    let sent = requests[1]["messages"].to_string();
    assert!(sent.contains(r#""name":"look__do___1_""#), "{sent}");
}

/// A deferred tool that counts its runs.
struct Late(Arc<AtomicUsize>);

impl Tool for Late {
    fn name(&self) -> &str {
        "late"
    }
    fn description(&self) -> &str {
        "comes late"
    }
    fn input_schema(&self) -> Value {
        json!({"type": "object", "properties": {"search": {"type": "string"}}, "required": ["search"]})
    }
    fn run<'a>(&'a self, _: &'a Value, _: &'a RunContext) -> BoxFuture<'a, Result<ToolOutput, ToolError>> {
        Box::pin(async {
            self.0.fetch_add(1, Ordering::Relaxed);
            Ok(ToolOutput::ok("ran"))
        })
    }
}

impl ToolSpec for Late {
    fn capabilities(&self) -> CapabilitySet {
        CapabilitySet::of(&[Capability::ReadOnly])
    }
    fn exposure(&self) -> Exposure {
        Exposure::Deferred
    }
}

#[tokio::test(start_paused = true)]
async fn a_deferred_tool_is_answered_with_its_schema_and_runs_when_it_is_called_again() {
    let fits = r#"{"search":"x"}"#;
    let responses = [
        call(&[("a", "late", r#"{"old_string":"x"}"#), ("b", "late", fits), ("c", "late", "{do}")]),
        call(&[("d", "late", fits)]),
        say(""),
    ];
    let mut fixture = fixture(&responses, NoChannel);
    let runs = Arc::new(AtomicUsize::new(0));
    fixture.session.dispatcher = Arc::new(Registry::new([Arc::new(Late(Arc::clone(&runs))) as Arc<dyn ToolSpec>]));
    fixture.session.run("go", &CancellationToken::new()).await;
    let found = results(fixture.session.conversation());
    assert!(found[0].starts_with("a failed The tool \"late\" had not been loaded"), "{found:?}");
    assert!(found[0].contains("retry_required: true") && found[0].contains("old_string -> search"), "{found:?}");
    // Its siblings were written before the answer was read, whether they fit or not.
    assert!(found[1].contains("NOT executed") && found[2].contains("could not be read"), "{found:?}");
    assert_eq!(found[3], "d ok ran");
    assert_eq!(runs.load(Ordering::Relaxed), 1);
}

#[test]
fn an_undeclared_field_of_an_open_schema_is_named_in_the_result() {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().start_paused(true).build().unwrap();
    runtime.block_on(async {
        let odd = r#"{"search":"x","serch":"y"}"#;
        let mut fixture = fixture(&[call(&[("a", "late", "{}")]), call(&[("b", "late", odd)]), say("")], NoChannel);
        fixture.session.dispatcher = Arc::new(Registry::new([Arc::new(Late(Arc::default())) as Arc<dyn ToolSpec>]));
        fixture.session.run("go", &CancellationToken::new()).await;
        let found = results(fixture.session.conversation());
        assert_eq!(found[1], "b ok ran\n\n[the tool declares no field \"serch\"; it was passed on as it is]");
    });
}

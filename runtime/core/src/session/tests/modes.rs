//! The mode of a session, and the count of its user turns.

use super::*;
use crate::contract::ToolMetadata;
use crate::dispatch::Refusal;
use crate::mode::{ModeGate, PlanMode, UserTurns};

/// What calls are answered where everything is approved and this gate is asked, and how often a tool ran.
#[track_caller]
fn check(gate: impl ModeGate + 'static, calls: &[(&str, &str, &str)], expect: &[&str], runs: usize) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().start_paused(true).build().unwrap();
    let answers = runtime.block_on(async {
        let mut fixture = fixture(&[super::call(calls), say("")], Unattended);
        fixture.session.policies.mode = Arc::new(gate);
        fixture.session.run("go", &CancellationToken::new()).await;
        (results(fixture.session.conversation()), fixture.runs.load(Ordering::Relaxed))
    });
    for (answer, expect) in answers.0.iter().zip(expect) {
        assert!(answer.starts_with(expect), "{answer} does not start with {expect}");
    }
    assert_eq!((answers.0.len(), answers.1), (expect.len(), runs));
}

fn on() -> PlanMode {
    let mode = PlanMode::default();
    mode.enter();
    mode
}

#[test]
fn in_plan_mode_only_looks_run_whatever_is_approved() {
    let calls = [("l", "look", OK), ("w", "write", OK), ("x", "exec", OK)];
    let expect = ["l ok", "w failed the session is in plan mode", "x failed the session is in plan mode"];
    check(on(), &calls, &expect, 1);
    check(PlanMode::default(), &calls, &["l ok", "w ok", "x ok"], 3);
}

#[test]
fn a_call_made_by_another_is_asked_about_as_well() {
    let nest = r#"{"do":"nest:exec:x"}"#;
    check(on(), &[("n", "any", nest)], &["n ok the session is in plan mode"], 1);
    check(PlanMode::default(), &[("n", "any", nest)], &["n ok did"], 3);
}

#[test]
fn a_gate_that_panics_has_refused() {
    struct Broken;
    impl ModeGate for Broken {
        fn admit(&self, _: &ToolMetadata) -> Result<(), Refusal> {
            panic!("planted")
        }
    }
    check(Broken, &[("l", "look", OK)], &["l failed the mode of the session could not be told"], 0);
}

#[test]
fn a_mode_that_changes_while_somebody_is_asked_holds() {
    struct Meanwhile(PlanMode);
    impl ApprovalPolicy for Meanwhile {
        fn decide<'a>(&'a self, _: &'a ApprovalQuestion) -> BoxFuture<'a, crate::approval::ApprovalDecision> {
            self.0.enter();
            Box::pin(async { crate::approval::approved(crate::approval::Decider::Person) })
        }
    }
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().start_paused(true).build().unwrap();
    runtime.block_on(async {
        let mode = PlanMode::default();
        let calls = super::call(&[("w", "write", OK)]);
        let mut fixture = fixture(&[calls, say("")], Meanwhile(mode.clone()));
        fixture.session.policies.mode = Arc::new(mode);
        fixture.session.run("go", &CancellationToken::new()).await;
        let answers = results(fixture.session.conversation());
        assert!(answers[0].starts_with("w failed the session is in plan mode"), "{answers:?}");
        assert_eq!(fixture.runs.load(Ordering::Relaxed), 0);
    });
}

#[test]
fn each_prompt_is_a_user_turn() {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().start_paused(true).build().unwrap();
    runtime.block_on(async {
        let turns = UserTurns::default();
        let mut session = fixture(&[say("a"), say("b")], Unattended).session.counting(turns.clone());
        session.run("one", &CancellationToken::new()).await;
        session.run("two", &CancellationToken::new()).await;
        assert_eq!(turns.current(), 2);
    });
}

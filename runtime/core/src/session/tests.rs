//! Whole sessions against scripted bytes over in-memory pipes.

mod arguments;
mod batches;
mod early;
mod fixture;
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
use crate::transport::{Endpoint, HttpLimits};
use fixture::{
    OK, Probe, STALL, assert_paired, call, call_with, check, completed, fixture, fixture_with, results, say, stream,
};
use futures_util::FutureExt;
use serde_json::{Value, json};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

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

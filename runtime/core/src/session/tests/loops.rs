//! What a session does with a model that repeats itself.

use super::*;

/// A call of `tool` with an invalid input that `n` makes different.
fn numbered(tool: &str, n: usize) -> String {
    call(&[(&format!("c{n}"), tool, &format!(r#"{{"did":{n}}}"#))])
}

const BLOCKED: &str = "was already made 2 times in this turn with the same arguments, so it was NOT executed";

#[test]
fn the_third_of_a_turn_is_blocked_and_its_siblings_run() {
    let calls = call(&[("a", "look", OK), ("b", "look", OK), ("c", "look", OK), ("d", "look", r#"{"do":"other"}"#)]);
    let blocked = format!("c failed this call of \"look\" {BLOCKED}");
    assert_eq!(check(&[calls, say("")], NoChannel, &["a ok", "b ok", &blocked, "d ok"]).1, 3);
}

#[test]
fn a_change_within_one_turn_excuses_looking_again() {
    let calls = call(&[("a", "look", OK), ("b", "look", OK), ("w", "write", OK), ("c", "look", OK)]);
    let responses = [calls, say("")];
    assert_eq!(check(&responses, Unattended, &["a ok", "b ok", "w ok", "c ok"]).1, 4);
    // A change that nobody allowed is none.
    check(&responses, NoChannel, &["a ok", "b ok", "w failed", "c failed this call of \"look\""]);
}

#[test]
fn calls_that_were_refused_before_are_counted_too() {
    let calls = call(&[("a", "nope", OK), ("b", "nope", OK), ("c", "nope", r#"{ "do": "it" }"#)]);
    let blocked = format!("c failed this call of \"nope\" {BLOCKED}");
    check(&[calls, say("")], NoChannel, &["a failed there is no", "b failed there is no", &blocked]);
}

#[test]
fn inner_calls_are_counted_with_the_others() {
    let calls = call(&[("l", "look", OK), ("x", "exec", r#"{"do":"nest:look:it"}"#), ("m", "look", OK)]);
    // The outer call succeeded and may have changed something, so the last one is no repetition.
    let expect = ["l ok", "x ok did \"it\" | this call of \"look\"", "m ok"];
    assert_eq!(check(&[calls, say("")], Unattended, &expect).1, 4);
}

#[test]
fn each_prompt_starts_anew() {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().start_paused(true).build().unwrap();
    runtime.block_on(async {
        let twice = || call(&[("a", "look", OK), ("b", "look", OK)]);
        let mut fixture = fixture(&[twice(), say("one"), twice(), say("two")], NoChannel);
        for _ in 0..2 {
            fixture.session.run("go", &CancellationToken::new()).await;
        }
        assert_eq!(fixture.runs.load(Ordering::Relaxed), 4);
    });
}

/// Nine calls of one tool, in a wording of its own each; then words.
fn failing() -> Vec<String> {
    let calls: Vec<(String, String)> = (0..9).map(|n| (format!("c{n}"), format!(r#"{{"do":"fail {n}"}}"#))).collect();
    let calls: Vec<(&str, &str, &str)> =
        calls.iter().map(|(id, input)| (id.as_str(), "exec", input.as_str())).collect();
    vec![call(&calls), say("resumed")]
}

#[tokio::test(start_paused = true)]
async fn eight_failures_in_a_row_pause_the_turn_and_a_prompt_resumes_it() {
    let mut fixture = fixture(&failing(), DenyAll);
    let outcome = fixture.session.run("go", &CancellationToken::new()).await;
    assert_eq!(outcome, Outcome::Paused { reason: "\"exec\" failed 8 times in a row".into() });
    assert_eq!(fixture.script.requests.lock().unwrap().len(), 1);
    let conversation = fixture.session.conversation();
    assert_paired(conversation);
    let found = results(conversation);
    assert!(found[2].contains("[\"exec\" has failed 3 times in a row"), "{found:?}");
    assert!(found[7].contains("so the turn was paused"), "{found:?}");
    assert!(found[8].starts_with("c8 failed the turn was paused"), "{found:?}");
    assert_eq!(fixture.session.run("go on", &CancellationToken::new()).await, completed("resumed"));
    let log = serde_json::to_string(&fixture.session.log().canonical()).unwrap();
    assert!(log.contains(r#""event":"loop_warned","tool":"exec","failures":3"#), "{log}");
    assert!(log.contains(r#""event":"loop_paused","tool":"exec","failures":8"#), "{log}");
    assert!(log.contains(r#""event":"session_ended","outcome":"paused""#), "{log}");
}

#[tokio::test(start_paused = true)]
async fn failures_are_counted_over_the_turns_of_a_prompt() {
    let mut responses: Vec<String> = (0..9).map(|n| numbered("look", n)).collect();
    responses.push(say("never said"));
    let mut fixture = fixture(&responses, NoChannel);
    let outcome = fixture.session.run("go", &CancellationToken::new()).await;
    assert_eq!(outcome.as_str(), "paused");
    assert_eq!(fixture.script.requests.lock().unwrap().len(), 8);
}

#[tokio::test(start_paused = true)]
async fn a_cancelled_call_is_no_failure() {
    let hang = r#"{"do":"hang"}"#;
    let mut fixture = fixture(&[call(&[("a", "exec", hang)])], Unattended);
    let (cancel, runs) = (CancellationToken::new(), Arc::clone(&fixture.runs));
    let stop = cancel.clone();
    tokio::spawn(async move {
        while runs.load(Ordering::Relaxed) < 1 {
            tokio::task::yield_now().await;
        }
        stop.cancel();
    });
    struct NeverTold;
    impl crate::dispatch::LoopGuard for NeverTold {
        fn user_turn(&self) -> Arc<dyn LoopTurn> {
            Arc::new(NeverTold)
        }
    }
    impl LoopTurn for NeverTold {
        fn admit(&self, _: &crate::dispatch::Attempt) -> Result<(), crate::dispatch::Refusal> {
            Ok(())
        }
        fn record(&self, _: &crate::dispatch::Attempt, _: bool) -> crate::dispatch::LoopAdvice {
            panic!("a cancelled call was recorded")
        }
    }
    fixture.session.policies.loops = Arc::new(NeverTold);
    assert_eq!(fixture.session.run("go", &cancel).await, Outcome::Cancelled);
}

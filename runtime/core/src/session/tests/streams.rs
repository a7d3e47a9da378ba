//! What a session makes of responses that fail, stall or end too early.

use super::*;

#[test]
fn a_turn_without_a_terminal_signal_runs_nothing() {
    let (outcome, runs) = check(&[call_with(&[("c1", "look", OK)], None)], Unattended, &[]);
    assert!(matches!(&outcome, Outcome::Failed { cause, .. } if cause == "stream_cut"), "{outcome:?}");
    assert_eq!(runs, 0);
}

#[test]
fn a_stream_that_broke_before_anything_came_is_asked_for_again() {
    let (outcome, _) =
        check(&[stream(&[]), "HTTP/1.1 503 x\r\ncontent-length: 0\r\n\r\n".into(), say("hi")], NoChannel, &[]);
    assert_eq!(outcome, completed("hi"));
}

#[test]
fn what_is_too_large_is_not_asked_for_again() {
    let line = format!("data: {}\n\n", "x".repeat(17 << 20));
    let response = format!("{}{line}", stream(&[]));
    let (outcome, _) = check(&[response, say("hi")], NoChannel, &[]);
    assert!(matches!(&outcome, Outcome::Failed { cause, .. } if cause == "event_too_large"), "{outcome:?}");
    // More calls than a turn may have.
    let calls: Vec<String> = (0..1100).map(|n| format!("c{n}")).collect();
    let calls: Vec<(&str, &str, &str)> = calls.iter().map(|id| (id.as_str(), "look", OK)).collect();
    let (outcome, runs) = check(&[call(&calls), say("hi")], NoChannel, &[]);
    assert!(matches!(&outcome, Outcome::Failed { cause, .. } if cause == "turn_too_large"), "{outcome:?}");
    assert_eq!(runs, 0);
}

#[test]
fn a_server_that_always_fails_is_left_after_its_attempts() {
    let (outcome, _) = check(&["HTTP/1.1 503 x\r\ncontent-length: 4\r\n\r\nbusy".into()], NoChannel, &[]);
    assert_eq!(
        outcome,
        Outcome::Failed { cause: "error_status".into(), detail: "the model server answered 503: busy".into() }
    );
}

#[tokio::test(start_paused = true)]
async fn a_retry_sends_the_same_request() {
    let mut fixture = fixture(&[stream(&[]), say("hi")], NoChannel);
    fixture.session.run("go", &CancellationToken::new()).await;
    let requests = fixture.script.requests.lock().unwrap();
    assert_eq!(requests.len(), 2);
    assert_eq!(requests[0], requests[1]);
}

/// The virtual time that a run takes, and how it ends.
#[track_caller]
fn check_time(responses: &[String], expect: Duration) -> Outcome {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().start_paused(true).build().unwrap();
    runtime.block_on(async move {
        let mut fixture = fixture(responses, NoChannel);
        let before = tokio::time::Instant::now();
        let outcome = fixture.session.run("go", &CancellationToken::new()).await;
        assert_eq!(before.elapsed(), expect);
        outcome
    })
}

fn busy(head: &str) -> String {
    format!("HTTP/1.1 429 x\r\n{head}content-length: 0\r\n\r\n")
}

#[test]
fn a_server_that_asks_for_time_gets_it_within_the_limit() {
    assert_eq!(check_time(&[busy("retry-after: 7\r\n"), say("hi")], Duration::from_secs(7)), completed("hi"));
    assert_eq!(check_time(&[busy("retry-after: 99999\r\n"), say("hi")], Duration::from_secs(60)), completed("hi"));
    assert_eq!(check_time(&[busy("retry-after: 0\r\n"), say("hi")], Duration::ZERO), completed("hi"));
}

#[test]
fn without_a_wish_the_wait_doubles() {
    let soon = "retry-after: Tue, 01 Dec 2026 00:00:00 GMT\r\n";
    let responses = [busy(""), busy(soon), say("hi")];
    assert_eq!(check_time(&responses, Duration::from_millis(1500)), completed("hi"));
}

#[test]
fn a_stream_that_stalls_before_anything_came_is_asked_for_again() {
    let responses = [stream(&[]) + STALL, say("hi")];
    assert_eq!(check_time(&responses, Duration::from_millis(120_500)), completed("hi"));
}

#[test]
fn a_stream_that_stalls_after_its_first_words_is_reported_and_not_repeated() {
    let words = stream(&[json!({"choices": [{"index": 0, "delta": {"content": "I will"}}]})]);
    let outcome = check_time(&[words + STALL, say("hi")], Duration::from_secs(120));
    assert!(matches!(&outcome, Outcome::Failed { cause, .. } if cause == "timeout"), "{outcome:?}");
}

#[test]
fn an_error_inside_the_stream_ends_the_turn_at_once_although_the_connection_stays_open() {
    let words = json!({"choices": [{"index": 0, "delta": {"content": "I will"}}]});
    let fault = json!({"error": {"message": "overloaded"}});
    let outcome = check_time(&[stream(&[words, fault]) + STALL], Duration::ZERO);
    let detail = "the model server reported an error: overloaded".to_owned();
    assert_eq!(outcome, Outcome::Failed { cause: "provider_error".into(), detail });
}

#[test]
fn comments_keep_a_connection_open_but_are_no_answer() {
    let responses = [stream(&[]) + ": alive\n\n" + STALL, say("hi")];
    assert_eq!(check_time(&responses, Duration::from_millis(300_500)), completed("hi"));
}

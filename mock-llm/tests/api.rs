//! The short way for Rust tests: what it accepts, and what its panics say.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test may fail")]

mod support;

use mock_llm::{MockLlm, Reply, TestMock};
use serde_json::json;
use std::panic::{AssertUnwindSafe, catch_unwind};
use support::{Client, chat, history, result, user};

/// A mock with two replies, and an agent that plays `rounds` of the three requests it knows.
async fn played(rounds: usize) -> TestMock {
    let mock = MockLlm::start().await.unwrap();
    mock.reply(Reply::call("c1", "read_file", json!({"path": "a"}))).reply(Reply::text("done"));
    let addr = mock.base_url().replace("http://", "").replace("/v1", "");
    let mut client = Client::new(tokio::net::TcpStream::connect(addr).await.unwrap());
    let answered = history(&["c1"], &[result("c1", "hello")]);
    let mut over = answered.clone();
    over.extend([json!({"role": "assistant", "content": "done"}), user("more")]);
    for messages in [vec![user("go")], answered, over].into_iter().take(rounds) {
        client.post(&chat(&messages)).await;
    }
    mock
}

/// What a call panics with, empty when it does not.
fn panic_of(run: impl FnOnce()) -> String {
    let payload = catch_unwind(AssertUnwindSafe(run)).err();
    payload
        .map(|payload| payload.downcast::<String>().map_or_else(|_| "?".to_owned(), |text| *text))
        .unwrap_or_default()
}

#[track_caller]
fn check(run: impl FnOnce(), expect: &str) {
    let got = panic_of(run);
    if expect.is_empty() {
        assert_eq!(got, "");
    } else {
        assert!(got.contains(expect), "{got}");
    }
}

#[tokio::test]
async fn a_script_that_played_out_is_silent() {
    let mock = played(2).await;
    mock.assert_result("c1", |text| text == "hello");
    mock.assert_requests(2);
    mock.assert_valid();
    check(move || drop(mock), "");
}

#[tokio::test]
async fn a_reply_that_was_never_asked_for_fails_the_test() {
    let mock = played(1).await;
    check(move || drop(mock), "not reached: turn 1 (says \"done\")");
}

#[tokio::test]
async fn a_surplus_request_fails_the_test() {
    let mock = played(3).await;
    check(move || drop(mock), "unexpected: request 2: the script ends with turn 1, which this history already holds");
}

#[tokio::test]
async fn assertions_say_what_they_saw() {
    let mock = played(2).await;
    check(|| mock.assert_result("c1", str::is_empty), "the result of call `c1` is not as expected: \"hello\"");
    check(
        || mock.assert_result("c2", |_| true),
        "no request holds a result for call `c2`; 2 arrived, with results for [c1]",
    );
    check(|| mock.assert_requests(5), "expected 5 requests, 2 arrived");
    check(
        || {
            mock.reply(Reply::call("c1", "x", json!({})));
        },
        "call id `c1` is taken",
    );
    assert!(mock.finish().is_clean());
}

#[tokio::test]
async fn finishing_hands_the_report_back() {
    let report = played(0).await.finish();
    assert_eq!(report.unserved.len(), 2);
}

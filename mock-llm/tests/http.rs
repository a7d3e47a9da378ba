//! The mock over real sockets and over an in-process stream, driven by a client of a few lines.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test may fail")]

mod support;

use mock_llm::script::{Delivery, End};
use mock_llm::{Config, JournalMode, MockLlm, Script, SideTraffic};
use serde_json::{Value, json};
use std::time::Duration;
use support::{Client, call, chat, history, result, script, text, tools, user};

/// A mock on a free port, and a client connected to it.
async fn over_tcp(script: Script) -> (MockLlm, mock_llm::Listening, Client<tokio::net::TcpStream>) {
    let mock = MockLlm::new(script);
    let listening = mock.listen("127.0.0.1:0".parse().unwrap()).await.unwrap();
    let client = Client::new(tokio::net::TcpStream::connect(listening.addr()).await.unwrap());
    (mock, listening, client)
}

/// A client on the other end of an in-process stream.
fn in_process(mock: &MockLlm) -> Client<tokio::io::DuplexStream> {
    let (near, far) = tokio::io::duplex(64 << 10);
    tokio::spawn(mock.serve_io(far));
    Client::new(near)
}

fn two_turns() -> Script {
    script(vec![call("c1", "read_file", json!({"path": "ü"})), text("done")])
}

#[tokio::test]
async fn a_script_is_played_over_a_kept_connection() {
    let (mock, listening, mut client) = over_tcp(two_turns()).await;
    let first = client.post(&chat(&[user("go")])).await;
    assert_eq!(first.status, 200);
    assert!(first.body.contains(r#""name":"read_file""#), "{}", first.body);
    assert!(first.body.ends_with("data: [DONE]\n\n"), "{}", first.body);
    let second = client.post(&chat(&history(&["c1"], &[result("c1", "hello")]))).await;
    assert!(second.body.contains(r#""content":"done""#), "{}", second.body);
    assert!(mock.finish().is_clean(), "{}", mock.finish());
    assert_eq!(mock.requests()[1].results().collect::<Vec<_>>(), [("c1", "hello")]);
    assert_eq!(mock.requests().iter().map(|r| r.turn).collect::<Vec<_>>(), [Some(0), Some(1)]);
    listening.stop().await;
}

#[tokio::test]
async fn a_retry_gets_the_same_bytes() {
    let (mock, _listening, mut client) = over_tcp(two_turns()).await;
    let first = client.post(&chat(&[user("go")])).await;
    let again = client.post(&chat(&[user("go")])).await;
    assert_eq!(first, again);
    assert_eq!(mock.served()[0].times, 2);
    assert_eq!(mock.finish().unserved, [r#"turn 1 (says "done")"#]);
}

#[tokio::test]
async fn every_delivery_gives_the_same_body() {
    let mut bodies = Vec::new();
    for delivery in [Delivery::Frames, Delivery::Bytes, Delivery::Random, Delivery::Coalesced] {
        let mut script = two_turns();
        script.turns[0].delivery = delivery;
        let mock = MockLlm::new(script);
        let response = in_process(&mock).post(&chat(&[user("go")])).await;
        let carried: usize = writes(&mock).iter().map(|(_, len)| len).sum();
        assert_eq!(carried, response.body.len());
        bodies.push(response.body);
    }
    bodies.dedup();
    assert_eq!(bodies.len(), 1);
}

/// Offset and length of every write of the first response.
fn writes(mock: &MockLlm) -> Vec<(u64, usize)> {
    let lines = mock.journal().to_jsonl();
    let entries = lines.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    entries
        .filter(|entry| entry["event"] == "wrote")
        .map(|entry| (entry["offset"].as_u64().unwrap(), entry["len"].as_u64().unwrap() as usize))
        .collect()
}

#[tokio::test]
async fn a_cut_is_a_write_of_its_own() {
    let cut: mock_llm::script::Cut = serde_json::from_value(json!({"inside": "ü", "byte": 1})).unwrap();
    let mut script = two_turns();
    script.turns[0].delivery = Delivery::Coalesced;
    script.turns[0].cut = vec![cut];
    let mock = MockLlm::new(script);
    let response = in_process(&mock).post(&chat(&[user("go")])).await;
    let at = response.body.find('ü').unwrap() + 1;
    assert_eq!(writes(&mock), [(0, at), (at as u64, response.body.len() - at)]);
}

#[tokio::test]
async fn coalesced_is_one_write() {
    let mut script = two_turns();
    script.turns[0].delivery = Delivery::Coalesced;
    let mock = MockLlm::new(script);
    in_process(&mock).post(&chat(&[user("go")])).await;
    assert_eq!(writes(&mock).len(), 1);
}

#[tokio::test]
async fn a_request_without_stream_gets_a_document() {
    let mock = MockLlm::new(two_turns());
    let body = json!({"model": "m", "messages": [user("go")], "tools": tools()}).to_string();
    let response = in_process(&mock).post(&body).await;
    let value: Value = serde_json::from_str(&response.body).unwrap();
    assert_eq!(value["choices"][0]["message"]["tool_calls"][0]["id"], "c1");
}

#[tokio::test]
async fn an_unknown_state_is_an_error_that_names_the_nearest_step() {
    let mock = MockLlm::new(two_turns());
    let response = in_process(&mock).post(&chat(&history(&["zz"], &[result("zz", "?")]))).await;
    assert_eq!((response.status, response.header("x-should-retry")), (500, Some("false")));
    let report = mock.finish();
    assert_eq!(
        report.unexpected,
        ["request 0: the history holds call `zz`, which no turn made; the nearest expected step is turn 0 (calls c1)"]
    );
    assert_eq!(report.unserved.len(), 2);
}

#[tokio::test]
async fn a_stream_may_lack_its_end() {
    for (end, whole) in [(End::NoTerminal, true), (End::Disconnect, false)] {
        let mut script = two_turns();
        script.turns[0].end = end;
        let response = in_process(&MockLlm::new(script)).post(&chat(&[user("go")])).await;
        assert!(response.body.contains("c1") && !response.body.contains("[DONE]"), "{}", response.body);
        assert_eq!(response.complete, whole);
    }
}

#[tokio::test]
async fn routes_beside_the_conversation_are_answered() {
    let mock = MockLlm::new(two_turns());
    let mut client = in_process(&mock);
    for (method, path, status, holds) in [
        ("GET", "/", 200, "ok"),
        ("HEAD", "/", 200, ""),
        ("GET", "/v1/models", 200, "mock-model"),
        ("GET", "/v1/chat/completions", 404, "no route for GET /v1/chat/completions"),
        ("POST", "/v1/embeddings", 404, "no route for POST /v1/embeddings"),
    ] {
        let response = client.request(method, path, "").await;
        assert_eq!(response.status, status, "{method} {path}");
        assert!(response.body.contains(holds), "{method} {path}: {}", response.body);
    }
    let malformed = client.post("{\"messages\": 5}").await;
    assert_eq!(malformed.status, 400);
    assert!(mock.requests().is_empty());
}

#[tokio::test]
async fn side_traffic_moves_nothing() {
    let side = SideTraffic { name: "title".into(), no_tools: Some(true), reply: "T".into(), ..SideTraffic::default() };
    let mock = MockLlm::with_config(two_turns(), Config { side: vec![side], ..Config::default() });
    let mut client = in_process(&mock);
    let title = client.post(&json!({"model": "m", "stream": true, "messages": [user("name this")]}).to_string()).await;
    assert!(title.body.contains(r#""content":"T""#), "{}", title.body);
    let first = client.post(&chat(&[user("go")])).await;
    assert!(first.body.contains("c1"));
    let mut trace = slot_oracles::WireTrace::default();
    mock.fill(&mut trace);
    assert_eq!((trace.side_requests, trace.requests.len(), trace.served[0].times), (1, 1, 1));
}

#[tokio::test]
async fn a_strict_mock_refuses_what_a_provider_refuses() {
    let bad = chat(&history(&["c1"], &[]));
    let lenient = MockLlm::new(two_turns());
    assert_eq!(in_process(&lenient).post(&bad).await.status, 200);
    let strict = MockLlm::with_config(two_turns(), Config { strict: true, ..Config::default() });
    let response = in_process(&strict).post(&bad).await;
    assert_eq!(response.status, 400);
    assert!(response.body.contains("the call has no result"), "{}", response.body);
}

#[tokio::test(start_paused = true)]
async fn a_gate_holds_a_response_until_it_is_opened() {
    let mut script = two_turns();
    script.turns[0].gate = Some("g".into());
    let mock = MockLlm::new(script);
    let mut client = in_process(&mock);
    let answered = tokio::spawn(async move { client.post(&chat(&[user("go")])).await });
    mock.wait_for_requests(1, Duration::from_secs(60)).await.unwrap();
    assert!(!answered.is_finished());
    assert!(writes(&mock).is_empty());
    mock.open_gate("g");
    assert!(answered.await.unwrap().body.contains("c1"));
}

#[tokio::test(start_paused = true)]
async fn a_client_that_leaves_a_held_response_is_noticed() {
    let mut script = two_turns();
    script.turns[0].gate = Some("g".into());
    let mock = MockLlm::new(script);
    let (mut near, far) = tokio::io::duplex(64 << 10);
    let served = tokio::spawn(mock.serve_io(far));
    Client::send(&mut near, "POST", "/v1/chat/completions", &chat(&[user("go")])).await;
    mock.wait_for_requests(1, Duration::from_secs(60)).await.unwrap();
    drop(near);
    served.await.unwrap();
    assert!(mock.journal().to_jsonl().contains("the client closed while its response was held"));
}

#[tokio::test(start_paused = true)]
async fn waiting_for_requests_is_bounded() {
    let mock = MockLlm::new(two_turns());
    let error = mock.wait_for_requests(1, Duration::from_secs(5)).await.unwrap_err();
    assert_eq!((error.arrived, error.wanted), (0, 1));
}

#[tokio::test]
async fn operations_are_bound_at_the_first_tools() {
    let call = json!({"id": "c1", "op": "READ", "with": {"path": "$WORKSPACE/a"}});
    let turn = serde_json::from_value(json!({"call": [call]})).unwrap();
    let mut config = Config::default();
    config.folders.workspace = Some("/w".into());
    let mock = MockLlm::with_config(script(vec![turn, text("done")]), config);
    let response = in_process(&mock).post(&chat(&[user("go")])).await;
    assert!(response.body.contains("read_file"), "{}", response.body);
    assert_eq!(mock.served()[0].calls[0].arguments, r#"{"path":"/w/a"}"#);
    assert!(mock.journal().to_jsonl().contains(r#""event":"bound""#));
}

#[tokio::test]
async fn an_operation_without_a_tool_is_no_verdict() {
    let call = json!({"id": "c1", "op": "FETCH", "with": {"url": "http://x"}});
    let turn = serde_json::from_value(json!({"call": [call]})).unwrap();
    let mock = MockLlm::new(script(vec![turn]));
    let response = in_process(&mock).post(&chat(&[user("go")])).await;
    assert_eq!(response.status, 500);
    let unbound = mock.finish().unbound;
    assert_eq!(unbound[0].to_string(), "op FETCH is not bound: no tool stands for it among [read_file]");
}

#[tokio::test]
async fn a_script_is_played_in_every_dialect() {
    let parameters = &tools()[0]["function"]["parameters"];
    let go = user("go");
    let call = json!({"id": "c1", "type": "tool_use", "name": "read_file", "input": {}});
    let answer = json!({"type": "tool_result", "tool_use_id": "c1", "content": "hello"});
    let messages = json!([go, {"role": "assistant", "content": [call]}, {"role": "user", "content": [answer]}]);
    let anthropic = |messages: Value| json!({"model": "m", "max_tokens": 9, "stream": true, "messages": messages, "tools": [{"name": "read_file", "input_schema": parameters}]});
    let call = json!({"type": "function_call", "call_id": "c1", "name": "read_file", "arguments": "{}"});
    let answer = json!({"type": "function_call_output", "call_id": "c1", "output": "hello"});
    let responses = |input: Value| json!({"model": "m", "stream": true, "input": input, "tools": [{"type": "function", "name": "read_file", "parameters": parameters}]});
    for (path, first, second, ends) in [
        ("/v1/messages?beta=true", anthropic(json!([go])), anthropic(messages), "event: message_stop"),
        ("/v1/responses", responses(json!([go])), responses(json!([go, call, answer])), "event: response.completed"),
    ] {
        let turn = json!({"call": [{"id": "c1", "op": "READ", "with": {"path": "a"}}]});
        let mock = MockLlm::new(script(vec![serde_json::from_value(turn).unwrap(), text("done")]));
        let mut client = in_process(&mock);
        let opened = client.request("POST", path, &first.to_string()).await;
        assert!(opened.body.contains("read_file") && opened.body.contains(ends), "{}", opened.body);
        let closed = client.request("POST", path, &second.to_string()).await;
        assert!(closed.body.contains("done") && closed.body.contains(ends), "{}", closed.body);
        assert_eq!(mock.requests()[1].results().collect::<Vec<_>>(), [("c1", "hello")]);
        assert!(mock.finish().is_clean(), "{}", mock.finish());
        assert!(mock.journal().requests().all(|request| request.objections.is_empty()));
    }
}

#[tokio::test]
async fn a_mock_without_a_journal_answers_as_one_with_it() {
    let longer = chat(&[user("go"), user("your reply was cut off")]);
    let (first, second) = (chat(&[user("go")]), chat(&history(&["c1"], &[result("c1", "ok")])));
    // The longer request is the first state until the shorter one was answered; then it goes on from there.
    let asked = [&longer, &longer, &first, &longer, &first, &first, &second, &first, &second, &longer];
    let played = async |journal| {
        let mock = MockLlm::with_config(two_turns(), Config { journal, ..Config::default() });
        let mut client = in_process(&mock);
        let mut bodies = Vec::new();
        for body in asked {
            bodies.push(client.post(body).await);
        }
        (bodies, mock.served(), mock.finish())
    };
    let full = played(JournalMode::Full).await;
    assert_ne!(full.0[1], full.0[3], "the same request, in another state");
    assert_eq!(played(JournalMode::Off).await, full);
}

//! Faults as a client meets them, over real sockets where a reset or a closed connection is the point.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test may fail")]

mod support;

use mock_llm::{MockLlm, Script};
use serde_json::{Value, json};
use std::time::Duration;
use support::{Client, chat, history, result, script, text, user};
use tokio::io::{AsyncReadExt, AsyncWriteExt};

/// A turn that says "hello" under these faults, and what follows it.
fn turns(fields: Value) -> Script {
    let mut turn = json!({"say": "hello"});
    turn.as_object_mut().unwrap().extend(fields.as_object().unwrap().clone());
    script(vec![serde_json::from_value(turn).unwrap(), text("done")])
}

fn under(fault: Value) -> MockLlm {
    MockLlm::new(turns(json!({"fault": fault})))
}

fn in_process(mock: &MockLlm) -> Client<tokio::io::DuplexStream> {
    let (near, far) = tokio::io::duplex(64 << 10);
    tokio::spawn(mock.serve_io(far));
    Client::new(near)
}

/// What a bare socket reads until the connection ends, and how it ends.
async fn over_tcp(mock: &MockLlm) -> (Vec<u8>, Option<std::io::ErrorKind>) {
    let listening = mock.listen("127.0.0.1:0".parse().unwrap()).await.unwrap();
    let mut socket = tokio::net::TcpStream::connect(listening.addr()).await.unwrap();
    Client::send(&mut socket, "POST", "/v1/chat/completions", &chat(&[user("go")])).await;
    let mut read = Vec::new();
    let end = tokio::time::timeout(Duration::from_secs(30), socket.read_to_end(&mut read)).await.unwrap();
    (read, end.err().map(|error| error.kind()))
}

/// The contents of a stream's deltas.
fn said(body: &str) -> Vec<String> {
    let frames = body.split("\n\n").filter_map(|frame| frame.strip_prefix("data: {"));
    let values = frames.map(|rest| serde_json::from_str::<Value>(&format!("{{{rest}")).unwrap());
    let texts = values.filter_map(|value| Some(value["choices"][0]["delta"]["content"].as_str()?.to_owned()));
    texts.filter(|text| !text.is_empty()).collect()
}

#[tokio::test]
async fn a_reset_breaks_the_connection_after_what_was_sent() {
    let mock = under(json!({"then": "reset", "at": {"after": "hell"}}));
    let (read, end) = over_tcp(&mock).await;
    assert!(String::from_utf8(read).unwrap().trim_end().ends_with("\"content\":\"hell"));
    assert_eq!(end, Some(std::io::ErrorKind::ConnectionReset));
    assert!(!mock.served()[0].terminal);
}

#[tokio::test]
async fn a_reset_may_come_before_the_head() {
    let mock = under(json!({"then": "reset", "before_head": true}));
    let (read, end) = over_tcp(&mock).await;
    assert_eq!((read.as_slice(), end), (&b""[..], Some(std::io::ErrorKind::ConnectionReset)));
    assert!(!mock.served()[0].terminal);
}

#[tokio::test]
async fn a_close_ends_the_connection_without_the_last_chunk() {
    let mock = under(json!({"then": "close", "at": {"after": "[DONE]"}}));
    let (read, end) = over_tcp(&mock).await;
    assert!(String::from_utf8(read).unwrap().ends_with("[DONE]\r\n"));
    assert_eq!(end, None);
    assert!(mock.served()[0].terminal, "the stop reason came before the break");
}

#[tokio::test]
async fn half_a_chunk_promises_more_than_it_holds() {
    let (read, _) = over_tcp(&under(json!({"then": "half_chunk", "at": {"after": "hell"}}))).await;
    let read = String::from_utf8(read).unwrap();
    let (size, data) = read.rsplit_once("\r\n").unwrap();
    let size = usize::from_str_radix(size.rsplit_once("\r\n").unwrap().1, 16).unwrap();
    assert_eq!(size, data.len() * 2);
}

#[tokio::test(start_paused = true)]
async fn a_stall_lasts_until_the_client_leaves() {
    let mock = under(json!({"then": "stall", "at": {"after": "hell"}}));
    let (mut near, far) = tokio::io::duplex(64 << 10);
    let served = tokio::spawn(mock.serve_io(far));
    Client::send(&mut near, "POST", "/v1/chat/completions", &chat(&[user("go")])).await;
    let mut read = Vec::new();
    // The clock is paused: the limit runs out at once when nothing more can arrive.
    assert!(tokio::time::timeout(Duration::from_secs(600), near.read_to_end(&mut read)).await.is_err());
    assert!(String::from_utf8(read).unwrap().ends_with("hell\r\n"));
    drop(near);
    served.await.unwrap();
    assert!(mock.journal().to_jsonl().contains("the client closed while its response stalled"));
}

#[tokio::test(start_paused = true)]
async fn a_stall_may_end_at_a_gate() {
    let mock = under(json!({"then": "stall", "at": {"after": "hell"}, "until": "g"}));
    let mut client = in_process(&mock);
    let answered = tokio::spawn(async move { client.post(&chat(&[user("go")])).await });
    mock.wait_for_requests(1, Duration::from_secs(60)).await.unwrap();
    tokio::time::advance(Duration::from_secs(60)).await;
    assert!(!answered.is_finished());
    mock.open_gate("g");
    let response = answered.await.unwrap();
    assert!(response.complete);
    assert_eq!(said(&response.body).concat(), "hello");
}

#[tokio::test]
async fn a_break_without_a_place_takes_one_from_the_seed() {
    let body = |seed| async move {
        let mut script = turns(json!({"fault": {"then": "close"}}));
        script.seed = seed;
        in_process(&MockLlm::new(script)).post(&chat(&[user("go")])).await.body
    };
    assert_eq!(body(1).await, body(1).await);
    assert_ne!(body(1).await, body(2).await);
}

#[tokio::test]
async fn a_length_that_is_too_large_is_never_reached() {
    let (read, end) = over_tcp(&under(json!({"length": 7}))).await;
    let read = String::from_utf8(read).unwrap();
    let (head, body) = read.split_once("\r\n\r\n").unwrap();
    assert!(head.contains(&format!("content-length: {}", body.len() + 7)), "{head}");
    assert_eq!(end, None);
}

#[tokio::test]
async fn frames_come_twice_late_swapped_or_not_at_all() {
    let frame = |edit: &str, holding: Value| json!({"frame": [{"edit": edit, "holding": holding}]});
    for (fault, texts, done) in [
        (frame("duplicate", json!("hell")), vec!["hell", "hell", "o"], 1),
        (frame("swap", json!("hell")), vec!["o", "hell"], 1),
        (frame("late", json!("hell")), vec!["hell", "o", "hell"], 1),
        (frame("drop", json!("hell")), vec!["o"], 1),
        (frame("duplicate", json!("[DONE]")), vec!["hell", "o"], 2),
        (frame("drop", Value::Null), vec!["hell", "o"], 0),
    ] {
        let response = in_process(&under(fault.clone())).post(&chat(&[user("go")])).await;
        assert_eq!(said(&response.body), texts, "{fault}");
        assert_eq!(response.body.matches("[DONE]").count(), done, "{fault}");
    }
}

#[tokio::test]
async fn an_error_event_ends_a_stream() {
    let fault = json!({"frame": [{"edit": "error", "holding": "finish_reason\":\"stop"}]});
    let mock = under(fault);
    let response = in_process(&mock).post(&chat(&[user("go")])).await;
    assert!(response.body.trim_end().ends_with("\"type\":\"server_error\",\"param\":null,\"code\":null}}"));
    assert!(!mock.served()[0].terminal);
}

#[tokio::test]
async fn raw_bytes_go_out_one_write_each() {
    let mock = under(json!({"bytes": ["data: {\\n", "\\xffx\\n\\n"], "content_type": "text/plain"}));
    let (mut near, far) = tokio::io::duplex(64 << 10);
    tokio::spawn(mock.serve_io(far));
    let body = chat(&[user("go")]);
    let head = "POST /v1/chat/completions HTTP/1.1\r\nconnection: close\r\n";
    near.write_all(format!("{head}content-length: {}\r\n\r\n{body}", body.len()).as_bytes()).await.unwrap();
    let mut read = Vec::new();
    near.read_to_end(&mut read).await.unwrap();
    assert!(read.starts_with(b"HTTP/1.1 200 OK\r\ncontent-type: text/plain\r\n"));
    assert!(read.ends_with(b"\r\n\r\n8\r\ndata: {\n\r\n4\r\n\xffx\n\n\r\n0\r\n\r\n"));
}

#[tokio::test]
async fn a_body_may_be_compressed_unasked() {
    let response = over_tcp(&MockLlm::new(turns(json!({"fault": {"gzip": true, "length": 0}})))).await.0;
    let at = response.windows(4).position(|four| four == b"\r\n\r\n").unwrap();
    let head = String::from_utf8(response[..at].to_vec()).unwrap();
    assert!(head.contains("content-encoding: gzip"), "{head}");
    assert_eq!(response[at + 4..at + 6], [0x1f, 0x8b]);
}

#[tokio::test]
async fn failing_attempts_come_first_and_belong_to_their_state() {
    let mock = MockLlm::new(script(vec![
        serde_json::from_value(json!({
            "call": [{"id": "c1", "tool": "read_file", "with": {}}],
            "attempt": [{"status": 429, "retry_after": "1", "message": "slow down"}, {"then": "close"}],
        }))
        .unwrap(),
        serde_json::from_value(json!({"say": "done", "attempt": [{"status": 529}]})).unwrap(),
    ]));
    let first = chat(&[user("go")]);
    let second = chat(&history(&["c1"], &[result("c1", "ok")]));
    let limited = in_process(&mock).post(&first).await;
    assert_eq!((limited.status, limited.header("retry-after")), (429, Some("1")));
    assert!(limited.body.contains("slow down") && limited.body.contains("rate_limit_exceeded"), "{}", limited.body);
    assert!(!in_process(&mock).post(&first).await.complete);
    assert_eq!(mock.finish().unserved[0], "turn 0 (calls c1), after 2 failing attempts");
    assert!(in_process(&mock).post(&first).await.complete);
    let overloaded = in_process(&mock).post(&second).await;
    assert_eq!((overloaded.status, overloaded.header("retry-after")), (529, None));
    assert!(in_process(&mock).post(&second).await.body.contains("done"));
    assert_eq!(mock.served().iter().map(|turn| turn.times).collect::<Vec<_>>(), [1, 1]);
    assert!(mock.finish().is_clean(), "{}", mock.finish());
}

#[tokio::test]
async fn an_error_body_may_come_under_200() {
    let response = in_process(&under(json!({"status": 200}))).post(&chat(&[user("go")])).await;
    assert_eq!((response.status, response.header("content-type")), (200, Some("application/json")));
    assert!(response.body.starts_with("{\"error\""), "{}", response.body);
}

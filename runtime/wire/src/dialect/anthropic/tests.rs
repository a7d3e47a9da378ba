//! What small streams and conversations of this dialect come to.
#![allow(clippy::unwrap_used)]

use super::*;
use crate::dialect::testing::{self, render};
use crate::dialect::{Declared, DecodeLimits, Dialect, RequestOptions, ToolDeclaration};
use crate::{Conversation, Item, OpaqueBlock, RawCall, Reference, Replay, StreamDecoder};
use serde_json::value::RawValue;
use serde_json::{Value, json};

/// Decodes events, given by their data, and compares the turn, one labelled line per fact.
#[track_caller]
fn check(events: &[&str], expect: &[&str]) {
    let events: Vec<_> = events.iter().map(|event| ("", *event)).collect();
    assert_eq!(testing::decode(Dialect::Anthropic, &events, DecodeLimits::default()), expect);
}

/// Like [`check`], with the stop reason `tool_use` and the last event added; that line is left out of what is compared.
#[track_caller]
fn check_blocks(events: &[&str], expect: &[&str]) {
    let mut events = events.to_vec();
    events.extend([STOP, END]);
    let mut expect = expect.to_vec();
    expect.push("clean ToolCalls");
    check(&events, &expect);
}

const STOP: &str = r#"{"type":"message_delta","delta":{"stop_reason":"tool_use","stop_sequence":null}}"#;
const END: &str = r#"{"type":"message_stop"}"#;

#[test]
fn a_whole_stream() {
    let body = r#"event: message_start
data: {"type":"message_start","message":{"id":"m","type":"message","role":"assistant","content":[],"stop_reason":null,"usage":{"input_tokens":5,"cache_read_input_tokens":7,"cache_creation_input_tokens":1,"output_tokens":1}}}

event: content_block_start
data: {"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}

event: ping
data: {"type": "ping"}

event: content_block_delta
data: {"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"hi"}}

event: content_block_stop
data: {"type":"content_block_stop","index":0}

event: content_block_start
data: {"type":"content_block_start","index":1,"content_block":{"type":"tool_use","id":"t1","name":"x","input":{}}}

event: content_block_delta
data: {"type":"content_block_delta","index":1,"delta":{"type":"input_json_delta","partial_json":""}}

event: content_block_delta
data: {"type":"content_block_delta","index":1,"delta":{"type":"input_json_delta","partial_json":"{\"a\":1}"}}

event: content_block_stop
data: {"type":"content_block_stop","index":1}

event: message_delta
data: {"type":"message_delta","delta":{"stop_reason":"tool_use","stop_sequence":null},"usage":{"output_tokens":9}}

event: message_stop
data: {"type":"message_stop"}

"#;
    for size in [1, 13, body.len()] {
        let mut decoder = StreamDecoder::new(Dialect::Anthropic);
        for chunk in body.as_bytes().chunks(size) {
            decoder.feed(chunk, &mut Vec::new()).unwrap();
        }
        assert!(decoder.ended());
        let expect = ["text hi", r#"call t1 x {"a":1}"#, "usage 13 9 7", "clean ToolCalls"];
        assert_eq!(render(&decoder.finish().0), expect);
    }
}

#[test]
fn every_reason_has_its_meaning() {
    for (reason, stop) in [
        ("end_turn", "Stop"),
        ("stop_sequence", "Stop"),
        ("tool_use", "ToolCalls"),
        ("max_tokens", "MaxTokens"),
        ("model_context_window_exceeded", "MaxTokens"),
        ("refusal", "ContentFilter"),
        ("pause_turn", r#"Other("pause_turn")"#),
    ] {
        let event = format!(r#"{{"type":"message_delta","delta":{{"stop_reason":"{reason}"}}}}"#);
        check(&[&event], &[&format!("clean {stop}")]);
    }
    check(&[r#"{"type":"message_delta","delta":{"stop_reason":null}}"#], &["cut"]);
    check(&[END], &["clean Stop"]);
    check(&["[DONE]"], &["cut"]);
}

#[test]
fn blocks_alone_are_no_terminal_signal() {
    check(
        &[
            r#"{"type":"content_block_start","index":0,"content_block":{"type":"tool_use","id":"t1","name":"x","input":{"a":1}}}"#,
            r#"{"type":"content_block_stop","index":0}"#,
        ],
        &[r#"call t1 x {"a":1}"#, "cut"],
    );
}

#[test]
fn the_event_name_stands_in_for_a_missing_type() {
    let events = [("content_block_delta", r#"{"index":0,"delta":{"text":"hi"}}"#), ("message_stop", "{}")];
    assert_eq!(testing::decode(Dialect::Anthropic, &events, DecodeLimits::default()), ["text hi", "clean Stop"]);
}

#[test]
fn errors_end_the_turn() {
    check(
        &[r#"{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}"#, END],
        &["error Overloaded"],
    );
    check(&[r#"{"error":{"message":"gateway"}}"#], &["error gateway"]);
    check(&[r#"{"type":"error"}"#], &[r#"error {"type":"error"}"#]);
    check(
        &["{nonsense", END],
        &["cut", "event 1 is not valid JSON for this dialect: key must be a string at line 1 column 2"],
    );
}

#[test]
fn content_after_the_reason_opens_the_turn_again() {
    let late = r#"{"type":"content_block_delta","index":3,"delta":{"type":"text_delta","text":"late"}}"#;
    check(&[STOP, late], &["text late", "cut"]);
    check(&[STOP, late, END], &["text late", "clean ToolCalls"]);
    check(&[END, late], &["clean Stop"]);
}

mod calls {
    use super::*;

    const HEAD: &str = r#"{"type":"content_block_start","index":0,"content_block":{"type":"tool_use","id":"t1","name":"x","input":{}}}"#;
    const CLOSE: &str = r#"{"type":"content_block_stop","index":0}"#;

    fn delta(index: u8, json: &str) -> String {
        let text = serde_json::to_string(json).unwrap();
        format!(
            r#"{{"type":"content_block_delta","index":{index},"delta":{{"type":"input_json_delta","partial_json":{text}}}}}"#
        )
    }

    #[test]
    fn s034_input_in_the_head_counts_if_no_delta_follows() {
        let head = HEAD.replace("\"input\":{}", r#""input":{"command": "ls"}"#);
        check_blocks(&[&head, CLOSE], &[r#"call t1 x {"command": "ls"}"#]);
        check_blocks(&[&head], &[r#"call t1 x {"command": "ls"}"#]);
        check_blocks(&[&head, &delta(0, "{\"a\":1}"), CLOSE], &[r#"call t1 x {"a":1}"#]);
        check_blocks(&[&head.replace("\"index\":0,", ""), CLOSE], &[r#"call t1 x {"command": "ls"}"#]);
    }

    #[test]
    fn an_empty_call_is_empty() {
        check_blocks(&[HEAD, CLOSE], &["call t1 x "]);
        check_blocks(&[HEAD, &delta(0, ""), CLOSE], &["call t1 x "]);
        check_blocks(&[&HEAD.replace(",\"input\":{}", ""), CLOSE], &["call t1 x "]);
    }

    #[test]
    fn interleaved_blocks() {
        let second = HEAD.replace("\"index\":0", "\"index\":1").replace("t1", "t2");
        check_blocks(
            &[HEAD, &delta(0, "{\"a\""), &second, &delta(1, "{\"b\""), &delta(0, ":1}"), &delta(1, ":2}"), CLOSE],
            &[r#"call t1 x {"a":1}"#, r#"call t2 x {"b":2}"#],
        );
    }

    #[test]
    fn a_delta_without_a_block_is_rejected() {
        check_blocks(&[&delta(0, "{}")], &["rejected {}: arguments came before any call was opened"]);
        check_blocks(&[HEAD, &delta(4, "{}")], &["call t1 x ", "rejected {}: no call was opened on this index"]);
    }

    #[test]
    fn a_block_that_comes_twice_is_one_call() {
        let call = r#"call t1 x {"a":1}"#;
        let (first, second) = (delta(0, "{\"a\""), delta(0, ":1}"));
        check_blocks(&[HEAD, &first, &second, CLOSE].repeat(2), &[call]);
        check_blocks(&[HEAD, HEAD, &delta(0, "{\"a\":1}"), CLOSE], &[call]);
        let whole = HEAD.replace("\"input\":{}", r#""input":{"a":1}"#);
        check_blocks(&[&whole, CLOSE, &whole, CLOSE], &[call]);
    }

    #[test]
    fn two_calls_that_share_an_id() {
        let second = HEAD.replace("\"index\":0", "\"index\":1");
        check_blocks(
            &[HEAD, &delta(0, "{\"a\":1}"), CLOSE, &second, &delta(1, "{\"a\":"), &delta(1, "2}")],
            &[r#"call t1 x {"a":1}"#, r#"call t1 x {"a":2}"#],
        );
    }
}

mod reasoning {
    use super::*;

    const BEGIN: &str =
        r#"{"type":"content_block_start","index":0,"content_block":{"type":"thinking","thinking":"","signature":""}}"#;
    const THINK: &str =
        r#"{"type":"content_block_delta","index":0,"delta":{"type":"thinking_delta","thinking":"h\u00fcm \"x\""}}"#;
    const SIGN: &str =
        r#"{"type":"content_block_delta","index":0,"delta":{"type":"signature_delta","signature":"Zm9v=="}}"#;
    const CLOSE: &str = r#"{"type":"content_block_stop","index":0}"#;
    const BLOCK: &str = r#"block @0,0 {"type":"thinking","thinking":"hüm \"x\"","signature":"Zm9v=="}"#;

    #[test]
    fn signed_blocks_are_kept() {
        check_blocks(&[BEGIN, THINK, SIGN, CLOSE], &["reasoning hüm \"x\"", BLOCK]);
        check_blocks(&[BEGIN, THINK, SIGN], &["reasoning hüm \"x\"", BLOCK]);
    }

    #[test]
    fn a_signature_without_text_is_kept() {
        check_blocks(&[BEGIN, SIGN, CLOSE], &[r#"block @0,0 {"type":"thinking","thinking":"","signature":"Zm9v=="}"#]);
    }

    #[test]
    fn unsigned_blocks_are_shown_and_not_kept() {
        check_blocks(&[BEGIN, THINK, CLOSE], &["reasoning hüm \"x\""]);
    }

    #[test]
    fn a_block_that_was_cut_is_not_kept() {
        check(&[BEGIN, THINK, SIGN], &["reasoning hüm \"x\"", "cut"]);
    }

    #[test]
    fn redacted_blocks_are_kept_as_they_came() {
        check_blocks(
            &[
                r#"{"type":"content_block_start","index":0,"content_block":{ "data":"opaque\/" , "type":"redacted_thinking"}}"#,
            ],
            &[r#"block @0,0 { "data":"opaque\/" , "type":"redacted_thinking"}"#],
        );
    }

    #[test]
    fn blocks_know_their_place() {
        check_blocks(
            &[
                r#"{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"ab"}}"#,
                r#"{"type":"content_block_start","index":1,"content_block":{"type":"tool_use","id":"t","name":"x","input":{}}}"#,
                &BEGIN.replace("\"index\":0", "\"index\":2"),
                &SIGN.replace("\"index\":0", "\"index\":2"),
            ],
            &["text ab", "call t x ", r#"block @2,1 {"type":"thinking","thinking":"","signature":"Zm9v=="}"#],
        );
    }

    #[test]
    fn a_signature_for_nothing_is_rejected() {
        check_blocks(&[SIGN], &["rejected Zm9v==: a signature came for a block that is not open"]);
    }
}

mod whole {
    use super::*;

    #[track_caller]
    fn check(body: &str, expect: &[&str]) {
        assert_eq!(render(&Dialect::Anthropic.decode_whole(body).unwrap()), expect);
    }

    #[test]
    fn a_message() {
        check(
            r#"{"id":"m","type":"message","role":"assistant","content":[{"type":"thinking","thinking":"hm","signature":"s"},{"type":"text","text":"hi"},{"type":"tool_use","id":"t1","name":"x","input":{"a":1}}],"stop_reason":"tool_use","usage":{"input_tokens":2,"output_tokens":3}}"#,
            &[
                "reasoning hm",
                "text hi",
                r#"call t1 x {"a":1}"#,
                r#"block @0,0 {"type":"thinking","thinking":"hm","signature":"s"}"#,
                "usage 2 3 0",
                "clean ToolCalls",
            ],
        );
    }

    #[test]
    fn without_a_reason_it_has_no_end() {
        check(r#"{"type":"message","content":[{"type":"text","text":"hi"}]}"#, &["text hi", "cut"]);
        check("{}", &["cut"]);
    }

    #[test]
    fn an_error_body() {
        check(r#"{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}"#, &["error Overloaded"]);
    }

    #[test]
    fn other_json_is_an_error() {
        assert!(Dialect::Anthropic.decode_whole("[]").is_err());
        assert!(Dialect::Anthropic.decode_whole("<html>").is_err());
    }
}

mod requests {
    use super::*;

    fn call(id: &str, arguments: &str) -> RawCall {
        RawCall { id: id.to_owned(), name: "x".to_owned(), arguments: arguments.to_owned() }
    }

    fn conversation() -> Conversation {
        Conversation {
            system: "be brief".to_owned(),
            items: vec![
                Item::User { text: "ü".to_owned() },
                Item::Assistant {
                    text: "hm".to_owned(),
                    calls: vec![
                        call("c1", "{ \"a\" : 1.0 }"),
                        call("c2", "{\"a\":"),
                        call("c3", ""),
                        call("c4", "[1]"),
                    ],
                },
                Item::ToolResult { call_id: "c1".to_owned(), content: "A".to_owned(), is_error: false },
                Item::ToolResult { call_id: "c2".to_owned(), content: String::new(), is_error: true },
                Item::User { text: "and?".to_owned() },
                Item::Assistant { text: " \n".to_owned(), calls: vec![] },
                Item::User { text: "hello?".to_owned() },
            ],
        }
    }

    fn options(catalog: &str) -> RequestOptions<'_> {
        RequestOptions { model: "m", catalog, max_tokens: None }
    }

    #[test]
    fn every_item_has_its_form() {
        let mark = json!({"type": "ephemeral"});
        let body = encode_request(&conversation(), &Replay::default(), &options(""));
        assert!(String::from_utf8_lossy(&body).contains(r#""input":{ "a" : 1.0 }"#));
        assert_eq!(
            serde_json::from_slice::<Value>(&body).unwrap(),
            json!({
                "model": "m", "max_tokens": 8192, "stream": true,
                "system": [{"type": "text", "text": "be brief", "cache_control": mark}],
                "messages": [
                    {"role": "user", "content": [{"type": "text", "text": "ü", "cache_control": mark}]},
                    {"role": "assistant", "content": [
                        {"type": "text", "text": "hm"},
                        {"type": "tool_use", "id": "c1", "name": "x", "input": {"a": 1.0}},
                        {"type": "tool_use", "id": "c2", "name": "x", "input": {"unreadable_arguments": "{\"a\":"}},
                        {"type": "tool_use", "id": "c3", "name": "x", "input": {}},
                        {"type": "tool_use", "id": "c4", "name": "x", "input": {"unreadable_arguments": "[1]"}},
                    ]},
                    {"role": "user", "content": [
                        {"type": "tool_result", "tool_use_id": "c1", "content": "A"},
                        {"type": "tool_result", "tool_use_id": "c2", "content": "", "is_error": true},
                        {"type": "text", "text": "and?"},
                        {"type": "text", "text": "hello?", "cache_control": mark},
                    ]},
                ],
            })
        );
    }

    #[test]
    fn tools_and_limit() {
        let schema = RawValue::from_string("{ \"type\":\"object\" }".to_owned()).unwrap();
        let catalog =
            encode_catalog(&[ToolDeclaration { name: "x", description: "d", schema: &schema, strict: false }]);
        assert_eq!(catalog, r#"[{"name":"x","description":"d","input_schema":{ "type":"object" }}]"#);
        assert_eq!(encode_catalog(&[]), "");
        let options = RequestOptions { model: "m", catalog: &catalog, max_tokens: Some(7) };
        let body = encode_request(&Conversation::default(), &Replay::default(), &options);
        let expect = format!(r#"{{"model":"m","max_tokens":7,"stream":true,"tools":{catalog},"messages":[]}}"#);
        assert_eq!(String::from_utf8(body).unwrap(), expect);
    }

    #[test]
    fn deferred_tools_are_declared_as_such_and_results_refer_to_them() {
        let schema = RawValue::from_string("{}".to_owned()).unwrap();
        let tool = |name| ToolDeclaration { name, description: "d", schema: &schema, strict: false };
        assert_eq!(
            encode_deferring(&[tool("x"), tool("y")], |at| if at == 1 { Declared::Deferred } else { Declared::Plain }),
            r#"[{"name":"x","description":"d","input_schema":{}},{"name":"y","description":"d","input_schema":{},"defer_loading":true}]"#
        );
        let mut replay = Replay::default();
        let refer = |name: &'static str| Reference { name: name.to_owned(), json: reference(&tool(name)) };
        replay.refer(2, vec![refer("y"), refer("z")]);
        let sent = |replay: &Replay| {
            let body: Value = serde_json::from_slice(&encode_request(&conversation(), replay, &options(""))).unwrap();
            body["messages"][2]["content"][0]["content"].clone()
        };
        let reference = |name: &str| json!({"type": "tool_reference", "tool_name": name});
        assert_eq!(sent(&replay), json!([reference("y"), reference("z")]));
        replay.keep_references(|name| name == "z");
        assert_eq!(sent(&replay), json!([reference("z")]));
        replay.keep_references(|_| false);
        assert_eq!((sent(&replay), replay), (json!("A"), Replay::default()));
    }

    #[test]
    fn blocks_go_back_where_they_stood() {
        let block = |dialect, after_text, after_calls, json: &str| OpaqueBlock {
            dialect,
            after_text,
            after_calls,
            json: json.to_owned(),
        };
        let mut replay = Replay::default();
        replay.keep(
            1,
            vec![
                block(Dialect::Anthropic, 0, 0, r#"{"type":"thinking", "thinking":"a","signature":"b"}"#),
                block(Dialect::Responses, 0, 0, "other"),
                block(Dialect::Anthropic, 2, 1, r#"{"type":"redacted_thinking","data":"c"}"#),
            ],
        );
        let body = Dialect::Anthropic.encode_replaying(&conversation(), &replay, &options(""));
        let text = String::from_utf8(body).unwrap();
        let start = text.find(r#"{"role":"assistant""#).unwrap();
        let expect = concat!(
            r#"{"role":"assistant","content":[{"type":"thinking", "thinking":"a","signature":"b"},"#,
            r#"{"type":"text","text":"hm"},{"type":"tool_use","id":"c1","name":"x","input":{ "a" : 1.0 }},"#,
            r#"{"type":"redacted_thinking","data":"c"},{"type":"tool_use","id":"c2""#
        );
        assert!(text[start..].starts_with(expect), "{}", &text[start..]);
    }

    const MARK: &str = r#","cache_control":{"type":"ephemeral"}"#;

    #[test]
    fn the_last_two_messages_of_the_user_are_marked() {
        let user = |text: &str| Item::User { text: text.to_owned() };
        let assistant = |text: &str| Item::Assistant { text: text.to_owned(), calls: vec![] };
        let conversation = Conversation {
            system: "s".to_owned(),
            items: vec![user("1"), assistant("2"), user("3"), user("4"), assistant("5"), user("6"), assistant("7")],
        };
        let body = encode_request(&conversation, &Replay::default(), &options(""));
        let body = String::from_utf8(body).unwrap();
        let marked: Vec<&str> = body.match_indices(MARK).map(|(at, _)| &body[at - 2..at - 1]).collect();
        assert_eq!(marked, ["s", "4", "6"]);
        assert!(serde_json::from_str::<Value>(&body).is_ok());
    }

    #[test]
    fn every_request_begins_with_the_one_before() {
        let whole = conversation();
        let mut before: Vec<u8> = Vec::new();
        for length in 0..=whole.items.len() {
            let shorter = Conversation { system: whole.system.clone(), items: whole.items[..length].to_vec() };
            let body = encode_request(&shorter, &Replay::default(), &options("[{}]"));
            // Marks move, and change no prompt.
            let body = String::from_utf8(body).unwrap().replace(MARK, "").into_bytes();
            assert!(body.starts_with(&before));
            let end = if length == 0 { "]}" } else { "]}]}" };
            before = body.strip_suffix(end.as_bytes()).unwrap().to_vec();
        }
    }
}

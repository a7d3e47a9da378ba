//! What small streams and conversations of this dialect come to.
#![allow(clippy::unwrap_used)]

use super::*;
use crate::dialect::testing::{self, render};
use crate::dialect::{Declared, DecodeLimits, Dialect, RequestOptions, ToolDeclaration};
use crate::{Conversation, Item, OpaqueBlock, RawCall, Reference, Replay};
use serde_json::value::RawValue;
use serde_json::{Value, json};

/// Decodes events, given by their data, and compares the turn, one labelled line per fact.
#[track_caller]
fn check(events: &[&str], expect: &[&str]) {
    let events: Vec<_> = events.iter().map(|event| ("", *event)).collect();
    assert_eq!(testing::decode(Dialect::Responses, &events, DecodeLimits::default()), expect);
}

/// Like [`check`], with the last event added; that line is left out of what is compared.
#[track_caller]
fn check_items(events: &[&str], expect: &[&str]) {
    let mut lines: Vec<_> = events.iter().map(|event| ("", *event)).collect();
    lines.push(("", COMPLETED));
    let mut lines = testing::decode(Dialect::Responses, &lines, DecodeLimits::default());
    assert!(lines.pop().unwrap().starts_with("clean"));
    assert_eq!(lines, expect);
}

const COMPLETED: &str = r#"{"type":"response.completed","response":{"status":"completed","error":null}}"#;

#[test]
fn text_in_deltas_and_whole_is_said_once() {
    check(
        &[
            r#"{"type":"response.created","response":{"status":"in_progress","output":[]}}"#,
            r#"{"type":"response.output_item.added","output_index":0,"item":{"type":"message","id":"msg_1","role":"assistant","content":[]}}"#,
            r#"{"type":"response.content_part.added","output_index":0,"content_index":0,"part":{"type":"output_text","text":""}}"#,
            r#"{"type":"response.output_text.delta","output_index":0,"content_index":0,"delta":"h"}"#,
            r#"{"type":"response.output_text.delta","output_index":0,"content_index":0,"delta":"i"}"#,
            r#"{"type":"response.output_text.done","output_index":0,"content_index":0,"text":"hi"}"#,
            r#"{"type":"response.output_item.done","output_index":0,"item":{"type":"message","id":"msg_1","role":"assistant","content":[{"type":"output_text","text":"hi"}]}}"#,
            r#"{"type":"response.completed","response":{"status":"completed","output":[{"type":"message","content":[{"type":"output_text","text":"hi"}]}],"usage":{"input_tokens":3,"input_tokens_details":{"cached_tokens":2},"output_tokens":1}}}"#,
        ],
        &["text hi", "usage 3 1 2", "clean Stop"],
    );
}

#[test]
fn what_was_not_said_in_deltas_is_taken_from_the_whole() {
    let message =
        r#"{"type":"message","content":[{"type":"output_text","text":"hi"},{"type":"refusal","refusal":"!"}]}"#;
    let call = r#"{"type":"function_call","id":"fc","call_id":"c1","name":"x","arguments":"{}"}"#;
    let done = |index: u8, item: &str| {
        format!(r#"{{"type":"response.output_item.done","output_index":{index},"item":{item}}}"#)
    };
    let expect = ["text hi!", "call c1 x {}"];
    check_items(&[&done(0, message), &done(1, call)], &expect);
    check(
        &[&format!(r#"{{"type":"response.completed","response":{{"output":[{message},{call}]}}}}"#)],
        &[expect[0], expect[1], "clean ToolCalls"],
    );
    check_items(
        &[r#"{"type":"response.output_text.delta","output_index":0,"delta":"h"}"#, &done(0, message), &done(1, call)],
        &expect,
    );
}

#[test]
fn text_that_differs_is_reported_and_stays_as_shown() {
    check_items(
        &[
            r#"{"type":"response.output_text.delta","output_index":0,"delta":"ha"}"#,
            r#"{"type":"response.output_item.done","output_index":0,"item":{"type":"message","content":[{"type":"output_text","text":"hi"}]}}"#,
        ],
        &["text ha", "rejected hi: the text of an item differs from its deltas, which were shown"],
    );
}

#[test]
fn places_counted_in_another_way_do_not_double_anything() {
    check(
        &[
            r#"{"type":"response.output_item.done","output_index":5,"item":{"type":"reasoning","summary":[{"text":"hm"}],"encrypted_content":"e"}}"#,
            r#"{"type":"response.output_item.done","output_index":6,"item":{"type":"message","content":[{"text":"hi"}]}}"#,
            r#"{"type":"response.output_item.done","output_index":7,"item":{"type":"function_call","call_id":"c1","name":"x","arguments":"{}"}}"#,
            r#"{"type":"response.completed","response":{"output":[{"type":"reasoning","summary":[{"text":"hm"}],"encrypted_content":"e"},{"type":"message","content":[{"text":"hi"}]},{"type":"function_call","call_id":"c1","name":"x","arguments":"{}"}]}}"#,
        ],
        &[
            "reasoning hm",
            "text hi",
            "call c1 x {}",
            r#"block @0,0 {"type":"reasoning","summary":[{"text":"hm"}],"encrypted_content":"e"}"#,
            "clean ToolCalls",
        ],
    );
}

mod terminal {
    use super::*;

    #[test]
    fn every_end_has_its_meaning() {
        check(&[COMPLETED], &["clean Stop"]);
        check(&[r#"{"type":"response.completed"}"#], &["clean Stop"]);
        let incomplete = |reason: &str| {
            format!(r#"{{"type":"response.incomplete","response":{{"incomplete_details":{{"reason":"{reason}"}}}}}}"#)
        };
        check(&[&incomplete("max_output_tokens")], &["clean MaxTokens"]);
        check(&[&incomplete("content_filter")], &["clean ContentFilter"]);
        check(&[&incomplete("whim")], &["clean Other(\"whim\")"]);
        check(&[r#"{"type":"response.incomplete","response":{}}"#], &["clean Other(\"incomplete\")"]);
    }

    #[test]
    fn a_done_item_is_no_terminal_signal() {
        check(
            &[
                r#"{"type":"response.output_item.done","output_index":0,"item":{"type":"function_call","call_id":"c1","name":"x","arguments":"{}"}}"#,
                "[DONE]",
            ],
            &["call c1 x {}", "cut"],
        );
    }

    #[test]
    fn errors_end_the_turn() {
        check(
            &[
                r#"{"type":"response.failed","response":{"status":"failed","error":{"code":"server_error","message":"boom"}}}"#,
                COMPLETED,
            ],
            &["error boom"],
        );
        check(&[r#"{"type":"response.failed"}"#], &[r#"error {"type":"response.failed"}"#]);
        check(&[r#"{"type":"error","code":"rate_limit_exceeded","message":"slow down"}"#], &["error slow down"]);
        check(&[r#"{"type":"error","error":{"message":"slow down"}}"#], &["error slow down"]);
        check(&[r#"{"error":{"message":"gateway"}}"#], &["error gateway"]);
    }

    #[test]
    fn events_after_the_end_are_ignored() {
        check(&[COMPLETED, r#"{"type":"response.output_text.delta","delta":"late"}"#, "nonsense"], &["clean Stop"]);
    }

    #[test]
    fn the_event_name_stands_in_for_a_missing_type() {
        let events = [("response.output_text.delta", r#"{"delta":"hi"}"#), ("response.completed", "{}")];
        let lines = testing::decode(Dialect::Responses, &events, DecodeLimits::default());
        assert_eq!(lines, ["text hi", "clean Stop"]);
    }
}

mod calls {
    use super::*;

    const ADDED: &str = r#"{"type":"response.output_item.added","output_index":0,"item":{"type":"function_call","id":"fc1","call_id":"c1","name":"x","arguments":""}}"#;

    fn delta(index: u8, text: &str) -> String {
        json!({"type": "response.function_call_arguments.delta", "output_index": index, "item_id": "any", "delta": text})
            .to_string()
    }

    fn done(index: u8, text: &str) -> String {
        json!({"type": "response.function_call_arguments.done", "output_index": index, "arguments": text}).to_string()
    }

    fn item_done(index: u8, id: &str, text: &str) -> String {
        let item = json!({"type": "function_call", "call_id": id, "name": "x", "arguments": text});
        json!({"type": "response.output_item.done", "output_index": index, "item": item}).to_string()
    }

    #[test]
    fn deltas_then_the_whole() {
        let call = [r#"call c1 x {"a":1}"#];
        let whole = r#"{"a":1}"#;
        check_items(
            &[ADDED, &delta(0, "{\"a\""), &delta(0, ":1}"), &done(0, whole), &item_done(0, "c1", whole)],
            &call,
        );
        check_items(&[ADDED, &done(0, whole)], &call);
        check_items(&[ADDED, &item_done(0, "c1", whole)], &call);
        check_items(&[ADDED, &delta(0, whole)], &call);
    }

    #[test]
    fn interleaved_calls() {
        let second = ADDED.replace("\"output_index\":0", "\"output_index\":1").replace("\"c1\"", "\"c2\"");
        check_items(
            &[ADDED, &second, &delta(0, "{\"a\""), &delta(1, "{\"b\""), &delta(0, ":1}"), &delta(1, ":2}")],
            &[r#"call c1 x {"a":1}"#, r#"call c2 x {"b":2}"#],
        );
    }

    #[test]
    fn arguments_in_the_head_count_if_nothing_follows() {
        let added = ADDED.replace(r#""arguments":"""#, r#""arguments":"{\"a\":1}""#);
        check_items(&[&added], &[r#"call c1 x {"a":1}"#]);
        check_items(&[&added, &delta(0, "{}")], &["call c1 x {}"]);
        check_items(&[&added, &item_done(0, "c1", "{\"a\":1}")], &[r#"call c1 x {"a":1}"#]);
        check_items(&[&added.replace("\"output_index\":0,", "")], &[r#"call c1 x {"a":1}"#]);
    }

    #[test]
    fn a_whole_that_differs_counts_and_is_reported() {
        check_items(
            &[ADDED, &delta(0, "{\"a\":1}"), &delta(0, "{\"a\":1}"), &item_done(0, "c1", "{\"a\":1}")],
            &[
                r#"call c1 x {"a":1}"#,
                r#"rejected c1 x {"a":1}: the fragments of a call differ from the whole of it, which was taken"#,
            ],
        );
    }

    #[test]
    fn a_character_torn_between_deltas() {
        let half = |half: &str| delta(0, "?").replace('?', half);
        check_items(
            &[ADDED, &half("\\\"\\ud83e"), &half("\\udd80\\\""), &item_done(0, "c1", "\"🦀\"")],
            &["call c1 x \"🦀\""],
        );
        check_items(
            &[ADDED, &half("\\\"\\ud83e"), &done(0, "\"🦀\"")],
            &[
                "call c1 x \"🦀\"",
                "rejected \"🦀\": the fragments of a call differ from the whole of it, which was taken",
            ],
        );
    }

    #[test]
    fn the_same_item_again_is_one_call() {
        let whole = "{\"a\":1}";
        let call = [r#"call c1 x {"a":1}"#];
        check_items(&[ADDED, &delta(0, whole), &item_done(0, "c1", whole), &item_done(1, "c1", whole)], &call);
        check_items(&[ADDED, &delta(0, whole), ADDED, &delta(0, whole), &item_done(0, "c1", whole)], &call);
    }

    #[test]
    fn two_calls_that_share_an_id() {
        check_items(
            &[&item_done(0, "c1", "{\"a\":1}"), &item_done(1, "c1", "{\"a\":2}")],
            &[r#"call c1 x {"a":1}"#, r#"call c1 x {"a":2}"#],
        );
    }

    #[test]
    fn another_id_on_the_same_place_is_another_call() {
        check_items(
            &[ADDED, &delta(0, "{}"), &item_done(0, "c2", "{\"a\":2}")],
            &["call c1 x {}", r#"call c2 x {"a":2}"#],
        );
    }

    #[test]
    fn arguments_without_a_call_are_rejected() {
        check_items(&[&delta(3, "{}")], &["rejected {}: arguments came before any call was opened"]);
        check_items(&[&done(3, "{}")], &["rejected {}: arguments came before any call was opened"]);
    }
}

mod reasoning {
    use super::*;

    #[test]
    fn encrypted_items_are_kept_as_they_came() {
        let item = r#"{"id":"rs_1", "type":"reasoning","summary":[{"type":"summary_text","text":"hm"}],"encrypted_content":"gA\/"}"#;
        let added = r#"{"type":"response.output_item.added","output_index":1,"item":{"type":"reasoning"}}"#;
        let done = format!(r#"{{"type":"response.output_item.done","output_index":1,"item":{item}}}"#);
        check_items(
            &[
                r#"{"type":"response.output_text.delta","output_index":0,"delta":"ab"}"#,
                added,
                r#"{"type":"response.reasoning_summary_text.delta","output_index":1,"summary_index":0,"delta":"hm"}"#,
                &done,
                &done,
            ],
            &["reasoning hm", "text ab", &format!("block @2,0 {item}")],
        );
    }

    #[test]
    fn items_that_are_not_encrypted_are_shown_only() {
        check_items(
            &[
                r#"{"type":"response.reasoning_text.delta","output_index":0,"delta":"h"}"#,
                r#"{"type":"response.output_item.done","output_index":0,"item":{"type":"reasoning","summary":[{"text":"hm"}],"encrypted_content":null}}"#,
            ],
            &["reasoning hm"],
        );
    }
}

mod whole {
    use super::*;

    #[track_caller]
    fn check(body: &str, expect: &[&str]) {
        assert_eq!(render(&Dialect::Responses.decode_whole(body).unwrap()), expect);
    }

    #[test]
    fn a_response() {
        check(
            r#"{"object":"response","status":"completed","error":null,"output":[{"type":"message","content":[{"text":"hi"}]},{"type":"function_call","call_id":"c1","name":"x","arguments":"{}"}],"usage":{"input_tokens":1,"output_tokens":2}}"#,
            &["text hi", "call c1 x {}", "usage 1 2 0", "clean ToolCalls"],
        );
        check(r#"{"status":"incomplete","incomplete_details":{"reason":"max_output_tokens"}}"#, &["clean MaxTokens"]);
    }

    #[test]
    fn one_under_way_has_no_end() {
        check(
            r#"{"status":"in_progress","output":[{"type":"message","content":[{"text":"hi"}]}]}"#,
            &["text hi", "cut"],
        );
        check("{}", &["cut"]);
    }

    #[test]
    fn errors() {
        check(r#"{"status":"failed","error":{"message":"boom"}}"#, &["error boom"]);
        check(r#"{"error":{"message":"no such model","type":"invalid_request_error"}}"#, &["error no such model"]);
        assert!(Dialect::Responses.decode_whole("<html>").is_err());
    }
}

mod requests {
    use super::*;

    fn conversation() -> Conversation {
        let call = |id: &str, arguments: &str| RawCall {
            id: id.to_owned(),
            name: "x".to_owned(),
            arguments: arguments.to_owned(),
        };
        Conversation {
            system: "be brief".to_owned(),
            items: vec![
                Item::User { text: "ü".to_owned() },
                Item::Assistant { text: "hm".to_owned(), calls: vec![call("c1", "{ \"a\":1 }"), call("c2", "{")] },
                Item::ToolResult { call_id: "c1".to_owned(), content: "A".to_owned(), is_error: false },
                Item::ToolResult { call_id: "c2".to_owned(), content: String::new(), is_error: true },
                Item::Assistant { text: String::new(), calls: vec![] },
            ],
        }
    }

    #[test]
    fn every_item_has_its_form() {
        let options = RequestOptions { model: "m", catalog: "", max_tokens: Some(7) };
        let body = encode_request(&conversation(), &Replay::default(), &options);
        let call = |id: &str, arguments: &str| json!({"type": "function_call", "call_id": id, "name": "x", "arguments": arguments});
        assert_eq!(
            serde_json::from_slice::<Value>(&body).unwrap(),
            json!({
                "model": "m", "stream": true, "store": false, "max_output_tokens": 7, "instructions": "be brief",
                "input": [
                    {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "ü"}]},
                    {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "hm"}]},
                    call("c1", "{ \"a\":1 }"),
                    call("c2", "{"),
                    {"type": "function_call_output", "call_id": "c1", "output": "A"},
                    {"type": "function_call_output", "call_id": "c2", "output": ""},
                ],
            })
        );
    }

    #[test]
    fn tools() {
        let schema = RawValue::from_string("{ \"type\":\"object\" }".to_owned()).unwrap();
        let catalog =
            encode_catalog(&[ToolDeclaration { name: "x", description: "d", schema: &schema, strict: false }]);
        let expect =
            r#"[{"type":"function","name":"x","description":"d","parameters":{ "type":"object" },"strict":false}]"#;
        assert_eq!(catalog, expect);
        assert_eq!(encode_catalog(&[]), "");
        let options = RequestOptions { model: "m", catalog: &catalog, max_tokens: None };
        let body = encode_request(&Conversation::default(), &Replay::default(), &options);
        let expect = format!(r#"{{"model":"m","stream":true,"store":false,"tools":{catalog},"input":[]}}"#);
        assert_eq!(String::from_utf8(body).unwrap(), expect);
    }

    #[test]
    fn items_go_back_where_they_stood() {
        let block = |dialect, json: &str| OpaqueBlock { dialect, after_text: 2, after_calls: 0, json: json.to_owned() };
        let mut replay = Replay::default();
        let sealed = r#"{"type":"reasoning", "encrypted_content":"e"}"#;
        replay.keep(1, vec![block(Dialect::Responses, sealed), block(Dialect::Anthropic, "other")]);
        let options = RequestOptions { model: "m", catalog: "", max_tokens: None };
        let body = Dialect::Responses.encode_replaying(&conversation(), &replay, &options);
        let text = String::from_utf8(body).unwrap();
        let expect = format!(r#""text":"hm"}}]}},{sealed},{{"type":"function_call","call_id":"c1""#);
        assert!(text.contains(&expect), "{text}");
        assert!(!text.contains("other"));
    }

    #[test]
    fn every_request_begins_with_the_one_before() {
        let whole = conversation();
        let options = RequestOptions { model: "m", catalog: "[{}]", max_tokens: None };
        let mut before: Vec<u8> = Vec::new();
        for length in 0..=whole.items.len() {
            let shorter = Conversation { system: whole.system.clone(), items: whole.items[..length].to_vec() };
            let body = encode_request(&shorter, &Replay::default(), &options);
            assert!(body.starts_with(&before));
            before = body.strip_suffix(b"]}").unwrap().to_vec();
        }
    }
}

#[test]
fn a_search_that_the_client_runs_is_a_call() {
    let item = |execution: &str, arguments: &str| {
        format!(
            r#"{{"type":"response.output_item.done","output_index":0,"item":{{"type":"tool_search_call","call_id":"c1","execution":"{execution}","arguments":{arguments}}}}}"#
        )
    };
    check_items(&[&item("client", r#"{"query":"mail"}"#)], &[r#"call c1 tool_search {"query":"mail"}"#]);
    check_items(&[&item("server", r#"{"query":"mail"}"#)], &[]);
    check_items(&[r#"{"type":"response.output_item.done","output_index":0,"item":{"type":"tool_search_call"}}"#], &[]);
}

#[test]
fn deferred_tools_are_left_out_and_results_bring_them() {
    let schema = RawValue::from_string("{}".to_owned()).unwrap();
    let tool = |name| ToolDeclaration { name, description: "d", schema: &schema, strict: false };
    let how = |at| [Declared::Plain, Declared::Deferred, Declared::Search][at];
    assert_eq!(
        encode_deferring(&[tool("x"), tool("y"), tool("s")], how),
        r#"[{"type":"function","name":"x","description":"d","parameters":{},"strict":false},{"type":"tool_search","execution":"client","description":"d","parameters":{}}]"#
    );
    assert_eq!(encode_deferring(&[tool("y")], |_| Declared::Deferred), "");
    let call = |id: &str| RawCall { id: id.into(), name: "s".into(), arguments: r#"{"q":1}"#.into() };
    let result = |id: &str| Item::ToolResult { call_id: id.into(), content: "t".into(), is_error: false };
    let conversation = Conversation {
        system: String::new(),
        items: vec![
            Item::Assistant { text: String::new(), calls: vec![call("c1"), call("c2")] },
            result("c1"),
            result("c2"),
        ],
    };
    let mut replay = Replay::default();
    replay.refer(1, vec![Reference { name: "y".into(), json: reference(&tool("y")) }]);
    let options = RequestOptions { model: "m", catalog: "", max_tokens: None };
    let sent = |replay: &Replay| {
        let body: Value = serde_json::from_slice(&encode_request(&conversation, replay, &options)).unwrap();
        body["input"].clone()
    };
    let plain = |id: &str| json!({"type": "function_call", "call_id": id, "name": "s", "arguments": "{\"q\":1}"});
    let answer = |id: &str| json!({"type": "function_call_output", "call_id": id, "output": "t"});
    let found = json!({
        "type": "function", "name": "y", "description": "d", "parameters": {}, "strict": false, "defer_loading": true,
    });
    assert_eq!(
        sent(&replay),
        json!([
            {"type": "tool_search_call", "call_id": "c1", "status": "completed", "execution": "client", "arguments": {"q": 1}},
            plain("c2"),
            {"type": "tool_search_output", "call_id": "c1", "status": "completed", "execution": "client", "tools": [found]},
            answer("c2"),
        ])
    );
    replay.keep_references(|_| false);
    assert_eq!(sent(&replay), json!([plain("c1"), plain("c2"), answer("c1"), answer("c2")]));
}

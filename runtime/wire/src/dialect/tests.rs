//! What holds in every dialect alike.
#![allow(clippy::unwrap_used)]

use super::*;
use crate::{Item, StreamDecoder, Terminal};
use proptest::prelude::*;
use serde_json::Value;

/// Events made of the words of all dialects, well-formed and not, with the fields that matter filled at random.
fn event() -> impl Strategy<Value = String> {
    let kind = prop::sample::select(vec![
        "content_block_start",
        "content_block_delta",
        "content_block_stop",
        "message_delta",
        "message_stop",
        "response.output_item.added",
        "response.output_item.done",
        "response.output_text.delta",
        "response.reasoning_text.delta",
        "response.function_call_arguments.delta",
        "response.function_call_arguments.done",
        "response.completed",
        "response.incomplete",
        "error",
    ]);
    let text = prop::sample::select(vec!["", "a", "{\\\"a\\\":", "1}", "{}", "\\ud83e", "\\udd80", "ü🦀", "}"]);
    let id = prop::sample::select(vec!["null", "\"\"", "\"c1\"", "\"c2\"", "3"]);
    let name = prop::sample::select(vec!["null", "\"\"", "\"x\"", "\"y\""]);
    let index = prop::sample::select(vec!["null", "0", "1", "-1"]);
    let form = prop::sample::select(vec!["text", "tool_use", "thinking", "function_call", "message", "reasoning"]);
    let raw = (kind, text, id, name, index, form).prop_map(|(kind, text, id, name, index, form)| {
        let block = format!(
            r#"{{"type":"{form}","id":{id},"call_id":{id},"name":{name},"text":"{text}","thinking":"{text}","input":{{"a":1}},"arguments":"{text}","content":[{{"text":"{text}"}}],"summary":[{{"text":"{text}"}}],"encrypted_content":"{text}"}}"#
        );
        let delta = match kind.starts_with("response") {
            true => format!(r#""{text}""#),
            false => format!(r#"{{"text":"{text}","partial_json":"{text}","thinking":"{text}","signature":"{text}","stop_reason":null}}"#),
        };
        format!(
            r#"{{"type":"{kind}","index":{index},"output_index":{index},"content_block":{block},"item":{block},"delta":{delta},"arguments":"{text}","response":{{"output":[{block}]}},"choices":[{{"delta":{{"content":"{text}","tool_calls":[{{"index":{index},"id":{id},"function":{{"name":{name},"arguments":"{text}"}}}}]}}}}]}}"#
        )
    });
    prop_oneof![16 => raw, 1 => "\\PC{0,12}", 1 => Just("[DONE]".to_owned())]
}

fn body() -> impl Strategy<Value = Vec<u8>> {
    prop::collection::vec(event(), 0..12)
        .prop_map(|events| events.iter().map(|event| format!("data: {event}\n\n")).collect::<String>().into_bytes())
}

fn decode(dialect: Dialect, body: &[u8], chunk: usize) -> (Turn, Option<String>, Vec<TurnDelta>) {
    let mut decoder = StreamDecoder::new(dialect);
    let mut deltas = Vec::new();
    let error = body.chunks(chunk).find_map(|chunk| decoder.feed(chunk, &mut deltas).err());
    (decoder.finish().0, error.map(|error| error.to_string()), deltas)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 192, ..ProptestConfig::default() })]

    /// However a body is cut, the turn, the fault and what a watcher saw are the same; nothing panics on the way, and
    /// what fails has no end.
    #[test]
    fn any_chunk_size_gives_the_same_turn(body in body(), chunk in 1_usize..60) {
        for dialect in Dialect::ALL {
            let whole = decode(dialect, &body, body.len().max(1));
            prop_assert_eq!(&decode(dialect, &body, chunk), &whole);
            if whole.1.is_some() {
                prop_assert_eq!(&whole.0.terminal, &Terminal::None);
            }
        }
    }

    /// No response of any form panics, and only JSON objects are taken.
    #[test]
    fn whole_bodies_are_survived(body in event()) {
        for dialect in Dialect::ALL {
            let taken = dialect.decode_whole(&body).is_ok();
            let object = body.trim_start().starts_with('{');
            prop_assert!(object || !taken);
        }
    }

    /// Whatever a conversation holds, each text of it is read back from the request.
    #[test]
    fn requests_hold_any_text(text in any::<String>(), arguments in any::<String>()) {
        let call = crate::RawCall { id: "c1".to_owned(), name: text.clone(), arguments: arguments.clone() };
        let conversation = Conversation {
            system: text.clone(),
            items: vec![
                Item::Assistant { text: text.clone(), calls: vec![call] },
                Item::ToolResult { call_id: "c1".to_owned(), content: text.clone(), is_error: false },
            ],
        };
        let options = RequestOptions { model: &text, catalog: "", max_tokens: None };
        for dialect in Dialect::ALL {
            let body: Value = serde_json::from_slice(&dialect.encode_request(&conversation, &options)).unwrap();
            prop_assert_eq!(body["model"].as_str(), Some(text.as_str()));
            let mut strings = Vec::new();
            collect(&body, &mut strings);
            let found = strings.iter().filter(|found| **found == text).count();
            prop_assert!(found >= 3, "{dialect:?}: {body}");
            prop_assert!(strings.contains(&arguments.as_str()) || serde_json::from_str::<Value>(&arguments).is_ok() || arguments.is_empty());
        }
    }
}

fn collect<'a>(value: &'a Value, into: &mut Vec<&'a str>) {
    match value {
        Value::String(text) => into.push(text),
        Value::Array(values) => values.iter().for_each(|value| collect(value, into)),
        Value::Object(fields) => fields.values().for_each(|value| collect(value, into)),
        _ => {}
    }
}

#[test]
fn data_that_is_no_json_at_all_is_passed_over_and_told_once() {
    for dialect in Dialect::ALL {
        let noise = [("", ": PROCESSING"), ("", "timeout?"), ("error", r#"{"error":{"message":"x"}}"#)];
        let lines = testing::decode(dialect, &noise, DecodeLimits::default());
        assert_eq!(lines, ["rejected : PROCESSING: an event's data is no JSON", "error x"], "{dialect:?}");
    }
}

#[test]
fn names_paths_and_headers() {
    let lines: Vec<String> = Dialect::ALL
        .iter()
        .map(|dialect| {
            format!("{} {} {:?} {:?}", dialect.name(), dialect.path(), dialect.headers(), dialect.key_header())
        })
        .collect();
    assert_eq!(
        lines,
        [
            r#"chat /chat/completions [] ("authorization", "Bearer ")"#,
            r#"anthropic /messages [("anthropic-version", "2023-06-01")] ("x-api-key", "")"#,
            r#"responses /responses [] ("authorization", "Bearer ")"#,
        ]
    );
}

#[test]
fn a_whole_chat_response() {
    let body = r#"{"object":"chat.completion","choices":[{"index":0,"message":{"role":"assistant","content":null,"tool_calls":[{"id":"c1","type":"function","function":{"name":"x","arguments":"{}"}},{"id":"c1","type":"function","function":{"name":"x","arguments":"{\"a\":1}"}}]},"finish_reason":"tool_calls"}],"usage":{"prompt_tokens":1,"completion_tokens":2}}"#;
    let turn = Dialect::Chat.decode_whole(body).unwrap();
    let expect = ["call c1 x {}", r#"call c1 x {"a":1}"#, "usage 1 2 0", "clean ToolCalls"];
    assert_eq!(testing::render(&turn), expect);
    assert!(Dialect::Chat.decode_whole("[DONE]").is_err());
    assert_eq!(testing::render(&Dialect::Chat.decode_whole(r#"{"error":{"message":"x"}}"#).unwrap()), ["error x"]);
}

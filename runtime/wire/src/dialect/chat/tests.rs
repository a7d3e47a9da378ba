//! What small streams and conversations of this dialect come to.
#![allow(clippy::unwrap_used)]

use super::*;
use crate::dialect::testing::{self, render};
use crate::dialect::{DecodeError, DecodeLimits, Dialect, RequestOptions, ToolDeclaration};
use crate::{Conversation, Item, RawCall, StopReason, StreamDecoder, Terminal, Turn};
use proptest::prelude::*;
use serde_json::value::RawValue;
use serde_json::{Value, json};

mod forms;
mod fragments;
mod limits;
mod requests;
mod terminal;

/// Decodes the events and compares the turn, one labelled line per fact.
#[track_caller]
fn check(events: &[&str], expect: &[&str]) {
    assert_eq!(decode(events, DecodeLimits::default()), expect);
}

/// Like [`check`], for the deltas of `choices[0]`, ended by `[DONE]` alone.
#[track_caller]
fn check_deltas(deltas: &[&str], expect: &[&str]) {
    let mut events: Vec<String> =
        deltas.iter().map(|delta| format!(r#"{{"choices":[{{"delta":{delta}}}]}}"#)).collect();
    events.push("[DONE]".to_owned());
    check(&events.iter().map(String::as_str).collect::<Vec<_>>(), expect);
}

/// Like [`check_deltas`], for the fragments of `tool_calls`, one per event; the end is left out of what is compared.
#[track_caller]
fn check_calls(fragments: &[&str], expect: &[&str]) {
    let mut events: Vec<String> =
        fragments.iter().map(|call| format!(r#"{{"choices":[{{"delta":{{"tool_calls":[{call}]}}}}]}}"#)).collect();
    events.push("[DONE]".to_owned());
    let mut lines = decode(&events.iter().map(String::as_str).collect::<Vec<_>>(), DecodeLimits::default());
    lines.pop();
    assert_eq!(lines, expect);
}

fn decode(events: &[&str], limits: DecodeLimits) -> Vec<String> {
    let events: Vec<_> = events.iter().map(|event| ("", *event)).collect();
    testing::decode(Dialect::Chat, &events, limits)
}

/// Deltas with the fields that matter, well-formed and not.
fn delta() -> impl Strategy<Value = Value> {
    let text = prop::sample::select(vec!["", "a", "{\"a\":", "1}", "{}", "\"", "ü🦀", "}"]);
    let id = prop::sample::select(vec![Value::Null, json!(""), json!("c1"), json!("c2"), json!(3)]);
    let name = prop::sample::select(vec![Value::Null, json!(""), json!("x"), json!("y")]);
    let index = prop::sample::select(vec![Value::Null, json!(0), json!(1), json!(-1)]);
    let call = (index, id, name, text.clone()).prop_map(
        |(index, id, name, text)| json!({"index": index, "id": id, "function": {"name": name, "arguments": text}}),
    );
    prop_oneof![
        text.prop_map(|text| json!({"content": text})),
        prop::collection::vec(call, 0..3).prop_map(|calls| json!({"tool_calls": calls})),
    ]
}

fn body() -> impl Strategy<Value = Vec<u8>> {
    let reason = prop::sample::select(vec![Value::Null, Value::Null, Value::Null, json!("stop"), json!("length")]);
    let event = prop_oneof![
        20 => (delta(), reason).prop_map(|(delta, reason)| json!({"choices": [{"delta": delta, "finish_reason": reason}]}).to_string()),
        1 => Just("[DONE]".to_owned()),
        1 => Just(r#"{"error":{"message":"x"}}"#.to_owned()),
        1 => "\\PC{0,12}",
    ];
    prop::collection::vec(event, 0..14)
        .prop_map(|events| events.iter().map(|event| format!("data: {event}\n\n")).collect::<String>().into_bytes())
}

fn decode_body(body: &[u8], chunk: usize) -> (Turn, Option<String>, Vec<crate::TurnDelta>) {
    let mut decoder = StreamDecoder::new(Dialect::Chat);
    let mut deltas = Vec::new();
    let error = body.chunks(chunk).find_map(|chunk| decoder.feed(chunk, &mut deltas).err());
    (decoder.finish().0, error.map(|error| error.to_string()), deltas)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 128, ..ProptestConfig::default() })]

    /// However the body is cut, the turn, the fault and what a watcher saw are the same.
    #[test]
    fn any_chunk_size_gives_the_same_turn(body in body(), chunk in 1_usize..40) {
        prop_assert_eq!(decode_body(&body, chunk), decode_body(&body, body.len().max(1)));
    }

    /// What a watcher was shown adds up to the turn.
    #[test]
    fn deltas_add_up_to_the_turn(body in body()) {
        let (turn, _, deltas) = decode_body(&body, 16);
        let (mut text, mut opened, mut bytes) = (String::new(), 0, vec![0; turn.calls.len()]);
        for delta in deltas {
            match delta {
                crate::TurnDelta::Text(more) => text.push_str(&more),
                crate::TurnDelta::Reasoning(_) => {}
                crate::TurnDelta::Call(crate::CallDelta::Opened { index, name, .. }) => {
                    prop_assert_eq!(index, opened);
                    prop_assert_eq!(&turn.calls[index].name, &name);
                    opened += 1;
                }
                crate::TurnDelta::Call(crate::CallDelta::Arguments { index, bytes: more }) => bytes[index] += more,
            }
        }
        prop_assert_eq!(text, turn.text);
        prop_assert_eq!(opened, turn.calls.len());
        prop_assert_eq!(bytes, turn.calls.iter().map(|call| call.arguments.len()).collect::<Vec<_>>());
    }

    /// Arbitrary payloads never panic, and never end a turn cleanly by themselves.
    #[test]
    fn arbitrary_payloads_are_survived(events in prop::collection::vec("\\PC{0,40}", 0..6)) {
        let mut decoder = Dialect::Chat.decoder();
        for event in &events {
            let _ = decoder.event("", event, &mut Vec::new());
        }
        prop_assert!(events.iter().any(|event| event.trim() == "[DONE]") || decoder.finish().terminal == Terminal::None);
    }

    /// Whatever a conversation holds, it is read back from the request, and growing it only appends.
    #[test]
    fn requests_hold_any_text_and_only_grow(texts in prop::collection::vec(any::<String>(), 1..5)) {
        let items = texts.iter().map(|text| Item::User { text: text.clone() }).collect();
        let whole = Conversation { system: texts[0].clone(), items };
        let options = RequestOptions { model: "m", catalog: "", max_tokens: None };
        let body = encode_request(&whole, &options);
        let read: Value = serde_json::from_slice(&body).unwrap();
        let offset = usize::from(!texts[0].is_empty());
        for (at, text) in texts.iter().enumerate() {
            prop_assert_eq!(read["messages"][at + offset]["content"].as_str().unwrap(), text);
        }
        let shorter = Conversation { items: whole.items[..texts.len() - 1].to_vec(), ..whole.clone() };
        let before = encode_request(&shorter, &options);
        let kept = before.strip_suffix(b"]}").unwrap();
        prop_assert!(body.starts_with(kept));
    }
}

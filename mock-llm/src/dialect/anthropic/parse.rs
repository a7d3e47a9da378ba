//! Reads an Anthropic Messages request without judging it.

use crate::dialect::raw::{self, content, string};
use crate::dialect::{Form, ParseError, Parsed};
use serde::Deserialize;
use serde_json::Value;
use serde_json::value::RawValue;
use slot_oracles::trace::{RawParts, WireCall, WireItem, WireRequest, WireTool};

#[derive(Deserialize)]
struct Body<'a> {
    #[serde(borrow)]
    model: Option<&'a RawValue>,
    #[serde(borrow)]
    max_tokens: Option<&'a RawValue>,
    #[serde(borrow)]
    system: Option<&'a RawValue>,
    #[serde(borrow)]
    messages: Option<&'a RawValue>,
    #[serde(borrow)]
    tools: Option<&'a RawValue>,
    #[serde(default)]
    stream: Option<bool>,
}

#[derive(Deserialize)]
struct Message<'a> {
    #[serde(default)]
    role: Option<String>,
    #[serde(borrow)]
    content: Option<&'a RawValue>,
}

/// A content block, with the input of a call as it was transmitted.
#[derive(Deserialize)]
struct Block<'a> {
    #[serde(borrow)]
    input: Option<&'a RawValue>,
}

/// Reads a request body.
///
/// # Errors
///
/// When the body is no JSON object, or `messages` is no list.
pub fn parse(body: &[u8]) -> Result<Parsed, ParseError> {
    let wrong = |problem: String| ParseError { dialect: "anthropic", problem };
    let body: Body<'_> = serde_json::from_slice(body).map_err(|error| wrong(error.to_string()))?;
    let messages = match body.messages {
        Some(list) => raw::list(list).ok_or_else(|| wrong("`messages` is no list".to_owned()))?,
        None => Vec::new(),
    };
    let (mut items, mut problems) = (Vec::new(), Vec::new());
    if body.max_tokens.is_none() {
        problems.push("`max_tokens` is absent".to_owned());
    }
    if let Some(system) = body.system {
        items.push(WireItem::System { text: content(&raw::value(system)) });
    }
    for (at, text) in messages.iter().enumerate() {
        match serde_json::from_str::<Message<'_>>(text.get()) {
            Ok(message) => read(&message, at, &mut items, &mut problems),
            Err(error) => problems.push(format!("messages[{at}] is no message: {error}")),
        }
    }
    let tools = body.tools.and_then(raw::list).unwrap_or_default();
    let request = WireRequest {
        dialect: "anthropic".to_owned(),
        // Tools that the provider runs itself have a versioned type and no schema; they are not the agent's.
        tools: tools.into_iter().map(tool).filter(|tool| !tool.schema.is_null() || !hosted(&tool.raw)).collect(),
        items,
        raw: RawParts {
            tools: body.tools.map(|tools| tools.get().to_owned()).unwrap_or_default(),
            system: body.system.map(|system| system.get().to_owned()).unwrap_or_default(),
            items: messages.iter().map(|message| message.get().to_owned()).collect(),
        },
        ..WireRequest::default()
    };
    let model = body.model.map(raw::value).and_then(|model| model.as_str().map(str::to_owned)).unwrap_or_default();
    let form = Form { stream: body.stream.unwrap_or(false), usage: true, model, search: false };
    Ok(Parsed { request, form, problems })
}

fn tool(text: &RawValue) -> WireTool {
    let entry = raw::value(text);
    WireTool {
        name: string(&entry, "name"),
        description: string(&entry, "description"),
        schema: entry.get("input_schema").cloned().unwrap_or_default(),
        raw: text.get().to_owned(),
    }
}

/// Whether an entry is a tool that the provider runs, such as `web_search_20250305`.
fn hosted(raw: &str) -> bool {
    let entry: Value = serde_json::from_str(raw).unwrap_or_default();
    entry.get("type").and_then(Value::as_str).is_some_and(|kind| kind != "custom")
}

/// Reads one message into items: results and text of a user stay in their order, an assistant is one item.
fn read(message: &Message<'_>, at: usize, items: &mut Vec<WireItem>, problems: &mut Vec<String>) {
    let whole = message.content.map(raw::value).unwrap_or_default();
    let blocks: Vec<&RawValue> = message.content.and_then(raw::list).unwrap_or_default();
    match message.role.as_deref() {
        Some("assistant") => items.push(assistant(&whole, &blocks, at, problems)),
        Some("user") => user(&whole, items),
        Some("system") => items.push(WireItem::System { text: content(&whole) }),
        _ => problems.push(format!("messages[{at}] has no role that the dialect knows")),
    }
}

fn assistant(whole: &Value, blocks: &[&RawValue], at: usize, problems: &mut Vec<String>) -> WireItem {
    let Value::Array(values) = whole else { return WireItem::Assistant { text: content(whole), calls: Vec::new() } };
    let (mut text, mut calls) = (String::new(), Vec::new());
    for (block, raw) in values.iter().zip(blocks) {
        match block.get("type").and_then(Value::as_str) {
            Some("text") => text.push_str(&string(block, "text")),
            Some("tool_use") => {
                let input = serde_json::from_str::<Block<'_>>(raw.get()).ok().and_then(|block| block.input);
                let arguments = input.map(|input| input.get().to_owned()).unwrap_or_default();
                calls.push(WireCall { id: string(block, "id"), name: string(block, "name"), arguments });
            }
            Some("thinking") if string(block, "signature").is_empty() => {
                problems.push(format!("messages[{at}] holds a thinking block without its signature"));
            }
            _ => {}
        }
    }
    WireItem::Assistant { text, calls }
}

fn user(whole: &Value, items: &mut Vec<WireItem>) {
    let Value::Array(blocks) = whole else {
        items.push(WireItem::User { text: content(whole) });
        return;
    };
    // Neighbouring texts are one item, but never one with the text of an earlier message.
    let mut in_text = false;
    for block in blocks {
        if block.get("type").and_then(Value::as_str) == Some("tool_result") {
            in_text = false;
            items.push(WireItem::ToolResult {
                call_id: string(block, "tool_use_id"),
                content: block.get("content").map(content).unwrap_or_default(),
                is_error: block.get("is_error").and_then(Value::as_bool),
            });
            continue;
        }
        let more = string(block, "text");
        match items.last_mut() {
            Some(WireItem::User { text }) if in_text => text.push_str(&more),
            _ => items.push(WireItem::User { text: more }),
        }
        in_text = true;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[track_caller]
    fn check(messages: Value, expect: &[WireItem], problems: &[&str]) {
        let body = json!({"model": "m", "max_tokens": 1, "messages": messages}).to_string();
        let parsed = parse(body.as_bytes()).unwrap();
        assert_eq!(parsed.request.items, expect);
        assert_eq!(parsed.problems, problems);
    }

    #[test]
    fn messages_become_items() {
        check(
            json!([
                {"role": "user", "content": "u"},
                {"role": "assistant", "content": [
                    {"type": "thinking", "thinking": "t", "signature": "s"},
                    {"type": "text", "text": "a"},
                    {"type": "tool_use", "id": "c1", "name": "f", "input": {"x": 1}},
                    {"type": "tool_use", "id": "c2", "name": "g", "input": {}}]},
                {"role": "user", "content": [
                    {"type": "tool_result", "tool_use_id": "c1", "content": [{"type": "text", "text": "r"}], "is_error": true},
                    {"type": "tool_result", "tool_use_id": "c2", "content": "s"},
                    {"type": "text", "text": "on"}, {"type": "text", "text": "!"}]},
            ]),
            &[
                WireItem::User { text: "u".into() },
                WireItem::Assistant {
                    text: "a".into(),
                    calls: vec![
                        WireCall { id: "c1".into(), name: "f".into(), arguments: r#"{"x":1}"#.into() },
                        WireCall { id: "c2".into(), name: "g".into(), arguments: "{}".into() },
                    ],
                },
                WireItem::ToolResult { call_id: "c1".into(), content: "r".into(), is_error: Some(true) },
                WireItem::ToolResult { call_id: "c2".into(), content: "s".into(), is_error: None },
                WireItem::User { text: "on!".into() },
            ],
            &[],
        );
    }

    #[test]
    fn what_the_dialect_does_not_know_is_named() {
        check(
            json!([{"role": "tool", "content": "x"}, {"role": "assistant", "content": [{"type": "thinking", "thinking": "t"}]}, 5]),
            &[WireItem::Assistant { text: String::new(), calls: Vec::new() }],
            &[
                "messages[0] has no role that the dialect knows",
                "messages[1] holds a thinking block without its signature",
                "messages[2] is no message: invalid type: integer `5`, expected struct Message at line 1 column 1",
            ],
        );
    }

    #[test]
    fn system_and_tools_keep_their_bytes() {
        let body = br#"{"model":"m","max_tokens":5,"stream":true,"system":[ {"type":"text","text":"s"}],"messages":[],"tools":[{"name":"a","input_schema":{"type":"object"}},{"type":"web_search_20250305","name":"web_search"}]}"#;
        let parsed = parse(body).unwrap();
        assert_eq!(parsed.request.raw.system, r#"[ {"type":"text","text":"s"}]"#);
        assert_eq!(parsed.request.items, [WireItem::System { text: "s".into() }]);
        assert_eq!(parsed.request.tools.iter().map(|tool| tool.name.as_str()).collect::<Vec<_>>(), ["a"]);
        assert!(parsed.form.stream);
        assert!(parse(br#"{"messages":[],"model":"m"}"#).unwrap().problems[0].contains("max_tokens"));
    }
}

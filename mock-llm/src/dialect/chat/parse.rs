//! Reads a Chat Completions request without judging it.

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
    messages: Option<&'a RawValue>,
    #[serde(borrow)]
    tools: Option<&'a RawValue>,
    #[serde(default)]
    stream: Option<bool>,
    #[serde(default)]
    stream_options: Option<StreamOptions>,
}

#[derive(Deserialize)]
struct StreamOptions {
    #[serde(default)]
    include_usage: Option<bool>,
}

/// Reads a request body.
///
/// # Errors
///
/// When the body is no JSON object, or `messages` is no list.
pub fn parse(body: &[u8]) -> Result<Parsed, ParseError> {
    let wrong = |problem: String| ParseError { dialect: "chat", problem };
    let body: Body<'_> = serde_json::from_slice(body).map_err(|error| wrong(error.to_string()))?;
    let messages = match body.messages {
        Some(list) => raw::list(list).ok_or_else(|| wrong("`messages` is no list".to_owned()))?,
        None => Vec::new(),
    };
    let tools = body.tools.and_then(raw::list).unwrap_or_default();
    let (mut items, mut problems) = (Vec::new(), Vec::new());
    for (at, message) in messages.iter().enumerate() {
        match item(&raw::value(message)) {
            Some(item) => items.push(item),
            None => problems.push(format!("messages[{at}] has no role that the dialect knows")),
        }
    }
    let request = WireRequest {
        dialect: "chat".to_owned(),
        tools: tools.into_iter().map(tool).collect(),
        items,
        raw: RawParts {
            tools: body.tools.map(|tools| tools.get().to_owned()).unwrap_or_default(),
            system: String::new(),
            items: messages.iter().map(|message| message.get().to_owned()).collect(),
        },
        ..WireRequest::default()
    };
    let form = Form {
        stream: body.stream.unwrap_or(false),
        usage: body.stream_options.and_then(|options| options.include_usage).unwrap_or(false),
        model: body.model.map(raw::value).and_then(|model| model.as_str().map(str::to_owned)).unwrap_or_default(),
        search: false,
    };
    Ok(Parsed { request, form, problems })
}

fn tool(text: &RawValue) -> WireTool {
    let entry = raw::value(text);
    let function = entry.get("function").unwrap_or(&entry);
    WireTool {
        name: string(function, "name"),
        description: string(function, "description"),
        schema: function.get("parameters").cloned().unwrap_or_default(),
        raw: text.get().to_owned(),
    }
}

/// `None` for a role that the format does not know; the judge names it from the raw text.
fn item(message: &Value) -> Option<WireItem> {
    let text = message.get("content").map(content).unwrap_or_default();
    Some(match message.get("role").and_then(Value::as_str)? {
        "system" | "developer" => WireItem::System { text },
        "user" => WireItem::User { text },
        "assistant" => WireItem::Assistant { text, calls: calls(message) },
        "tool" => WireItem::ToolResult { call_id: string(message, "tool_call_id"), content: text, is_error: None },
        _ => return None,
    })
}

fn calls(message: &Value) -> Vec<WireCall> {
    let list = message.get("tool_calls").and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
    list.iter()
        .map(|call| {
            let function = call.get("function").unwrap_or(&Value::Null);
            WireCall {
                id: string(call, "id"),
                name: string(function, "name"),
                arguments: string(function, "arguments"),
            }
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[track_caller]
    fn check(messages: Value, expect: &[WireItem]) {
        let body = json!({"model": "m", "messages": messages}).to_string();
        assert_eq!(parse(body.as_bytes()).unwrap().request.items, expect);
    }

    #[test]
    fn roles_become_items() {
        check(
            json!([
                {"role": "system", "content": "s"},
                {"role": "developer", "content": [{"type": "text", "text": "d1"}, {"type": "text", "text": "d2"}]},
                {"role": "user", "content": "u"},
                {"role": "assistant", "content": null, "tool_calls": [
                    {"id": "c1", "type": "function", "function": {"name": "f", "arguments": "{}"}}]},
                {"role": "tool", "tool_call_id": "c1", "content": [{"type": "text", "text": "r"}]},
                {"role": "oracle", "content": "?"},
            ]),
            &[
                WireItem::System { text: "s".into() },
                WireItem::System { text: "d1d2".into() },
                WireItem::User { text: "u".into() },
                WireItem::Assistant {
                    text: String::new(),
                    calls: vec![WireCall { id: "c1".into(), name: "f".into(), arguments: "{}".into() }],
                },
                WireItem::ToolResult { call_id: "c1".into(), content: "r".into(), is_error: None },
            ],
        );
    }

    #[test]
    fn raw_parts_keep_the_transmitted_bytes() {
        let body = br#"{"messages":[ {"role":"user", "content":"\u00fc"} ],"tools":[{"function":{"name":"a"}} ],"model":"m","stream":true,"stream_options":{"include_usage":true}}"#;
        let parsed = parse(body).unwrap();
        assert_eq!(parsed.request.raw.items, [r#"{"role":"user", "content":"\u00fc"}"#]);
        assert_eq!(parsed.request.raw.tools, r#"[{"function":{"name":"a"}} ]"#);
        assert_eq!(parsed.request.tools[0].raw, r#"{"function":{"name":"a"}}"#);
        assert_eq!(parsed.request.tools[0].name, "a");
        assert_eq!(parsed.form, Form { stream: true, usage: true, model: "m".into(), search: false });
    }

    #[test]
    fn a_body_that_is_no_request_is_refused() {
        for body in ["", "[]", "{\"messages\":5}", "{\"model\":", "\u{0}"] {
            assert!(parse(body.as_bytes()).is_err(), "{body}");
        }
        assert!(parse(b"{\"messages\":[\"\xff\"]}").is_err());
    }
}

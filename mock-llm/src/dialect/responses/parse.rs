//! Reads an OpenAI Responses request without judging it.

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
    instructions: Option<&'a RawValue>,
    #[serde(borrow)]
    input: Option<&'a RawValue>,
    #[serde(borrow)]
    tools: Option<&'a RawValue>,
    #[serde(default)]
    stream: Option<bool>,
}

/// Reads a request body.
///
/// # Errors
///
/// When the body is no JSON object, or `input` is neither a text nor a list.
pub fn parse(body: &[u8]) -> Result<Parsed, ParseError> {
    let wrong = |problem: String| ParseError { dialect: "responses", problem };
    let body: Body<'_> = serde_json::from_slice(body).map_err(|error| wrong(error.to_string()))?;
    let (mut items, mut problems, mut raws) = (Vec::new(), Vec::new(), Vec::new());
    if let Some(instructions) = body.instructions.map(raw::value).as_ref().and_then(Value::as_str) {
        items.push(WireItem::System { text: instructions.to_owned() });
    }
    match body.input.map(|input| (input, raw::list(input))) {
        Some((_, Some(list))) => {
            for (at, item) in list.into_iter().enumerate() {
                raws.push(item.get().to_owned());
                read(&raw::value(item), at, &mut items, &mut problems);
            }
        }
        Some((input, None)) => match raw::value(input) {
            Value::String(text) => {
                raws.push(input.get().to_owned());
                items.push(WireItem::User { text });
            }
            _ => return Err(wrong("`input` is neither a text nor a list".to_owned())),
        },
        None => {}
    }
    let tools = body.tools.and_then(raw::list).unwrap_or_default();
    let search = tools.iter().any(|tool| kind(&raw::value(tool)) == Some(SEARCH));
    let request = WireRequest {
        dialect: "responses".to_owned(),
        tools: tools.into_iter().filter_map(tool).collect(),
        items,
        raw: RawParts {
            tools: body.tools.map(|tools| tools.get().to_owned()).unwrap_or_default(),
            system: body.instructions.map(|text| text.get().to_owned()).unwrap_or_default(),
            items: raws,
        },
        ..WireRequest::default()
    };
    let model = body.model.map(raw::value).and_then(|model| model.as_str().map(str::to_owned)).unwrap_or_default();
    let form = Form { stream: body.stream.unwrap_or(false), usage: true, model, search };
    Ok(Parsed { request, form, problems })
}

/// The type of the search that the client runs, which is also the name under which a script calls it.
pub(super) const SEARCH: &str = "tool_search";

fn kind(entry: &Value) -> Option<&str> {
    let kind = entry.get("type").and_then(Value::as_str);
    kind.filter(|kind| *kind != SEARCH || entry.get("execution").and_then(Value::as_str) == Some("client"))
}

/// A function tool, or the search that the client runs. The tools that the provider runs itself, free-form tools and
/// namespaces have no schema of the agent's and are left out; they stay in the raw text.
fn tool(text: &RawValue) -> Option<WireTool> {
    let entry = raw::value(text);
    let name = match kind(&entry)? {
        "function" => string(&entry, "name"),
        SEARCH => SEARCH.to_owned(),
        _ => return None,
    };
    Some(WireTool {
        name,
        description: string(&entry, "description"),
        schema: entry.get("parameters").cloned().unwrap_or_default(),
        raw: text.get().to_owned(),
    })
}

/// Reads one input item. The dialect gives each call an item of its own; the calls of one turn are put together again.
fn read(item: &Value, at: usize, items: &mut Vec<WireItem>, problems: &mut Vec<String>) {
    let kind = item.get("type").and_then(Value::as_str).unwrap_or("message");
    let text = || item.get("content").map(content).unwrap_or_default();
    match (kind, item.get("role").and_then(Value::as_str)) {
        ("message", Some("system" | "developer")) => items.push(WireItem::System { text: text() }),
        ("message", Some("user")) => items.push(WireItem::User { text: text() }),
        ("message", Some("assistant")) => match items.last_mut() {
            Some(WireItem::Assistant { text: said, calls }) if !calls.is_empty() => said.push_str(&text()),
            _ => items.push(WireItem::Assistant { text: text(), calls: Vec::new() }),
        },
        ("function_call" | "custom_tool_call" | "tool_search_call", _) => {
            let (name, arguments) = match kind {
                "function_call" => (string(item, "name"), string(item, "arguments")),
                // Its arguments are an object, and no text.
                "tool_search_call" => {
                    (SEARCH.to_owned(), item.get("arguments").map(Value::to_string).unwrap_or_default())
                }
                _ => (string(item, "name"), string(item, "input")),
            };
            let call = WireCall { id: string(item, "call_id"), name, arguments };
            match items.last_mut() {
                Some(WireItem::Assistant { calls, .. }) => calls.push(call),
                _ => items.push(WireItem::Assistant { text: String::new(), calls: vec![call] }),
            }
        }
        ("function_call_output" | "custom_tool_call_output", _) => items.push(WireItem::ToolResult {
            call_id: string(item, "call_id"),
            content: item.get("output").map(content).unwrap_or_default(),
            is_error: None,
        }),
        ("tool_search_output", _) => items.push(WireItem::ToolResult {
            call_id: string(item, "call_id"),
            content: item.get("tools").map(Value::to_string).unwrap_or_default(),
            is_error: None,
        }),
        ("message", _) => problems.push(format!("input[{at}] has no role that the dialect knows")),
        // Reasoning, references and what the provider's own tools did carry nothing that is judged.
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[track_caller]
    fn check(input: Value, expect: &[WireItem], problems: &[&str]) {
        let body = json!({"model": "m", "input": input}).to_string();
        let parsed = parse(body.as_bytes()).unwrap();
        assert_eq!(parsed.request.items, expect);
        assert_eq!(parsed.problems, problems);
    }

    fn call(id: &str) -> Value {
        json!({"type": "function_call", "id": "fc", "call_id": id, "name": "f", "arguments": "{}"})
    }

    fn read_call(id: &str) -> WireCall {
        WireCall { id: id.into(), name: "f".into(), arguments: "{}".into() }
    }

    fn result(id: &str) -> WireItem {
        WireItem::ToolResult { call_id: id.into(), content: "r".into(), is_error: None }
    }

    #[test]
    fn the_calls_of_one_turn_are_one_item() {
        let output = |id: &str| json!({"type": "function_call_output", "call_id": id, "output": "r"});
        check(
            json!([
                {"role": "user", "content": [{"type": "input_text", "text": "u"}]},
                {"type": "reasoning", "summary": []},
                {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "a"}]},
                call("c1"), call("c2"), output("c1"), output("c2"), call("c3"), output("c3"),
            ]),
            &[
                WireItem::User { text: "u".into() },
                WireItem::Assistant { text: "a".into(), calls: vec![read_call("c1"), read_call("c2")] },
                result("c1"),
                result("c2"),
                WireItem::Assistant { text: String::new(), calls: vec![read_call("c3")] },
                result("c3"),
            ],
            &[],
        );
    }

    #[test]
    fn two_messages_of_the_assistant_stay_two() {
        let said = |text: &str| json!({"type": "message", "role": "assistant", "content": text});
        let item = |text: &str| WireItem::Assistant { text: text.into(), calls: Vec::new() };
        check(json!([said("a"), said("b")]), &[item("a"), item("b")], &[]);
    }

    #[test]
    fn a_search_and_its_result_are_a_call_and_its_answer() {
        let tools = json!([
            {"type": "tool_search", "execution": "client", "description": "d", "parameters": {"type": "object"}},
            {"type": "tool_search"},
        ]);
        let input = json!([
            {"type": "tool_search_call", "call_id": "c1", "execution": "client", "arguments": {"query": "x"}},
            {"type": "tool_search_output", "call_id": "c1", "execution": "client", "tools": [{"name": "y"}]},
        ]);
        let parsed = parse(json!({"model": "m", "input": input, "tools": tools}).to_string().as_bytes()).unwrap();
        assert!(parsed.form.search);
        let names: Vec<&str> = parsed.request.tools.iter().map(|tool| tool.name.as_str()).collect();
        assert_eq!(names, [SEARCH]);
        let call = WireCall { id: "c1".into(), name: SEARCH.into(), arguments: r#"{"query":"x"}"#.into() };
        assert_eq!(
            parsed.request.items,
            [
                WireItem::Assistant { text: String::new(), calls: vec![call] },
                WireItem::ToolResult { call_id: "c1".into(), content: r#"[{"name":"y"}]"#.into(), is_error: None },
            ]
        );
    }

    #[test]
    fn a_text_is_a_user_message() {
        check(json!("go"), &[WireItem::User { text: "go".into() }], &[]);
        assert!(parse(br#"{"model":"m","input":5}"#).is_err());
    }

    #[test]
    fn unknown_roles_are_named() {
        check(json!([{"role": "robot", "content": "x"}]), &[], &["input[0] has no role that the dialect knows"]);
    }

    #[test]
    fn instructions_and_tools_keep_their_bytes() {
        let body = br#"{"model":"m","instructions":"s\u00fc","input":[ ],"tools":[{"type":"function","name":"a","parameters":{"type":"object"}},{"type":"web_search"}],"stream":true}"#;
        let parsed = parse(body).unwrap();
        assert_eq!(parsed.request.raw.system, r#""s\u00fc""#);
        assert_eq!(parsed.request.items, [WireItem::System { text: "sü".into() }]);
        assert_eq!(parsed.request.tools.len(), 1);
        assert!(parsed.form.stream);
    }
}

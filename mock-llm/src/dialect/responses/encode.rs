//! Says a turn as OpenAI Responses, streamed and whole.

use crate::dialect::object::{list, object, typed};
use crate::dialect::responses::parse::SEARCH;
use crate::dialect::{Encoded, Form};
use crate::fragment::fragments;
use crate::script::{End, Stop};
use crate::sse::FrameWriter;
use crate::turn::ModelTurn;
use slot_oracles::trace::ServedCall;

/// Encodes a turn in the form asked for.
pub fn encode(turn: &ModelTurn, form: &Form) -> Encoded {
    if form.stream { stream(turn, form) } else { whole(turn, form) }
}

/// Writes the events of one stream, numbered.
struct Events<'a> {
    frames: FrameWriter,
    whole: Vec<&'a str>,
    number: usize,
    /// The finished output items.
    output: Vec<String>,
}

impl Events<'_> {
    fn event(&mut self, kind: &str, rest: &[(&str, String)]) {
        let start = typed(kind).number("sequence_number", self.number);
        let payload = rest.iter().fold(start, |out, (key, json)| out.json(key, json));
        self.frames.frame(Some(kind), &payload.end());
        self.number += 1;
    }

    /// One output item: its announcement, what `fill` adds to it, its end.
    fn item(&mut self, opened: String, finished: String, fill: impl FnOnce(&mut Self, String)) {
        let index = self.output.len().to_string();
        self.event("response.output_item.added", &[("output_index", index.clone()), ("item", opened)]);
        fill(self, index.clone());
        self.event("response.output_item.done", &[("output_index", index), ("item", finished.clone())]);
        self.output.push(finished);
    }
}

/// A JSON string, for members that are given as JSON.
fn quoted(text: &str) -> String {
    crate::dialect::object::quoted(text)
}

fn stream(turn: &ModelTurn, form: &Form) -> Encoded {
    let whole: Vec<&str> = turn.whole.iter().map(String::as_str).collect();
    let mut out = Events { frames: FrameWriter::new(&turn.framing), whole, number: 0, output: Vec::new() };
    let open = response(turn, form, "in_progress", "[]", false);
    out.event("response.created", &[("response", open.clone())]);
    out.event("response.in_progress", &[("response", open)]);
    if !turn.reason.is_empty() {
        let id = format!("rs_mock_{:04}", turn.index);
        out.item(reasoning(&id, None), reasoning(&id, Some(&turn.reason)), |out, index| {
            reason(out, &id, index, &turn.reason);
        });
    }
    if !turn.text.is_empty() {
        let id = format!("msg_mock_{:04}", turn.index);
        let done = message(&id, status(turn, turn.calls.is_empty()), Some(&turn.text));
        out.item(message(&id, "in_progress", None), done, |out, index| text(out, &id, index, &turn.text));
    }
    for (at, call) in turn.calls.iter().enumerate() {
        let id = call_item_id(turn, at);
        if let Some(arguments) = searches(call, form) {
            let done = search_call(&id, status(turn, at + 1 == turn.calls.len()), call, arguments);
            out.item(search_call(&id, "in_progress", call, "{}"), done, |_, _| {});
            continue;
        }
        let done = function_call(&id, status(turn, at + 1 == turn.calls.len()), call, &call.arguments);
        out.item(function_call(&id, "in_progress", call, ""), done, |out, index| {
            let place = [("item_id", quoted(&id)), ("output_index", index)];
            for part in fragments(&call.arguments, &out.whole.clone()) {
                let rest = [&place[..], &[("delta", quoted(part))]].concat();
                out.event("response.function_call_arguments.delta", &rest);
            }
            let rest = [&place[..], &[("arguments", quoted(&call.arguments))]].concat();
            out.event("response.function_call_arguments.done", &rest);
        });
    }
    let terminal = (turn.end == End::Clean).then(|| out.frames.count());
    if terminal.is_some() {
        let (kind, state) = ending(turn.stop);
        let closed = response(turn, form, state, &list(&out.output), true);
        out.event(kind, &[("response", closed)]);
    }
    let (bytes, frames) = out.frames.finish();
    Encoded { bytes, frames, stream: true, terminal }
}

/// The events inside a message item.
fn text(out: &mut Events<'_>, id: &str, index: String, text: &str) {
    let place = [("item_id", quoted(id)), ("output_index", index), ("content_index", "0".to_owned())];
    let with = |more: &[(&'static str, String)]| [&place[..], more].concat();
    out.event("response.content_part.added", &with(&[("part", text_part(""))]));
    for part in fragments(text, &out.whole.clone()) {
        out.event("response.output_text.delta", &with(&[("delta", quoted(part)), ("logprobs", "[]".to_owned())]));
    }
    out.event("response.output_text.done", &with(&[("text", quoted(text)), ("logprobs", "[]".to_owned())]));
    out.event("response.content_part.done", &with(&[("part", text_part(text))]));
}

/// The events inside a reasoning item.
fn reason(out: &mut Events<'_>, id: &str, index: String, text: &str) {
    let place = [("item_id", quoted(id)), ("output_index", index), ("summary_index", "0".to_owned())];
    let with = |more: &[(&'static str, String)]| [&place[..], more].concat();
    out.event("response.reasoning_summary_part.added", &with(&[("part", summary_part(""))]));
    for part in fragments(text, &out.whole.clone()) {
        out.event("response.reasoning_summary_text.delta", &with(&[("delta", quoted(part))]));
    }
    out.event("response.reasoning_summary_text.done", &with(&[("text", quoted(text))]));
    out.event("response.reasoning_summary_part.done", &with(&[("part", summary_part(text))]));
}

fn whole(turn: &ModelTurn, form: &Form) -> Encoded {
    let mut output = Vec::new();
    if !turn.reason.is_empty() {
        output.push(reasoning(&format!("rs_mock_{:04}", turn.index), Some(&turn.reason)));
    }
    if !turn.text.is_empty() {
        let id = format!("msg_mock_{:04}", turn.index);
        output.push(message(&id, status(turn, turn.calls.is_empty()), Some(&turn.text)));
    }
    for (at, call) in turn.calls.iter().enumerate() {
        let status = status(turn, at + 1 == turn.calls.len());
        output.push(match searches(call, form) {
            Some(arguments) => search_call(&call_item_id(turn, at), status, call, arguments),
            None => function_call(&call_item_id(turn, at), status, call, &call.arguments),
        });
    }
    let state = if turn.end == End::Clean { ending(turn.stop).1 } else { "in_progress" };
    let bytes = response(turn, form, state, &list(&output), true).into_bytes();
    Encoded { bytes, terminal: (turn.end == End::Clean).then_some(0), ..Encoded::default() }
}

/// The item id of a call, which is not its call id.
fn call_item_id(turn: &ModelTurn, at: usize) -> String {
    format!("fc_mock_{:04}_{at}", turn.index)
}

/// The state of a finished item: a turn that was cut leaves its last item incomplete.
fn status(turn: &ModelTurn, is_last: bool) -> &'static str {
    if is_last && ending(turn.stop).1 == "incomplete" { "incomplete" } else { "completed" }
}

/// The last event and the state of the response.
fn ending(stop: Stop) -> (&'static str, &'static str) {
    match stop {
        Stop::Stop | Stop::ToolCalls => ("response.completed", "completed"),
        Stop::MaxTokens | Stop::ContentFilter => ("response.incomplete", "incomplete"),
    }
}

fn message(id: &str, status: &str, text: Option<&str>) -> String {
    let content: Vec<String> = text.map(text_part).into_iter().collect();
    let item = object().text("id", id).text("type", "message").text("status", status);
    item.json("content", &list(&content)).text("role", "assistant").end()
}

fn text_part(text: &str) -> String {
    typed("output_text").json("annotations", "[]").json("logprobs", "[]").text("text", text).end()
}

fn reasoning(id: &str, text: Option<&str>) -> String {
    let summary: Vec<String> = text.map(summary_part).into_iter().collect();
    object().text("id", id).text("type", "reasoning").json("summary", &list(&summary)).end()
}

fn summary_part(text: &str) -> String {
    typed("summary_text").text("text", text).end()
}

fn function_call(id: &str, status: &str, call: &ServedCall, arguments: &str) -> String {
    let item = object().text("id", id).text("type", "function_call").text("status", status);
    item.text("arguments", arguments).text("call_id", &call.id).text("name", &call.name).end()
}

/// The arguments of a call that is a search with an item of its own: such an item holds an object, and no other text.
fn searches<'a>(call: &'a ServedCall, form: &Form) -> Option<&'a str> {
    let is_object = || serde_json::from_str::<serde_json::Map<String, serde_json::Value>>(&call.arguments).is_ok();
    (form.search && call.name == SEARCH && is_object()).then_some(call.arguments.as_str())
}

fn search_call(id: &str, status: &str, call: &ServedCall, arguments: &str) -> String {
    let item = object().text("id", id).text("type", "tool_search_call").text("status", status);
    item.text("call_id", &call.id).text("execution", "client").json("arguments", arguments).end()
}

/// The response object, which the first events carry open and the last one closed.
fn response(turn: &ModelTurn, form: &Form, state: &str, output: &str, closed: bool) -> String {
    let reason = match turn.stop {
        Stop::MaxTokens if state == "incomplete" => Some("max_output_tokens"),
        Stop::ContentFilter if state == "incomplete" => Some("content_filter"),
        _ => None,
    };
    let details = reason.map_or("null".to_owned(), |reason| object().text("reason", reason).end());
    let usage = if closed && state != "in_progress" { usage(turn) } else { "null".to_owned() };
    object()
        .text("id", &format!("resp_mock_{:04}", turn.index))
        .text("object", "response")
        .number("created_at", 1_700_000_000)
        .text("status", state)
        .json("background", "false")
        .json("error", "null")
        .json("incomplete_details", &details)
        .json("instructions", "null")
        .json("max_output_tokens", "null")
        .text("model", &form.model)
        .json("output", output)
        .json("parallel_tool_calls", "true")
        .json("previous_response_id", "null")
        .json("store", "false")
        .json("temperature", "1.0")
        .text("tool_choice", "auto")
        .json("tools", "[]")
        .json("top_p", "1.0")
        .text("truncation", "disabled")
        .json("usage", &usage)
        .json("metadata", "{}")
        .end()
}

fn usage(turn: &ModelTurn) -> String {
    let (input, output) = (100, turn.output_tokens());
    object()
        .number("input_tokens", input)
        .json("input_tokens_details", r#"{"cached_tokens":0}"#)
        .number("output_tokens", output)
        .json("output_tokens_details", &object().number("reasoning_tokens", turn.reason.len().div_ceil(4)).end())
        .number("total_tokens", input + output)
        .end()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::Value;

    fn turn() -> ModelTurn {
        let call = ServedCall { id: "call_1".into(), name: "exec".into(), arguments: r#"{"cmd":"ls"}"#.into() };
        ModelTurn { calls: vec![call], stop: Stop::ToolCalls, ..ModelTurn::text("hi") }
    }

    fn form(stream: bool) -> Form {
        Form { stream, usage: true, model: "m".into(), search: false }
    }

    /// Each event's name and payload. The name must stand in both places, the numbers must count up.
    fn events(turn: &ModelTurn) -> Vec<(String, Value)> {
        let text = String::from_utf8(encode(turn, &form(true)).bytes).unwrap();
        let frames = text.split_terminator("\n\n").enumerate().map(|(at, frame)| {
            let (name, data) = frame.strip_prefix("event: ").unwrap().split_once("\ndata: ").unwrap();
            let value: Value = serde_json::from_str(data).unwrap();
            assert_eq!((value["type"].as_str(), value["sequence_number"].as_u64()), (Some(name), Some(at as u64)));
            (name.to_owned(), value)
        });
        frames.collect()
    }

    #[track_caller]
    fn check(turn: &ModelTurn, expect: &[&str]) {
        let names: Vec<String> = events(turn).into_iter().map(|(name, _)| name.replacen("response.", "", 1)).collect();
        assert_eq!(names, expect);
    }

    #[test]
    fn a_stream_announces_fills_and_ends_every_item() {
        check(
            &turn(),
            &[
                "created",
                "in_progress",
                "output_item.added",
                "content_part.added",
                "output_text.delta",
                "output_text.done",
                "content_part.done",
                "output_item.done",
                "output_item.added",
                "function_call_arguments.delta",
                "function_call_arguments.delta",
                "function_call_arguments.delta",
                "function_call_arguments.done",
                "output_item.done",
                "completed",
            ],
        );
    }

    #[test]
    fn the_deltas_add_up_to_what_the_end_says() {
        let all = events(&turn());
        let deltas: String = all.iter().filter_map(|(_, value)| value["delta"].as_str()).collect();
        assert_eq!(deltas, r#"hi{"cmd":"ls"}"#);
        let closed = &all.last().unwrap().1["response"];
        assert_eq!(closed["status"], "completed");
        assert_eq!(closed["output"][0]["content"][0]["text"], "hi");
        assert_eq!(closed["output"][1]["arguments"], r#"{"cmd":"ls"}"#);
        assert_eq!(closed["output"][1]["call_id"], "call_1");
        assert_eq!(closed["usage"]["total_tokens"], 105);
    }

    #[test]
    fn a_cut_turn_is_incomplete_and_says_why() {
        let all = events(&ModelTurn { stop: Stop::MaxTokens, ..turn() });
        let (name, value) = all.last().unwrap();
        assert_eq!(name, "response.incomplete");
        assert_eq!(value["response"]["incomplete_details"]["reason"], "max_output_tokens");
        assert_eq!(value["response"]["output"][1]["status"], "incomplete");
        assert_eq!(value["response"]["output"][0]["status"], "completed");
    }

    #[test]
    fn a_stream_without_its_end_has_no_last_event() {
        check(&ModelTurn { end: End::Disconnect, ..ModelTurn::text("") }, &["created", "in_progress"]);
    }

    #[test]
    fn reasoning_is_an_item_with_a_summary() {
        check(
            &ModelTurn { reason: "why".into(), ..ModelTurn::text("") },
            &[
                "created",
                "in_progress",
                "output_item.added",
                "reasoning_summary_part.added",
                "reasoning_summary_text.delta",
                "reasoning_summary_text.done",
                "reasoning_summary_part.done",
                "output_item.done",
                "completed",
            ],
        );
    }

    #[test]
    fn the_whole_form_is_the_closed_response() {
        let value: Value = serde_json::from_slice(&encode(&turn(), &form(false)).bytes).unwrap();
        assert_eq!(value, events(&turn()).last().unwrap().1["response"]);
    }

    #[test]
    fn a_search_is_an_item_of_its_own_where_it_was_declared_so() {
        let call = |arguments: &str| {
            let call = ServedCall { id: "c1".into(), name: SEARCH.into(), arguments: arguments.into() };
            ModelTurn { calls: vec![call], stop: Stop::ToolCalls, ..ModelTurn::text("") }
        };
        let item = |turn: &ModelTurn, search: bool, stream: bool| {
            let encoded = encode(turn, &Form { search, ..form(stream) });
            String::from_utf8(encoded.bytes).unwrap()
        };
        for stream in [false, true] {
            let native = item(&call(r#"{"query":"x"}"#), true, stream);
            let expect = r#""type":"tool_search_call","status":"completed","call_id":"c1","execution":"client","arguments":{"query":"x"}"#;
            assert!(native.contains(expect) && !native.contains("function_call"), "{native}");
            for other in [item(&call("{\"query\":"), true, stream), item(&call("{}"), false, stream)] {
                assert!(other.contains("function_call") && !other.contains("tool_search_call"), "{other}");
            }
        }
    }
}

//! Says a turn as Anthropic Messages, streamed and whole.

use crate::dialect::object::{list, object, typed};
use crate::dialect::{Encoded, Form};
use crate::fragment::fragments;
use crate::script::{End, Stop};
use crate::sse::FrameWriter;
use crate::turn::ModelTurn;
use serde_json::Value;

/// Encodes a turn in the form asked for.
pub fn encode(turn: &ModelTurn, form: &Form) -> Encoded {
    if form.stream { stream(turn, form) } else { whole(turn, form) }
}

/// An error body.
pub fn error(status: u16, kind: &str, message: &str) -> Vec<u8> {
    // The provider's own names, where the status has one.
    let kind = match status {
        429 => "rate_limit_error",
        529 => "overloaded_error",
        _ => kind,
    };
    let error = typed(kind).text("message", message).end();
    typed("error").json("error", &error).text("request_id", "req_mock").end().into_bytes()
}

/// Writes the events of one stream. Every frame names its event twice: in the `event` field and in the payload.
struct Events<'a> {
    frames: FrameWriter,
    whole: Vec<&'a str>,
    /// The index of the next content block.
    block: usize,
}

impl Events<'_> {
    fn event(&mut self, kind: &str, rest: &[(&str, String)]) {
        let payload = rest.iter().fold(typed(kind), |out, (key, json)| out.json(key, json));
        self.frames.frame(Some(kind), &payload.end());
    }

    /// One content block: its start, its deltas, its stop.
    fn block(&mut self, start: String, deltas: impl IntoIterator<Item = String>) {
        let index = self.block.to_string();
        self.event("content_block_start", &[("index", index.clone()), ("content_block", start)]);
        for delta in deltas {
            self.event("content_block_delta", &[("index", index.clone()), ("delta", delta)]);
        }
        self.event("content_block_stop", &[("index", index)]);
        self.block += 1;
    }

    /// The fragments of a text as deltas of one kind.
    fn deltas(&self, kind: &str, field: &str, text: &str) -> Vec<String> {
        fragments(text, &self.whole).into_iter().map(|part| typed(kind).text(field, part).end()).collect()
    }
}

fn stream(turn: &ModelTurn, form: &Form) -> Encoded {
    let whole = turn.whole.iter().map(String::as_str).collect();
    let mut out = Events { frames: FrameWriter::new(&turn.framing), whole, block: 0 };
    out.event("message_start", &[("message", message(turn, form, "[]", None, 1))]);
    out.event("ping", &[]);
    if !turn.reason.is_empty() {
        let mut deltas = out.deltas("thinking_delta", "thinking", &turn.reason);
        deltas.push(typed("signature_delta").text("signature", &signature(turn)).end());
        out.block(typed("thinking").text("thinking", "").text("signature", "").end(), deltas);
    }
    if !turn.text.is_empty() {
        let deltas = out.deltas("text_delta", "text", &turn.text);
        out.block(typed("text").text("text", "").end(), deltas);
    }
    for call in &turn.calls {
        let start = typed("tool_use").text("id", &call.id).text("name", &call.name).json("input", "{}").end();
        // The provider opens every input with an empty fragment.
        let mut deltas = vec![typed("input_json_delta").text("partial_json", "").end()];
        deltas.extend(out.deltas("input_json_delta", "partial_json", &call.arguments));
        out.block(start, deltas);
    }
    let terminal = (turn.end == End::Clean).then(|| out.frames.count());
    if terminal.is_some() {
        let delta = object().text("stop_reason", stop_reason(turn.stop)).json("stop_sequence", "null").end();
        let usage = object().number("output_tokens", turn.output_tokens()).end();
        out.event("message_delta", &[("delta", delta), ("usage", usage)]);
        out.event("message_stop", &[]);
    }
    let (bytes, frames) = out.frames.finish();
    Encoded { bytes, frames, stream: true, terminal }
}

fn whole(turn: &ModelTurn, form: &Form) -> Encoded {
    let mut content = Vec::new();
    if !turn.reason.is_empty() {
        content.push(typed("thinking").text("thinking", &turn.reason).text("signature", &signature(turn)).end());
    }
    if !turn.text.is_empty() {
        content.push(typed("text").text("text", &turn.text).end());
    }
    for call in &turn.calls {
        // A document has no place for argument text that is no JSON; it is handed over as a string, which is as wrong.
        let is_json = serde_json::from_str::<Value>(&call.arguments).is_ok();
        let input = typed("tool_use").text("id", &call.id).text("name", &call.name);
        let block = if is_json { input.json("input", &call.arguments) } else { input.text("input", &call.arguments) };
        content.push(block.end());
    }
    let stop = (turn.end == End::Clean).then_some(stop_reason(turn.stop));
    let bytes = message(turn, form, &list(&content), stop, turn.output_tokens()).into_bytes();
    Encoded { bytes, terminal: stop.map(|_| 0), ..Encoded::default() }
}

fn message(turn: &ModelTurn, form: &Form, content: &str, stop: Option<&str>, output: usize) -> String {
    let usage = object()
        .number("input_tokens", 100)
        .number("cache_creation_input_tokens", 0)
        .number("cache_read_input_tokens", 0)
        .number("output_tokens", output)
        .text("service_tier", "standard")
        .end();
    object()
        .text("id", &format!("msg_mock_{:04}", turn.index))
        .text("type", "message")
        .text("role", "assistant")
        .text("model", &form.model)
        .json("content", content)
        .text_or_null("stop_reason", stop)
        .json("stop_sequence", "null")
        .json("usage", &usage)
        .end()
}

/// What a client must give back with the reasoning, unread.
fn signature(turn: &ModelTurn) -> String {
    format!("bW9jay1zaWduYXR1cmU{:04}", turn.index)
}

fn stop_reason(stop: Stop) -> &'static str {
    match stop {
        Stop::Stop => "end_turn",
        Stop::ToolCalls => "tool_use",
        Stop::MaxTokens => "max_tokens",
        Stop::ContentFilter => "refusal",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use slot_oracles::trace::ServedCall;

    fn turn() -> ModelTurn {
        let call = ServedCall { id: "toolu_1".into(), name: "Read".into(), arguments: r#"{"path":"ü"}"#.into() };
        ModelTurn { calls: vec![call], stop: Stop::ToolCalls, reason: "why".into(), ..ModelTurn::text("hi") }
    }

    fn form(stream: bool) -> Form {
        Form { stream, usage: true, model: "m".into(), search: false }
    }

    #[track_caller]
    fn check(turn: &ModelTurn, expect: &[(&str, &str)]) {
        let text = String::from_utf8(encode(turn, &form(true)).bytes).unwrap();
        let frames: Vec<(&str, &str)> = text
            .split_terminator("\n\n")
            .map(|frame| frame.strip_prefix("event: ").unwrap().split_once("\ndata: ").unwrap())
            .collect();
        assert_eq!(frames, expect);
    }

    const START: (&str, &str) = (
        "message_start",
        r#"{"type":"message_start","message":{"id":"msg_mock_0000","type":"message","role":"assistant","model":"m","content":[],"stop_reason":null,"stop_sequence":null,"usage":{"input_tokens":100,"cache_creation_input_tokens":0,"cache_read_input_tokens":0,"output_tokens":1,"service_tier":"standard"}}}"#,
    );

    #[test]
    fn a_stream_is_said_as_the_provider_says_it() {
        check(
            &turn(),
            &[
                START,
                ("ping", r#"{"type":"ping"}"#),
                (
                    "content_block_start",
                    r#"{"type":"content_block_start","index":0,"content_block":{"type":"thinking","thinking":"","signature":""}}"#,
                ),
                (
                    "content_block_delta",
                    r#"{"type":"content_block_delta","index":0,"delta":{"type":"thinking_delta","thinking":"why"}}"#,
                ),
                (
                    "content_block_delta",
                    r#"{"type":"content_block_delta","index":0,"delta":{"type":"signature_delta","signature":"bW9jay1zaWduYXR1cmU0000"}}"#,
                ),
                ("content_block_stop", r#"{"type":"content_block_stop","index":0}"#),
                (
                    "content_block_start",
                    r#"{"type":"content_block_start","index":1,"content_block":{"type":"text","text":""}}"#,
                ),
                (
                    "content_block_delta",
                    r#"{"type":"content_block_delta","index":1,"delta":{"type":"text_delta","text":"hi"}}"#,
                ),
                ("content_block_stop", r#"{"type":"content_block_stop","index":1}"#),
                (
                    "content_block_start",
                    r#"{"type":"content_block_start","index":2,"content_block":{"type":"tool_use","id":"toolu_1","name":"Read","input":{}}}"#,
                ),
                (
                    "content_block_delta",
                    r#"{"type":"content_block_delta","index":2,"delta":{"type":"input_json_delta","partial_json":""}}"#,
                ),
                (
                    "content_block_delta",
                    r#"{"type":"content_block_delta","index":2,"delta":{"type":"input_json_delta","partial_json":"{\"pa"}}"#,
                ),
                (
                    "content_block_delta",
                    r#"{"type":"content_block_delta","index":2,"delta":{"type":"input_json_delta","partial_json":"th\":\"ü"}}"#,
                ),
                (
                    "content_block_delta",
                    r#"{"type":"content_block_delta","index":2,"delta":{"type":"input_json_delta","partial_json":"\"}"}}"#,
                ),
                ("content_block_stop", r#"{"type":"content_block_stop","index":2}"#),
                (
                    "message_delta",
                    r#"{"type":"message_delta","delta":{"stop_reason":"tool_use","stop_sequence":null},"usage":{"output_tokens":6}}"#,
                ),
                ("message_stop", r#"{"type":"message_stop"}"#),
            ],
        );
    }

    #[test]
    fn a_stream_without_its_end_lacks_reason_and_stop() {
        let turn = ModelTurn { end: End::NoTerminal, ..ModelTurn::text("") };
        check(&turn, &[START, ("ping", r#"{"type":"ping"}"#)]);
    }

    #[test]
    fn the_whole_form_holds_the_same_turn() {
        let value: Value = serde_json::from_slice(&encode(&turn(), &form(false)).bytes).unwrap();
        assert_eq!(value["stop_reason"], "tool_use");
        assert_eq!(value["content"][0]["thinking"], "why");
        assert_eq!(value["content"][1]["text"], "hi");
        assert_eq!(value["content"][2]["input"]["path"], "ü");
    }

    #[test]
    fn a_document_carries_broken_arguments_as_text() {
        let mut turn = turn();
        turn.calls[0].arguments = "{\"a\":1,}".into();
        let value: Value = serde_json::from_slice(&encode(&turn, &form(false)).bytes).unwrap();
        assert_eq!(value["content"][2]["input"], "{\"a\":1,}");
    }
}

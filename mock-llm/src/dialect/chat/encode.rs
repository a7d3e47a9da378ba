//! Says a turn as Chat Completions, streamed and whole, as OpenAI's own endpoint does.

use crate::dialect::{Encoded, Form};
use crate::fragment::fragments;
use crate::script::{End, Stop};
use crate::sse::FrameWriter;
use crate::turn::ModelTurn;
use serde::Serialize;
use serde_json::{Value, json};

/// Creation time of every response: fixed, since a clock would make equal states differ.
const CREATED: u64 = 1_700_000_000;

/// Encodes a turn in the form asked for.
pub fn encode(turn: &ModelTurn, form: &Form) -> Encoded {
    if form.stream { stream(turn, form) } else { whole(turn, form) }
}

/// An error body. OpenAI gives no numeric status in it.
pub fn error(_status: u16, kind: &str, message: &str) -> Vec<u8> {
    json!({"error": {"message": message, "type": kind, "param": null, "code": null}}).to_string().into_bytes()
}

/// One `chat.completion.chunk`, with its members in the order in which they are transmitted.
#[derive(Serialize)]
struct Chunk<'a> {
    id: &'a str,
    object: &'static str,
    created: u64,
    model: &'a str,
    service_tier: &'static str,
    system_fingerprint: &'static str,
    choices: &'a [ChunkChoice<'a>],
    /// `null` in every chunk but the last when usage was asked for, absent when it was not.
    #[serde(skip_serializing_if = "Option::is_none")]
    usage: Option<Value>,
}

#[derive(Serialize)]
struct ChunkChoice<'a> {
    index: u8,
    delta: Delta<'a>,
    logprobs: (),
    finish_reason: Option<&'static str>,
}

#[derive(Default, Serialize)]
struct Delta<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    role: Option<&'static str>,
    /// The outer `None` leaves the member out, the inner one writes `null`.
    #[serde(skip_serializing_if = "Option::is_none")]
    content: Option<Option<&'a str>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    reasoning_content: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    tool_calls: Option<[CallDelta<'a>; 1]>,
    #[serde(skip_serializing_if = "Option::is_none")]
    refusal: Option<()>,
}

#[derive(Serialize)]
struct CallDelta<'a> {
    index: usize,
    #[serde(skip_serializing_if = "Option::is_none")]
    id: Option<&'a str>,
    #[serde(rename = "type", skip_serializing_if = "Option::is_none")]
    kind: Option<&'static str>,
    function: FunctionDelta<'a>,
}

#[derive(Serialize)]
struct FunctionDelta<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    name: Option<&'a str>,
    arguments: &'a str,
}

/// Writes the chunks of one stream.
struct Chunks<'a> {
    id: String,
    form: &'a Form,
    frames: FrameWriter,
}

impl Chunks<'_> {
    fn delta(&mut self, delta: Delta<'_>, finish_reason: Option<&'static str>) {
        let choice = ChunkChoice { index: 0, delta, logprobs: (), finish_reason };
        self.chunk(&[choice], self.form.usage.then_some(Value::Null));
    }

    fn chunk(&mut self, choices: &[ChunkChoice<'_>], usage: Option<Value>) {
        let chunk = Chunk {
            id: &self.id,
            object: "chat.completion.chunk",
            created: CREATED,
            model: &self.form.model,
            service_tier: "default",
            system_fingerprint: "fp_mock",
            choices,
            usage,
        };
        self.frames.frame(None, &to_json(&chunk));
    }
}

#[expect(clippy::expect_used, reason = "every type given here has string keys and no float, so it always serialises")]
fn to_json(value: &impl Serialize) -> String {
    serde_json::to_string(value).expect("a value of plain strings and integers serialises")
}

fn stream(turn: &ModelTurn, form: &Form) -> Encoded {
    let whole: Vec<&str> = turn.whole.iter().map(String::as_str).collect();
    let mut out = Chunks { id: id(turn), form, frames: FrameWriter::new(&turn.framing) };
    // A turn that only calls opens with `null` content, any other with the empty string.
    let opening = if turn.text.is_empty() && !turn.calls.is_empty() { None } else { Some("") };
    let first = Delta { role: Some("assistant"), content: Some(opening), refusal: Some(()), ..Delta::default() };
    out.delta(first, None);
    for part in fragments(&turn.reason, &whole) {
        out.delta(Delta { reasoning_content: Some(part), ..Delta::default() }, None);
    }
    for part in fragments(&turn.text, &whole) {
        out.delta(Delta { content: Some(Some(part)), ..Delta::default() }, None);
    }
    for (index, call) in turn.calls.iter().enumerate() {
        let open = FunctionDelta { name: Some(&call.name), arguments: "" };
        out.delta(call_delta(CallDelta { index, id: Some(&call.id), kind: Some("function"), function: open }), None);
        for part in fragments(&call.arguments, &whole) {
            let function = FunctionDelta { name: None, arguments: part };
            out.delta(call_delta(CallDelta { index, id: None, kind: None, function }), None);
        }
    }
    let terminal = (turn.end == End::Clean).then(|| out.frames.count());
    if terminal.is_some() {
        out.delta(Delta::default(), Some(finish_reason(turn.stop)));
        if form.usage {
            out.chunk(&[], Some(usage(turn)));
        }
        out.frames.frame(None, "[DONE]");
    }
    let (bytes, frames) = out.frames.finish();
    Encoded { bytes, frames, stream: true, terminal }
}

fn call_delta(call: CallDelta<'_>) -> Delta<'_> {
    Delta { tool_calls: Some([call]), ..Delta::default() }
}

#[derive(Serialize)]
struct Completion<'a> {
    id: &'a str,
    object: &'static str,
    created: u64,
    model: &'a str,
    choices: [Choice<'a>; 1],
    usage: Value,
    service_tier: &'static str,
    system_fingerprint: &'static str,
}

#[derive(Serialize)]
struct Choice<'a> {
    index: u8,
    message: Message<'a>,
    logprobs: (),
    finish_reason: Option<&'static str>,
}

#[derive(Serialize)]
struct Message<'a> {
    role: &'static str,
    content: Option<&'a str>,
    #[serde(skip_serializing_if = "str::is_empty")]
    reasoning_content: &'a str,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    tool_calls: Vec<WholeCall<'a>>,
    refusal: (),
    annotations: [(); 0],
}

#[derive(Serialize)]
struct WholeCall<'a> {
    id: &'a str,
    #[serde(rename = "type")]
    kind: &'static str,
    function: FunctionDelta<'a>,
}

fn whole(turn: &ModelTurn, form: &Form) -> Encoded {
    let calls = turn.calls.iter().map(|call| WholeCall {
        id: &call.id,
        kind: "function",
        function: FunctionDelta { name: Some(&call.name), arguments: &call.arguments },
    });
    let message = Message {
        role: "assistant",
        content: (!turn.text.is_empty() || turn.calls.is_empty()).then_some(&turn.text),
        reasoning_content: &turn.reason,
        tool_calls: calls.collect(),
        refusal: (),
        annotations: [],
    };
    let finish_reason = (turn.end == End::Clean).then_some(finish_reason(turn.stop));
    let completion = Completion {
        id: &id(turn),
        object: "chat.completion",
        created: CREATED,
        model: &form.model,
        choices: [Choice { index: 0, message, logprobs: (), finish_reason }],
        usage: usage(turn),
        service_tier: "default",
        system_fingerprint: "fp_mock",
    };
    Encoded { bytes: to_json(&completion).into_bytes(), terminal: finish_reason.map(|_| 0), ..Encoded::default() }
}

fn id(turn: &ModelTurn) -> String {
    format!("chatcmpl-mock-{:04}", turn.index)
}

fn finish_reason(stop: Stop) -> &'static str {
    match stop {
        Stop::Stop => "stop",
        Stop::ToolCalls => "tool_calls",
        Stop::MaxTokens => "length",
        Stop::ContentFilter => "content_filter",
    }
}

fn usage(turn: &ModelTurn) -> Value {
    let (input, output) = (100, turn.output_tokens());
    json!({
        "prompt_tokens": input, "completion_tokens": output, "total_tokens": input + output,
        "prompt_tokens_details": {"cached_tokens": 0, "audio_tokens": 0},
        "completion_tokens_details": {"reasoning_tokens": turn.reason.len().div_ceil(4), "audio_tokens": 0,
            "accepted_prediction_tokens": 0, "rejected_prediction_tokens": 0},
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use slot_oracles::trace::ServedCall;

    fn turn() -> ModelTurn {
        let call = |id: &str, arguments: &str| ServedCall {
            id: id.into(),
            name: "read_file".into(),
            arguments: arguments.into(),
        };
        let calls = vec![call("c1", r#"{"path":"ü"}"#), call("c2", "{}")];
        ModelTurn { calls, stop: Stop::ToolCalls, ..ModelTurn::text("hi") }
    }

    fn form(stream: bool, usage: bool) -> Form {
        Form { stream, usage, model: "m".into(), search: false }
    }

    /// The payloads of a stream with the members that are equal in all of them cut away.
    fn payloads(turn: &ModelTurn, form: &Form) -> Vec<String> {
        let encoded = encode(turn, form);
        let text = String::from_utf8(encoded.bytes).unwrap();
        let head = r#"{"id":"chatcmpl-mock-0000","object":"chat.completion.chunk","created":1700000000,"model":"m","service_tier":"default","system_fingerprint":"fp_mock","choices":"#;
        text.split_terminator("\n\n")
            .map(|frame| frame.strip_prefix("data: ").unwrap())
            .map(|payload| payload.strip_prefix(head).unwrap_or(payload).to_owned())
            .collect()
    }

    #[track_caller]
    fn check(turn: &ModelTurn, form: &Form, expect: &[&str]) {
        assert_eq!(payloads(turn, form), expect);
    }

    #[test]
    fn a_stream_is_said_as_the_provider_says_it() {
        check(
            &turn(),
            &form(true, false),
            &[
                r#"[{"index":0,"delta":{"role":"assistant","content":"","refusal":null},"logprobs":null,"finish_reason":null}]}"#,
                r#"[{"index":0,"delta":{"content":"hi"},"logprobs":null,"finish_reason":null}]}"#,
                r#"[{"index":0,"delta":{"tool_calls":[{"index":0,"id":"c1","type":"function","function":{"name":"read_file","arguments":""}}]},"logprobs":null,"finish_reason":null}]}"#,
                r#"[{"index":0,"delta":{"tool_calls":[{"index":0,"function":{"arguments":"{\"pa"}}]},"logprobs":null,"finish_reason":null}]}"#,
                r#"[{"index":0,"delta":{"tool_calls":[{"index":0,"function":{"arguments":"th\":\"ü"}}]},"logprobs":null,"finish_reason":null}]}"#,
                r#"[{"index":0,"delta":{"tool_calls":[{"index":0,"function":{"arguments":"\"}"}}]},"logprobs":null,"finish_reason":null}]}"#,
                r#"[{"index":0,"delta":{"tool_calls":[{"index":1,"id":"c2","type":"function","function":{"name":"read_file","arguments":""}}]},"logprobs":null,"finish_reason":null}]}"#,
                r#"[{"index":0,"delta":{"tool_calls":[{"index":1,"function":{"arguments":"{}"}}]},"logprobs":null,"finish_reason":null}]}"#,
                r#"[{"index":0,"delta":{},"logprobs":null,"finish_reason":"tool_calls"}]}"#,
                "[DONE]",
            ],
        );
    }

    #[test]
    fn usage_comes_in_a_chunk_of_its_own_when_asked_for() {
        let all = payloads(&ModelTurn::text("hi"), &form(true, true));
        assert!(all[0].ends_with(r#""finish_reason":null}],"usage":null}"#), "{}", all[0]);
        assert!(all[all.len() - 2].starts_with(r#"[],"usage":{"completion_tokens":1,"#), "{}", all[all.len() - 2]);
        assert_eq!(all[all.len() - 1], "[DONE]");
    }

    #[test]
    fn a_stream_without_its_terminal_signal_sends_neither_reason_nor_done() {
        for end in [End::NoTerminal, End::Disconnect] {
            let all = payloads(&ModelTurn { end, ..turn() }, &form(true, true));
            assert!(all.iter().all(|payload| payload.contains(r#""finish_reason":null"#)), "{all:?}");
        }
    }

    #[test]
    fn a_turn_that_only_calls_has_null_content() {
        let all = payloads(&ModelTurn { text: String::new(), ..turn() }, &form(true, false));
        assert!(all[0].contains(r#""content":null"#), "{}", all[0]);
    }

    #[test]
    fn the_whole_form_holds_the_same_turn() {
        let encoded = encode(&turn(), &form(false, false));
        let value: Value = serde_json::from_slice(&encoded.bytes).unwrap();
        let choice = &value["choices"][0];
        assert_eq!((encoded.stream, encoded.frames.len()), (false, 0));
        assert_eq!(value["object"], "chat.completion");
        assert_eq!(choice["finish_reason"], "tool_calls");
        assert_eq!(choice["message"]["content"], "hi");
        assert_eq!(choice["message"]["tool_calls"][0]["function"]["arguments"], r#"{"path":"ü"}"#);
        assert_eq!(value["usage"]["total_tokens"], 109);
    }

    #[test]
    fn reasoning_comes_first_in_its_own_channel() {
        let all = payloads(&ModelTurn { reason: "why".into(), ..ModelTurn::text("x") }, &form(true, false));
        assert!(all[1].contains(r#""delta":{"reasoning_content":"why"}"#), "{}", all[1]);
        assert!(all[2].contains(r#""delta":{"content":"x"}"#), "{}", all[2]);
    }
}

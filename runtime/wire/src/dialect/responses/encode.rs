//! The request of Responses.
//!
//! Each part of a turn is an item of its own; items are only ever added at the end. Encrypted items go back where they
//! stood. The input stands last in the body.

use crate::dialect::json::{is_object, write_string};
use crate::dialect::{Declared, Dialect, RequestOptions, ToolDeclaration};
use crate::replay::{Replay, Segment, segments};
use crate::{Conversation, Item};
use std::collections::BTreeSet;

/// The tools array of a Responses request, in the given order; an empty string where there are no tools. Each schema is
/// embedded as it stands, and said not to be strict where it is not: the dialect would otherwise demand that form of it.
pub fn encode_catalog(tools: &[ToolDeclaration<'_>]) -> String {
    encode_deferring(tools, |_| Declared::Plain)
}

/// The same without the tools that the model is to see only once a result brings them, and with the tool that finds them
/// declared as the search that the client runs itself.
pub fn encode_deferring(tools: &[ToolDeclaration<'_>], how: impl Fn(usize) -> Declared) -> String {
    let mut out = Vec::new();
    for (at, tool) in tools.iter().enumerate() {
        let how = how(at);
        if how == Declared::Deferred {
            continue;
        }
        out.extend_from_slice(if out.is_empty() { b"[" } else { b"," });
        match how {
            Declared::Search => {
                out.extend_from_slice(br#"{"type":"tool_search","execution":"client","description":"#);
                write_string(&mut out, tool.description);
                out.extend_from_slice(br#","parameters":"#);
                out.extend_from_slice(tool.schema.get().as_bytes());
                out.push(b'}');
            }
            _ => function(&mut out, tool, b""),
        }
    }
    if !out.is_empty() {
        out.push(b']');
    }
    text(&out)
}

/// What stands for a deferred tool in the result that found it: its declaration.
pub fn reference(tool: &ToolDeclaration<'_>) -> String {
    let mut out = Vec::new();
    function(&mut out, tool, br#","defer_loading":true"#);
    text(&out)
}

fn function(out: &mut Vec<u8>, tool: &ToolDeclaration<'_>, more: &[u8]) {
    out.extend_from_slice(br#"{"type":"function","name":"#);
    write_string(out, tool.name);
    out.extend_from_slice(br#","description":"#);
    write_string(out, tool.description);
    out.extend_from_slice(br#","parameters":"#);
    out.extend_from_slice(tool.schema.get().as_bytes());
    out.extend_from_slice(if tool.strict { br#","strict":true"# } else { br#","strict":false"# });
    out.extend_from_slice(more);
    out.push(b'}');
}

/// Every part came from a string and the pieces between them are ASCII.
fn text(out: &[u8]) -> String {
    String::from_utf8_lossy(out).into_owned()
}

/// The body of a streaming Responses request. Nothing is stored at the provider. Encrypted reasoning is not asked for,
/// because models without it refuse the request; what comes all the same is sent back.
pub fn encode_request(conversation: &Conversation, replay: &Replay, options: &RequestOptions<'_>) -> Vec<u8> {
    let mut out = Vec::with_capacity(options.catalog.len() + 1024);
    out.extend_from_slice(br#"{"model":"#);
    write_string(&mut out, options.model);
    out.extend_from_slice(br#","stream":true,"store":false"#);
    if let Some(limit) = options.max_tokens {
        out.extend_from_slice(format!(r#","max_output_tokens":{limit}"#).as_bytes());
    }
    if !options.catalog.is_empty() {
        out.extend_from_slice(br#","tools":"#);
        out.extend_from_slice(options.catalog.as_bytes());
    }
    if !conversation.system.is_empty() {
        out.extend_from_slice(br#","instructions":"#);
        write_string(&mut out, &conversation.system);
    }
    out.extend_from_slice(br#","input":["#);
    let start = out.len();
    let searches = searches(conversation, replay);
    for (at, item) in conversation.items.iter().enumerate() {
        encode_item(&mut out, start, item, replay, &searches, at);
    }
    out.extend_from_slice(b"]}");
    out
}

/// The calls whose results bring tools. They and their results have items of their own kind; a search that found nothing
/// goes back as a call like any other, so that the model reads why.
fn searches<'a>(conversation: &'a Conversation, replay: &Replay) -> BTreeSet<&'a str> {
    let (mut objects, mut found) = (BTreeSet::new(), BTreeSet::new());
    for (at, item) in conversation.items.iter().enumerate() {
        match item {
            Item::ToolResult { call_id, .. } if !replay.references(at).is_empty() => {
                found.insert(call_id.as_str());
            }
            Item::Assistant { calls, .. } if replay.refers() => {
                objects.extend(calls.iter().filter(|call| is_object(&call.arguments)).map(|call| call.id.as_str()));
            }
            _ => {}
        }
    }
    found.retain(|id| objects.contains(id));
    found
}

fn encode_item(out: &mut Vec<u8>, start: usize, item: &Item, replay: &Replay, searches: &BTreeSet<&str>, at: usize) {
    match item {
        Item::User { text } => message(out, start, "user", "input_text", text),
        Item::Assistant { text, calls } => {
            for segment in segments(Dialect::Responses, text, calls, replay.blocks(at)) {
                match segment {
                    Segment::Text(text) => message(out, start, "assistant", "output_text", text),
                    Segment::Opaque(json) => begin(out, start, json.as_bytes()),
                    Segment::Call(call) if searches.contains(call.id.as_str()) => {
                        begin(out, start, br#"{"type":"tool_search_call","call_id":"#);
                        write_string(out, &call.id);
                        out.extend_from_slice(br#","status":"completed","execution":"client","arguments":"#);
                        out.extend_from_slice(call.arguments.as_bytes());
                        out.push(b'}');
                    }
                    Segment::Call(call) => {
                        begin(out, start, br#"{"type":"function_call","call_id":"#);
                        write_string(out, &call.id);
                        out.extend_from_slice(br#","name":"#);
                        write_string(out, &call.name);
                        out.extend_from_slice(br#","arguments":"#);
                        write_string(out, &call.arguments);
                        out.push(b'}');
                    }
                }
            }
        }
        Item::ToolResult { call_id, .. } if searches.contains(call_id.as_str()) => {
            begin(out, start, br#"{"type":"tool_search_output","call_id":"#);
            write_string(out, call_id);
            out.extend_from_slice(br#","status":"completed","execution":"client","tools":["#);
            let tools: Vec<&str> = replay.references(at).iter().map(|tool| tool.json.as_str()).collect();
            out.extend_from_slice(tools.join(",").as_bytes());
            out.extend_from_slice(b"]}");
        }
        // The dialect has no error mark: the text of the result has to say it.
        Item::ToolResult { call_id, content, is_error: _ } => {
            begin(out, start, br#"{"type":"function_call_output","call_id":"#);
            write_string(out, call_id);
            out.extend_from_slice(br#","output":"#);
            write_string(out, content);
            out.push(b'}');
        }
    }
}

fn begin(out: &mut Vec<u8>, start: usize, bytes: &[u8]) {
    if out.len() > start {
        out.push(b',');
    }
    out.extend_from_slice(bytes);
}

fn message(out: &mut Vec<u8>, start: usize, role: &str, part: &str, text: &str) {
    begin(out, start, br#"{"type":"message","role":"#);
    write_string(out, role);
    out.extend_from_slice(br#","content":[{"type":"#);
    write_string(out, part);
    out.extend_from_slice(br#","text":"#);
    write_string(out, text);
    out.extend_from_slice(b"}]}");
}

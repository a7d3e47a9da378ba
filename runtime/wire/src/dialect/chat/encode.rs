//! The request of Chat Completions.
//!
//! The messages stand last, after everything that stays the same from one request to the next, so that request n
//! without its closing brackets is a prefix of request n+1.

use crate::dialect::json::write_string;
use crate::dialect::{RequestOptions, ToolDeclaration};
use crate::{Conversation, Item, RawCall};

/// The tools array of a Chat Completions request, in the given order; an empty string where there are no tools. Each
/// schema is embedded as it stands.
pub fn encode_catalog(tools: &[ToolDeclaration<'_>]) -> String {
    if tools.is_empty() {
        return String::new();
    }
    let mut out = Vec::new();
    for (at, tool) in tools.iter().enumerate() {
        out.extend_from_slice(if at == 0 { b"[" } else { b"," });
        out.extend_from_slice(br#"{"type":"function","function":{"name":"#);
        write_string(&mut out, tool.name);
        out.extend_from_slice(br#","description":"#);
        write_string(&mut out, tool.description);
        out.extend_from_slice(br#","parameters":"#);
        out.extend_from_slice(tool.schema.get().as_bytes());
        out.extend_from_slice(if tool.strict { br#","strict":true}}"# } else { b"}}" });
    }
    out.push(b']');
    // Every part came from a string and the pieces between them are ASCII.
    String::from_utf8_lossy(&out).into_owned()
}

/// The body of a streaming Chat Completions request. The output limit goes out as `max_tokens`, which servers that
/// speak this dialect understand most widely.
pub fn encode_request(conversation: &Conversation, options: &RequestOptions<'_>) -> Vec<u8> {
    let mut out = Vec::with_capacity(options.catalog.len() + 1024);
    out.extend_from_slice(br#"{"model":"#);
    write_string(&mut out, options.model);
    out.extend_from_slice(br#","stream":true,"stream_options":{"include_usage":true}"#);
    if let Some(limit) = options.max_tokens {
        out.extend_from_slice(format!(r#","max_tokens":{limit}"#).as_bytes());
    }
    if !options.catalog.is_empty() {
        out.extend_from_slice(br#","tools":"#);
        out.extend_from_slice(options.catalog.as_bytes());
    }
    out.extend_from_slice(br#","messages":["#);
    let start = out.len();
    if !conversation.system.is_empty() {
        begin_message(&mut out, start, "system");
        out.extend_from_slice(br#","content":"#);
        write_string(&mut out, &conversation.system);
        out.push(b'}');
    }
    for item in &conversation.items {
        encode_item(&mut out, start, item);
    }
    out.extend_from_slice(b"]}");
    out
}

fn begin_message(out: &mut Vec<u8>, start: usize, role: &str) {
    if out.len() > start {
        out.push(b',');
    }
    out.extend_from_slice(br#"{"role":"#);
    write_string(out, role);
}

fn encode_item(out: &mut Vec<u8>, start: usize, item: &Item) {
    match item {
        Item::User { text } => {
            begin_message(out, start, "user");
            out.extend_from_slice(br#","content":"#);
            write_string(out, text);
        }
        Item::Assistant { text, calls } => {
            begin_message(out, start, "assistant");
            out.extend_from_slice(br#","content":"#);
            // A turn of calls alone has no content; one of nothing at all still needs a string.
            match text.is_empty() && !calls.is_empty() {
                true => out.extend_from_slice(b"null"),
                false => write_string(out, text),
            }
            encode_calls(out, calls);
        }
        // The dialect has no error mark: the text of the result has to say it.
        Item::ToolResult { call_id, content, is_error: _ } => {
            begin_message(out, start, "tool");
            out.extend_from_slice(br#","tool_call_id":"#);
            write_string(out, call_id);
            out.extend_from_slice(br#","content":"#);
            write_string(out, content);
        }
    }
    out.push(b'}');
}

fn encode_calls(out: &mut Vec<u8>, calls: &[RawCall]) {
    for (at, call) in calls.iter().enumerate() {
        out.extend_from_slice(if at == 0 { br#","tool_calls":["# } else { b"," });
        out.extend_from_slice(br#"{"id":"#);
        write_string(out, &call.id);
        out.extend_from_slice(br#","type":"function","function":{"name":"#);
        write_string(out, &call.name);
        out.extend_from_slice(br#","arguments":"#);
        write_string(out, &call.arguments);
        out.extend_from_slice(b"}}");
    }
    if !calls.is_empty() {
        out.push(b']');
    }
}

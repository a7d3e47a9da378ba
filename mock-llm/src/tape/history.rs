//! The state of a conversation as a tape keys it: what was said by whom, without what differs from run to run.
//!
//! The first entry is the form that was asked for. Then follows one for each message: a user message by the digest of its
//! text, an assistant message by the digest of its text and the ids of its calls, a result by the id of its call. System
//! text and the content of results are left out, since they hold dates, folders and times.

use crate::dialect::Parsed;
use slot_oracles::trace::WireItem;

/// The history of a request.
pub(crate) fn history(parsed: &Parsed) -> Vec<String> {
    let form = if parsed.form.stream { "stream" } else { "document" };
    let tools = if parsed.request.tools.is_empty() { "no tools" } else { "tools" };
    let items = parsed.request.items.iter().filter_map(|item| match item {
        WireItem::System { .. } => None,
        WireItem::User { text } => Some(format!("user{}", digest(text))),
        WireItem::Assistant { text, calls } => {
            let ids: String = calls.iter().map(|call| format!(" {}", call.id)).collect();
            Some(format!("assistant{}{ids}", digest(text)))
        }
        WireItem::ToolResult { call_id, .. } => Some(format!("result {call_id}")),
    });
    std::iter::once(format!("{form}, {tools}")).chain(items).collect()
}

/// An entry without the digest of a user's words, for agents that put the date or the folder into them.
pub(super) fn loose(entry: &str) -> &str {
    if entry.starts_with("user") { "user" } else { entry }
}

/// The 64-bit FNV-1a hash of a text without the space around it, after a blank; nothing for a text of nothing.
fn digest(text: &str) -> String {
    let text = text.trim();
    if text.is_empty() {
        return String::new();
    }
    let hash = text
        .bytes()
        .fold(0xcbf2_9ce4_8422_2325, |hash: u64, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3));
    format!(" {hash:016x}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dialect::Dialect;
    use serde_json::{Value, json};

    #[track_caller]
    fn check(body: Value, expect: &[&str]) {
        assert_eq!(history(&Dialect::Chat.parse(body.to_string().as_bytes()).unwrap()), expect);
    }

    #[test]
    fn a_history_is_who_said_what() {
        let call = json!({"id": "c1", "type": "function", "function": {"name": "f", "arguments": "{}"}});
        check(
            json!({"model": "m", "stream": true, "tools": [{"function": {"name": "f"}}], "messages": [
                {"role": "system", "content": "today is Monday"},
                {"role": "user", "content": " a\n"},
                {"role": "assistant", "content": null, "tool_calls": [call]},
                {"role": "tool", "tool_call_id": "c1", "content": "took 3 ms"},
                {"role": "assistant", "content": "a"},
            ]}),
            &["stream, tools", "user af63dc4c8601ec8c", "assistant c1", "result c1", "assistant af63dc4c8601ec8c"],
        );
        check(json!({"messages": []}), &["document, no tools"]);
    }
}

//! The request of Anthropic Messages.
//!
//! The dialect wants roles to alternate, so neighbouring items of one side share a message; its blocks are only ever
//! added to at the end. Signed blocks go back where they stood. The messages stand last in the body.
//!
//! This provider caches only up to what is marked, and looks back from a mark no further than 20 blocks. So three places
//! are marked: the end of the system text, which all sessions share, the end of the request, and the end of the user's
//! message before that, where the request before this one ended, however many calls and results came since.

use crate::dialect::json::{is_object, write_string};
use crate::dialect::{Declared, Dialect, RequestOptions, ToolDeclaration};
use crate::replay::{Reference, Replay, Segment, segments};
use crate::{Conversation, Item, RawCall};

/// The output limit that goes out where the caller sets none: this dialect demands one.
pub const DEFAULT_MAX_TOKENS: u32 = 8192;

/// What marks the end of a block as one up to which the prompt is kept.
const CACHE_MARK: &[u8] = br#","cache_control":{"type":"ephemeral"}"#;

/// How many of the user's last messages are marked.
const MARKED_MESSAGES: usize = 2;

/// The tools array of a Messages request, in the given order; an empty string where there are no tools. Each schema is
/// embedded as it stands.
pub fn encode_catalog(tools: &[ToolDeclaration<'_>]) -> String {
    encode_deferring(tools, |_| Declared::Plain)
}

/// The same, with a mark on the tools that the model is to see only once a result refers to them.
pub fn encode_deferring(tools: &[ToolDeclaration<'_>], how: impl Fn(usize) -> Declared) -> String {
    if tools.is_empty() {
        return String::new();
    }
    let mut out = Vec::new();
    for (at, tool) in tools.iter().enumerate() {
        out.extend_from_slice(if at == 0 { br#"[{"name":"# } else { br#",{"name":"# });
        write_string(&mut out, tool.name);
        out.extend_from_slice(br#","description":"#);
        write_string(&mut out, tool.description);
        out.extend_from_slice(br#","input_schema":"#);
        out.extend_from_slice(tool.schema.get().as_bytes());
        out.extend_from_slice(if tool.strict { br#","strict":true"# } else { b"" });
        let deferred = how(at) == Declared::Deferred;
        out.extend_from_slice(if deferred { br#","defer_loading":true}"# } else { b"}" });
    }
    out.push(b']');
    // Every part came from a string and the pieces between them are ASCII.
    String::from_utf8_lossy(&out).into_owned()
}

/// What stands for a deferred tool in the result that found it.
pub fn reference(tool: &ToolDeclaration<'_>) -> String {
    let mut out = br#"{"type":"tool_reference","tool_name":"#.to_vec();
    write_string(&mut out, tool.name);
    out.push(b'}');
    String::from_utf8_lossy(&out).into_owned()
}

/// The body of a streaming Messages request.
pub fn encode_request(conversation: &Conversation, replay: &Replay, options: &RequestOptions<'_>) -> Vec<u8> {
    let mut out = Vec::with_capacity(options.catalog.len() + 1024);
    out.extend_from_slice(br#"{"model":"#);
    write_string(&mut out, options.model);
    let limit = options.max_tokens.unwrap_or(DEFAULT_MAX_TOKENS);
    out.extend_from_slice(format!(r#","max_tokens":{limit},"stream":true"#).as_bytes());
    if !options.catalog.is_empty() {
        out.extend_from_slice(br#","tools":"#);
        out.extend_from_slice(options.catalog.as_bytes());
    }
    if !conversation.system.is_empty() {
        out.extend_from_slice(br#","system":[{"type":"text","text":"#);
        write_string(&mut out, &conversation.system);
        out.extend_from_slice(CACHE_MARK);
        out.extend_from_slice(b"}]");
    }
    out.extend_from_slice(br#","messages":["#);
    let mut messages = Messages { out, role: None, ends: [None; MARKED_MESSAGES] };
    for (at, item) in conversation.items.iter().enumerate() {
        messages.item(item, replay, at);
    }
    messages.finish()
}

/// The messages as far as they are written; the last one is open.
struct Messages {
    out: Vec<u8>,
    role: Option<&'static str>,
    /// Where the last blocks of the user's last messages end, the latest last. Every block of a user is an object.
    ends: [Option<usize>; MARKED_MESSAGES],
}

impl Messages {
    fn item(&mut self, item: &Item, replay: &Replay, at: usize) {
        match item {
            Item::User { text } => self.text("user", text),
            Item::ToolResult { call_id, content, is_error } => {
                self.block("user", br#"{"type":"tool_result","tool_use_id":"#);
                write_string(&mut self.out, call_id);
                self.out.extend_from_slice(br#","content":"#);
                match replay.references(at) {
                    [] => write_string(&mut self.out, content),
                    tools => self.references(tools),
                }
                self.out.extend_from_slice(if *is_error { br#","is_error":true}"# } else { b"}" });
            }
            Item::Assistant { text, calls } => {
                for segment in segments(Dialect::Anthropic, text, calls, replay.blocks(at)) {
                    match segment {
                        Segment::Text(text) => self.text("assistant", text),
                        Segment::Call(call) => self.call(call),
                        Segment::Opaque(json) => self.block("assistant", json.as_bytes()),
                    }
                }
            }
        }
    }

    /// References to deferred tools, which stand in a result by themselves: the provider puts their declarations there.
    fn references(&mut self, tools: &[Reference]) {
        for (n, tool) in tools.iter().enumerate() {
            self.out.extend_from_slice(if n == 0 { b"[" } else { b"," });
            self.out.extend_from_slice(tool.json.as_bytes());
        }
        self.out.push(b']');
    }

    /// A text block. The dialect refuses blocks of nothing but white space.
    fn text(&mut self, role: &'static str, text: &str) {
        if !text.trim().is_empty() {
            self.block(role, br#"{"type":"text","text":"#);
            write_string(&mut self.out, text);
            self.out.push(b'}');
        }
    }

    /// A call. Its arguments go back byte for byte where they are a JSON object, which the dialect demands; where they
    /// are not, an object shows the model what it had sent.
    fn call(&mut self, call: &RawCall) {
        self.block("assistant", br#"{"type":"tool_use","id":"#);
        write_string(&mut self.out, &call.id);
        self.out.extend_from_slice(br#","name":"#);
        write_string(&mut self.out, &call.name);
        self.out.extend_from_slice(br#","input":"#);
        if call.arguments.is_empty() {
            self.out.extend_from_slice(b"{}");
        } else if is_object(&call.arguments) {
            self.out.extend_from_slice(call.arguments.as_bytes());
        } else {
            self.out.extend_from_slice(br#"{"unreadable_arguments":"#);
            write_string(&mut self.out, &call.arguments);
            self.out.push(b'}');
        }
        self.out.push(b'}');
    }

    /// Begins a block of `role` with `bytes`, in the open message if that has the same role.
    fn block(&mut self, role: &'static str, bytes: &[u8]) {
        if self.role == Some(role) {
            self.out.push(b',');
        } else {
            self.close_user();
            self.out.extend_from_slice(if self.role.is_some() { b"]}," } else { b"" });
            self.out.extend_from_slice(br#"{"role":"#);
            write_string(&mut self.out, role);
            self.out.extend_from_slice(br#","content":["#);
            self.role = Some(role);
        }
        self.out.extend_from_slice(bytes);
    }

    /// Remembers where a message of the user ends that is about to be closed.
    fn close_user(&mut self) {
        if self.role == Some("user") {
            self.ends.rotate_left(1);
            self.ends[MARKED_MESSAGES - 1] = Some(self.out.len());
        }
    }

    fn finish(mut self) -> Vec<u8> {
        self.close_user();
        // From the back, so that the places before stay where they are.
        for end in self.ends.into_iter().rev().flatten() {
            let brace = end - 1;
            self.out.splice(brace..brace, CACHE_MARK.iter().copied());
        }
        self.out.extend_from_slice(if self.role.is_some() { b"]}]}" } else { b"]}" });
        self.out
    }
}

//! A request as its provider renders it.
//!
//! The order is that of the provider: tools, system text, messages for Anthropic; tools, messages for Chat Completions;
//! tools, instructions, input for Responses; what a provider renders between them (a tool choice, a response format) stands
//! there. Left out is what reaches no prompt: limits, sampling, streaming, metadata, and cache markers, which move without a
//! change to the prompt. A text that one dialect may write in two ways, as a string or as a list of one block, is one text.

use super::dialect::Dialect;
use crate::markers;
use crate::trace::WireRequest;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use std::borrow::Cow;
use std::fmt;
use thiserror::Error;

/// What a part is, for whoever asks what was changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Kind {
    /// An advertised tool.
    Tool,
    /// System text, in a member of its own or at the head of the conversation.
    System,
    /// Anything else that is rendered before the conversation.
    Param,
    /// A message of the conversation, or a part of one.
    Message,
}

/// One part of a rendered request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Part<'a> {
    /// What it is.
    pub kind: Kind,
    /// Where it stands in the body.
    pub at: At,
    /// It as transmitted, without cache markers.
    pub text: Cow<'a, str>,
    /// Whether it counts as a block of content. What opens a message is none.
    pub block: bool,
    /// Whether a cache marker stood on it.
    pub marked: bool,
    /// Whether it comes from the host's side: a user's message or a result.
    pub told: bool,
}

/// The place of a part.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum At {
    /// A member of the body.
    Member(&'static str),
    /// An element of a member.
    Element(&'static str, usize),
    /// An element of the content of an element of a member.
    Block(&'static str, usize, usize),
}

impl fmt::Display for At {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            At::Member(name) => write!(f, "/{name}"),
            At::Element(name, at) => write!(f, "/{name}/{at}"),
            At::Block(name, at, block) => write!(f, "/{name}/{at}/content/{block}"),
        }
    }
}

/// Why a text is no request that can be metered.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum PromptError {
    /// It is no JSON of the form that a request has.
    #[error("it is no request body: {0}")]
    Json(String),
    /// Nothing tells what it is.
    #[error("it has neither `messages` nor `input`, so it is a request of no known dialect")]
    Unknown,
    /// A member is not what the dialect has in its place.
    #[error("`{member}` is no {expected}, as it is in {dialect}: {reason}", dialect = .dialect.name())]
    Member {
        /// The dialect.
        dialect: Dialect,
        /// The member.
        member: &'static str,
        /// What it should be.
        expected: &'static str,
        /// What the parser said.
        reason: String,
    },
}

/// The members of a request that matter here. Every value stays as transmitted.
#[derive(Default, Deserialize)]
#[serde(default)]
struct Body<'a> {
    #[serde(borrow)]
    model: Option<Cow<'a, str>>,
    #[serde(borrow)]
    prompt_cache_key: Option<Cow<'a, str>>,
    #[serde(borrow)]
    tools: Option<&'a RawValue>,
    #[serde(borrow)]
    system: Option<&'a RawValue>,
    #[serde(borrow)]
    instructions: Option<&'a RawValue>,
    #[serde(borrow)]
    messages: Option<&'a RawValue>,
    #[serde(borrow)]
    input: Option<&'a RawValue>,
    #[serde(borrow)]
    tool_choice: Option<&'a RawValue>,
    #[serde(borrow)]
    thinking: Option<&'a RawValue>,
    #[serde(borrow)]
    response_format: Option<&'a RawValue>,
    #[serde(borrow)]
    text: Option<&'a RawValue>,
    #[serde(borrow)]
    cache_control: Option<&'a RawValue>,
}

/// What tells whose a message is.
#[derive(Default, Deserialize)]
#[serde(default)]
struct Head<'a> {
    #[serde(borrow)]
    role: Option<Cow<'a, str>>,
    #[serde(borrow, rename = "type")]
    kind: Option<Cow<'a, str>>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Content<'a> {
    #[serde(borrow)]
    role: Option<Cow<'a, str>>,
    #[serde(borrow)]
    content: Option<&'a RawValue>,
}

/// The dialect that a body without any other hint is in.
fn guess(body: &Body<'_>) -> Option<Dialect> {
    if body.input.is_some() {
        return Some(Dialect::Responses);
    }
    body.messages?;
    // Only one of the dialects that have `messages` gives the system text a member of its own, demands an output limit
    // under that name, and describes tools without an envelope.
    let anthropic = body.system.is_some()
        || body.thinking.is_some()
        || body.cache_control.is_some()
        || body.tools.is_some_and(|tools| tools.get().contains("\"input_schema\""));
    Some(if anthropic { Dialect::Anthropic } else { Dialect::Chat })
}

/// A request, laid out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Prompt<'a> {
    /// Its dialect.
    pub dialect: Dialect,
    /// The model it is for, empty when it names none.
    pub model: String,
    /// The key under which the provider is asked to cache it, empty when it names none.
    pub key: String,
    parts: Vec<Part<'a>>,
    /// Where each part ends, separator included.
    ends: Vec<usize>,
}

impl<'a> Prompt<'a> {
    /// Lays out the body of a request; the dialect is guessed from its members when none is given.
    ///
    /// # Errors
    /// When the text is no JSON object, or holds no conversation where the dialect has one.
    pub fn from_body(body: &'a str, dialect: Option<Dialect>) -> Result<Prompt<'a>, PromptError> {
        if !body.trim_start().starts_with('{') {
            return Err(PromptError::Json("expected a JSON object".to_owned()));
        }
        let body: Body<'a> = serde_json::from_str(body).map_err(|error| PromptError::Json(error.to_string()))?;
        let dialect = dialect.or_else(|| guess(&body)).ok_or(PromptError::Unknown)?;
        let mut layout = Layout::new(dialect);
        if let Some(tools) = body.tools {
            layout.tools(list(dialect, "tools", tools)?);
        }
        match dialect {
            Dialect::Anthropic => {
                layout.system("system", body.system);
                layout.param("tool_choice", body.tool_choice);
                layout.param("thinking", body.thinking);
            }
            Dialect::Chat => layout.param("response_format", body.response_format),
            Dialect::Responses => {
                layout.param("text", body.text);
                layout.system("instructions", body.instructions);
            }
        }
        let (member, items) = match dialect {
            Dialect::Responses => ("input", body.input),
            Dialect::Chat | Dialect::Anthropic => ("messages", body.messages),
        };
        let items = items.ok_or(PromptError::Unknown)?;
        if dialect == Dialect::Responses && items.get().starts_with('"') {
            layout.push(Kind::Message, At::Member(member), Cow::Borrowed(items.get()), true);
        } else {
            for (at, item) in list(dialect, member, items)?.into_iter().enumerate() {
                layout.item(at, item.get());
            }
        }
        if dialect == Dialect::Anthropic && body.cache_control.is_some() {
            layout.mark_last();
        }
        let text = |text: Option<Cow<'_, str>>| text.map(Cow::into_owned).unwrap_or_default();
        Ok(layout.finish(text(body.model), text(body.prompt_cache_key)))
    }

    /// Lays out a request of a trace. What a trace cannot hold apart, because it is no JSON, is one part.
    pub fn from_wire(request: &'a WireRequest) -> Prompt<'a> {
        let dialect = Dialect::named(&request.dialect).unwrap_or(Dialect::Chat);
        let raw = &request.raw;
        let mut layout = Layout::new(dialect);
        match serde_json::from_str::<Vec<&RawValue>>(&raw.tools) {
            Ok(tools) => layout.tools(tools),
            Err(_) if raw.tools.is_empty() => {}
            Err(_) => layout.push(Kind::Tool, At::Member("tools"), Cow::Borrowed(&raw.tools), true),
        }
        let member = if dialect == Dialect::Responses { "instructions" } else { "system" };
        match serde_json::from_str::<&RawValue>(&raw.system) {
            Ok(system) => layout.system(member, Some(system)),
            Err(_) if raw.system.is_empty() => {}
            Err(_) => layout.push(Kind::System, At::Member(member), Cow::Borrowed(&raw.system), true),
        }
        for (at, item) in raw.items.iter().enumerate() {
            layout.item(at, item);
        }
        layout.finish(String::new(), String::new())
    }

    /// The parts, in the order in which the provider renders them.
    pub fn parts(&self) -> &[Part<'a>] {
        &self.parts
    }

    /// How many bytes all of it is, each part with its separator.
    pub fn bytes(&self) -> usize {
        self.ends.last().copied().unwrap_or_default()
    }

    /// How many bytes the first so many parts are.
    pub fn bytes_of(&self, parts: usize) -> usize {
        parts.checked_sub(1).and_then(|last| self.ends.get(last)).copied().unwrap_or_default()
    }

    /// The request as if it advertised nothing.
    pub fn without_tools(&self) -> Prompt<'_> {
        let parts = self.parts[self.tools()..].iter();
        let parts = parts.map(|part| Part { text: Cow::Borrowed(part.text.as_ref()), ..part.clone() });
        let layout = Layout { parts: parts.collect(), ..Layout::new(self.dialect) };
        layout.finish(self.model.clone(), self.key.clone())
    }

    /// How many of the parts are tools; they stand first.
    pub fn tools(&self) -> usize {
        self.parts.iter().take_while(|part| part.kind == Kind::Tool).count()
    }
}

fn list<'a>(dialect: Dialect, member: &'static str, raw: &'a RawValue) -> Result<Vec<&'a RawValue>, PromptError> {
    serde_json::from_str(raw.get()).map_err(|error| PromptError::Member {
        dialect,
        member,
        expected: "list",
        reason: error.to_string(),
    })
}

struct Layout<'a> {
    dialect: Dialect,
    parts: Vec<Part<'a>>,
    /// Nothing but system text has come of the conversation.
    leading: bool,
}

impl<'a> Layout<'a> {
    fn new(dialect: Dialect) -> Self {
        Layout { dialect, parts: Vec::new(), leading: true }
    }

    fn push(&mut self, kind: Kind, at: At, text: Cow<'a, str>, told: bool) {
        let (text, marked) = match markers::strip(&text) {
            Some(plain) => (Cow::Owned(plain), true),
            None => (text, false),
        };
        self.parts.push(Part { kind, at, text, block: true, marked, told });
    }

    fn tools(&mut self, tools: Vec<&'a RawValue>) {
        for (at, tool) in tools.into_iter().enumerate() {
            self.push(Kind::Tool, At::Element("tools", at), Cow::Borrowed(tool.get()), false);
        }
    }

    fn param(&mut self, member: &'static str, value: Option<&'a RawValue>) {
        if let Some(value) = value {
            self.push(Kind::Param, At::Member(member), Cow::Borrowed(value.get()), false);
            self.parts.last_mut().into_iter().for_each(|part| part.block = false);
        }
    }

    fn system(&mut self, member: &'static str, value: Option<&'a RawValue>) {
        let Some(value) = value else { return };
        match serde_json::from_str::<Vec<&RawValue>>(value.get()) {
            Ok(blocks) => {
                for (at, block) in blocks.into_iter().enumerate() {
                    self.push(Kind::System, At::Element(member, at), Cow::Borrowed(block.get()), false);
                }
            }
            Err(_) => {
                let text = self.text_block(value.get());
                self.push(Kind::System, At::Member(member), text, false);
            }
        }
    }

    /// A string as the block that the dialect takes for the same.
    fn text_block(&self, text: &'a str) -> Cow<'a, str> {
        if self.dialect == Dialect::Anthropic && text.starts_with('"') {
            Cow::Owned(format!(r#"{{"type":"text","text":{text}}}"#))
        } else {
            Cow::Borrowed(text)
        }
    }

    fn item(&mut self, at: usize, item: &'a str) {
        if self.dialect == Dialect::Anthropic {
            self.message(at, item);
            return;
        }
        let head: Head<'a> = serde_json::from_str(item).unwrap_or_default();
        let role = head.role.as_deref().unwrap_or_default();
        self.leading &= matches!(role, "system" | "developer");
        let kind = if self.leading { Kind::System } else { Kind::Message };
        let result = head.kind.as_deref().is_some_and(|kind| kind.ends_with("_output"));
        let told = matches!(role, "user" | "tool") || result;
        self.push(kind, At::Element(self.dialect.list(), at), Cow::Borrowed(item), told);
    }

    /// A message whose content may grow block by block: what stands around the blocks opens it.
    fn message(&mut self, at: usize, item: &'a str) {
        let list = self.dialect.list();
        let whole: Content<'a> = serde_json::from_str(item).unwrap_or_default();
        let told = whole.role.as_deref() == Some("user");
        let place = At::Element(list, at);
        let Some(content) = whole.content.map(RawValue::get) else {
            self.push(Kind::Message, place, Cow::Borrowed(item), told);
            return;
        };
        let start = content.as_ptr().addr() - item.as_ptr().addr();
        let (open, close) = (&item[..start], &item[start + content.len()..]);
        let head = match close.trim() {
            "}" => Cow::Borrowed(open),
            more => Cow::Owned(format!("{open}{more}")),
        };
        self.push(Kind::Message, place, head, told);
        self.parts.last_mut().into_iter().for_each(|part| part.block = false);
        match serde_json::from_str::<Vec<&'a RawValue>>(content) {
            Ok(blocks) => {
                for (block, raw) in blocks.into_iter().enumerate() {
                    self.push(Kind::Message, At::Block(list, at, block), Cow::Borrowed(raw.get()), told);
                }
            }
            Err(_) => {
                let text = self.text_block(content);
                self.push(Kind::Message, At::Block(list, at, 0), text, told);
            }
        }
    }

    fn mark_last(&mut self) {
        self.parts.last_mut().into_iter().for_each(|part| part.marked = true);
    }

    fn finish(self, model: String, key: String) -> Prompt<'a> {
        let mut bytes = 0;
        let ends = self.parts.iter().map(|part| {
            bytes += part.text.len() + 1;
            bytes
        });
        let ends = ends.collect();
        Prompt { dialect: self.dialect, model, key, parts: self.parts, ends }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The parts of a body: place, text, and `*` where a marker stood.
    #[track_caller]
    fn check(body: &str, dialect: Dialect, expect: &[&str]) {
        let prompt = Prompt::from_body(body, None).unwrap();
        assert_eq!(prompt.dialect, dialect);
        let show = |part: &Part<'_>| format!("{}{} {}", part.at, if part.marked { "*" } else { "" }, part.text);
        assert_eq!(prompt.parts().iter().map(show).collect::<Vec<_>>(), expect);
        assert_eq!(prompt.bytes(), prompt.parts().iter().map(|part| part.text.len() + 1).sum::<usize>());
    }

    #[test]
    fn each_dialect_has_its_order() {
        check(
            r#"{"messages":[{"role":"system","content":"s"},{"role":"user","content":"u"}],"model":"m","tools":[{"a":1}, {"b":2}]}"#,
            Dialect::Chat,
            &[
                r#"/tools/0 {"a":1}"#,
                r#"/tools/1 {"b":2}"#,
                r#"/messages/0 {"role":"system","content":"s"}"#,
                r#"/messages/1 {"role":"user","content":"u"}"#,
            ],
        );
        check(
            r#"{"messages":[{"role":"user","content":"u"}],"system":"s","max_tokens":1,"tool_choice":{"type":"any"},"tools":[]}"#,
            Dialect::Anthropic,
            &[
                r#"/system {"type":"text","text":"s"}"#,
                r#"/tool_choice {"type":"any"}"#,
                r#"/messages/0 {"role":"user","content":"#,
                r#"/messages/0/content/0 {"type":"text","text":"u"}"#,
            ],
        );
        check(
            r#"{"input":[{"type":"message","role":"user"}],"instructions":"i","tools":[{"a":1}]}"#,
            Dialect::Responses,
            &[r#"/tools/0 {"a":1}"#, r#"/instructions "i""#, r#"/input/0 {"type":"message","role":"user"}"#],
        );
        check(r#"{"input":"go"}"#, Dialect::Responses, &[r#"/input "go""#]);
    }

    #[test]
    fn markers_are_set_aside_and_known() {
        check(
            r#"{"system":[{"type":"text","text":"s","cache_control":{"type":"ephemeral"}}],"messages":[{"role":"user","content":[{"type":"text","text":"u"},{"cache_control":{},"type":"x"}],"id":7}]}"#,
            Dialect::Anthropic,
            &[
                r#"/system/0* {"type":"text","text":"s"}"#,
                r#"/messages/0 {"role":"user","content":,"id":7}"#,
                r#"/messages/0/content/0 {"type":"text","text":"u"}"#,
                r#"/messages/0/content/1* {"type":"x"}"#,
            ],
        );
        check(
            r#"{"cache_control":{"type":"ephemeral"},"messages":[{"role":"user","content":"u"}]}"#,
            Dialect::Anthropic,
            &[r#"/messages/0 {"role":"user","content":"#, r#"/messages/0/content/0* {"type":"text","text":"u"}"#],
        );
        check(
            r#"{"input":[{"role":"user","content":[{"type":"input_text","text":"u","prompt_cache_breakpoint":{"mode":"explicit"}}]}]}"#,
            Dialect::Responses,
            &[r#"/input/0* {"role":"user","content":[{"type":"input_text","text":"u"}]}"#],
        );
    }

    #[test]
    fn what_is_no_request_is_told() {
        let told = |body: &str, dialect| Prompt::from_body(body, dialect).unwrap_err().to_string();
        assert!(told("[1]", None).contains("expected a JSON object"));
        assert!(told("{", None).starts_with("it is no request body: EOF"));
        assert!(told(r#"{"model":"m"}"#, None).contains("neither `messages` nor `input`"));
        assert!(told(r#"{"messages":7}"#, None).starts_with("`messages` is no list, as it is in chat: "));
        assert!(told(r#"{"messages":[]}"#, Some(Dialect::Responses)).contains("neither"));
    }

    #[test]
    fn a_trace_and_a_body_come_to_the_same() {
        let body =
            r#"{"tools":[{"name":"a","input_schema":{}}],"system":"s","messages":[{"role":"user","content":"u"}]}"#;
        let request = WireRequest {
            dialect: "anthropic".into(),
            raw: crate::trace::RawParts {
                tools: r#"[{"name":"a","input_schema":{}}]"#.into(),
                system: r#""s""#.into(),
                items: vec![r#"{"role":"user","content":"u"}"#.into()],
            },
            ..WireRequest::default()
        };
        assert_eq!(Prompt::from_wire(&request), Prompt::from_body(body, None).unwrap());
        let odd = WireRequest {
            raw: crate::trace::RawParts { tools: "[".into(), system: "s t".into(), items: vec!["{".into()] },
            ..request
        };
        assert_eq!(Prompt::from_wire(&odd).parts().len(), 3);
    }
}

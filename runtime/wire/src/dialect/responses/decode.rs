//! The response of OpenAI Responses, streamed and whole.
//!
//! `response.completed`, `response.incomplete` and `response.failed` are the last event, each with its reason. Everything
//! is said more than once: in deltas, in the item when it is done and in the response when it is complete. What was not
//! said before is taken from the later place. Where the whole of a call differs from its deltas the whole counts and
//! the difference is reported; text that was shown stays as it was shown.
//!
//! An encrypted item of reasoning is kept for its way back as it came; one that is not encrypted is never sent back.

use crate::dialect::build::{Builder, Grammar};
use crate::dialect::calls::{Fragment, excerpt};
use crate::dialect::json::{Object, Piece, identity, whole_number};
use crate::dialect::{DecodeError, DecodeLimits, Dialect};
use crate::replay::OpaqueBlock;
use crate::turn::{Rejected, Usage};
use crate::{StopReason, Turn, TurnDelta};
use serde::Deserialize;
use serde_json::value::RawValue;
use std::borrow::Cow;
use std::collections::BTreeMap;

/// What the events of this dialect mean.
#[derive(Debug, Default)]
pub(in crate::dialect) struct Responses {
    /// The items by their place in the output.
    items: BTreeMap<u64, Progress>,
    sealed: Vec<(u64, OpaqueBlock)>,
    /// The items are those of the finished response. Servers that count places in their own way say here again what
    /// they have said under another place.
    late: bool,
}

/// How far an item has come.
#[derive(Debug, Default)]
struct Progress {
    after_text: usize,
    after_calls: usize,
    /// Its text so far, and its reasoning so far.
    text: String,
    reasoning: String,
    done: bool,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Event<'a> {
    #[serde(borrow, rename = "type")]
    kind: Option<Cow<'a, str>>,
    #[serde(borrow)]
    output_index: Option<&'a RawValue>,
    #[serde(borrow)]
    item: Option<&'a RawValue>,
    #[serde(borrow)]
    delta: Option<&'a RawValue>,
    #[serde(borrow)]
    arguments: Option<&'a RawValue>,
    #[serde(borrow)]
    response: Option<Object<Response<'a>>>,
    #[serde(borrow)]
    error: Option<&'a RawValue>,
    #[serde(borrow)]
    message: Option<&'a RawValue>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Response<'a> {
    #[serde(borrow)]
    status: Option<Cow<'a, str>>,
    #[serde(borrow)]
    output: Option<Vec<&'a RawValue>>,
    #[serde(borrow)]
    usage: Option<Object<UsageForm<'a>>>,
    #[serde(borrow)]
    incomplete_details: Option<Object<Incomplete<'a>>>,
    #[serde(borrow)]
    error: Option<&'a RawValue>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Incomplete<'a> {
    #[serde(borrow)]
    reason: Option<Cow<'a, str>>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct OutputItem<'a> {
    #[serde(borrow, rename = "type")]
    kind: Option<Cow<'a, str>>,
    #[serde(borrow)]
    call_id: Option<&'a RawValue>,
    #[serde(borrow)]
    name: Option<&'a RawValue>,
    #[serde(borrow)]
    arguments: Option<&'a RawValue>,
    #[serde(borrow)]
    content: Option<Vec<Object<Part<'a>>>>,
    #[serde(borrow)]
    summary: Option<Vec<Object<Part<'a>>>>,
    #[serde(borrow)]
    encrypted_content: Option<&'a RawValue>,
    /// Who runs a search: `client` or `server`.
    #[serde(borrow)]
    execution: Option<Cow<'a, str>>,
}

/// The tool that a client's search calls.
const SEARCH: &str = "tool_search";

#[derive(Default, Deserialize)]
#[serde(default)]
struct Part<'a> {
    #[serde(borrow)]
    text: Option<&'a RawValue>,
    #[serde(borrow)]
    refusal: Option<&'a RawValue>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct UsageForm<'a> {
    #[serde(borrow)]
    input_tokens: Option<&'a RawValue>,
    #[serde(borrow)]
    output_tokens: Option<&'a RawValue>,
    #[serde(borrow)]
    input_tokens_details: Option<Object<InputDetails<'a>>>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct InputDetails<'a> {
    #[serde(borrow)]
    cached_tokens: Option<&'a RawValue>,
}

#[derive(Clone, Copy)]
enum Voice {
    Text,
    Reasoning,
}

/// Decodes a whole, not streamed, response.
pub(in crate::dialect) fn decode_whole(body: &str, limits: DecodeLimits) -> Result<Turn, DecodeError> {
    let mut to = Builder::new(limits);
    to.begin_event();
    let mut grammar = Responses::default();
    let Object(response): Object<Response<'_>> = to.parse(body)?;
    grammar.finished(&response, None, body, &mut to, &mut Vec::new())?;
    grammar.close(&mut to);
    Ok(to.close())
}

impl Grammar for Responses {
    fn event(
        &mut self,
        name: &str,
        data: &str,
        to: &mut Builder,
        deltas: &mut Vec<TurnDelta>,
    ) -> Result<(), DecodeError> {
        // Not of this dialect, but gateways add it; it says nothing here.
        if data.trim() == "[DONE]" {
            return Ok(());
        }
        let Object(event): Object<Event<'_>> = to.parse(data)?;
        let index = event.output_index.and_then(whole_number);
        let kind = event.kind.as_deref().unwrap_or(name);
        match kind {
            "response.output_item.added" => self.added(index, event.item, to, deltas)?,
            "response.output_item.done" => self.done(index, event.item, to, deltas)?,
            "response.output_text.delta" | "response.refusal.delta" => {
                self.say(Voice::Text, index, event.delta, to, deltas)?;
            }
            "response.reasoning_summary_text.delta" | "response.reasoning_text.delta" => {
                self.say(Voice::Reasoning, index, event.delta, to, deltas)?;
            }
            "response.function_call_arguments.delta" => {
                // Some gateways give every event another item id, so that only the place in the output tells.
                to.call(&arguments(index, event.delta), deltas)?;
            }
            "response.function_call_arguments.done" => {
                if event.arguments.is_some() && index.is_some() {
                    to.calls(deltas, |calls, to| calls.whole(&arguments(index, event.arguments), to))?;
                }
            }
            "response.completed" | "response.incomplete" | "response.failed" | "response.cancelled" => {
                let status = kind.strip_prefix("response.");
                let response = event.response.unwrap_or_default();
                self.finished(&response.0, status, data, to, deltas)?;
            }
            "error" => match event.error {
                Some(error) => to.fail_with(error),
                None => {
                    let message = event.message.and_then(Piece::of).map(Piece::into_text);
                    to.fail(message.unwrap_or_else(|| excerpt(data).into()).into_owned());
                }
            },
            // An error without a type, as gateways send it; otherwise progress that says nothing new.
            _ => event.error.into_iter().for_each(|error| to.fail_with(error)),
        }
        Ok(())
    }

    fn close(&mut self, to: &mut Builder) {
        self.sealed.sort_by_key(|(index, _)| *index);
        to.turn.blocks.extend(self.sealed.drain(..).map(|(_, block)| block));
    }
}

fn arguments(index: Option<u64>, value: Option<&RawValue>) -> Fragment<'_> {
    let (arguments, is_value) = value.map(Piece::of_any).unwrap_or_default();
    Fragment { index, arguments, is_value, ..Fragment::default() }
}

impl Responses {
    /// The state of the item at a place of the output. Without a place it is the newest one.
    fn item(&mut self, index: Option<u64>, to: &Builder) -> Result<&mut Progress, DecodeError> {
        let index = index.or(self.items.keys().next_back().copied()).unwrap_or(0);
        if self.items.len() >= to.limits().max_calls && !self.items.contains_key(&index) {
            return Err(to.limit("items", to.limits().max_calls));
        }
        let (after_text, after_calls) = (to.turn.text.len(), to.turn.calls.len());
        Ok(self.items.entry(index).or_insert_with(|| Progress { after_text, after_calls, ..Progress::default() }))
    }

    fn say(
        &mut self,
        voice: Voice,
        index: Option<u64>,
        delta: Option<&RawValue>,
        to: &mut Builder,
        deltas: &mut Vec<TurnDelta>,
    ) -> Result<(), DecodeError> {
        let Some(piece) = delta.and_then(Piece::of) else { return Ok(()) };
        let item = self.item(index, to)?;
        match voice {
            Voice::Text => {
                let from = to.turn.text.len();
                to.text(&piece, deltas)?;
                item.text.push_str(&to.turn.text[from..]);
            }
            Voice::Reasoning => {
                let from = to.turn.reasoning.len();
                to.reasoning(&piece, deltas)?;
                item.reasoning.push_str(&to.turn.reasoning[from..]);
            }
        }
        Ok(())
    }

    fn added(
        &mut self,
        index: Option<u64>,
        raw: Option<&RawValue>,
        to: &mut Builder,
        deltas: &mut Vec<TurnDelta>,
    ) -> Result<(), DecodeError> {
        let Some(raw) = raw else { return Ok(()) };
        self.item(index, to)?;
        let Object(item): Object<OutputItem<'_>> = to.parse(raw.get())?;
        if item.kind.as_deref() != Some("function_call") {
            return Ok(());
        }
        let mut head = Fragment { opens: true, ..head(index, &item, to)? };
        let Fragment { arguments, is_value, .. } = arguments(None, item.arguments);
        let Some(index) = index else {
            // Fragments cannot be told to follow, so the arguments are taken as all there is.
            (head.arguments, head.is_value) = (arguments, is_value);
            return to.call(&head, deltas);
        };
        to.call(&head, deltas)?;
        if arguments.is_empty() {
            return Ok(());
        }
        to.calls(deltas, |calls, to| calls.start(index, arguments, is_value, to))
    }

    /// An item stated as a whole.
    fn done(
        &mut self,
        index: Option<u64>,
        raw: Option<&RawValue>,
        to: &mut Builder,
        deltas: &mut Vec<TurnDelta>,
    ) -> Result<(), DecodeError> {
        let Some(raw) = raw else { return Ok(()) };
        let Object(item): Object<OutputItem<'_>> = to.parse(raw.get())?;
        let progress = self.item(index, to)?;
        progress.done = true;
        let (after_text, after_calls) = (progress.after_text, progress.after_calls);
        match item.kind.as_deref().unwrap_or_default() {
            // What the provider searches by itself asks for nothing.
            "tool_search_call" if item.execution.as_deref() != Some("client") => Ok(()),
            kind @ ("function_call" | "tool_search_call") => {
                let mut fragment = head(index, &item, to)?;
                if kind == "tool_search_call" {
                    // The item of a search that the client runs names no tool.
                    fragment.name = Cow::Borrowed(SEARCH);
                }
                let whole = arguments(None, item.arguments);
                (fragment.arguments, fragment.is_value) = (whole.arguments, whole.is_value);
                to.calls(deltas, |calls, to| calls.whole(&fragment, to))
            }
            "message" => self.rest(Voice::Text, index, &item.content, to, deltas),
            "reasoning" => {
                self.rest(Voice::Reasoning, index, &item.summary, to, deltas)?;
                let json = raw.get();
                let known = self.late && self.sealed.iter().any(|(_, block)| block.json == json);
                if known || item.encrypted_content.and_then(Piece::of).is_none_or(|sealed| sealed.is_empty()) {
                    return Ok(());
                }
                to.keep(json.len())?;
                let place = index.unwrap_or(u64::MAX);
                self.sealed.retain(|(index, _)| *index != place || place == u64::MAX);
                let block = OpaqueBlock { dialect: Dialect::Responses, after_text, after_calls, json: json.to_owned() };
                self.sealed.push((place, block));
                Ok(())
            }
            _ => Ok(()),
        }
    }

    /// Adds what an item's whole text says beyond its deltas.
    fn rest(
        &mut self,
        voice: Voice,
        index: Option<u64>,
        parts: &Option<Vec<Object<Part<'_>>>>,
        to: &mut Builder,
        deltas: &mut Vec<TurnDelta>,
    ) -> Result<(), DecodeError> {
        let mut whole = String::new();
        for Object(part) in parts.iter().flatten() {
            whole.extend(part.text.or(part.refusal).and_then(Piece::of).map(Piece::into_text));
        }
        let late = self.late;
        let progress = self.item(index, to)?;
        let shown = match voice {
            Voice::Text => (&progress.text, &to.turn.text),
            Voice::Reasoning => (&progress.reasoning, &to.turn.reasoning),
        };
        if late && shown.0.is_empty() && shown.1.contains(&whole) {
            return Ok(());
        }
        let (said, is_text) = match voice {
            Voice::Text => (&mut progress.text, true),
            Voice::Reasoning => (&mut progress.reasoning, false),
        };
        let Some(rest) = whole.strip_prefix(said.as_str()) else {
            // The summaries of reasoning are shown as they came, and their joints may differ from the whole.
            let differs = is_text && !whole.is_empty();
            return if differs { to.reject(differing(&whole)) } else { Ok(()) };
        };
        said.push_str(rest);
        let piece = Piece::plain(rest);
        if is_text { to.text(&piece, deltas) } else { to.reasoning(&piece, deltas) }
    }

    /// The response is over, for the reason that the event or the response itself names.
    fn finished(
        &mut self,
        response: &Response<'_>,
        status: Option<&str>,
        data: &str,
        to: &mut Builder,
        deltas: &mut Vec<TurnDelta>,
    ) -> Result<(), DecodeError> {
        if let Some(Object(usage)) = &response.usage {
            to.turn.usage = Some(read_usage(usage));
        }
        let status = status.or(response.status.as_deref());
        if response.error.is_some() || matches!(status, Some("failed" | "cancelled")) {
            match response.error {
                Some(error) => to.fail_with(error),
                None => to.fail(excerpt(data)),
            }
            return Ok(());
        }
        self.late = true;
        for (place, item) in (0..).zip(response.output.iter().flatten()) {
            if !self.items.get(&place).is_some_and(|item| item.done) {
                self.done(Some(place), Some(item), to, deltas)?;
            }
        }
        to.calls(deltas, |calls, to| calls.settle_all(to))?;
        match status {
            Some("completed") => to.end(),
            Some("incomplete") => {
                let details = response.incomplete_details.as_ref();
                let reason = details.and_then(|Object(details)| details.reason.as_deref());
                to.stop(match reason {
                    Some("max_output_tokens") => StopReason::MaxTokens,
                    Some("content_filter") => StopReason::ContentFilter,
                    other => StopReason::Other(excerpt(other.unwrap_or("incomplete"))),
                });
                to.end();
            }
            // A whole response that is still under way has no end.
            _ => {}
        }
        Ok(())
    }
}

fn head<'a>(index: Option<u64>, item: &OutputItem<'a>, to: &Builder) -> Result<Fragment<'a>, DecodeError> {
    let bad = || to.malformed("a function_call item whose call_id or name is not a string");
    let id = identity(item.call_id).ok_or_else(bad)?;
    let name = identity(item.name).ok_or_else(bad)?;
    Ok(Fragment { index, id, name, ..Fragment::default() })
}

fn differing(whole: &str) -> Rejected {
    let reason = "the text of an item differs from its deltas, which were shown".to_owned();
    Rejected { reason, fragment: excerpt(whole) }
}

fn read_usage(form: &UsageForm<'_>) -> Usage {
    let count = |value: Option<&RawValue>| value.and_then(whole_number).unwrap_or(0);
    let cached = form.input_tokens_details.as_ref().and_then(|Object(details)| details.cached_tokens);
    Usage { input: count(form.input_tokens), output: count(form.output_tokens), cached: count(cached) }
}

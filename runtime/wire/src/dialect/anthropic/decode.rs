//! The response of Anthropic Messages, streamed and whole.
//!
//! The `stop_reason` of a `message_delta` is the stop reason and `message_stop` the last event. Blocks may be interleaved:
//! their index routes. A block of reasoning is shown as it comes and kept for its way back once its signature is there;
//! one without a signature is never sent back.

use crate::dialect::build::{Builder, Grammar};
use crate::dialect::calls::{Fragment, excerpt};
use crate::dialect::json::{Joint, Object, Piece, identity, whole_number, write_string};
use crate::dialect::{DecodeError, DecodeLimits, Dialect};
use crate::replay::OpaqueBlock;
use crate::turn::{Rejected, Usage};
use crate::{StopReason, Turn, TurnDelta};
use serde::Deserialize;
use serde_json::value::RawValue;
use std::borrow::Cow;

/// What the events of this dialect mean.
#[derive(Debug, Default)]
pub(in crate::dialect) struct Anthropic {
    /// The blocks of reasoning, in the order in which they began.
    sealed: Vec<Sealed>,
    usage: UsageSum,
}

/// A block that may go back.
#[derive(Debug, Default)]
struct Sealed {
    index: Option<u64>,
    after_text: usize,
    after_calls: usize,
    thinking: String,
    joint: Joint,
    signature: String,
    /// The block as it came, where it came in one piece.
    verbatim: Option<String>,
    closed: bool,
}

/// Counts come in two events, each of which may leave some out.
#[derive(Debug, Default)]
struct UsageSum {
    input: Option<u64>,
    cache_read: Option<u64>,
    cache_write: Option<u64>,
    output: Option<u64>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Event<'a> {
    #[serde(borrow, rename = "type")]
    kind: Option<Cow<'a, str>>,
    #[serde(borrow)]
    index: Option<&'a RawValue>,
    #[serde(borrow)]
    message: Option<Object<Message<'a>>>,
    #[serde(borrow)]
    content_block: Option<&'a RawValue>,
    #[serde(borrow)]
    delta: Option<Object<Delta<'a>>>,
    #[serde(borrow)]
    usage: Option<Object<UsageForm<'a>>>,
    #[serde(borrow)]
    error: Option<&'a RawValue>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Message<'a> {
    #[serde(borrow, rename = "type")]
    kind: Option<Cow<'a, str>>,
    #[serde(borrow)]
    content: Option<Vec<&'a RawValue>>,
    #[serde(borrow)]
    stop_reason: Option<Cow<'a, str>>,
    #[serde(borrow)]
    usage: Option<Object<UsageForm<'a>>>,
    #[serde(borrow)]
    error: Option<&'a RawValue>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Block<'a> {
    #[serde(borrow, rename = "type")]
    kind: Option<Cow<'a, str>>,
    #[serde(borrow)]
    text: Option<&'a RawValue>,
    #[serde(borrow)]
    id: Option<&'a RawValue>,
    #[serde(borrow)]
    name: Option<&'a RawValue>,
    #[serde(borrow)]
    input: Option<&'a RawValue>,
    #[serde(borrow)]
    thinking: Option<&'a RawValue>,
    #[serde(borrow)]
    signature: Option<&'a RawValue>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Delta<'a> {
    #[serde(borrow)]
    text: Option<&'a RawValue>,
    #[serde(borrow)]
    partial_json: Option<&'a RawValue>,
    #[serde(borrow)]
    thinking: Option<&'a RawValue>,
    #[serde(borrow)]
    signature: Option<&'a RawValue>,
    #[serde(borrow)]
    stop_reason: Option<Cow<'a, str>>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct UsageForm<'a> {
    #[serde(borrow)]
    input_tokens: Option<&'a RawValue>,
    #[serde(borrow)]
    cache_read_input_tokens: Option<&'a RawValue>,
    #[serde(borrow)]
    cache_creation_input_tokens: Option<&'a RawValue>,
    #[serde(borrow)]
    output_tokens: Option<&'a RawValue>,
}

/// Decodes a whole, not streamed, response.
pub(in crate::dialect) fn decode_whole(body: &str, limits: DecodeLimits) -> Result<Turn, DecodeError> {
    let mut to = Builder::new(limits);
    to.begin_event();
    let mut grammar = Anthropic::default();
    let deltas = &mut Vec::new();
    let Object(message): Object<Message<'_>> = to.parse(body)?;
    if let Some(error) = message.error {
        to.fail_with(error);
    } else if message.kind.as_deref() == Some("error") {
        to.fail(excerpt(body));
    } else {
        for (index, block) in (0..).zip(message.content.iter().flatten()) {
            grammar.start(Some(index), block, &mut to, deltas)?;
            grammar.stop(Some(index), &mut to, deltas)?;
        }
        grammar.count(message.usage.as_ref(), &mut to);
        stop(message.stop_reason.as_deref(), &mut to);
    }
    grammar.close(&mut to);
    Ok(to.close())
}

impl Grammar for Anthropic {
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
        let index = event.index.and_then(whole_number);
        let delta = event.delta.as_ref().map(|Object(delta)| delta);
        match event.kind.as_deref().unwrap_or(name) {
            "message_start" => {
                let usage = event.message.as_ref().and_then(|Object(message)| message.usage.as_ref());
                self.count(usage, to);
            }
            "content_block_start" => {
                if let Some(block) = event.content_block {
                    self.start(index, block, to, deltas)?;
                }
            }
            "content_block_delta" => {
                if let Some(delta) = delta {
                    self.delta(index, delta, to, deltas)?;
                }
            }
            "content_block_stop" => self.stop(index, to, deltas)?,
            "message_delta" => {
                self.count(event.usage.as_ref(), to);
                let reason = delta.and_then(|delta| delta.stop_reason.as_deref());
                if reason.is_some_and(|reason| !reason.is_empty()) {
                    self.settle(to, deltas)?;
                    stop(reason, to);
                }
            }
            "message_stop" => {
                self.settle(to, deltas)?;
                to.end();
            }
            "error" => match event.error {
                Some(error) => to.fail_with(error),
                None => to.fail(excerpt(data)),
            },
            // An error without a type, as gateways send it; otherwise pings and what later versions may add.
            _ => event.error.into_iter().for_each(|error| to.fail_with(error)),
        }
        Ok(())
    }

    fn close(&mut self, to: &mut Builder) {
        for mut block in self.sealed.drain(..) {
            let json = match block.verbatim {
                Some(json) => json,
                None if block.signature.is_empty() || !block.closed => continue,
                None => {
                    block.joint.close(&mut block.thinking);
                    let mut json = br#"{"type":"thinking","thinking":"#.to_vec();
                    write_string(&mut json, &block.thinking);
                    json.extend_from_slice(br#","signature":"#);
                    write_string(&mut json, &block.signature);
                    json.push(b'}');
                    String::from_utf8_lossy(&json).into_owned()
                }
            };
            let (after_text, after_calls) = (block.after_text, block.after_calls);
            to.turn.blocks.push(OpaqueBlock { dialect: Dialect::Anthropic, after_text, after_calls, json });
        }
    }
}

impl Anthropic {
    /// A block begins; it may be there as a whole already.
    fn start(
        &mut self,
        index: Option<u64>,
        raw: &RawValue,
        to: &mut Builder,
        deltas: &mut Vec<TurnDelta>,
    ) -> Result<(), DecodeError> {
        let Object(block): Object<Block<'_>> = to.parse(raw.get())?;
        match block.kind.as_deref().unwrap_or_default() {
            "text" => {
                if let Some(piece) = block.text.and_then(Piece::of) {
                    to.text(&piece, deltas)?;
                }
            }
            "tool_use" => {
                let bad = || to.malformed("a tool_use block whose id or name is not a string");
                let id = identity(block.id).ok_or_else(bad)?;
                let name = identity(block.name).ok_or_else(bad)?;
                let mut head = Fragment { index, id, name, opens: true, ..Fragment::default() };
                let Some(input) = block.input else { return to.call(&head, deltas) };
                let (text, is_value) = Piece::of_any(input);
                let Some(index) = index else {
                    // Fragments cannot be told to follow, so the input is taken as all there is.
                    (head.arguments, head.is_value) = (text, is_value);
                    return to.call(&head, deltas);
                };
                to.call(&head, deltas)?;
                // Every block begins with an empty object, whatever follows: it says nothing of the input.
                let is_empty = input.get().strip_prefix('{').is_some_and(|rest| rest.trim_start() == "}");
                if !is_empty {
                    to.calls(deltas, |calls, to| calls.start(index, text, is_value, to))?;
                }
            }
            "thinking" => {
                self.seal(index, None, to)?;
                let delta = Delta { thinking: block.thinking, signature: block.signature, ..Delta::default() };
                self.delta(index, &delta, to, deltas)?;
            }
            "redacted_thinking" => self.seal(index, Some(raw.get()), to)?,
            // Blocks of tools that run at the provider: none was asked for.
            _ => {}
        }
        Ok(())
    }

    fn seal(&mut self, index: Option<u64>, verbatim: Option<&str>, to: &mut Builder) -> Result<(), DecodeError> {
        to.keep(verbatim.map_or(0, str::len))?;
        if self.sealed.len() >= to.limits().max_calls {
            return Err(to.limit("blocks of reasoning", to.limits().max_calls));
        }
        self.sealed.push(Sealed {
            index,
            after_text: to.turn.text.len(),
            after_calls: to.turn.calls.len(),
            verbatim: verbatim.map(str::to_owned),
            ..Sealed::default()
        });
        Ok(())
    }

    fn delta(
        &mut self,
        index: Option<u64>,
        delta: &Delta<'_>,
        to: &mut Builder,
        deltas: &mut Vec<TurnDelta>,
    ) -> Result<(), DecodeError> {
        if let Some(piece) = delta.text.and_then(Piece::of) {
            to.text(&piece, deltas)?;
        }
        if let Some(value) = delta.partial_json {
            let (arguments, is_value) = Piece::of_any(value);
            to.call(&Fragment { index, arguments, is_value, ..Fragment::default() }, deltas)?;
        }
        let thinking = delta.thinking.and_then(Piece::of).unwrap_or_default();
        let signature = delta.signature.and_then(Piece::of).unwrap_or_default();
        to.reasoning(&thinking, deltas)?;
        if thinking.is_empty() && signature.is_empty() {
            return Ok(());
        }
        to.keep(thinking.text().len() + signature.text().len())?;
        let open = self.sealed.iter_mut().rev().find(|block| block.index == index && !block.closed);
        match open {
            Some(block) => {
                block.joint.push(&mut block.thinking, &thinking);
                block.signature.push_str(signature.text());
            }
            None if signature.is_empty() => {}
            None => to.reject(Rejected {
                reason: "a signature came for a block that is not open".to_owned(),
                fragment: excerpt(signature.text()),
            })?,
        }
        Ok(())
    }

    fn stop(&mut self, index: Option<u64>, to: &mut Builder, deltas: &mut Vec<TurnDelta>) -> Result<(), DecodeError> {
        self.sealed.iter_mut().filter(|block| block.index == index).for_each(|block| block.closed = true);
        match index {
            Some(index) => to.calls(deltas, |calls, to| calls.settle(index, to)),
            None => Ok(()),
        }
    }

    /// Ends all blocks, whether or not each of them was ended.
    fn settle(&mut self, to: &mut Builder, deltas: &mut Vec<TurnDelta>) -> Result<(), DecodeError> {
        self.sealed.iter_mut().for_each(|block| block.closed = true);
        to.calls(deltas, |calls, to| calls.settle_all(to))
    }

    fn count(&mut self, form: Option<&Object<UsageForm<'_>>>, to: &mut Builder) {
        let Some(Object(form)) = form else { return };
        let sum = &mut self.usage;
        for (count, value) in [
            (&mut sum.input, form.input_tokens),
            (&mut sum.cache_read, form.cache_read_input_tokens),
            (&mut sum.cache_write, form.cache_creation_input_tokens),
            (&mut sum.output, form.output_tokens),
        ] {
            *count = value.and_then(whole_number).or(*count);
        }
        let parts = [sum.input, sum.cache_read, sum.cache_write];
        to.turn.usage = Some(Usage {
            // This dialect counts what the cache read and wrote apart.
            input: parts.iter().flatten().fold(0, |total: u64, part| total.saturating_add(*part)),
            output: sum.output.unwrap_or(0),
            cached: sum.cache_read.unwrap_or(0),
        });
    }
}

fn stop(reason: Option<&str>, to: &mut Builder) {
    let stop = match reason {
        None | Some("") => return,
        Some("end_turn" | "stop_sequence") => StopReason::Stop,
        Some("tool_use") => StopReason::ToolCalls,
        Some("max_tokens" | "model_context_window_exceeded") => StopReason::MaxTokens,
        Some("refusal") => StopReason::ContentFilter,
        Some(other) => StopReason::Other(excerpt(other)),
    };
    to.stop(stop);
}

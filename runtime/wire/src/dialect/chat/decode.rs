//! The response of Chat Completions, streamed and whole.
//!
//! A `finish_reason` is the stop reason and `[DONE]` the last event. A provider may say `stop` beside calls; the reason is
//! passed on as it was given, and the calls decide.

use crate::dialect::build::{Builder, Grammar};
use crate::dialect::calls::{Fragment, excerpt};
use crate::dialect::json::{Object, Piece, identity, whole_number};
use crate::dialect::{DecodeError, DecodeLimits};
use crate::turn::Usage;
use crate::{StopReason, Turn, TurnDelta};
use serde::Deserialize;
use serde_json::value::RawValue;
use std::borrow::Cow;

/// What the events of this dialect mean. A whole response is decoded as the one chunk that says everything.
pub(in crate::dialect) struct Chat;

#[derive(Default, Deserialize)]
#[serde(default)]
struct Chunk<'a> {
    #[serde(borrow)]
    choices: Option<Vec<Object<Choice<'a>>>>,
    #[serde(borrow)]
    usage: Option<Object<UsageForm<'a>>>,
    #[serde(borrow)]
    error: Option<&'a RawValue>,
    #[serde(borrow)]
    object: Option<&'a RawValue>,
    #[serde(borrow)]
    message: Option<&'a RawValue>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Choice<'a> {
    #[serde(borrow)]
    index: Option<&'a RawValue>,
    #[serde(borrow)]
    delta: Option<Object<Delta<'a>>>,
    /// What the whole form has in place of `delta`; some servers send it in a stream as well.
    #[serde(borrow)]
    message: Option<Object<Delta<'a>>>,
    #[serde(borrow)]
    finish_reason: Option<Cow<'a, str>>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Delta<'a> {
    #[serde(borrow)]
    content: Option<&'a RawValue>,
    #[serde(borrow)]
    refusal: Option<&'a RawValue>,
    #[serde(borrow)]
    reasoning_content: Option<&'a RawValue>,
    #[serde(borrow)]
    reasoning: Option<&'a RawValue>,
    #[serde(borrow)]
    tool_calls: Option<Vec<Option<Object<CallForm<'a>>>>>,
    #[serde(borrow)]
    function_call: Option<Object<FunctionForm<'a>>>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct CallForm<'a> {
    #[serde(borrow)]
    index: Option<&'a RawValue>,
    #[serde(borrow)]
    id: Option<&'a RawValue>,
    #[serde(borrow)]
    function: Option<Object<FunctionForm<'a>>>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct FunctionForm<'a> {
    #[serde(borrow)]
    name: Option<&'a RawValue>,
    #[serde(borrow)]
    arguments: Option<&'a RawValue>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct UsageForm<'a> {
    #[serde(borrow)]
    prompt_tokens: Option<&'a RawValue>,
    #[serde(borrow)]
    completion_tokens: Option<&'a RawValue>,
    #[serde(borrow)]
    prompt_tokens_details: Option<Object<PromptDetails<'a>>>,
    #[serde(borrow)]
    prompt_cache_hit_tokens: Option<&'a RawValue>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct PromptDetails<'a> {
    #[serde(borrow)]
    cached_tokens: Option<&'a RawValue>,
}

/// One part of a content that is an array.
#[derive(Default, Deserialize)]
#[serde(default)]
struct Part<'a> {
    #[serde(borrow)]
    text: Option<&'a RawValue>,
    #[serde(borrow)]
    refusal: Option<&'a RawValue>,
}

impl Grammar for Chat {
    fn event(
        &mut self,
        name: &str,
        data: &str,
        to: &mut Builder,
        deltas: &mut Vec<TurnDelta>,
    ) -> Result<(), DecodeError> {
        if data.trim() == "[DONE]" {
            to.end();
            return Ok(());
        }
        take_chunk(name, data, to, deltas)
    }

    fn close(&mut self, _to: &mut Builder) {}
}

/// Decodes a whole, not streamed, response.
pub(in crate::dialect) fn decode_whole(body: &str, limits: DecodeLimits) -> Result<Turn, DecodeError> {
    let mut to = Builder::new(limits);
    to.begin_event();
    take_chunk("", body, &mut to, &mut Vec::new())?;
    Ok(to.close())
}

fn take_chunk(name: &str, data: &str, to: &mut Builder, deltas: &mut Vec<TurnDelta>) -> Result<(), DecodeError> {
    let Object(chunk): Object<Chunk<'_>> = to.parse(data)?;
    if let Some(Object(usage)) = &chunk.usage {
        to.turn.usage = Some(read_usage(usage));
    }
    for Object(choice) in chunk.choices.iter().flatten() {
        // One choice was asked for; others are not ours to mix in.
        if choice.index.and_then(whole_number).unwrap_or(0) == 0 {
            take_choice(choice, to, deltas)?;
        }
    }
    let is_error = name == "error" || chunk.object.is_some_and(|object| object.get() == "\"error\"");
    if let Some(error) = chunk.error {
        to.fail_with(error);
    } else if is_error {
        let message = chunk.message.and_then(Piece::of).map(Piece::into_text);
        to.fail(message.unwrap_or_else(|| excerpt(data).into()).into_owned());
    }
    Ok(())
}

fn take_choice(choice: &Choice<'_>, to: &mut Builder, deltas: &mut Vec<TurnDelta>) -> Result<(), DecodeError> {
    let whole = choice.delta.is_none();
    if let Some(Object(delta)) = choice.delta.as_ref().or(choice.message.as_ref()) {
        take_delta(delta, whole, to, deltas)?;
    }
    match choice.finish_reason.as_deref() {
        None | Some("") => {}
        Some("error") => to.fail("the provider ended the turn with finish_reason error".to_owned()),
        Some(reason) => to.stop(stop_reason(reason)),
    }
    Ok(())
}

/// Takes what a chunk adds. Where it is a whole message, a call without an index has its place in the list.
fn take_delta(
    delta: &Delta<'_>,
    whole: bool,
    to: &mut Builder,
    deltas: &mut Vec<TurnDelta>,
) -> Result<(), DecodeError> {
    let reasoning = match delta.reasoning_content {
        Some(reasoning) if reasoning.get() != "\"\"" => Some(reasoning),
        _ => delta.reasoning,
    };
    for piece in pieces(reasoning, to)? {
        to.reasoning(&piece, deltas)?;
    }
    for source in [delta.content, delta.refusal] {
        for piece in pieces(source, to)? {
            to.text(&piece, deltas)?;
        }
    }
    for (place, call) in (0..).zip(delta.tool_calls.iter().flatten()) {
        let Some(Object(call)) = call else { continue };
        let function = call.function.as_ref().map(|Object(function)| function);
        let mut fragment = fragment(call.index, call.id, function).ok_or_else(|| to.malformed(BAD_IDENTITY))?;
        if whole {
            fragment.index = fragment.index.or(Some(place));
        }
        to.call(&fragment, deltas)?;
    }
    if let Some(Object(function)) = &delta.function_call {
        let fragment = fragment(None, None, Some(function)).ok_or_else(|| to.malformed(BAD_IDENTITY))?;
        to.call(&fragment, deltas)?;
    }
    Ok(())
}

const BAD_IDENTITY: &str = "a call's id or name that is not a string";

/// The text of a value that is a string, null or an array of strings and of parts with text.
fn pieces<'a>(value: Option<&'a RawValue>, to: &Builder) -> Result<Vec<Piece<'a>>, DecodeError> {
    let Some(value) = value else { return Ok(Vec::new()) };
    if let Some(piece) = Piece::of(value) {
        return Ok(vec![piece]);
    }
    if !value.get().starts_with('[') {
        return Err(to.malformed("text that is neither a string nor parts"));
    }
    let mut pieces = Vec::new();
    for part in to.parse::<Vec<&RawValue>>(value.get())? {
        if let Some(piece) = Piece::of(part) {
            pieces.push(piece);
            continue;
        }
        let Object(part): Object<Part<'a>> = to.parse(part.get())?;
        pieces.extend(part.text.and_then(Piece::of));
        pieces.extend(part.refusal.and_then(Piece::of));
    }
    Ok(pieces)
}

/// A fragment of a call; `None` where an id or a name is neither a string nor a number.
fn fragment<'a>(
    index: Option<&'a RawValue>,
    id: Option<&'a RawValue>,
    function: Option<&FunctionForm<'a>>,
) -> Option<Fragment<'a>> {
    let arguments = function.and_then(|function| function.arguments);
    let (arguments, is_value) = arguments.map(Piece::of_any).unwrap_or_default();
    Some(Fragment {
        index: index.and_then(whole_number),
        id: identity(id)?,
        name: identity(function.and_then(|function| function.name))?,
        arguments,
        is_value,
        opens: false,
    })
}

fn stop_reason(reason: &str) -> StopReason {
    match reason {
        "stop" => StopReason::Stop,
        "tool_calls" | "function_call" => StopReason::ToolCalls,
        "length" | "max_tokens" => StopReason::MaxTokens,
        "content_filter" => StopReason::ContentFilter,
        other => StopReason::Other(excerpt(other)),
    }
}

fn read_usage(form: &UsageForm<'_>) -> Usage {
    let count = |value: Option<&RawValue>| value.and_then(whole_number).unwrap_or(0);
    let details = form.prompt_tokens_details.as_ref().and_then(|Object(details)| details.cached_tokens);
    Usage {
        input: count(form.prompt_tokens),
        output: count(form.completion_tokens),
        cached: count(details.or(form.prompt_cache_hit_tokens)),
    }
}

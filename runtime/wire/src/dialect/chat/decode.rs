//! The response of Chat Completions, streamed.
//!
//! What ends a turn: a `finish_reason` closes what came before it, `[DONE]` closes everything and ends the stream.
//! Text, reasoning or call fragments after a `finish_reason` open the turn again until one of the two comes, so that a
//! call that begins after the reason and is cut never looks complete. `[DONE]` without any reason is a clean end: the
//! reason is then `tool_calls` where there are calls and `stop` where there are none. A `finish_reason` and then the
//! end of the stream, without `[DONE]`, is clean as well.
//!
//! A provider may say `stop` beside calls; the reason is passed on as it was given, and the calls decide.

use crate::dialect::calls::{Assembly, Calls, Fragment, excerpt};
use crate::dialect::json::{Joint, Object, Piece, whole_number};
use crate::dialect::{DecodeError, DecodeLimits, TurnDecoder};
use crate::turn::Usage;
use crate::{StopReason, Terminal, Turn, TurnDelta};
use serde::Deserialize;
use serde_json::value::RawValue;
use std::borrow::Cow;

/// Decodes Chat Completions chunks.
#[derive(Debug, Default)]
pub struct ChatDecoder {
    turn: Turn,
    limits: DecodeLimits,
    calls: Calls,
    text: Joint,
    reasoning: Joint,
    events: u64,
    stop: Option<StopReason>,
    ended: bool,
    failed: Option<DecodeError>,
}

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

impl ChatDecoder {
    /// A decoder for one response.
    pub fn new(limits: DecodeLimits) -> Self {
        Self { limits, ..Self::default() }
    }

    fn chunk(&mut self, name: &str, data: &str, deltas: &mut Vec<TurnDelta>) -> Result<(), DecodeError> {
        let Object(chunk): Object<Chunk<'_>> = self.parse(data)?;
        if let Some(Object(usage)) = &chunk.usage {
            self.turn.usage = Some(read_usage(usage));
        }
        for Object(choice) in chunk.choices.iter().flatten() {
            // One choice was asked for; others are not ours to mix in.
            if choice.index.and_then(whole_number).unwrap_or(0) == 0 {
                self.choice(choice, deltas)?;
            }
        }
        let is_error = name == "error" || chunk.object.is_some_and(|object| object.get() == "\"error\"");
        if let Some(error) = chunk.error {
            self.provider_error(error);
        } else if is_error {
            let message = chunk.message.and_then(Piece::of).map(Piece::into_text);
            self.end_with_error(message.unwrap_or_else(|| excerpt(data).into()).into_owned());
        }
        Ok(())
    }

    fn parse<'a, T: Deserialize<'a>>(&self, json: &'a str) -> Result<T, DecodeError> {
        serde_json::from_str(json).map_err(|error| DecodeError::Json { event: self.events, reason: error.to_string() })
    }

    fn choice(&mut self, choice: &Choice<'_>, deltas: &mut Vec<TurnDelta>) -> Result<(), DecodeError> {
        if let Some(Object(delta)) = choice.delta.as_ref().or(choice.message.as_ref()) {
            let grew = self.delta(delta, deltas)?;
            if grew && matches!(self.turn.terminal, Terminal::Clean { .. }) {
                self.turn.terminal = Terminal::None;
            }
        }
        match choice.finish_reason.as_deref() {
            None | Some("") => {}
            Some("error") => self.end_with_error("the provider ended the turn with finish_reason error".to_owned()),
            Some(reason) => {
                let stop = graver(self.stop.take(), stop_reason(reason));
                self.turn.terminal = Terminal::Clean { stop: stop.clone() };
                self.stop = Some(stop);
            }
        }
        Ok(())
    }

    /// Takes a delta; answers whether it added anything.
    fn delta(&mut self, delta: &Delta<'_>, deltas: &mut Vec<TurnDelta>) -> Result<bool, DecodeError> {
        let mut grew = false;
        let reasoning = match delta.reasoning_content {
            Some(reasoning) if reasoning.get() != "\"\"" => Some(reasoning),
            _ => delta.reasoning,
        };
        for piece in self.pieces(reasoning)? {
            grew |= self.reasoning(&piece, deltas)?;
        }
        for source in [delta.content, delta.refusal] {
            for piece in self.pieces(source)? {
                grew |= self.text(&piece, deltas)?;
            }
        }
        for Object(call) in delta.tool_calls.iter().flatten().flatten() {
            let function = call.function.as_ref().map(|Object(function)| function);
            let fragment = self.fragment(call.index, call.id, function)?;
            grew |= self.call(&fragment, deltas)?;
        }
        if let Some(Object(function)) = &delta.function_call {
            let fragment = self.fragment(None, None, Some(function))?;
            grew |= self.call(&fragment, deltas)?;
        }
        Ok(grew)
    }

    /// The text of a value that is a string, null or an array of strings and of parts with text.
    fn pieces<'a>(&self, value: Option<&'a RawValue>) -> Result<Vec<Piece<'a>>, DecodeError> {
        let Some(value) = value else { return Ok(Vec::new()) };
        if let Some(piece) = Piece::of(value) {
            return Ok(vec![piece]);
        }
        if !value.get().starts_with('[') {
            return Err(DecodeError::Json {
                event: self.events,
                reason: "text that is neither a string nor parts".to_owned(),
            });
        }
        let mut pieces = Vec::new();
        for part in self.parse::<Vec<&RawValue>>(value.get())? {
            if let Some(piece) = Piece::of(part) {
                pieces.push(piece);
                continue;
            }
            let Object(part): Object<Part<'a>> = self.parse(part.get())?;
            pieces.extend(part.text.and_then(Piece::of));
            pieces.extend(part.refusal.and_then(Piece::of));
        }
        Ok(pieces)
    }

    fn text(&mut self, piece: &Piece<'_>, deltas: &mut Vec<TurnDelta>) -> Result<bool, DecodeError> {
        let from = self.turn.text.len();
        self.check_text(from + self.text.max_growth(piece), "bytes of text")?;
        self.text.push(&mut self.turn.text, piece);
        if self.turn.text.len() > from {
            deltas.push(TurnDelta::Text(self.turn.text[from..].to_owned()));
        }
        Ok(!piece.is_empty())
    }

    fn reasoning(&mut self, piece: &Piece<'_>, deltas: &mut Vec<TurnDelta>) -> Result<bool, DecodeError> {
        let from = self.turn.reasoning.len();
        self.check_text(from + self.reasoning.max_growth(piece), "bytes of reasoning")?;
        self.reasoning.push(&mut self.turn.reasoning, piece);
        if self.turn.reasoning.len() > from {
            deltas.push(TurnDelta::Reasoning(self.turn.reasoning[from..].to_owned()));
        }
        Ok(!piece.is_empty())
    }

    fn check_text(&self, length: usize, what: &'static str) -> Result<(), DecodeError> {
        if length > self.limits.max_text_bytes {
            return Err(DecodeError::Limit { event: self.events, what, limit: self.limits.max_text_bytes });
        }
        Ok(())
    }

    fn fragment<'a>(
        &self,
        index: Option<&'a RawValue>,
        id: Option<&'a RawValue>,
        function: Option<&FunctionForm<'a>>,
    ) -> Result<Fragment<'a>, DecodeError> {
        let identity = |value: Option<&'a RawValue>| match value {
            None => Ok(Cow::Borrowed("")),
            // Some servers number their calls.
            Some(value) if whole_number(value).is_some() => Ok(Cow::Borrowed(value.get())),
            Some(value) => Piece::of(value).map(Piece::into_text).ok_or_else(|| DecodeError::Json {
                event: self.events,
                reason: "a call's id or name that is not a string".to_owned(),
            }),
        };
        let arguments = function.and_then(|function| function.arguments);
        let text = arguments.and_then(Piece::of);
        let is_value = arguments.is_some() && text.is_none();
        Ok(Fragment {
            index: index.and_then(whole_number),
            id: identity(id)?,
            name: identity(function.and_then(|function| function.name))?,
            arguments: text.or(arguments.map(|value| Piece::plain(value.get()))).unwrap_or_default(),
            is_value,
        })
    }

    fn call(&mut self, fragment: &Fragment<'_>, deltas: &mut Vec<TurnDelta>) -> Result<bool, DecodeError> {
        let mut to = Assembly { turn: &mut self.turn, deltas, limits: &self.limits, event: self.events };
        self.calls.accept(fragment, &mut to)
    }

    fn provider_error(&mut self, error: &RawValue) {
        #[derive(Default, Deserialize)]
        #[serde(default)]
        struct Form<'a> {
            #[serde(borrow)]
            message: Option<&'a RawValue>,
        }
        let text = |value| Piece::of(value).map(|piece| piece.into_text().into_owned());
        let message = text(error).or_else(|| {
            let Object(form): Object<Form<'_>> = serde_json::from_str(error.get()).ok()?;
            text(form.message?)
        });
        let message = message.filter(|message| !message.is_empty());
        self.end_with_error(message.unwrap_or_else(|| excerpt(error.get())));
    }

    fn end_with_error(&mut self, message: String) {
        self.turn.terminal = Terminal::Error { message };
        self.ended = true;
    }

    fn done(&mut self) {
        let implied = if self.turn.calls.is_empty() { StopReason::Stop } else { StopReason::ToolCalls };
        self.turn.terminal = Terminal::Clean { stop: self.stop.take().unwrap_or(implied) };
        self.ended = true;
    }
}

impl TurnDecoder for ChatDecoder {
    fn event(&mut self, name: &str, data: &str, deltas: &mut Vec<TurnDelta>) -> Result<(), DecodeError> {
        if let Some(error) = &self.failed {
            return Err(error.clone());
        }
        if self.ended {
            return Ok(());
        }
        self.events += 1;
        match data.trim() {
            "[DONE]" => self.done(),
            // An empty payload keeps the line open and says nothing.
            "" => {}
            _ => {
                if let Err(error) = self.chunk(name, data, deltas) {
                    self.turn.terminal = Terminal::None;
                    self.failed = Some(error.clone());
                    return Err(error);
                }
            }
        }
        Ok(())
    }

    fn ended(&self) -> bool {
        self.ended
    }

    fn turn(&self) -> &Turn {
        &self.turn
    }

    fn finish(mut self: Box<Self>) -> Turn {
        self.text.close(&mut self.turn.text);
        self.reasoning.close(&mut self.turn.reasoning);
        self.calls.close(&mut self.turn);
        self.turn
    }
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

/// Of two reasons for one turn the one that says that something is missing; otherwise the later one.
fn graver(before: Option<StopReason>, now: StopReason) -> StopReason {
    match before {
        Some(cut @ (StopReason::MaxTokens | StopReason::ContentFilter)) => cut,
        _ => now,
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

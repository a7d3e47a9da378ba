//! What every dialect's decoder does alike: it assembles the turn, keeps its limits and decides how it ended.
//!
//! A dialect adds a [`Grammar`], which says what an event means. The rules for the end are the same for all:
//!
//! - A stop reason closes what came before it; the dialect's last event closes everything and ends the stream. Either
//!   alone is a clean end.
//! - Content after a stop reason opens the turn again until one of the two comes, so that a call that begins late and
//!   is cut never looks complete.
//! - An error of the provider's ends the stream. An event that cannot be decoded leaves the turn without an end.

use super::calls::{Assembly, Calls, Fragment, excerpt};
use super::json::{Joint, Object, Piece};
use super::{DecodeError, DecodeLimits, TurnDecoder};
use crate::turn::Rejected;
use crate::{StopReason, Terminal, Turn, TurnDelta};
use serde::Deserialize;
use serde_json::value::RawValue;

/// What the events of a dialect mean.
pub(super) trait Grammar: Send {
    /// Takes one event that is not blank.
    fn event(
        &mut self,
        name: &str,
        data: &str,
        to: &mut Builder,
        deltas: &mut Vec<TurnDelta>,
    ) -> Result<(), DecodeError>;

    /// Hands over what is kept until the end of the turn.
    fn close(&mut self, to: &mut Builder);
}

/// A dialect's decoder.
pub(super) struct Decoder<G> {
    grammar: G,
    builder: Builder,
    failed: Option<DecodeError>,
}

impl<G: Grammar> Decoder<G> {
    pub(super) fn new(grammar: G, limits: DecodeLimits) -> Self {
        Self { grammar, builder: Builder::new(limits), failed: None }
    }
}

impl<G: Grammar> TurnDecoder for Decoder<G> {
    fn event(&mut self, name: &str, data: &str, deltas: &mut Vec<TurnDelta>) -> Result<(), DecodeError> {
        if let Some(error) = &self.failed {
            return Err(error.clone());
        }
        // An empty payload keeps the line open and says nothing.
        if self.builder.ended || data.trim().is_empty() {
            return Ok(());
        }
        self.builder.begin_event();
        if is_noise(data) {
            return self.builder.noise(data);
        }
        if let Err(error) = self.grammar.event(name, data, &mut self.builder, deltas) {
            self.builder.turn.terminal = Terminal::None;
            self.failed = Some(error.clone());
            return Err(error);
        }
        Ok(())
    }

    fn ended(&self) -> bool {
        self.builder.ended
    }

    fn turn(&self) -> &Turn {
        &self.builder.turn
    }

    fn finish(mut self: Box<Self>) -> Turn {
        self.grammar.close(&mut self.builder);
        self.builder.close()
    }
}

/// Whether data is no event of any dialect, whole or cut: no JSON, and not the start of an object or a list either.
/// Gateways send comments of their own this way.
fn is_noise(data: &str) -> bool {
    !data.trim_start().starts_with(['{', '[']) && serde_json::from_str::<serde::de::IgnoredAny>(data).is_err()
}

/// A turn under construction.
#[derive(Debug, Default)]
pub(super) struct Builder {
    pub(super) turn: Turn,
    limits: DecodeLimits,
    calls: Calls,
    text: Joint,
    reasoning: Joint,
    /// How many bytes of blocks are kept for the way back.
    kept_bytes: usize,
    /// How many events were taken.
    events: u64,
    stop: Option<StopReason>,
    ended: bool,
    /// Data that is no event was met and reported.
    noisy: bool,
}

impl Builder {
    pub(super) fn new(limits: DecodeLimits) -> Self {
        Self { limits, ..Self::default() }
    }

    pub(super) fn close(mut self) -> Turn {
        self.text.close(&mut self.turn.text);
        self.reasoning.close(&mut self.turn.reasoning);
        self.calls.close(&mut self.turn);
        self.turn
    }

    pub(super) fn limits(&self) -> &DecodeLimits {
        &self.limits
    }

    pub(super) fn parse<'a, T: Deserialize<'a>>(&self, json: &'a str) -> Result<T, DecodeError> {
        serde_json::from_str(json).map_err(|error| self.malformed(error.to_string()))
    }

    pub(super) fn malformed(&self, reason: impl Into<String>) -> DecodeError {
        DecodeError::Json { event: self.events, reason: reason.into() }
    }

    pub(super) fn limit(&self, what: &'static str, limit: usize) -> DecodeError {
        DecodeError::Limit { event: self.events, what, limit }
    }

    /// Counts bytes of a block that is kept for the way back.
    pub(super) fn keep(&mut self, bytes: usize) -> Result<(), DecodeError> {
        self.kept_bytes += bytes;
        if self.kept_bytes > self.limits.max_text_bytes {
            return Err(self.limit("bytes of signed blocks", self.limits.max_text_bytes));
        }
        Ok(())
    }

    /// Counts an event.
    pub(super) fn begin_event(&mut self) {
        self.events += 1;
    }

    /// Reports something that is not taken.
    pub(super) fn reject(&mut self, rejected: Rejected) -> Result<(), DecodeError> {
        if self.turn.rejected.len() >= self.limits.max_rejected {
            return Err(self.limit("refused fragments", self.limits.max_rejected));
        }
        self.turn.rejected.push(rejected);
        Ok(())
    }

    /// Reports data that is no event, once: a gateway that sends some sends more.
    fn noise(&mut self, data: &str) -> Result<(), DecodeError> {
        if std::mem::replace(&mut self.noisy, true) {
            return Ok(());
        }
        self.reject(Rejected { reason: "an event's data is no JSON".to_owned(), fragment: excerpt(data) })
    }

    /// Adds visible text.
    pub(super) fn text(&mut self, piece: &Piece<'_>, deltas: &mut Vec<TurnDelta>) -> Result<(), DecodeError> {
        let from = self.turn.text.len();
        if from + self.text.max_growth(piece) > self.limits.max_text_bytes {
            return Err(self.limit("bytes of text", self.limits.max_text_bytes));
        }
        self.text.push(&mut self.turn.text, piece);
        if self.turn.text.len() > from {
            deltas.push(TurnDelta::Text(self.turn.text[from..].to_owned()));
        }
        self.grew(!piece.is_empty());
        Ok(())
    }

    /// Adds reasoning text.
    pub(super) fn reasoning(&mut self, piece: &Piece<'_>, deltas: &mut Vec<TurnDelta>) -> Result<(), DecodeError> {
        let from = self.turn.reasoning.len();
        if from + self.reasoning.max_growth(piece) > self.limits.max_text_bytes {
            return Err(self.limit("bytes of reasoning", self.limits.max_text_bytes));
        }
        self.reasoning.push(&mut self.turn.reasoning, piece);
        if self.turn.reasoning.len() > from {
            deltas.push(TurnDelta::Reasoning(self.turn.reasoning[from..].to_owned()));
        }
        self.grew(!piece.is_empty());
        Ok(())
    }

    /// Adds a fragment of a call.
    pub(super) fn call(&mut self, fragment: &Fragment<'_>, deltas: &mut Vec<TurnDelta>) -> Result<(), DecodeError> {
        self.calls(deltas, |calls, to| calls.accept(fragment, to))
    }

    /// Does something to the calls that answers whether it added anything.
    pub(super) fn calls(
        &mut self,
        deltas: &mut Vec<TurnDelta>,
        act: impl FnOnce(&mut Calls, &mut Assembly<'_>) -> Result<bool, DecodeError>,
    ) -> Result<(), DecodeError> {
        let mut to = Assembly { turn: &mut self.turn, deltas, limits: &self.limits, event: self.events };
        let grew = act(&mut self.calls, &mut to)?;
        self.grew(grew);
        Ok(())
    }

    /// Content after a stop reason opens the turn again.
    fn grew(&mut self, grew: bool) {
        if grew && matches!(self.turn.terminal, Terminal::Clean { .. }) {
            self.turn.terminal = Terminal::None;
        }
    }

    /// Takes a stop reason. Of two for one turn that one stays which says that something is missing; otherwise the
    /// later one counts.
    pub(super) fn stop(&mut self, reason: StopReason) {
        let stop = match self.stop.take() {
            Some(cut @ (StopReason::MaxTokens | StopReason::ContentFilter)) => cut,
            _ => reason,
        };
        self.turn.terminal = Terminal::Clean { stop: stop.clone() };
        self.stop = Some(stop);
    }

    /// Takes the dialect's last event. Without a stop reason before it the calls tell the reason.
    pub(super) fn end(&mut self) {
        let implied = if self.turn.calls.is_empty() { StopReason::Stop } else { StopReason::ToolCalls };
        self.turn.terminal = Terminal::Clean { stop: self.stop.take().unwrap_or(implied) };
        self.ended = true;
    }

    /// Ends the turn with an error of the provider's.
    pub(super) fn fail(&mut self, message: String) {
        self.turn.terminal = Terminal::Error { message };
        self.ended = true;
    }

    /// Ends the turn with an error of the provider's: a string, or an object with a `message`.
    pub(super) fn fail_with(&mut self, error: &RawValue) {
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
        self.fail(message.unwrap_or_else(|| excerpt(error.get())));
    }
}

//! From the bytes of a response body to its turn: the SSE decoder and a dialect's decoder in one.
//!
//! It owns nothing but the joint between the two, and where a stream broke. It refuses to own the body, its encoding
//! and time.

use crate::dialect::{DecodeError, DecodeLimits, Dialect, TurnDecoder};
use crate::sse::{SseDecoder, SseEnd, SseError, SseLimits};
use crate::{Turn, TurnDelta};
use thiserror::Error;

/// Why a stream cannot be decoded any further. The turn runs nothing.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum StreamError {
    /// The framing is at fault.
    #[error(transparent)]
    Sse(#[from] SseError),
    /// An event is at fault.
    #[error("{source} (the event begins at byte {offset} of the stream)")]
    Event {
        /// Position in the stream, in bytes from 0, of the event.
        offset: u64,
        /// What is wrong with it.
        source: DecodeError,
    },
}

/// Where a stream stood when it ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StreamEnd {
    /// How many events were decoded. A stream without any is an upstream failure and not an empty answer.
    pub events: u64,
    /// How many bytes there were, and how many of them were left over.
    pub sse: SseEnd,
}

/// Decodes the body of one streamed response.
pub struct StreamDecoder {
    sse: SseDecoder,
    turn: Box<dyn TurnDecoder>,
    events: u64,
    failed: Option<StreamError>,
}

impl StreamDecoder {
    /// A decoder at the start of a body, with the default limits.
    pub fn new(dialect: Dialect) -> Self {
        Self::with_limits(dialect, SseLimits::default(), DecodeLimits::default())
    }

    /// A decoder at the start of a body.
    pub fn with_limits(dialect: Dialect, sse: SseLimits, turn: DecodeLimits) -> Self {
        Self { sse: SseDecoder::new(sse), turn: dialect.decoder_with(turn), events: 0, failed: None }
    }

    /// Takes the next bytes of the body and adds what they meant to `deltas`.
    ///
    /// # Errors
    /// [`StreamError`] at the first fault, and again at every later call.
    pub fn feed(&mut self, chunk: &[u8], deltas: &mut Vec<TurnDelta>) -> Result<(), StreamError> {
        if let Some(error) = &self.failed {
            return Err(error.clone());
        }
        let Self { sse, turn, events, failed } = self;
        let fed = sse.feed(chunk, |event| {
            if failed.is_some() || turn.ended() {
                return;
            }
            *events += 1;
            if let Err(source) = turn.event(event.name, event.data, deltas) {
                *failed = Some(StreamError::Event { offset: event.offset, source });
            }
        });
        // What comes after the dialect's last event is not the turn's, so a fault in it is none of the turn's either.
        if let Err(error) = fed
            && failed.is_none()
            && !turn.ended()
        {
            *failed = Some(error.into());
        }
        failed.clone().map_or(Ok(()), Err)
    }

    /// Whether the dialect's last event has been seen, so that the body need not be read any further.
    pub fn ended(&self) -> bool {
        self.turn.ended()
    }

    /// How many events have been decoded so far; comments are none.
    pub fn events(&self) -> u64 {
        self.events
    }

    /// What has been assembled so far.
    pub fn turn(&self) -> &Turn {
        self.turn.turn()
    }

    /// Ends the body. After a fault of the stream the turn has no terminal signal, whatever came before.
    pub fn finish(self) -> (Turn, StreamEnd) {
        let end = StreamEnd { events: self.events, sse: self.sse.finish() };
        let mut turn = self.turn.finish();
        if self.failed.is_some() {
            turn.terminal = crate::Terminal::None;
        }
        (turn, end)
    }
}

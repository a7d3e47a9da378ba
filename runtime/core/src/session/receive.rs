//! One model turn: a request, its stream, and the rule for trying again.
//!
//! A request is encoded once and sent again byte for byte. It is sent again only while nothing of its turn has been
//! committed: once text or a call has come through, a failure is reported, because a second try would say it twice.

use super::scrub::{Scrubbed, scrub_turn};
use super::{SessionConfig, TurnObserver};
use crate::dispatch::early::{Early, Starter, Starting};
use crate::event::{EventKind, EventLog, Lane, Mark};
use crate::transport::{ModelClient, ModelResponse, TransportError};
use bytes::Bytes;
use slot_wire::dialect::{DecodeError, RequestOptions};
use slot_wire::sse::SseError;
use slot_wire::stream::{StreamDecoder, StreamEnd, StreamError};
use slot_wire::{Conversation, Replay, Terminal, Turn};
use std::time::Duration;
use tokio::time::Instant;

/// Why a turn could not be had.
#[derive(Debug)]
pub struct Failure {
    /// The kind of failure, as in the log.
    pub cause: String,
    /// What happened, for a person.
    pub detail: String,
    /// Whether the same request may be sent again.
    transient: bool,
    /// How long the server asks to wait.
    retry_after: Option<u64>,
}

impl Failure {
    fn new(cause: &str, detail: impl Into<String>, transient: bool) -> Self {
        Failure { cause: cause.to_owned(), detail: detail.into(), transient, retry_after: None }
    }

    /// A turn that was handed out although it did not end cleanly.
    pub fn not_terminal() -> Self {
        Failure::new("stream_cut", "the turn did not end with a terminal signal", false)
    }
}

impl From<TransportError> for Failure {
    fn from(error: TransportError) -> Self {
        let retry_after = match error {
            TransportError::Status { retry_after, .. } => retry_after,
            _ => None,
        };
        Failure { retry_after, ..Failure::new(error.cause(), error.to_string(), error.is_transient()) }
    }
}

/// What receiving a turn needs.
pub struct Receiver<'a> {
    /// How the session talks.
    pub config: &'a SessionConfig,
    /// The way to the model.
    pub client: &'a ModelClient,
    /// Where it is logged.
    pub log: &'a EventLog,
    /// Who watches.
    pub observer: &'a dyn TurnObserver,
    /// The number of the turn.
    pub turn: u32,
    /// What starting calls early reads.
    pub starting: &'a Starting<'a>,
}

impl Receiver<'_> {
    /// Asks for a turn. The turn that is handed out ended with its dialect's terminal signal.
    pub async fn receive(
        &self,
        conversation: &Conversation,
        replay: &Replay,
        catalog: &str,
        after: Vec<Mark>,
    ) -> Result<(Turn, Early), Failure> {
        let options = RequestOptions { model: &self.config.model, catalog, max_tokens: self.config.max_tokens };
        let body = Bytes::from(self.config.dialect.encode_replaying(conversation, replay, &options));
        let mut after = after;
        let mut attempt = 1;
        loop {
            let sent = EventKind::RequestSent { turn: self.turn, attempt };
            self.log.push(Lane::Session, sent, std::mem::take(&mut after));
            match self.attempt(body.clone()).await {
                Ok((mut turn, early)) => {
                    self.log.push(Lane::Session, self.received(&turn), Vec::new());
                    self.scrub(&mut turn);
                    return Ok((turn, early));
                }
                Err(failure) if failure.transient && attempt < self.config.retry.attempts => {
                    let kind = EventKind::RequestRetried { turn: self.turn, cause: failure.cause.clone() };
                    self.log.push(Lane::Session, kind, Vec::new());
                    tokio::time::sleep(self.delay(attempt, failure.retry_after)).await;
                    attempt += 1;
                }
                Err(failure) => return Err(failure),
            }
        }
    }

    /// Takes forged calls out of what enters the history, and says so once.
    fn scrub(&self, turn: &mut Turn) {
        let Some(forgery) = scrub_turn(turn) else { return };
        let (count, families) = (forgery.removed(), forgery.families());
        self.log.push(Lane::Session, EventKind::ForgeryStripped { turn: self.turn, count, families }, Vec::new());
        self.observer.notice(&forgery.to_string());
    }

    fn received(&self, turn: &Turn) -> EventKind {
        let stop = match &turn.terminal {
            Terminal::Clean { stop } => serde_json::to_value(stop).unwrap_or_default(),
            _ => serde_json::Value::Null,
        };
        let stop = match stop {
            serde_json::Value::String(word) => word,
            other => other["other"].as_str().unwrap_or("none").to_owned(),
        };
        EventKind::TurnReceived { turn: self.turn, stop, calls: turn.calls.len() }
    }

    /// How long to wait before the next attempt: what the server asks for, within the limit, or else a doubling delay.
    fn delay(&self, attempt: u32, retry_after: Option<u64>) -> Duration {
        let retry = &self.config.retry;
        let doubled = retry.delay.saturating_mul(1_u32.checked_shl(attempt - 1).unwrap_or(u32::MAX));
        retry_after.map_or(doubled, Duration::from_secs).min(retry.max_delay)
    }

    async fn attempt(&self, body: Bytes) -> Result<(Turn, Early), Failure> {
        let dialect = self.config.dialect;
        let mut response = self.client.post(dialect, body).await?;
        let mut decoder = StreamDecoder::new(dialect);
        let mut starter = Starter::new(self.starting);
        let read = self.read(&mut response, &mut decoder, &mut starter).await;
        let (turn, end) = decoder.finish();
        let fresh = !turn.committed();
        match (read, &turn.terminal) {
            (Ok(()), Terminal::Clean { .. }) => Ok((turn, starter.hand_over())),
            (_, Terminal::Error { message }) => {
                Err(Failure::new("provider_error", format!("the model server reported an error: {message}"), fresh))
            }
            (Err(failure), _) => Err(Failure { transient: failure.transient && fresh, ..failure }),
            (Ok(()), Terminal::None) => Err(Failure::new("stream_cut", cut(&end), fresh)),
        }
    }

    /// Reads the stream to its end, or to the dialect's last event.
    async fn read(
        &self,
        response: &mut ModelResponse,
        decoder: &mut StreamDecoder,
        starter: &mut Starter<'_>,
    ) -> Result<(), Failure> {
        let mut deltas = Vec::new();
        let mut shown = Scrubbed::new(self.observer);
        let silence = self.client.limits().silence;
        let (mut last_event, mut events) = (Instant::now(), 0);
        while !decoder.ended() {
            let next = tokio::select! {
                biased;
                next = tokio::time::timeout_at(last_event + silence, response.next()) => next,
                never = starter.go_on() => match never {},
            };
            let limit_ms = u64::try_from(silence.as_millis()).unwrap_or(u64::MAX);
            let Some(chunk) = next.map_err(|_| TransportError::Timeout { what: "further event", limit_ms })?? else {
                break;
            };
            let fed = decoder.feed(&chunk, &mut deltas);
            for delta in &deltas {
                shown.delta(delta);
            }
            fed.map_err(|error| unreadable(&error))?;
            if !decoder.ended() {
                starter.look(decoder.turn(), &deltas);
                starter.step().await;
            }
            deltas.clear();
            if decoder.events() > events {
                (events, last_event) = (decoder.events(), Instant::now());
            }
        }
        Ok(())
    }
}

/// A stream that cannot be read on. What is too large is too large again at the next try.
fn unreadable(error: &StreamError) -> Failure {
    let (cause, transient) = match error {
        StreamError::Sse(SseError::TooLarge { .. }) => ("event_too_large", false),
        StreamError::Event { source: DecodeError::Limit { .. }, .. } => ("turn_too_large", false),
        StreamError::Sse(_) | StreamError::Event { .. } => ("bad_stream", true),
    };
    Failure::new(cause, error.to_string(), transient)
}

/// How a stream ended that should not have.
fn cut(end: &StreamEnd) -> String {
    let place = match (end.events, end.sse.pending) {
        (0, 0) => "without a single event".to_owned(),
        (events, 0) => format!("after {events} events"),
        (events, pending) => format!("after {events} events and {pending} bytes of one more"),
    };
    format!("the model's stream ended {place}, without its terminal signal, so nothing of the turn was run")
}

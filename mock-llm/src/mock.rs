//! The handle: a script being played.

use crate::binding::Bound;
use crate::engine::{Config, Engine};
use crate::journal::Journal;
use crate::report::Report;
use crate::script::{Script, Turn};
use crate::server::{self, Link, Listening};
use crate::tape::Tape;
use slot_oracles::trace::{ServedTurn, WireRequest, WireTrace};
use std::fmt;
use std::future::Future;
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncWrite};

/// A mock LLM that plays one script. Clones are handles to the same one.
#[derive(Clone)]
pub struct MockLlm {
    engine: Arc<Engine>,
}

/// The requests did not arrive in time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{arrived} of {wanted} requests arrived within {limit:?}; check that the agent was given the mock's base URL")]
pub struct WaitError {
    /// How many had arrived.
    pub arrived: usize,
    /// How many were waited for.
    pub wanted: usize,
    /// How long was waited.
    pub limit: Duration,
}

impl MockLlm {
    /// Plays `script` with nothing else set.
    pub fn new(script: Script) -> MockLlm {
        MockLlm::with_config(script, Config::default())
    }

    /// Plays `script` under a host's settings. The script is taken as it is.
    pub fn with_config(script: Script, config: Config) -> MockLlm {
        MockLlm { engine: Arc::new(Engine::new(script, config)) }
    }

    /// Plays a recorded session. What the journal calls a body is all that goes over the wire then, and the reports name
    /// exchanges in place of turns. No request is judged.
    pub fn replay(tape: Tape, config: Config) -> MockLlm {
        MockLlm { engine: Arc::new(Engine::of_tape(tape, config)) }
    }

    /// Serves one connection until it ends. It starts no timer, so a paused clock stays where it is.
    pub fn serve_io<IO>(&self, io: IO) -> impl Future<Output = ()> + Send + 'static
    where
        IO: AsyncRead + AsyncWrite + Unpin + Send + 'static,
    {
        server::serve(self.engine.clone(), io, Link::plain())
    }

    /// Listens on TCP, with TCP_NODELAY on every connection. Port 0 takes a free one.
    ///
    /// # Errors
    ///
    /// When the address cannot be bound.
    pub async fn listen(&self, addr: SocketAddr) -> io::Result<Listening> {
        let engine = self.engine.clone();
        Listening::bind(addr, move |stream, stopped| server::serve(engine.clone(), stream, Link::tcp(stopped))).await
    }

    /// Opens a gate, for good. A turn that names it is answered, now or when it is asked for.
    pub fn open_gate(&self, name: &str) {
        self.engine.open_gate(name);
    }

    /// Waits until `count` requests of the conversation have arrived in all.
    ///
    /// # Errors
    ///
    /// When they did not within `limit`.
    pub async fn wait_for_requests(&self, count: usize, limit: Duration) -> Result<(), WaitError> {
        let waited = tokio::time::timeout(limit, self.engine.arrived(count)).await;
        waited.map_err(|_| WaitError { arrived: self.engine.arrived_so_far(), wanted: count, limit })
    }

    /// Appends a turn to the script.
    pub fn push(&self, turn: Turn) {
        self.engine.push(turn);
    }

    /// The script as it stands.
    pub fn script(&self) -> Script {
        self.engine.script()
    }

    /// The journal so far.
    pub fn journal(&self) -> Journal {
        self.engine.journal()
    }

    /// Every scripted turn with what was served of it.
    pub fn served(&self) -> Vec<ServedTurn> {
        self.engine.facts().0
    }

    /// The requests of the conversation, in order of arrival.
    pub fn requests(&self) -> Vec<WireRequest> {
        self.engine.facts().1
    }

    /// Puts what this mock saw into a trace: `served`, `requests` and `side_requests`.
    pub fn fill(&self, trace: &mut WireTrace) {
        (trace.served, trace.requests, trace.side_requests) = self.engine.facts();
    }

    /// How the operations were bound; `None` until an agent has sent tools.
    pub fn bound(&self) -> Option<Bound> {
        self.engine.bound()
    }

    /// What was not reached so far, and what came that the script did not foresee.
    pub fn finish(&self) -> Report {
        self.engine.report()
    }
}

impl fmt::Debug for MockLlm {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("MockLlm").field("report", &self.finish()).finish_non_exhaustive()
    }
}

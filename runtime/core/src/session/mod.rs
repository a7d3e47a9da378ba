//! A session: the conversation with one model, turn by turn, until it is done.
//!
//! 1. Encode the conversation and ask for a turn ([`receive`]).
//! 2. Put the turn into the history, and each of its calls on the list of open calls.
//! 3. Plan every call, then settle them batch by batch; each settled call leaves the list and enters the history, in call
//!    order.
//! 4. Again, until a turn has no calls.
//!
//! The list of open calls is what makes pairing hold whatever happens: a run that is cancelled settles it, and a run
//! whose future was dropped in the middle leaves it behind, to be answered before anything else is sent.

mod receive;
mod scrub;
mod shown;

#[cfg(test)]
mod tests;

use crate::contract::{InvokedBy, MetadataSnapshot, ToolDispatcher, ToolInvocation};
use crate::dispatch::batch::partition;
use crate::dispatch::early::{Early, Starting};
use crate::dispatch::execute::Executor;
use crate::dispatch::gate::{Gate, Passage};
use crate::dispatch::last::{LastStages, abandoned};
use crate::dispatch::plan::{Loaded, Planned, Planner};
use crate::dispatch::render::Rendering;
use crate::dispatch::{LoopTurn, Policies, Raw, Settled};
use crate::event::{EventKind, EventLog, Lane, Mark, SCHEMA_VERSION};
use crate::mode::UserTurns;
use crate::registry::is_legal_name;
use crate::transport::ModelClient;
use receive::{Failure, Receiver};
pub use shown::Activation;
use shown::Shown;
use slot_wire::{Conversation, Dialect, Item, RawCall, Replay, StopReason, Turn, TurnDelta};
use std::{
    collections::{BTreeSet, VecDeque},
    sync::{Arc, OnceLock},
    time::Duration,
};
use tokio_util::sync::CancellationToken;

/// How a session talks and when it stops.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SessionConfig {
    /// The model's name.
    pub model: String,
    /// The system text. Byte-stable: no clock, path or pid, so that every session shares its cached prefix.
    pub system: String,
    /// The dialect to speak.
    pub dialect: Dialect,
    /// The output limit of one turn in tokens, where the caller sets one.
    pub max_tokens: Option<u32>,
    /// The most model turns of one user turn. Default 200.
    pub max_turns: u32,
    /// When a failed request is sent again.
    pub retry: RetryPolicy,
    /// How deferred tools that were found get to the model. By default as a proxy, which every dialect can say.
    pub activation: Activation,
}

impl SessionConfig {
    /// The defaults for this model and dialect.
    pub fn new(model: impl Into<String>, dialect: Dialect) -> Self {
        SessionConfig {
            model: model.into(),
            system: String::new(),
            dialect,
            max_tokens: None,
            max_turns: 200,
            retry: RetryPolicy::default(),
            activation: Activation::default(),
        }
    }
}

/// When a failed request is sent again. Only ever if nothing of its turn was committed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RetryPolicy {
    /// How often a request is sent at most. Default 3.
    pub attempts: u32,
    /// How long to wait before the second attempt; doubled for each further one. Default 500 ms.
    pub delay: Duration,
    /// The longest wait, also where the server asks for a longer one. Default 60 s.
    pub max_delay: Duration,
}

impl Default for RetryPolicy {
    fn default() -> Self {
        RetryPolicy { attempts: 3, delay: Duration::from_millis(500), max_delay: Duration::from_secs(60) }
    }
}

/// Watches the text of a turn as it streams.
pub trait TurnObserver: Send + Sync {
    /// Takes a piece. Must not block.
    fn delta(&self, delta: &TurnDelta);

    /// Takes one line about the turn that just ended, for a person. Must not block.
    fn notice(&self, line: &str) {
        let _ = line;
    }
}

/// Watches nothing.
pub struct Unobserved;

impl TurnObserver for Unobserved {
    fn delta(&self, _: &TurnDelta) {}
}

/// How a run ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// The model ended its turn without calls.
    Completed {
        /// Its last words.
        text: String,
        /// Why it stopped; anything but [`StopReason::Stop`] means that the words may be cut.
        stop: StopReason,
    },
    /// The run was cancelled. Every call is answered and nothing runs any more.
    Cancelled,
    /// A turn could not be had.
    Failed {
        /// The kind of failure, as in the log.
        cause: String,
        /// What happened, for a person.
        detail: String,
    },
    /// The loop guard paused the turn: the model was getting nowhere. Every call is answered, and whatever the user says
    /// next goes on from there.
    Paused {
        /// Why, for a person.
        reason: String,
    },
    /// The model was still calling tools at the limit of turns.
    TurnLimit {
        /// The limit.
        limit: u32,
    },
}

impl Outcome {
    /// The spelling in the log.
    pub fn as_str(&self) -> &'static str {
        match self {
            Outcome::Completed { .. } => "completed",
            Outcome::Cancelled => "cancelled",
            Outcome::Failed { .. } => "failed",
            Outcome::Paused { .. } => "paused",
            Outcome::TurnLimit { .. } => "turn_limit",
        }
    }
}

/// One session.
pub struct Session {
    config: SessionConfig,
    client: ModelClient,
    dispatcher: Arc<dyn ToolDispatcher>,
    policies: Policies,
    log: EventLog,
    gate: Gate,
    observer: Arc<dyn TurnObserver>,
    conversation: Conversation,
    /// What the provider wants back verbatim, such as signed reasoning.
    replay: Replay,
    /// Calls that are in the history and have no result yet, in order.
    open: VecDeque<Raw>,
    /// The deferred tools that have been loaded.
    loaded: Loaded,
    /// Where calls are shown.
    blocks: Rendering,
    /// The tools array of the last request.
    shown: Option<Shown>,
    /// Every call id of the history.
    ids: BTreeSet<String>,
    /// The number of the next model turn.
    turn: u32,
    /// Counts what the user said.
    user_turns: UserTurns,
}

impl Session {
    /// A session that has said nothing yet.
    pub fn new(
        config: SessionConfig,
        client: ModelClient,
        dispatcher: Arc<dyn ToolDispatcher>,
        policies: Policies,
        log: EventLog,
        observer: Arc<dyn TurnObserver>,
    ) -> Self {
        let snapshot = dispatcher.snapshot();
        let started = EventKind::SessionStarted {
            schema: SCHEMA_VERSION,
            dialect: config.dialect.name(),
            tools: snapshot.catalog.names().len(),
        };
        log.push(Lane::Session, started, Vec::new());
        for fault in &snapshot.faults {
            let kind = EventKind::RegistryFault {
                tool: fault.tool.clone(),
                stub: fault.stub.clone(),
                reason: fault.reason.clone(),
            };
            log.push(Lane::Session, kind, Vec::new());
        }
        let blocks = Rendering::new(policies.screen.clone());
        let conversation = Conversation { system: config.system.clone(), items: Vec::new() };
        Session {
            config,
            client,
            dispatcher,
            policies,
            log,
            gate: Gate::default(),
            observer,
            conversation,
            replay: Replay::default(),
            open: VecDeque::new(),
            loaded: Loaded::default(),
            blocks,
            shown: None,
            ids: BTreeSet::new(),
            turn: 0,
            user_turns: UserTurns::default(),
        }
    }

    /// The session, counting its user turns in `turns`.
    #[must_use]
    pub fn counting(self, turns: UserTurns) -> Self {
        Session { user_turns: turns, ..self }
    }

    /// Answers calls that an earlier, dropped run left open, and hands out the history: every call in it has a result.
    pub fn conversation(&mut self) -> &Conversation {
        self.close_open_calls();
        &self.conversation
    }

    /// The log.
    pub fn log(&self) -> &EventLog {
        &self.log
    }

    /// Says `prompt` and runs until the model is done, the run is cancelled or a limit is met.
    pub async fn run(&mut self, prompt: &str, cancel: &CancellationToken) -> Outcome {
        self.close_open_calls();
        self.user_turns.begin();
        self.conversation.items.push(Item::User { text: prompt.to_owned() });
        let outcome = self.turns(cancel).await;
        self.close_open_calls();
        let ended = EventKind::SessionEnded { outcome: outcome.as_str().to_owned() };
        self.log.push(Lane::Session, ended, Vec::new());
        outcome
    }

    async fn turns(&mut self, cancel: &CancellationToken) -> Outcome {
        let mut settled: Vec<Mark> = Vec::new();
        let loops = self.policies.loops.user_turn();
        self.policies.approval.user_turn();
        let paused: Arc<OnceLock<String>> = Arc::default();
        for _ in 0..self.config.max_turns {
            let snapshot = self.dispatcher.snapshot();
            let catalog = self.show(&snapshot);
            let received = tokio::select! {
                biased;
                () = cancel.cancelled() => return Outcome::Cancelled,
                received = self.receive(&snapshot, &catalog, settled, loops.as_ref()) => received,
            };
            let (turn, early) = match received {
                Ok(received) => received,
                Err(failure) => return self.failed(failure),
            };
            let stop = match turn.terminal {
                slot_wire::Terminal::Clean { ref stop } => stop.clone(),
                // `receive` hands out clean turns only; anything else is a failure there.
                _ => return self.failed(Failure::not_terminal()),
            };
            if turn.calls.is_empty() {
                // Providers refuse an empty message in a history, and nothing is lost without it.
                if !turn.text.trim().is_empty() {
                    self.replay.keep(self.conversation.items.len(), turn.blocks);
                    self.conversation.items.push(Item::Assistant { text: turn.text.clone(), calls: Vec::new() });
                }
                self.turn += 1;
                return Outcome::Completed { text: turn.text, stop };
            }
            // Handles of its own, so that each result can enter the history as soon as it is there.
            let executor = self.executor(&loops, &paused, early, cancel);
            settled = self.calls(turn, &stop, &snapshot, &executor).await;
            if cancel.is_cancelled() {
                return Outcome::Cancelled;
            }
            if let Some(reason) = paused.get() {
                return Outcome::Paused { reason: reason.clone() };
            }
        }
        Outcome::TurnLimit { limit: self.config.max_turns }
    }

    /// The tools array of the next request. Where it is another than before, the log says so: the cached prefix of the
    /// conversation ends there.
    fn show(&mut self, snapshot: &MetadataSnapshot) -> Arc<str> {
        let (dialect, activation) = (self.config.dialect, self.config.activation);
        let shown = Shown::of(snapshot, dialect, activation, self.loaded.in_order(), self.shown.as_ref());
        let behind = u64::try_from(self.conversation.text_bytes().div_ceil(4)).unwrap_or(u64::MAX);
        if let Some(change) = self.shown.as_ref().and_then(|before| shown.change(before, self.turn, behind)) {
            self.log.push(Lane::Session, change, Vec::new());
            // A provider refuses a reference to what is not declared.
            self.replay.keep_references(|name| shown.declares(name));
        }
        let text = Arc::clone(&shown.text);
        self.shown = Some(shown);
        text
    }

    async fn receive(
        &self,
        snapshot: &MetadataSnapshot,
        catalog: &str,
        after: Vec<Mark>,
        loops: &dyn LoopTurn,
    ) -> Result<(Turn, Early), Failure> {
        let loaded = self.loaded.apart();
        let starting = Starting {
            dispatcher: &self.dispatcher,
            snapshot,
            policies: &self.policies,
            loaded: &loaded,
            loops,
            invoked_by: self.invoked_by(),
        };
        let receiver = Receiver {
            config: &self.config,
            client: &self.client,
            log: &self.log,
            observer: self.observer.as_ref(),
            turn: self.turn,
            starting: &starting,
        };
        receiver.receive(&self.conversation, &self.replay, catalog, after).await
    }

    fn executor(
        &self,
        loops: &Arc<dyn LoopTurn>,
        paused: &Arc<OnceLock<String>>,
        early: Early,
        cancel: &CancellationToken,
    ) -> Executor {
        Executor {
            dispatcher: Arc::clone(&self.dispatcher),
            policies: self.policies.clone(),
            log: self.log.clone(),
            gate: Passage::Take(self.gate.clone()),
            cancel: cancel.clone(),
            loops: Arc::clone(loops),
            paused: Arc::clone(paused),
            loaded: self.loaded.for_turn(),
            blocks: self.blocks.clone(),
            early,
        }
    }

    /// Takes a turn's calls in, and settles them in order. Gives back the last event of each.
    async fn calls(
        &mut self,
        turn: Turn,
        stop: &StopReason,
        snapshot: &MetadataSnapshot,
        executor: &Executor,
    ) -> Vec<Mark> {
        let torn = turn.torn;
        let calls = self.take_in(turn);
        let planner = Planner {
            dispatcher: executor.dispatcher.as_ref(),
            snapshot,
            policies: &executor.policies,
            log: &executor.log,
            stop,
            torn,
            loaded: &executor.loaded,
        };
        let planned = planner.plan(calls.iter().cloned());
        self.keep_mended(&planned);
        if let Some(policy) = &executor.policies.early {
            // What is read behind a call that may change something is read when that call has ended.
            let free = planned.iter().take_while(|call| policy.may_follow(call)).count();
            executor.early.keep_first(free);
        }
        let mut marks = Vec::new();
        let mut before: Vec<Mark> = Vec::new();
        for batch in partition(planned) {
            let mut ends = Vec::new();
            for settled in executor.settle(batch, &before).await {
                let call = calls.iter().find(|call| call.id() == settled.call_id());
                ends.extend(call.and_then(|call| executor.log.last(call.lane())));
                self.answer(settled);
            }
            marks.extend(ends.iter().cloned());
            before = ends;
        }
        marks
    }

    fn invoked_by(&self) -> InvokedBy {
        InvokedBy::Provider { id: self.config.dialect.name().to_owned() }
    }

    /// Puts a turn into the history and its calls on the list of open calls. A call whose id no provider takes back, or
    /// that was used before, gets an id of its own, in the history as in the result. A name that none takes back is
    /// replaced in the history alone: the call is answered under the name it came with.
    fn take_in(&mut self, turn: Turn) -> Vec<Raw> {
        let number = self.turn;
        self.turn += 1;
        let received = self.log.last(&Lane::Session);
        let mut calls: Vec<RawCall> = Vec::new();
        let mut raws = Vec::new();
        for (index, mut call) in turn.calls.into_iter().enumerate() {
            if !self.takes_back(&call.id) || !self.ids.insert(call.id.clone()) {
                call.id = self.fresh_id(number, index);
                self.ids.insert(call.id.clone());
            }
            let position = u32::try_from(index).unwrap_or(u32::MAX);
            let lane = Lane::Call { turn: number, index: position, id: call.id.clone() };
            let after = received.clone().into_iter().collect();
            self.log.push(lane.clone(), EventKind::Received { tool: call.name.clone() }, after);
            let invoked_by = self.invoked_by();
            raws.push(Raw::new(ToolInvocation { call: call.clone(), index, invoked_by }, lane));
            // One illegal name in the history, and the provider rejects every request from here on.
            calls.push(RawCall { name: slot_wire::names::legal_form(&call.name), ..call });
        }
        self.replay.keep(self.conversation.items.len(), turn.blocks);
        self.conversation.items.push(Item::Assistant { text: turn.text, calls });
        self.open.extend(raws.iter().cloned());
        raws
    }

    /// Puts into the history what was read of a call instead of what was sent, where the two differ: the call that the
    /// model and the provider see again is the one that ran.
    fn keep_mended(&mut self, planned: &[Planned]) {
        let Some(Item::Assistant { calls, .. }) = self.conversation.items.last_mut() else { return };
        for (call, planned) in calls.iter_mut().zip(planned) {
            if let Some(mended) = planned.raw().mended() {
                call.arguments.clone_from(&mended.text);
            }
        }
    }

    /// Whether the provider takes this call id back in a history. One dialect demands the form of a name; the others
    /// take any short, visible text.
    fn takes_back(&self, id: &str) -> bool {
        match self.config.dialect {
            Dialect::Anthropic => is_legal_name(id),
            Dialect::Chat | Dialect::Responses => {
                (1..=64).contains(&id.len()) && id.bytes().all(|byte| byte.is_ascii_graphic())
            }
        }
    }

    fn fresh_id(&self, turn: u32, index: usize) -> String {
        let base = format!("slot_{turn}_{index}");
        let mut id = base.clone();
        let mut n = 0_u32;
        while self.ids.contains(&id) {
            n += 1;
            id = format!("{base}_{n}");
        }
        id
    }

    /// Puts a result into the history and takes its call off the list of open calls.
    fn answer(&mut self, settled: Settled) {
        self.open.retain(|call| call.id() != settled.call_id());
        if self.config.activation == Activation::Native {
            let snapshot = self.dispatcher.snapshot();
            let declared = |name: &&String| self.shown.as_ref().is_some_and(|shown| shown.declares(name));
            let tools = settled.found().iter().filter(declared).filter_map(|name| snapshot.tools.get(name));
            let found = tools.filter_map(|tool| snapshot.catalog.reference(self.config.dialect, tool)).collect();
            self.replay.refer(self.conversation.items.len(), found);
        }
        self.conversation.items.push(Item::ToolResult {
            call_id: settled.call_id().to_owned(),
            content: settled.content().to_owned(),
            is_error: settled.is_error(),
        });
    }

    fn close_open_calls(&mut self) {
        while let Some(call) = self.open.front().cloned() {
            let stages = LastStages { log: &self.log, policies: &self.policies, blocks: &self.blocks };
            let settled = abandoned(&call, stages);
            self.answer(settled);
        }
    }

    fn failed(&self, failure: Failure) -> Outcome {
        let kind = EventKind::TurnFailed { turn: self.turn, cause: failure.cause.clone() };
        self.log.push(Lane::Session, kind, Vec::new());
        Outcome::Failed { cause: failure.cause, detail: failure.detail }
    }
}

//! Decides what answers a request: routes it, reads it, judges it, finds its turn, and remembers all of it.
//!
//! No I/O happens here and no lock is held across an await; the connection asks, and writes what it is given.

use crate::again::Again;
use crate::binding::{self, Binding, Bound, Folders, UnboundOp};
use crate::dialect::{Dialect, Parsed};
use crate::fault::Fault;
use crate::http::{Incoming, Rendered, Shape, response};
use crate::journal::{Event, Journal, JournalMode, Kind, Raw, RequestRecord};
use crate::judge::{self, Objection, Prompt};
use crate::plan::Plan;
use crate::render::{Key, make, problem};
use crate::report::Report;
use crate::script::{Delivery, End, Op, Script, Turn};
use crate::side::SideTraffic;
use crate::state::{self, Answered, State, Step};
use crate::tape::{Playback, Tape, history::history};
use crate::turn::ModelTurn;
use serde_json::json;
use slot_oracles::trace::{ServedCall, ServedTurn, WireRequest};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use tokio::sync::watch;

/// Most rendered responses that are kept for re-serving; past it they are made again, with the same bytes.
const MOST_RENDERED: usize = 1_024;

/// What a host sets beside the script.
#[derive(Clone, Debug, Default)]
pub struct Config {
    /// Tools for abstract operations, before any search.
    pub binding: Binding,
    /// What `$WORKSPACE`, `$OUTSIDE` and `$HOME` stand for.
    pub folders: Folders,
    /// What is answered apart from the script.
    pub side: Vec<SideTraffic>,
    /// Answers a request that a provider would refuse with the provider's own error. Off by default: the oracles
    /// judge, and the run goes on to show what else is wrong.
    pub strict: bool,
    /// How much of the wire is remembered.
    pub journal: JournalMode,
}

/// What a connection is to write.
pub(crate) struct Answer {
    /// Number of the request.
    pub request: u64,
    /// The bytes and their writes.
    pub rendered: Arc<Rendered>,
    /// The gate that must be open first.
    pub gate: Option<String>,
}

pub(crate) struct Engine {
    config: Config,
    /// The tape that is played in place of a script.
    tape: Option<Mutex<Playback>>,
    progress: Mutex<Progress>,
    /// How many requests of the conversation have arrived.
    arrived: watch::Sender<usize>,
    /// The gates that are open.
    gates: watch::Sender<BTreeSet<String>>,
}

/// Everything that changes while a script is played.
struct Progress {
    script: Script,
    steps: Vec<Step>,
    bound: Option<Bound>,
    rendered: BTreeMap<Key, Ready>,
    again: Again,
    journal: Journal,
    connections: u64,
    requests: u64,
    conversation: usize,
    side: usize,
    last: Option<Prompt>,
    report: Report,
}

impl Engine {
    pub(crate) fn new(script: Script, config: Config) -> Engine {
        let progress = Progress {
            steps: script.turns.iter().enumerate().map(|(index, turn)| step(index, turn)).collect(),
            script,
            bound: None,
            rendered: BTreeMap::new(),
            again: Again::default(),
            journal: Journal::new(config.journal),
            connections: 0,
            requests: 0,
            conversation: 0,
            side: 0,
            last: None,
            report: Report::default(),
        };
        Engine {
            config,
            tape: None,
            progress: Mutex::new(progress),
            arrived: watch::Sender::new(0),
            gates: watch::Sender::new(BTreeSet::new()),
        }
    }

    /// Plays a tape in place of a script.
    pub(crate) fn of_tape(tape: Tape, config: Config) -> Engine {
        let tape = Some(Mutex::new(Playback::new(tape)));
        Engine { tape, ..Engine::new(Script::default(), config) }
    }

    /// A panic elsewhere while the lock was held leaves the state readable, and a report of it is worth having.
    fn lock(&self) -> MutexGuard<'_, Progress> {
        self.progress.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn connected(&self) -> u64 {
        let mut progress = self.lock();
        let connection = progress.connections;
        progress.connections += 1;
        progress.journal.push(connection, Event::Connected);
        connection
    }

    /// Puts an event into the journal. It is only made when somebody keeps it.
    pub(crate) fn note(&self, connection: u64, event: impl FnOnce() -> Event) {
        if self.config.journal != JournalMode::Off {
            self.lock().journal.push(connection, event());
        }
    }

    /// Answers a request.
    pub(crate) fn respond(&self, connection: u64, incoming: &Incoming) -> Answer {
        if self.config.journal == JournalMode::Off
            && let Some(answer) = self.again(incoming)
        {
            return answer;
        }
        let path = incoming.path.split('?').next().unwrap_or_default();
        let with_body = incoming.method != "HEAD";
        let dialect = Dialect::of_path(path).filter(|_| incoming.method == "POST");
        if let Some(tape) = &self.tape {
            let mut tape = tape.lock().unwrap_or_else(PoisonError::into_inner);
            if dialect.is_some() || tape.knows(&incoming.method, path) {
                return self.replay(&mut tape, connection, incoming, path, dialect);
            }
        }
        let Some(dialect) = dialect else {
            let (kind, rendered) = match self.probe(&incoming.method, path) {
                Some(body) => (Kind::Probe, response::document(200, body.into_bytes(), &[], with_body)),
                None => (Kind::Unmatched, response::document(404, no_route(&incoming.method, path), &[], with_body)),
            };
            return self.lock().answer(connection, incoming, kind, Vec::new(), rendered.into(), None);
        };
        match dialect.parse(&incoming.body) {
            Ok(parsed) => self.converse(connection, incoming, dialect, parsed),
            Err(error) => {
                let problem = error.to_string();
                let body = dialect.error(400, "invalid_request_error", &problem);
                let rendered = response::document(400, body, &[], true);
                self.lock().answer(connection, incoming, Kind::Malformed { problem }, Vec::new(), rendered.into(), None)
            }
        }
    }

    /// The answer to a request that is, byte for byte, one that was answered before. Nothing is read or judged anew, so
    /// this is only for an engine whose journal would forget the judgement anyway.
    fn again(&self, incoming: &Incoming) -> Option<Answer> {
        let mut progress = self.lock();
        let (turn, rendered) = progress.again.find(incoming)?;
        progress.steps[turn].said.times += 1;
        progress.conversation += 1;
        let arrived = progress.conversation;
        let request = progress.requests;
        progress.requests += 1;
        let gate = progress.script.turns[turn].gate.clone();
        drop(progress);
        self.arrived.send_replace(arrived);
        Some(Answer { request, rendered, gate })
    }

    /// Answers from the tape. What is no request of a dialect is told apart by its route alone.
    fn replay(
        &self,
        tape: &mut Playback,
        connection: u64,
        incoming: &Incoming,
        path: &str,
        dialect: Option<Dialect>,
    ) -> Answer {
        let parsed = dialect.and_then(|dialect| dialect.parse(&incoming.body).ok());
        let asked = parsed.as_ref().map(history).unwrap_or_default();
        let found = tape.answer(&incoming.method, path, &asked);
        let mut progress = self.lock();
        let parsed = parsed.map(|parsed| {
            let index = progress.conversation;
            progress.conversation += 1;
            WireRequest { index, ..parsed.request }
        });
        let arrived = progress.conversation;
        let (kind, rendered) = match (found, parsed) {
            (Ok(rendered), Some(parsed)) => (Kind::Conversation { parsed }, rendered),
            (Ok(rendered), None) => (Kind::Probe, rendered),
            (Err(reason), parsed) => {
                let parsed = parsed.unwrap_or_default();
                progress.report.unexpected.push(format!("request {}: {reason}", parsed.index));
                let rendered = problem(dialect.unwrap_or(Dialect::Chat), "mock_unexpected", &reason);
                (Kind::Unexpected { parsed, reason }, rendered.into())
            }
        };
        let answer = progress.answer(connection, incoming, kind, Vec::new(), rendered, None);
        drop(progress);
        self.arrived.send_replace(arrived);
        answer
    }

    /// The routes that no dialect owns.
    fn probe(&self, method: &str, path: &str) -> Option<String> {
        let get = matches!(method, "GET" | "HEAD");
        if get && path == "/" {
            return Some(json!({"ok": true}).to_string());
        }
        if get && path.ends_with("/models") {
            // One list that reads as either provider's.
            let model = json!({
                "id": "mock-model", "object": "model", "created": 1_700_000_000, "owned_by": "mock",
                "type": "model", "display_name": "Mock model", "created_at": "2023-11-14T22:13:20Z",
            });
            let list = json!({
                "object": "list", "data": [model], "has_more": false, "first_id": "mock-model", "last_id": "mock-model",
            });
            return Some(list.to_string());
        }
        if method == "POST" && path.ends_with("/messages/count_tokens") {
            return Some(json!({"input_tokens": 100}).to_string());
        }
        let gate = path.strip_prefix("/mock/gates/").filter(|_| method == "POST")?;
        self.open_gate(gate);
        Some(json!({"opened": gate}).to_string())
    }

    fn converse(&self, connection: u64, incoming: &Incoming, dialect: Dialect, mut parsed: Parsed) -> Answer {
        let mut progress = self.lock();
        if let Some(side) = self.config.side.iter().find(|side| side.matches(&incoming.path, &parsed.request)) {
            progress.side += 1;
            let body = dialect.encode(&ModelTurn::text(&side.reply), &parsed.form);
            let plan = Plan::new(&body, Delivery::Frames, &[], 0, 0);
            let rendered = response::turn(body, &plan, &Shape { old: incoming.old, ..Shape::default() });
            let kind = Kind::Side { matcher: side.name.clone() };
            return progress.answer(connection, incoming, kind, Vec::new(), rendered.into(), None);
        }
        parsed.request.index = progress.conversation;
        progress.conversation += 1;
        let arrived = progress.conversation;
        let answer = self.step(&mut progress, connection, incoming, dialect, parsed);
        drop(progress);
        self.arrived.send_replace(arrived);
        answer
    }

    /// One step of the conversation.
    fn step(
        &self,
        progress: &mut Progress,
        connection: u64,
        incoming: &Incoming,
        dialect: Dialect,
        mut parsed: Parsed,
    ) -> Answer {
        let prompt = Prompt::of(&parsed.request);
        let objections = judge::judge(&parsed, progress.last.as_ref(), &prompt);
        let refused = objections.iter().find(|objection| self.config.strict && objection.rejects).cloned();
        progress.bind(connection, &self.config, &parsed.request);
        let state = state::recognise(&progress.steps, &parsed.request, &prompt.items);
        progress.last = Some(prompt.clone());
        let outcome = match (refused, state) {
            (Some(objection), _) => {
                let message = format!("{}: {}", objection.at, objection.detail);
                Err(response::document(400, dialect.error(400, "invalid_request_error", &message), &[], true))
            }
            (None, State::Turn(turn)) => {
                let failed = progress.steps[turn].failed;
                let attempt = (failed < progress.script.turns[turn].attempts.len()).then_some(failed);
                let key = Key { turn, attempt, dialect, form: parsed.form.clone(), old: incoming.old };
                let rendered = progress.render(key, &self.config.folders);
                rendered
                    .map(|ready| (turn, attempt, ready))
                    .map_err(|unbound| problem(dialect, "mock_unbound", &unbound.to_string()))
            }
            (None, State::Unknown(reason)) => {
                let rendered = problem(dialect, "mock_unexpected", &reason);
                progress.report.unexpected.push(format!("request {}: {reason}", parsed.request.index));
                let kind = Kind::Unexpected { parsed: parsed.request, reason };
                return progress.answer(connection, incoming, kind, objections, rendered.into(), None);
            }
        };
        match outcome {
            Err(rendered) => {
                let kind = Kind::Conversation { parsed: parsed.request };
                progress.answer(connection, incoming, kind, objections, rendered.into(), None)
            }
            Ok((turn, attempt, (rendered, missing))) => {
                let step = &mut progress.steps[turn];
                if attempt.is_some() {
                    step.failed += 1;
                } else {
                    let answered = Answered { raw: prompt.items, calls: parsed.request.calls().count() };
                    let moved = step.answered.as_ref() != Some(&answered);
                    step.answered = Some(answered);
                    step.said.times += 1;
                    if moved {
                        progress.again.forget();
                    }
                    progress.again.keep(incoming, turn, &rendered);
                }
                parsed.request.turn = Some(turn);
                let kind = Kind::Conversation { parsed: parsed.request };
                let served = Some(Served { turn, attempt, missing });
                progress.answer(connection, incoming, kind, objections, rendered, served)
            }
        }
    }

    pub(crate) fn open_gate(&self, name: &str) {
        self.gates.send_modify(|open| {
            open.insert(name.to_owned());
        });
    }

    /// Waits until a gate is open.
    pub(crate) async fn gate(&self, name: &str) {
        // The sender lives as long as the engine, so waiting ends only with the gate open.
        let _ = self.gates.subscribe().wait_for(|open| open.contains(name)).await;
    }

    /// Waits until `count` requests of the conversation have arrived.
    pub(crate) async fn arrived(&self, count: usize) {
        let _ = self.arrived.subscribe().wait_for(|arrived| *arrived >= count).await;
    }

    pub(crate) fn arrived_so_far(&self) -> usize {
        *self.arrived.borrow()
    }

    pub(crate) fn push(&self, turn: Turn) {
        let mut progress = self.lock();
        let index = progress.steps.len();
        progress.steps.push(step(index, &turn));
        progress.script.turns.push(turn);
        // Operations of the new turn are bound at the next request.
        progress.bound = None;
        progress.again.forget();
    }

    pub(crate) fn journal(&self) -> Journal {
        self.lock().journal.clone()
    }

    /// The turns with what was served of them, the requests, and the count of side traffic.
    pub(crate) fn facts(&self) -> (Vec<ServedTurn>, Vec<WireRequest>, usize) {
        let progress = self.lock();
        let served = progress.steps.iter().map(|step| step.said.clone()).collect();
        (served, progress.journal.conversation().cloned().collect(), progress.side)
    }

    pub(crate) fn bound(&self) -> Option<Bound> {
        self.lock().bound.clone()
    }

    pub(crate) fn script(&self) -> Script {
        self.lock().script.clone()
    }

    pub(crate) fn report(&self) -> Report {
        let tape = self.tape.as_ref().map(|tape| tape.lock().unwrap_or_else(PoisonError::into_inner));
        let progress = self.lock();
        let unserved = progress.steps.iter().enumerate().filter(|(_, step)| step.said.times == 0);
        let unbound = progress.bound.as_ref().map(|bound| bound.unbound.clone()).unwrap_or_default();
        Report {
            unserved: unserved
                .map(|(index, step)| match step.failed {
                    0 => state::describe(&progress.steps, index),
                    failed => format!("{}, after {failed} failing attempts", state::describe(&progress.steps, index)),
                })
                .chain(tape.iter().flat_map(|tape| tape.unserved()))
                .collect(),
            unbound,
            ..progress.report.clone()
        }
    }
}

/// A turn as it is known before anything is bound.
fn step(index: usize, turn: &Turn) -> Step {
    let calls = turn.calls.iter().map(|call| ServedCall {
        id: call.wire_id().to_owned(),
        name: call.tool.clone().or(call.op.map(|op| op.to_string())).unwrap_or_default(),
        arguments: call.raw.clone().unwrap_or_default(),
    });
    let said = ServedTurn { index, text: turn.say.clone(), calls: calls.collect(), ..ServedTurn::default() };
    Step { said, ..Step::default() }
}

/// A response, and what of its cuts and faults found no anchor.
type Ready = (Arc<Rendered>, Vec<String>);

/// The turn that answers, for the journal.
struct Served {
    turn: usize,
    attempt: Option<usize>,
    missing: Vec<String>,
}

impl Progress {
    /// Binds the script's operations at the first tools that arrive.
    fn bind(&mut self, connection: u64, config: &Config, request: &WireRequest) {
        if self.bound.is_some() || request.tools.is_empty() {
            return;
        }
        let ops: BTreeSet<Op> =
            self.script.turns.iter().flat_map(|turn| turn.calls.iter().filter_map(|call| call.op)).collect();
        let bound = binding::bind(ops, &config.binding, &request.tools);
        for index in 0..self.script.turns.len() {
            if let Ok(turn) = ModelTurn::new(index, &self.script.turns, &bound, &config.folders) {
                self.steps[index].said = turn.served(self.steps[index].said.times, turn.end == End::Clean);
            }
        }
        self.journal.push(connection, Event::Bound { bound: bound.clone() });
        self.bound = Some(bound);
        self.again.forget();
    }

    /// The response of a turn or of one of its failing attempts. Made once, then served from memory.
    fn render(&mut self, key: Key, folders: &Folders) -> Result<Ready, UnboundOp> {
        if let Some(known) = self.rendered.get(&key) {
            return Ok(known.clone());
        }
        let (nothing, no_fault) = (Bound::default(), Fault::default());
        let (index, turn) = (key.turn, &self.script.turns[key.turn]);
        let model = ModelTurn::new(index, &self.script.turns, self.bound.as_ref().unwrap_or(&nothing), folders)?;
        let fault = match key.attempt {
            Some(attempt) => &turn.attempts[attempt],
            None => turn.fault.as_ref().unwrap_or(&no_fault),
        };
        let made = make(turn, &model, fault, &key, self.script.seed);
        if key.attempt.is_none() {
            self.steps[index].said = model.served(self.steps[index].said.times, made.terminal);
        }
        for missing in &made.missing {
            self.report.lost_cuts.push(format!("turn {index}: {missing}"));
        }
        let ready = (Arc::new(made.rendered), made.missing);
        if self.rendered.len() >= MOST_RENDERED {
            self.rendered.clear();
        }
        self.rendered.insert(key, ready.clone());
        Ok(ready)
    }

    /// Writes a request and its answer into the journal.
    fn answer(
        &mut self,
        connection: u64,
        incoming: &Incoming,
        kind: Kind,
        objections: Vec<Objection>,
        rendered: Arc<Rendered>,
        served: Option<Served>,
    ) -> Answer {
        let request = self.requests;
        self.requests += 1;
        let turn = served.as_ref().map(|served| served.turn);
        if self.journal.is_on() {
            let (head, body) = (Raw(incoming.head.clone()), Raw(incoming.body.clone()));
            let record = RequestRecord { id: request, head, body, kind, objections };
            self.journal.push(connection, Event::Request(Box::new(record)));
            let event = Event::Answer {
                request,
                status: rendered.status,
                turn,
                attempt: served.as_ref().and_then(|served| served.attempt),
                times: turn.map(|turn| self.steps[turn].said.times),
                missing: served.map(|served| served.missing).unwrap_or_default(),
                body: Raw(rendered.body.clone()),
            };
            self.journal.push(connection, event);
        }
        let gate = turn.and_then(|turn| self.script.turns[turn].gate.clone());
        Answer { request, rendered, gate }
    }
}

fn no_route(method: &str, path: &str) -> Vec<u8> {
    let message = format!(
        "no route for {method} {path}; POST .../chat/completions, .../messages and .../responses, GET .../models and \
         GET / are served here"
    );
    json!({"error": {"message": message, "type": "not_found", "param": null, "code": null}}).to_string().into_bytes()
}

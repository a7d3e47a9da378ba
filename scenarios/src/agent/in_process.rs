//! The reference runtime as an agent, in this process.
//!
//! On tier A its connection to the mock is an in-memory pipe, so that a paused clock makes stalls cost nothing; on tier B
//! it dials the mock over TCP. Nothing else differs, and the canonical log must not either.

use super::pool::{self, Tools};
use super::{Abilities, Agent, AgentRun, Answer, BoxFuture, IfTold, Job, Mode, Said, hook};
use crate::faults::Plant;
use crate::isolate::census::own_session;
use crate::world::World;
use mock_llm::{Listening, MockLlm};
use slot_oracles::{RuntimeTrace, trace::AgentEnd};
use slot_runtime::approval::grants::Remembering;
use slot_runtime::approval::{
    ApprovalChannel, ApprovalPolicy, ApprovalQuestion, AskPerson, Lasts, NoChannel, PassSuggested, PersonAnswer,
    Unattended,
};
use slot_runtime::dispatch::Policies;
use slot_runtime::event::{Event, EventLog, EventSink};
use slot_runtime::freshness::{Freshness, Probe};
use slot_runtime::mode::{PlanMode, UserTurns};
use slot_runtime::place::Place;
use slot_runtime::session::Unobserved;
use slot_runtime::transport::{Connector, Endpoint, HttpLimits, Io, ModelClient, TcpConnector};
use slot_runtime::{Outcome, Session, SessionConfig};
use slot_tools::file_gates::FileGates;
use slot_tools::session::SessionHost;
use slot_wire::Dialect;
use std::{collections::BTreeMap, io, sync::Arc, time::Duration};
use tokio_util::sync::CancellationToken;

/// The runtime's own folder in the decoy home, and where in it a run keeps what outlives its session.
const OWN: &str = ".slot/";
const MEMORY: &str = ".slot/memory";

/// How the runtime reaches the mock.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Tier {
    /// In-memory pipes.
    A,
    /// TCP.
    B,
}

/// The reference runtime.
pub struct InProcess {
    tier: Tier,
    plant: Arc<dyn Plant>,
    abilities: Abilities,
}

impl InProcess {
    /// The runtime as it is.
    pub fn new(tier: Tier) -> Self {
        InProcess::with_plant(tier, Arc::new(crate::faults::Sound))
    }

    /// The runtime with a planted fault.
    pub fn with_plant(tier: Tier, plant: Arc<dyn Plant>) -> Self {
        let abilities = Abilities {
            runtime_events: true,
            extension_tools: true,
            tool_pool: true,
            cancellation: true,
            file_tools: true,
            modes: vec![Mode::Unattended, Mode::Auto, Mode::Ask, Mode::Deny],
        };
        InProcess { tier, plant, abilities }
    }

    /// How the mock is reached on this tier, and what listens for as long as it is kept.
    async fn reach(&self, mock: &MockLlm) -> Result<(Arc<dyn Connector>, Endpoint, Option<Listening>), String> {
        match self.tier {
            Tier::A => {
                let endpoint = Endpoint { host: "mock".into(), port: 80, prefix: "/v1".into() };
                Ok((Arc::new(Pipes(mock.clone())), endpoint, None))
            }
            Tier::B => {
                let any = std::net::SocketAddr::from(([127, 0, 0, 1], 0));
                let listening = mock.listen(any).await.map_err(|e| format!("the mock cannot listen: {e}"))?;
                let endpoint = Endpoint::parse(&listening.base_url()).map_err(|e| e.to_string())?;
                Ok((Arc::new(TcpConnector), endpoint, Some(listening)))
            }
        }
    }

    async fn run_job(&self, job: Job<'_>) -> Result<AgentRun, String> {
        let (connector, endpoint, _listening) = self.reach(job.mock).await?;
        let connector = self.plant.connector(connector);
        let client = ModelClient::new(connector, endpoint, None, limits(job.patience));
        let cancel = CancellationToken::new();
        let (mode, turns, known) = (PlanMode::default(), UserTurns::default(), Freshness::default());
        let place = Place::default();
        let host = SessionHost {
            memory: Some(job.world.home().join(MEMORY)),
            mode: Some(mode.clone()),
            turns: Some(turns.clone()),
            place: Some(place.clone()),
            gates: self.plant.gates(FileGates { freshness: Some(known.clone()), ..FileGates::default() }),
            ..SessionHost::default()
        };
        let tools = Tools::of(&job, self.plant.as_ref(), &host)?;
        let mut sinks: Vec<Arc<dyn EventSink>> = Vec::new();
        if let Some((event, call)) = job.cancel_at {
            let sink = CancelAt { event: event.to_owned(), lane: format!("call:{call}"), cancel: cancel.clone() };
            sinks.push(Arc::new(sink));
        }
        if !job.spec.changes.is_empty() && self.plant.follows_changes() {
            sinks.push(Arc::clone(&tools.changing) as Arc<dyn EventSink>);
        }
        let log = EventLog::new((!sinks.is_empty()).then(|| Arc::new(All(sinks)) as Arc<dyn EventSink>));
        let dialect = dialect(job.dialect)?;
        let activation = self.plant.activation(pool::activation(job.spec));
        let mut session = Session::new(
            SessionConfig {
                system: slot_tools::SYSTEM_TEXT.to_owned(),
                activation,
                ..SessionConfig::new("mock-model", dialect)
            },
            client,
            self.plant.dispatcher(tools.dispatcher),
            self.plant.policies(Policies {
                approval: remembering(&job),
                deny: tools.rules,
                mode: Arc::new(mode.clone()),
                hooks: hook::hooks(job.hooks, job.patience),
                observer: Some(self.plant.observer(
                    Probe::new(known.clone(), tools.files, place.clone()),
                    known,
                    job.world.workspace(),
                )),
                place,
                ..Policies::default()
            }),
            log.clone(),
            Arc::new(Unobserved),
        )
        .counting(turns);
        let run = tokio::time::timeout(job.limit, session.run(job.prompt, &cancel)).await;
        let end = match &run {
            Ok(outcome) => AgentEnd::Finished { code: code(outcome) },
            Err(_) => AgentEnd::TimedOut { limit_ms: u64::try_from(job.limit.as_millis()).unwrap_or(u64::MAX) },
        };
        let stdout = match run {
            Ok(Outcome::Completed { text, .. }) => text,
            _ => String::new(),
        };
        let events = log.canonical().iter().map(|e| serde_json::to_value(e).unwrap_or_default()).collect();
        let runtime = Some(RuntimeTrace { events });
        Ok(AgentRun { end, runtime, stdout, stderr: String::new(), session: own_session() })
    }
}

impl Agent for InProcess {
    fn name(&self) -> &str {
        "reference"
    }

    fn version(&self) -> &str {
        env!("CARGO_PKG_VERSION")
    }

    fn abilities(&self) -> &Abilities {
        &self.abilities
    }

    fn state(&self) -> Vec<String> {
        vec![OWN.to_owned()]
    }

    fn run<'a>(&'a self, job: Job<'a>) -> BoxFuture<'a, AgentRun> {
        Box::pin(async move {
            self.run_job(job)
                .await
                .unwrap_or_else(|reason| AgentRun { end: AgentEnd::NotStarted { reason }, ..AgentRun::default() })
        })
    }
}

/// What a command of this run sees: the decoy home, a folder of its own for temporary files, and the run's marker.
pub(super) fn variables(world: &World) -> Vec<(String, String)> {
    let (marker, value) = world.marker();
    let text = |path: &std::path::Path| path.display().to_string();
    vec![
        (marker.to_owned(), value.to_owned()),
        ("HOME".to_owned(), text(world.home())),
        ("TMPDIR".to_owned(), text(world.tmp())),
    ]
}

/// The limits of an exchange: the runtime's own, but for the silence that a case is about.
fn limits(patience: Option<Duration>) -> HttpLimits {
    match patience {
        None => HttpLimits::default(),
        Some(idle) => HttpLimits { idle, silence: idle * 2, ..HttpLimits::default() },
    }
}

/// The exit code that `slot exec` gives for this outcome.
fn code(outcome: &Outcome) -> i32 {
    match outcome {
        Outcome::Completed { .. } => 0,
        Outcome::Failed { .. } => 1,
        Outcome::Paused { .. } => 3,
        Outcome::TurnLimit { .. } => 4,
        Outcome::Cancelled => 130,
    }
}

fn dialect(name: &str) -> Result<Dialect, String> {
    Dialect::ALL
        .into_iter()
        .find(|d| d.name() == name)
        .ok_or_else(|| format!("the reference runtime does not speak the dialect {name:?}"))
}

/// The policy of the mode, with what was decided before; for good, where the home folder holds a file for that.
fn remembering(job: &Job<'_>) -> Arc<dyn ApprovalPolicy> {
    let (inner, file) = (approval(job.mode, job.answers), job.world.home().join(".slot/grants.toml"));
    if !file.exists() {
        return Arc::new(Remembering::new(inner));
    }
    let remembering = Remembering::with_file(Arc::clone(&inner), &file);
    Arc::new(remembering.unwrap_or_else(|error| Remembering::refusing(inner, &error)))
}

fn approval(mode: Mode, answers: &BTreeMap<String, Answer>) -> Arc<dyn ApprovalPolicy> {
    match mode {
        Mode::Unattended => Arc::new(Unattended),
        Mode::Auto => Arc::new(PassSuggested(NoChannel)),
        Mode::Ask => Arc::new(AskPerson(ScriptedPerson(answers.clone()))),
        // What an embedder gets who names no policy: nobody can be asked.
        Mode::Deny => Arc::new(NoChannel),
    }
}

/// A person who answers as the case says, and denies what the case does not mention.
struct ScriptedPerson(BTreeMap<String, Answer>);

impl ApprovalChannel for ScriptedPerson {
    fn ask<'a>(
        &'a self,
        question: &'a ApprovalQuestion,
    ) -> slot_runtime::contract::BoxFuture<'a, Option<PersonAnswer>> {
        let said = match self.0.get(&question.call_id) {
            None => Said::Deny,
            Some(Answer::Plain(said)) => *said,
            Some(Answer::Reading(IfTold { say, told })) => {
                let read = format!("{}\n{}", question.reason, question.prompt.lines().join("\n"));
                match (read.contains(told), say) {
                    (true, say) => *say,
                    (false, Said::Deny) => Said::Approve,
                    (false, _) => Said::Deny,
                }
            }
        };
        let lasts = match said {
            Said::Approve | Said::Deny => Lasts::Once,
            Said::Turn => Lasts::Turn,
            Said::Session => Lasts::Session,
            Said::Always => Lasts::Always,
        };
        Box::pin(async move { Some(PersonAnswer { approved: said != Said::Deny, comment: String::new(), lasts }) })
    }
}

/// Hands out in-memory pipes, each served by the mock in a task of its own.
struct Pipes(MockLlm);

/// The size of a pipe's buffer in each direction.
const PIPE_BYTES: usize = 64 << 10;

impl Connector for Pipes {
    fn connect<'a>(&'a self, _: &'a Endpoint) -> slot_runtime::contract::BoxFuture<'a, io::Result<Box<dyn Io>>> {
        let (near, far) = tokio::io::duplex(PIPE_BYTES);
        // The task ends when the near end is dropped.
        tokio::spawn(self.0.serve_io(far));
        Box::pin(async move { Ok(Box::new(near) as Box<dyn Io>) })
    }
}

/// Hands each event to all of them.
struct All(Vec<Arc<dyn EventSink>>);

impl EventSink for All {
    fn event(&self, event: &Event) {
        self.0.iter().for_each(|sink| sink.event(event));
    }
}

/// Cancels a run at a named event of a call.
struct CancelAt {
    event: String,
    lane: String,
    cancel: CancellationToken,
}

impl EventSink for CancelAt {
    fn event(&self, event: &Event) {
        if event.lane.to_string() != self.lane {
            return;
        }
        let value = serde_json::to_value(event).unwrap_or_default();
        if value["event"] == self.event.as_str() {
            self.cancel.cancel();
        }
    }
}

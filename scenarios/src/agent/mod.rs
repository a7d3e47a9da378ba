//! What is judged: anything that runs a task against the mock model.
//!
//! One trait covers the reference runtime in process, any command, and an agent that a person drives. A [`Job`] says what to do and in which world; an
//! [`AgentRun`] says how it ended. Everything else is observed from outside.

pub mod attached;
pub mod command;
pub mod extension;
mod hook;
pub mod in_process;
mod pool;
mod room;

use crate::world::{ExtensionTool, HookSpec, World, WorldSpec};
use mock_llm::MockLlm;
use serde::{Deserialize, Serialize};
use slot_oracles::RuntimeTrace;
use std::{collections::BTreeMap, future::Future, pin::Pin, time::Duration};

pub use slot_oracles::trace::AgentEnd;

/// A boxed future.
pub type BoxFuture<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

/// Something that can be judged.
pub trait Agent: Send + Sync {
    /// Its name in reports.
    fn name(&self) -> &str;

    /// Its version as probed, empty when unknown.
    fn version(&self) -> &str;

    /// What it declares to have; a case that needs more is NOT-APPLICABLE.
    fn abilities(&self) -> &Abilities;

    /// What it keeps in the home folder for itself: files, and with `/` at their ends folders.
    fn state(&self) -> Vec<String> {
        Vec::new()
    }

    /// Runs one task to its end, within the job's limit. Never panics; a failure to start is an end like any other.
    fn run<'a>(&'a self, job: Job<'a>) -> BoxFuture<'a, AgentRun>;
}

/// What an agent declares to have.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Abilities {
    /// Whether it hands out runtime events.
    pub runtime_events: bool,
    /// Whether a case may register tools and hooks of its own in it.
    pub extension_tools: bool,
    /// Whether a case may say which of its tools are denied, deferred or hidden.
    pub tool_pool: bool,
    /// Whether a case may cancel it at a named event.
    pub cancellation: bool,
    /// Whether it has tools of its own for files. A shell that stands for them is none: no path is judged in it.
    pub file_tools: bool,
    /// The approval modes it offers.
    pub modes: Vec<Mode>,
}

/// Who is asked during a run.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, schemars::JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum Mode {
    /// Nobody: everything the agent can do, it may do. What real agents call auto-approve, or yolo.
    #[default]
    Unattended,
    /// Nobody, and only suggested approvals pass; what requires a person is denied.
    Auto,
    /// A person, who answers as the case scripts it.
    Ask,
    /// Nobody; everything that would ask is denied.
    Deny,
}

/// One task in one world.
pub struct Job<'a> {
    /// The id of the case, for whoever must tell a person what is being run.
    pub case: &'a str,
    /// What the user says.
    pub prompt: &'a str,
    /// Who is asked.
    pub mode: Mode,
    /// In [`Mode::Ask`]: the person's answers by call id; a call that is not listed is denied. What is granted and denied
    /// for good is in `.slot/grants.toml` of the home folder, where the case puts one.
    pub answers: &'a BTreeMap<String, Answer>,
    /// The folders and the environment of the run.
    pub world: &'a World,
    /// Variables that the case adds to the environment that the agent is started in.
    pub env: &'a BTreeMap<String, String>,
    /// Tools that the case registers in the agent; empty unless the agent declares that ability.
    pub tools: &'a [ExtensionTool],
    /// Hooks that the case registers in the agent; likewise.
    pub hooks: &'a [HookSpec],
    /// What the case says of the world, for an agent that can be told which tools there are.
    pub spec: &'a WorldSpec,
    /// The mock model.
    pub mock: &'a MockLlm,
    /// The dialect to speak.
    pub dialect: &'a str,
    /// The run is cancelled when the runtime logs this event for this call, such as (`started`, `c1`).
    pub cancel_at: Option<(&'a str, &'a str)>,
    /// How long the run may take.
    pub limit: Duration,
    /// How long the agent waits for a further part of a response, if it can be told.
    pub patience: Option<Duration>,
    /// Whether tools are advertised in strict form; only for agents in which a case registers tools.
    pub strict_schemas: bool,
}

/// A scripted answer to an approval question.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(untagged)]
pub enum Answer {
    /// The answer.
    Plain(Said),
    /// The answer of a person who reads the question.
    Reading(IfTold),
}

/// What a person says.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Said {
    /// Yes, this once.
    Approve,
    /// Yes, until the user says something else.
    Turn,
    /// Yes, for this session.
    Session,
    /// Yes, for good.
    Always,
    /// No.
    Deny,
}

/// A person who says this if the question tells them that, and the opposite if it does not.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct IfTold {
    /// What they say.
    pub say: Said,
    /// A part of the question.
    pub told: String,
}

/// How a run went, beyond what is observed from outside.
#[derive(Clone, Debug, Default)]
pub struct AgentRun {
    /// How it ended.
    pub end: AgentEnd,
    /// Its event log, where it hands one out.
    pub runtime: Option<RuntimeTrace>,
    /// What it printed, at most 256 KiB each.
    pub stdout: String,
    /// What it printed as errors.
    pub stderr: String,
    /// The session it ran in.
    pub session: Option<u32>,
}

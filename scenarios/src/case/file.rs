//! A case as it is written.

use super::expect::{
    CatalogExpect, Count, EventExpect, ExitExpect, Expect, FileExpect, LaneExpect, PrefixExpect, ResultExpect,
    TextExpect,
};
use crate::agent::{Answer, Mode};
use crate::world::WorldSpec;
use mock_llm::script::Turn;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::collections::BTreeMap;
use std::fmt;

/// A case. Its id is its path: `<area>/<file name>`; a twin's is `<id>@<twin>`.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CaseFile {
    /// What happens, and what must follow, in one sentence.
    pub title: String,
    /// What the user says.
    #[serde(default = "default_prompt")]
    pub prompt: String,
    /// Who is asked.
    #[serde(default)]
    pub mode: Mode,
    /// What an agent must declare beyond what the case itself shows.
    #[serde(default)]
    pub needs: Vec<Ability>,
    /// The dialects in which the case can be said, for what only some of them have; all when absent.
    #[serde(default)]
    pub dialects: Vec<String>,
    /// The run is cancelled when the runtime logs this event for this call: `started:c1`.
    #[serde(default)]
    pub cancel: Option<String>,
    /// How long the run may take, in milliseconds. An adapter may allow more.
    #[serde(default = "default_limit")]
    pub limit_ms: u64,
    /// How long a runtime that can be told so waits for a further part of a response, in milliseconds; for an event in
    /// it, twice as long. Its own limits when absent. So a case about silence need not wait for minutes over sockets.
    #[serde(default)]
    pub patience_ms: Option<u64>,
    /// Whether tools are advertised in the strict form that some providers demand, where their schemas can be said in it.
    #[serde(default)]
    pub strict_schemas: bool,
    /// What lies on the disk before, and which tools the case registers.
    #[serde(default)]
    pub world: WorldSpec,
    /// In mode `ask`: what the person answers, by call id.
    #[serde(default)]
    pub answers: BTreeMap<String, Answer>,
    /// What the model says.
    #[serde(default, rename = "turn")]
    pub turns: Vec<Turn>,
    /// Seed of every random choice of the script.
    #[serde(default)]
    pub seed: u64,
    /// What must be seen, by a name of the case's own.
    #[serde(default)]
    pub check: BTreeMap<String, CheckFile>,
    /// The same case with exactly one leaf changed, by a name of the case's own.
    #[serde(default)]
    pub twin: BTreeMap<String, TwinFile>,
}

fn default_prompt() -> String {
    "Do the task.".to_owned()
}

fn default_limit() -> u64 {
    10_000
}

/// The same case with exactly one leaf changed.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct TwinFile {
    /// The one change: a path such as `turn[0].stop`, and its new value.
    pub set: BTreeMap<String, Value>,
    /// What follows now; the base's title with the change when absent.
    #[serde(default)]
    pub title: Option<String>,
    /// The check of the base that must pass, else this twin proves nothing.
    #[serde(default)]
    pub needs: Option<String>,
    /// What must be seen. The base's checks are not inherited.
    #[serde(default)]
    pub check: BTreeMap<String, CheckFile>,
}

/// A check: a rule, and expectations that all must hold.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CheckFile {
    /// The rule it is about.
    pub rule: String,
    /// What is looked at.
    #[serde(default)]
    pub see: See,
    /// An oracle that must find nothing against the rule.
    #[serde(default)]
    pub oracle: Option<String>,
    /// Expectations that are also right.
    #[serde(default)]
    pub lenient: Option<Expect>,
    /// See [`Expect::file`].
    #[serde(default)]
    pub file: BTreeMap<String, FileExpect>,
    /// See [`Expect::outside`].
    #[serde(default)]
    pub outside: BTreeMap<String, FileExpect>,
    /// See [`Expect::home`].
    #[serde(default)]
    pub home: BTreeMap<String, FileExpect>,
    /// See [`Expect::result`].
    #[serde(default)]
    pub result: BTreeMap<String, ResultExpect>,
    /// See [`Expect::replay`].
    #[serde(default)]
    pub replay: BTreeMap<String, TextExpect>,
    /// See [`Expect::requests`].
    #[serde(default)]
    pub requests: Option<Count>,
    /// See [`Expect::catalog`].
    #[serde(default)]
    pub catalog: Option<CatalogExpect>,
    /// See [`Expect::text`].
    #[serde(default)]
    pub text: Option<TextExpect>,
    /// See [`Expect::sent`].
    #[serde(default)]
    pub sent: Option<TextExpect>,
    /// See [`Expect::prefix`].
    #[serde(default)]
    pub prefix: Option<PrefixExpect>,
    /// See [`Expect::exit`].
    #[serde(default)]
    pub exit: Option<ExitExpect>,
    /// See [`Expect::stdout`].
    #[serde(default)]
    pub stdout: Option<TextExpect>,
    /// See [`Expect::event`].
    #[serde(default)]
    pub event: BTreeMap<String, EventExpect>,
    /// See [`Expect::lane`].
    #[serde(default)]
    pub lane: BTreeMap<String, LaneExpect>,
}

impl CheckFile {
    /// What it expects strictly.
    pub fn expect(&self) -> Expect {
        Expect {
            file: self.file.clone(),
            outside: self.outside.clone(),
            home: self.home.clone(),
            result: self.result.clone(),
            replay: self.replay.clone(),
            requests: self.requests,
            catalog: self.catalog.clone(),
            text: self.text.clone(),
            sent: self.sent.clone(),
            prefix: self.prefix,
            exit: self.exit,
            stdout: self.stdout.clone(),
            event: self.event.clone(),
            lane: self.lane.clone(),
        }
    }
}

/// What a check looks at.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum See {
    /// Requests, disk and processes.
    #[default]
    Wire,
    /// The runtime's events as well.
    Runtime,
}

/// Something an agent must declare.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Ability {
    /// A case may register tools and hooks of its own.
    ExtensionTools,
    /// A case may cancel the run at a named event.
    Cancellation,
    /// It hands out runtime events.
    RuntimeEvents,
    /// A case may say which tools are denied, deferred or hidden.
    ToolPool,
    /// It has tools of its own for files; that its shell reads and writes them is no substitute.
    FileTools,
}

impl fmt::Display for Ability {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Ability::ExtensionTools => "extension-tools",
            Ability::Cancellation => "cancellation",
            Ability::RuntimeEvents => "runtime-events",
            Ability::ToolPool => "tool-pool",
            Ability::FileTools => "file-tools",
        })
    }
}

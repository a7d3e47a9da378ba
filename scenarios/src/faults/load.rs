//! Loading planted faults from `faults/*.toml`.

use super::{mutate::Mutation, naive::Flaw, plant::Seam};
use crate::source::{Document, Place, Problem, Problems};
use clap::ValueEnum;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A file of faults.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct FaultFile {
    /// The faults.
    fault: Vec<Entry>,
}

/// A fault as it is written. Exactly one of `trace`, `seam` and `agent`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Entry {
    /// Its stable name.
    id: String,
    /// The rule it must turn red.
    rule: String,
    /// The cases that are run with it, until one of them turns the rule red; a twin as `case@twin`.
    cases: Vec<String>,
    /// Every one of them must.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    each: bool,
    /// The check of the case, or the oracle that watches every case, that must turn red.
    #[serde(default)]
    by: String,
    /// The cause for which it must.
    #[serde(default)]
    cause: String,
    /// A change to the trace of a sound run.
    #[serde(default)]
    trace: Option<Mutation>,
    /// A decorated seam of the reference runtime.
    #[serde(default)]
    seam: Option<Seam>,
    /// A flaw of the naive agent, as on its command line.
    #[serde(default)]
    agent: Option<String>,
}

/// A planted fault, and what it is aimed at.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    /// Its stable name.
    pub id: String,
    /// The rule it must turn red.
    pub rule: String,
    /// The cases that are run with it.
    pub cases: Vec<String>,
    /// Whether every one of them must turn the rule red, and not just one.
    pub each: bool,
    /// The check or oracle that must turn red; empty when nothing is declared yet.
    pub by: String,
    /// The cause for which it must.
    pub cause: String,
    /// What is planted.
    pub kind: FaultKind,
    /// Where it is written.
    pub place: Place,
}

/// The three kinds of fault.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FaultKind {
    /// The trace of a sound run is changed.
    Trace(Mutation),
    /// A seam of the reference runtime is decorated.
    Seam(Seam),
    /// The naive agent is run with this flaw.
    Agent(Flaw),
}

impl Fault {
    /// A problem of this fault.
    pub fn problem(&self, message: String) -> Problem {
        self.place.clone().problem(&self.id, message).with_fix("see `slotspec list`")
    }
}

impl FaultKind {
    /// The kind and what is planted, in words for the matrix.
    pub fn describe(&self) -> String {
        let word = |value: Result<serde_json::Value, _>| match value {
            Ok(serde_json::Value::String(word)) => word,
            Ok(_) | Err::<_, serde_json::Error>(_) => String::new(),
        };
        match self {
            FaultKind::Trace(mutation) => format!("trace {}", word(serde_json::to_value(mutation))),
            FaultKind::Seam(seam) => format!("seam {}", word(serde_json::to_value(seam))),
            FaultKind::Agent(flaw) => format!("agent {}", flaw_name(*flaw)),
        }
    }
}

/// The flaw as spelled on the command line.
pub fn flaw_name(flaw: Flaw) -> String {
    flaw.to_possible_value().map(|v| v.get_name().to_owned()).unwrap_or_default()
}

/// Reads fault files, given as pairs of name and text.
pub fn load<'a>(files: impl IntoIterator<Item = (&'a str, &'a str)>) -> Result<Vec<Fault>, Problems> {
    let mut faults: Vec<Fault> = Vec::new();
    let mut problems = Vec::new();
    for (name, text) in files {
        let document = Document::parse(name, text)?;
        for (position, entry) in document.read::<FaultFile>()?.fault.into_iter().enumerate() {
            let at = format!("fault[{position}]");
            match kind(&entry) {
                Ok(_) if faults.iter().any(|f| f.id == entry.id) => {
                    problems.push(
                        document.find(&at).problem(&format!("{at}.id"), format!("the id {:?} is taken", entry.id)),
                    );
                }
                Ok(kind) => {
                    let place = document.find(&at);
                    let Entry { id, rule, cases, each, by, cause, .. } = entry;
                    faults.push(Fault { id, rule, cases, each, by, cause, kind, place });
                }
                Err(message) => problems.push(problem(&document, &at, message)),
            }
        }
    }
    Problems::none_or(problems, faults)
}

fn problem(document: &Document, at: &str, message: String) -> Problem {
    document.find(at).problem(at, message).with_fix("give exactly one of trace, seam and agent")
}

fn kind(entry: &Entry) -> Result<FaultKind, String> {
    match (entry.trace, entry.seam, &entry.agent) {
        (Some(mutation), None, None) => Ok(FaultKind::Trace(mutation)),
        (None, Some(seam), None) => Ok(FaultKind::Seam(seam)),
        (None, None, Some(flaw)) => Flaw::from_str(flaw, false)
            .map(FaultKind::Agent)
            .map_err(|_| format!("the naive agent has no flaw {flaw:?}")),
        _ => Err(format!("the fault {:?} plants none or several things", entry.id)),
    }
}

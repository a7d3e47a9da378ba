//! Cases: a script, a world and what must be seen, as data.
//!
//! A case is read, its twins are made from it by their one change, and everything in it that could make a verdict empty
//! (a rule that does not exist, a check that expects nothing, a twin that changes nothing) is an error with a place.
//! What a check means on a trace is written in [`crate::check`]; running is [`crate::run`]'s.

mod expect;
mod file;
mod library;
mod load;

pub use expect::{
    Answered, Bounds, CatalogExpect, Count, EventExpect, ExitExpect, Expect, Failure, FileExpect, JsonText,
    LaneContains, LaneExpect, PrefixExpect, ResultExpect, ResultFields, TextExpect,
};
pub use file::{Ability, CaseFile, CheckFile, See, TwinFile};
pub use library::{Library, LibraryError};
pub use load::read;

use crate::agent::{Answer, Mode};
use crate::source::Tree;
use crate::world::WorldSpec;
use mock_llm::Script;
use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

/// A case, or a twin of one.
#[derive(Clone, Debug)]
pub struct Case {
    /// `<area>/<name>`, for a twin `<area>/<name>@<twin>`.
    pub id: String,
    /// What happens, and what must follow.
    pub title: String,
    /// What the user says.
    pub prompt: String,
    /// Who is asked.
    pub mode: Mode,
    /// What an agent must declare.
    pub needs: BTreeSet<Ability>,
    /// The dialects in which it can be said; all when empty.
    pub dialects: Vec<String>,
    /// The event and the call at which the run is cancelled.
    pub cancel: Option<(String, String)>,
    /// How long a run may take.
    pub limit: Duration,
    /// How long a runtime that can be told so waits for a further part of a response.
    pub patience: Option<Duration>,
    /// Whether tools are advertised in strict form.
    pub strict_schemas: bool,
    /// What lies on the disk before.
    pub world: WorldSpec,
    /// What the person answers.
    pub answers: BTreeMap<String, Answer>,
    /// What the model says.
    pub script: Script,
    /// What must be seen, sorted by name.
    pub checks: Vec<Check>,
    /// For a twin: the check of its base that must pass.
    pub base_check: Option<String>,
    /// The document that plays it again: a twin's change applied and all twins left out. For a twin that is compared
    /// with its base, the base with this twin.
    pub source: Tree,
}

/// A case with its twins.
#[derive(Clone, Debug)]
pub struct CaseSet {
    /// The case itself.
    pub base: Case,
    /// Its twins, sorted by name.
    pub twins: Vec<Case>,
}

/// A check of a case.
#[derive(Clone, Debug, PartialEq)]
pub struct Check {
    /// Its name in the case.
    pub name: String,
    /// The rule it is about.
    pub rule: String,
    /// What is looked at.
    pub see: See,
    /// An oracle that must find nothing against the rule.
    pub oracle: Option<String>,
    /// What must hold.
    pub expect: Expect,
    /// What is right as well.
    pub lenient: Option<Expect>,
}

impl Case {
    /// The id of the base: what stands before the `@`.
    pub fn base_id(&self) -> &str {
        self.id.split('@').next().unwrap_or(&self.id)
    }

    /// Whether it can be said in this dialect.
    pub fn speaks(&self, dialect: &str) -> bool {
        self.dialects.is_empty() || self.dialects.iter().any(|own| own == dialect)
    }

    /// The index of the turn that holds this call, or the one that made it.
    pub fn turn_of(&self, call: &str) -> Option<usize> {
        let call = outer(call);
        self.script.turns.iter().position(|turn| turn.calls.iter().any(|c| c.id == call))
    }

    /// Whether a run of it may start child processes, so that its clock must be real.
    pub fn starts_processes(&self) -> bool {
        let mut calls = self.script.turns.iter().flat_map(|turn| &turn.calls);
        calls.any(|call| call.op == Some(mock_llm::script::Op::Shell) || call.tool.as_deref() == Some("exec_shell"))
    }

    /// Whether one of its checks compares two runs.
    pub fn compares(&self) -> bool {
        self.checks.iter().any(|check| check.pair_oracle().is_some())
    }
}

/// The call of the script that an id belongs to: a call that is made by another has that one's id, a slash and a number.
fn outer(call: &str) -> &str {
    call.split_once('/').map_or(call, |(outer, _)| outer)
}

impl Check {
    /// Its oracle, when that compares two runs.
    pub fn pair_oracle(&self) -> Option<&'static slot_oracles::Oracle> {
        let oracle = slot_oracles::oracles::by_id(self.oracle.as_deref()?)?;
        matches!(oracle.check, slot_oracles::OracleCheck::Pair(_)).then_some(oracle)
    }
}

impl CaseSet {
    /// The base, then the twins.
    pub fn all(&self) -> impl Iterator<Item = &Case> {
        std::iter::once(&self.base).chain(&self.twins)
    }
}

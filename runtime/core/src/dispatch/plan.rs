//! Planning: from a raw call to a validated one, or to a refusal. Nothing runs here and nobody is asked.

use super::arguments::{self, Reading};
use super::call::{Raw, Refusal, Resolved, Stage, Validated};
use super::policy::Policies;
use super::shape;
use crate::contract::{ApprovalRequirement, MetadataSnapshot, ToolDispatcher};
use crate::event::{EventKind, EventLog};
use serde_json::{Map, Value};
use slot_wire::StopReason;
use std::sync::Arc;

/// What planning made of a call.
#[derive(Clone, Debug)]
pub enum Planned {
    /// It may go on to approval, at this level.
    Ready {
        /// The call.
        call: Box<Validated>,
        /// How far it must be approved.
        level: ApprovalRequirement,
    },
    /// A stage refused it.
    Refused {
        /// The call as it came.
        call: Raw,
        /// Why.
        refusal: Refusal,
    },
}

impl Planned {
    /// The call as it came.
    pub fn raw(&self) -> &Raw {
        match self {
            Planned::Ready { call, .. } => call.raw(),
            Planned::Refused { call, .. } => call,
        }
    }
}

/// What planning reads.
pub struct Planner<'a> {
    /// The tools.
    pub dispatcher: &'a dyn ToolDispatcher,
    /// What is known of them in this turn.
    pub snapshot: &'a MetadataSnapshot,
    /// What the stages consult.
    pub policies: &'a Policies,
    /// Where it is logged.
    pub log: &'a EventLog,
    /// Why the model stopped.
    pub stop: &'a StopReason,
    /// Whether a piece of one of the turn's calls got lost.
    pub torn: bool,
}

impl Planner<'_> {
    /// Plans one call.
    pub fn plan(&self, call: Raw) -> Planned {
        let end = self.policies.truncation.end(self.stop, self.torn);
        let (call, reading) = arguments::read(call, end, self.policies.arguments.as_ref());
        let kept = call.clone();
        match self.stages(call, reading) {
            Ok(call) => {
                let level = self.dispatcher.requirement(&call);
                let capabilities = call.tool().capabilities.iter().collect();
                let derived = call.tool().requirement;
                self.note(call.raw(), EventKind::ApprovalLevel { capabilities, derived, level });
                Planned::Ready { call: Box::new(call), level }
            }
            Err(refusal) => {
                self.note(&kept, EventKind::Refused { stage: refusal.stage.as_str() });
                Planned::Refused { call: kept, refusal }
            }
        }
    }

    fn stages(&self, call: Raw, reading: Reading) -> Result<Validated, Refusal> {
        if let Reading::Refused(refusal) = &reading
            && refusal.stage == Stage::Truncation
        {
            return Err(refusal.clone());
        }
        let name = self.policies.names.resolve(&call.invocation().call.name, self.snapshot)?;
        let Some(tool) = self.snapshot.tools.get(&name).map(Arc::clone) else {
            return Err(Refusal::new(Stage::Name, format!("there is no tool {name:?} any more; nothing was run")));
        };
        let call = call.resolved(tool);
        self.note(call.raw(), EventKind::Resolved { tool: name });
        let input = self.parse(&call, reading)?;
        let call = call.parsed(input);
        self.note(call.raw(), EventKind::Parsed);
        let mut faults = match call.input() {
            Value::Object(fields) => shape::check(call.tool(), fields),
            _ => Vec::new(),
        };
        if faults.is_empty() {
            faults = self.dispatcher.validate(&call).err().unwrap_or_default();
        }
        if !faults.is_empty() {
            let told: Vec<String> =
                faults.iter().map(|f| format!("- {}: {}", pointer(&f.pointer), f.message)).collect();
            return Err(Refusal::new(
                Stage::Validate,
                format!(
                    "the arguments of {:?} are not what it takes, so it was not run:\n{}\nCorrect them and call it again",
                    call.tool().name,
                    told.join("\n")
                ),
            ));
        }
        let call = call.validated();
        self.note(call.raw(), EventKind::Validated);
        self.policies.loops.admit(&call)?;
        Ok(call)
    }

    /// Takes what was read, and logs how.
    fn parse(&self, call: &Resolved, reading: Reading) -> Result<Value, Refusal> {
        let raw = call.raw();
        match reading {
            Reading::Object(value) => {
                let rungs = raw.mended().map(|mended| mended.rungs.iter().map(|rung| rung.as_str()).collect());
                if let Some(rungs) = rungs.filter(|rungs: &Vec<_>| !rungs.is_empty()) {
                    self.note(raw, EventKind::ArgumentsRepaired { rungs });
                }
                Ok(value)
            }
            Reading::Fallback(fallback) => {
                self.note(raw, EventKind::ArgumentsFallback { fault: fallback.reason.kind.as_str() });
                let missing = shape::check(call.tool(), &Map::new());
                Err(arguments::refuse_fallback(&call.tool().name, &fallback, &missing))
            }
            Reading::Refused(refusal) => Err(refusal),
        }
    }

    fn note(&self, call: &Raw, kind: EventKind) {
        self.log.push(call.lane().clone(), kind, Vec::new());
    }
}

fn pointer(pointer: &str) -> &str {
    if pointer.is_empty() { "the arguments" } else { pointer }
}

//! Planning: from a raw call to a validated one, or to a refusal. Nothing runs here and nobody is asked.

use super::arguments::{self, Reading};
use super::call::{Raw, Refusal, Resolved, Stage, Validated};
use super::hydrate::hydration_answer;
use super::policy::{Attempt, Policies};
use super::shape;
use crate::contract::{ApprovalRequirement, Exposure, MetadataSnapshot, Role, ToolDispatcher, ToolMetadata};
use crate::event::{EventKind, EventLog};
use serde_json::{Map, Value};
use slot_wire::StopReason;
use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, PoisonError};

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
        call: Box<Raw>,
        /// Why.
        refusal: Refusal,
        /// What it was to the loop guard.
        attempt: Attempt,
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

    /// What it is to the loop guard.
    pub fn attempt(&self) -> Attempt {
        match self {
            Planned::Ready { call, .. } => Attempt::of(call),
            Planned::Refused { attempt, .. } => attempt.clone(),
        }
    }
}

/// The deferred tools whose schema the model has been given in this session. Clones share it.
///
/// What is loaded while a turn is settled is loaded for the next one, however deep the call that loaded it: whatever the
/// turn calls was written before.
#[derive(Clone, Debug, Default)]
pub struct Loaded {
    /// In the order in which they were loaded.
    all: Arc<Mutex<Vec<String>>>,
    /// Those that had been when the turn was asked for.
    turn: Arc<BTreeSet<String>>,
}

impl Loaded {
    /// The same, as a turn sees it that is asked for now.
    #[must_use]
    pub fn for_turn(&self) -> Loaded {
        Loaded { all: Arc::clone(&self.all), turn: Arc::new(self.in_order().into_iter().collect()) }
    }

    /// The same, as a turn sees it that is asked for now, and for itself: what is loaded in it is loaded nowhere else. For
    /// planning that may come to nothing.
    #[must_use]
    pub fn apart(&self) -> Loaded {
        let all = self.in_order();
        Loaded { turn: Arc::new(all.iter().cloned().collect()), all: Arc::new(Mutex::new(all)) }
    }

    /// The names, in the order in which they were loaded.
    pub fn in_order(&self) -> Vec<String> {
        self.all.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    pub(super) fn add(&self, name: &str) {
        let mut all = self.all.lock().unwrap_or_else(PoisonError::into_inner);
        if !all.iter().any(|known| known == name) {
            all.push(name.to_owned());
        }
    }

    fn in_turn(&self, name: &str) -> bool {
        self.turn.contains(name)
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
    /// The deferred tools that have been loaded.
    pub loaded: &'a Loaded,
}

impl Planner<'_> {
    /// Plans the calls of a turn.
    pub fn plan(&self, calls: impl IntoIterator<Item = Raw>) -> Vec<Planned> {
        calls.into_iter().map(|call| self.plan_one(call)).collect()
    }

    /// Plans one call by itself.
    pub(super) fn plan_alone(&self, call: Raw) -> Planned {
        self.plan_one(call)
    }

    fn plan_one(&self, call: Raw) -> Planned {
        let end = self.policies.truncation.end(self.stop, self.torn);
        let (mut kept, mut reading) = arguments::read(call, end, self.policies.arguments.as_ref());
        let mut call = match self.resolve(kept.clone(), &reading) {
            Ok(call) => call,
            Err(refusal) => return self.refused(kept, None, refusal),
        };
        if let Some((name, input)) = meant(call.tool(), &reading) {
            kept = kept.standing_for(name);
            reading = Reading::Object(input);
            call = match self.resolve(kept.clone(), &reading) {
                Ok(call) if call.tool().role == Role::Proxy => {
                    let reason = format!(
                        "{:?} cannot call itself; nothing was run. Name the tool that is meant",
                        call.tool().name
                    );
                    return self.refused(kept, Some(&call.shared_tool()), Refusal::new(Stage::Name, reason));
                }
                Ok(call) => call,
                Err(refusal) => return self.refused(kept, None, refusal),
            };
        }
        let tool = call.shared_tool();
        if tool.exposure == Exposure::Deferred && !self.loaded.in_turn(&tool.name) {
            self.loaded.add(&tool.name);
            let refusal = self.hydrate(&kept, &tool, &reading);
            return self.refused(kept, Some(&tool), refusal);
        }
        match self.validate(call, reading) {
            Ok(call) => self.ready(call),
            Err(refusal) => self.refused(kept, Some(&tool), refusal),
        }
    }

    fn ready(&self, call: Validated) -> Planned {
        let asked = self.dispatcher.requirement(&call);
        let level = if call.is_guess() { ApprovalRequirement::Required } else { asked };
        let capabilities = call.tool().capabilities.iter().collect();
        let derived = call.tool().requirement;
        let lowered = (level < derived).then_some("read_only");
        self.note(call.raw(), EventKind::ApprovalLevel { capabilities, derived, level, lowered });
        Planned::Ready { call: Box::new(call), level }
    }

    fn refused(&self, call: Raw, tool: Option<&ToolMetadata>, refusal: Refusal) -> Planned {
        self.note(&call, EventKind::Refused { stage: refusal.stage.as_str() });
        let attempt = Attempt::refused(&call, tool);
        Planned::Refused { call: Box::new(call), refusal, attempt }
    }

    fn resolve(&self, call: Raw, reading: &Reading) -> Result<Resolved, Refusal> {
        if let Reading::Refused(refusal) = reading
            && refusal.stage == Stage::Truncation
        {
            return Err(refusal.clone());
        }
        let found = self.policies.names.resolve(call.written(), self.snapshot)?;
        let Some(tool) = self.snapshot.tools.get(&found.tool).map(Arc::clone) else {
            return Err(Refusal::new(
                Stage::Name,
                format!("there is no tool {:?} any more; nothing was run. Use another tool of the list", found.tool),
            ));
        };
        self.note(&call, EventKind::Resolved { tool: found.tool, how: found.how.as_str() });
        Ok(call.resolved(tool, found.how))
    }

    /// The answer to a call of a tool whose schema the model has not seen. Whether the arguments are valid does not matter
    /// yet.
    fn hydrate(&self, call: &Raw, tool: &ToolMetadata, reading: &Reading) -> Refusal {
        let received = match reading {
            Reading::Object(value) => value.as_object(),
            Reading::Fallback(_) | Reading::Refused(_) => None,
        };
        let answer = hydration_answer(tool, received);
        self.note(call, EventKind::SchemaHydrated { facts: answer.metadata });
        Refusal::new(Stage::Hydration, answer.content)
    }

    fn validate(&self, call: Resolved, reading: Reading) -> Result<Validated, Refusal> {
        let input = self.parse(&call, reading)?;
        let call = call.parsed(input);
        self.note(call.raw(), EventKind::Parsed);
        let schema = &call.tool().schema;
        let mut faults = shape::check(schema, call.input());
        if faults.is_empty() {
            faults = self.dispatcher.validate(&call).err().unwrap_or_default();
        }
        if !faults.is_empty() {
            let told: Vec<String> =
                faults.iter().map(|f| format!("- {}: {}", pointer(&f.pointer), f.message)).collect();
            let takes = shape::describe::shape(schema).map(|shape| format!("It takes: {shape}\n")).unwrap_or_default();
            return Err(Refusal::new(
                Stage::Validate,
                format!(
                    "the arguments of {:?} are not what it takes, so it was not run:\n{}\n{takes}Correct them and call it again",
                    call.tool().name,
                    told.join("\n"),
                ),
            ));
        }
        let notes = shape::undeclared(schema, call.input());
        let call = call.validated(notes);
        self.note(call.raw(), EventKind::Validated);
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
                let missing = shape::check(&call.tool().schema, &Value::Object(Map::new()));
                Err(arguments::refuse_fallback(&call.tool().name, &fallback, &missing))
            }
            Reading::Refused(refusal) => Err(refusal),
        }
    }

    fn note(&self, call: &Raw, kind: EventKind) {
        self.log.push(call.lane().clone(), kind, Vec::new());
    }
}

/// The tool and the input that a call of a proxy means, where it says both. What does not is refused as a call of the
/// proxy.
fn meant(tool: &ToolMetadata, reading: &Reading) -> Option<(String, Value)> {
    let Reading::Object(input) = reading else { return None };
    if tool.role != Role::Proxy || !shape::check(&tool.schema, input).is_empty() {
        return None;
    }
    let (name, inner) = (input.get("tool")?.as_str()?, input.get("input")?);
    inner.is_object().then(|| (name.to_owned(), inner.clone()))
}

fn pointer(pointer: &str) -> &str {
    if pointer.is_empty() { "the arguments" } else { pointer }
}

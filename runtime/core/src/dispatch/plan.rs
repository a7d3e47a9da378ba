//! Planning: from a raw call to a validated one, or to a refusal. Nothing runs here and nobody is asked.

use super::call::{Raw, Refusal, Stage, Validated};
use super::policy::Policies;
use super::shape;
use crate::contract::{ApprovalRequirement, MetadataSnapshot, ToolDispatcher};
use crate::event::{EventKind, EventLog};
use serde_json::Value;
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
}

impl Planner<'_> {
    /// Plans one call.
    pub fn plan(&self, call: Raw) -> Planned {
        let kept = call.clone();
        match self.stages(call) {
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

    fn stages(&self, call: Raw) -> Result<Validated, Refusal> {
        self.policies.truncation.admit(&call, self.stop)?;
        let name = self.policies.names.resolve(&call.invocation().call.name, self.snapshot)?;
        let Some(tool) = self.snapshot.tools.get(&name).map(Arc::clone) else {
            return Err(Refusal::new(Stage::Name, format!("there is no tool {name:?} any more; nothing was run")));
        };
        let call = call.resolved(tool);
        self.note(call.raw(), EventKind::Resolved { tool: name });
        let input = self.read_arguments(call.raw())?;
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

    /// The argument text as one value. An empty text is an empty call.
    fn read_arguments(&self, call: &Raw) -> Result<Value, Refusal> {
        let text = &call.invocation().call.arguments;
        let name = &call.invocation().call.name;
        let limit = self.policies.arguments.max_bytes;
        if text.len() > limit {
            return Err(Refusal::new(
                Stage::Parse,
                format!(
                    "the arguments of {name:?} have {} bytes, the limit is {limit}; nothing was run. Split the call",
                    text.len()
                ),
            ));
        }
        if text.trim().is_empty() {
            return Ok(Value::Object(serde_json::Map::new()));
        }
        match serde_json::from_str::<Value>(text) {
            Ok(value @ Value::Object(_)) => Ok(value),
            Ok(other) => Err(Refusal::new(
                Stage::Parse,
                format!(
                    "the arguments of {name:?} must be one JSON object, not {}; nothing was run. Send an object",
                    kind(&other)
                ),
            )),
            Err(error) => Err(Refusal::new(
                Stage::Parse,
                format!(
                    "the arguments of {name:?} are not valid JSON ({error}); nothing was run. Send the call again with valid JSON"
                ),
            )),
        }
    }

    fn note(&self, call: &Raw, kind: EventKind) {
        self.log.push(call.lane().clone(), kind, Vec::new());
    }
}

fn pointer(pointer: &str) -> &str {
    if pointer.is_empty() { "the arguments" } else { pointer }
}

fn kind(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "a boolean",
        Value::Number(_) => "a number",
        Value::String(_) => "a string",
        Value::Array(_) => "an array",
        Value::Object(_) => "an object",
    }
}

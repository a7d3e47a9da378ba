//! The canonical event log.
//!
//! Events live in lanes: one for the session, one for each call. Within a lane they are ordered; between lanes only the
//! edges in `after` order them. Nothing in an event depends on time, on the machine, or on how the bytes of a response
//! were cut, so the log of one script is the same in every run, byte for byte.
//!
//! The log is a public format: [`SCHEMA_VERSION`] counts its incompatible changes.

use serde::Serialize;
use std::{
    collections::BTreeMap,
    fmt,
    sync::{Arc, Mutex, PoisonError},
};

/// The version of the format.
pub const SCHEMA_VERSION: u32 = 1;

/// One event.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Event {
    /// Which lane it belongs to.
    pub lane: Lane,
    /// Its position in the lane, from 0.
    pub n: u32,
    /// Events of other lanes that happened before it.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub after: Vec<Mark>,
    /// What happened.
    #[serde(flatten)]
    pub kind: EventKind,
}

/// A lane of the log.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Lane {
    /// The session's own.
    Session,
    /// That of one call.
    Call {
        /// Position of the call's turn in the session, from 0.
        turn: u32,
        /// Position of the call in its turn, from 0.
        index: u32,
        /// The provider's id of the call.
        id: String,
    },
}

impl fmt::Display for Lane {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Lane::Session => f.write_str("session"),
            Lane::Call { id, .. } => write!(f, "call:{id}"),
        }
    }
}

impl Serialize for Lane {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

/// A place in the log: a lane and a position in it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Mark(pub Lane, pub u32);

/// What happened.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "event", rename_all = "snake_case")]
pub enum EventKind {
    /// Session: it began.
    SessionStarted {
        /// [`SCHEMA_VERSION`].
        schema: u32,
        /// The dialect spoken.
        dialect: &'static str,
        /// How many tools are advertised.
        tools: usize,
    },
    /// Session: a tool could not be registered.
    RegistryFault {
        /// The name the tool gave itself.
        tool: String,
        /// The stub that stands for it.
        stub: Option<String>,
        /// What is wrong.
        reason: String,
    },
    /// Session: a request was sent.
    RequestSent {
        /// The turn it asks for, from 0.
        turn: u32,
        /// Which attempt at it, from 1.
        attempt: u32,
    },
    /// Session: a stream or connection failed before anything was committed, and is tried again.
    RequestRetried {
        /// The turn.
        turn: u32,
        /// The kind of failure, such as `stream_cut`.
        cause: String,
    },
    /// Session: a turn arrived and ended cleanly.
    TurnReceived {
        /// The turn.
        turn: u32,
        /// Why the model stopped.
        stop: String,
        /// How many calls it carries.
        calls: usize,
    },
    /// Session: the words of a turn imitated calls, and what did so was removed. Once per turn.
    ForgeryStripped {
        /// The turn.
        turn: u32,
        /// How many pieces were removed from text and reasoning together.
        count: usize,
        /// Whose calls they imitate, sorted.
        families: Vec<&'static str>,
    },
    /// Session: a turn failed after something was committed, or for good. Nothing of it is run.
    TurnFailed {
        /// The turn.
        turn: u32,
        /// The kind of failure.
        cause: String,
    },
    /// Session: the tools that are advertised are others than in the request before, so that its prefix ends in them.
    CatalogChanged {
        /// The turn that is asked for.
        turn: u32,
        /// Why: `found` where deferred tools are added at the end, else `tools_changed`.
        reason: &'static str,
        /// The names that are new, in the order of the catalog.
        added: Vec<String>,
        /// The names that are gone, in the order in which they were.
        removed: Vec<String>,
        /// Where deferred tools were found: after how many turns what is still deferred has paid for what is sent anew;
        /// absent where it never does.
        #[serde(skip_serializing_if = "Option::is_none")]
        break_even_turns: Option<u64>,
    },
    /// Session: it ended.
    SessionEnded {
        /// How, such as `completed`.
        outcome: String,
    },
    /// Call: it was taken in.
    Received {
        /// The tool name as sent.
        tool: String,
    },
    /// Call: the name was resolved.
    Resolved {
        /// The tool's own name.
        tool: String,
        /// How the name came to mean it, such as `exact`.
        how: &'static str,
    },
    /// Call: the tool was deferred and is loaded now; the call was answered with its schema and not run.
    SchemaHydrated {
        /// What was expected, received and likely meant.
        facts: serde_json::Map<String, serde_json::Value>,
    },
    /// Call: it found these deferred tools; they can be called from the next turn on.
    ToolsFound {
        /// Their names, in the order of the result.
        tools: Vec<String>,
    },
    /// Call: the arguments were no valid JSON and were mended.
    ArgumentsRepaired {
        /// What was mended, each rung once, in the order of the ladder.
        rungs: Vec<&'static str>,
    },
    /// Call: no rung could read the arguments. An empty object stands for them, and will not run.
    ArgumentsFallback {
        /// The kind of fault.
        fault: &'static str,
    },
    /// Call: the arguments were read.
    Parsed,
    /// Call: the arguments are what the tool takes.
    Validated,
    /// Call: how far it must be approved.
    ApprovalLevel {
        /// The tool's capabilities.
        capabilities: Vec<crate::contract::Capability>,
        /// The level that follows from them.
        derived: crate::contract::ApprovalRequirement,
        /// The level that holds for this input.
        level: crate::contract::ApprovalRequirement,
        /// Why it is lower than what was derived, where it is: the runtime found that this input only looks.
        #[serde(skip_serializing_if = "Option::is_none")]
        lowered: Option<&'static str>,
    },
    /// Call: a hook of the host was asked.
    Hook {
        /// Its name.
        hook: String,
        /// `before` or `after`.
        when: &'static str,
        /// What it said: `passed`, `annotated`, `denied` or `withheld`; or why it said nothing: `failed`, `panicked` or
        /// `timed_out`.
        verdict: &'static str,
    },
    /// Call: its result could not be kept beyond the session.
    NotPersisted,
    /// Call: somebody is asked.
    ApprovalAsked,
    /// Call: it was decided.
    ApprovalDecided {
        /// `approved` or `denied`.
        decision: &'static str,
        /// Who decided, such as `person` or `no_channel`.
        by: &'static str,
    },
    /// Call: a stage refused it.
    Refused {
        /// The stage.
        stage: &'static str,
    },
    /// Call: the tool was started.
    Started,
    /// Call: the call was cancelled before it finished.
    Cancelled,
    /// Call: its one result is fixed.
    Settled {
        /// Whether the model is told that it failed.
        is_error: bool,
    },
    /// Call: its tool has failed several times in a row, and the model is told.
    LoopWarned {
        /// The tool.
        tool: String,
        /// Failures in a row.
        failures: u32,
    },
    /// Call: its tool has failed too often in a row, and the user turn ends.
    LoopPaused {
        /// The tool.
        tool: String,
        /// Failures in a row.
        failures: u32,
    },
}

/// Watches events as they happen, in the order in which they happen.
pub trait EventSink: Send + Sync {
    /// Takes one event. Must not block.
    fn event(&self, event: &Event);
}

/// The log of one session. Clones share it.
#[derive(Clone, Default)]
pub struct EventLog {
    inner: Arc<Mutex<Inner>>,
    sink: Option<Arc<dyn EventSink>>,
}

#[derive(Default)]
struct Inner {
    lanes: BTreeMap<Lane, Vec<Event>>,
}

impl EventLog {
    /// An empty log that passes each event on to `sink`.
    pub fn new(sink: Option<Arc<dyn EventSink>>) -> Self {
        EventLog { inner: Arc::default(), sink }
    }

    /// Appends an event to a lane.
    pub fn push(&self, lane: Lane, kind: EventKind, after: Vec<Mark>) -> Mark {
        // A poisoned lock means that a sink panicked in another thread; the log itself is whole after every push.
        let mut inner = self.inner.lock().unwrap_or_else(PoisonError::into_inner);
        let events = inner.lanes.entry(lane.clone()).or_default();
        let n = u32::try_from(events.len()).unwrap_or(u32::MAX);
        let event = Event { lane: lane.clone(), n, after, kind };
        let shown = self.sink.as_ref().map(|sink| (sink, event.clone()));
        events.push(event);
        drop(inner);
        if let Some((sink, event)) = shown {
            sink.event(&event);
        }
        Mark(lane, n)
    }

    /// The last event of a lane, if it has one.
    pub fn last(&self, lane: &Lane) -> Option<Mark> {
        let inner = self.inner.lock().unwrap_or_else(PoisonError::into_inner);
        inner.lanes.get(lane)?.last().map(|e| Mark(e.lane.clone(), e.n))
    }

    /// The log in canonical order: the session's lane, then the calls' in order of turn and position.
    pub fn canonical(&self) -> Vec<Event> {
        let inner = self.inner.lock().unwrap_or_else(PoisonError::into_inner);
        inner.lanes.values().flatten().cloned().collect()
    }
}

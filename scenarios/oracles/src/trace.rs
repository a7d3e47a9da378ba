//! The facts of one run, in a form that no dialect, engine or operating system shows through.
//!
//! Everything here is observed, not claimed: requests are what arrived at the mock, files are what lay on the disk,
//! processes are what was still alive. [`RuntimeTrace`] is the one exception (the runtime's own event log), and lives
//! beside [`WireTrace`] so that a wire oracle cannot be written against it.

use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::collections::BTreeMap;

/// One run of one case.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Trace {
    /// What could be seen from outside.
    pub wire: WireTrace,
    /// What the reference runtime said of itself; absent for any other agent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub runtime: Option<RuntimeTrace>,
}

/// Facts that any agent leaves, whatever it is written in.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct WireTrace {
    /// What the mock model said, in script order, whether or not it was reached.
    pub served: Vec<ServedTurn>,
    /// The requests of the conversation in order of arrival; side traffic is set apart in `side_requests`.
    pub requests: Vec<WireRequest>,
    /// How many requests matched a side-traffic matcher (titles, probes) and were not judged.
    #[serde(default)]
    pub side_requests: usize,
    /// The workspace before and after, by path relative to it.
    pub workspace: TreeChange,
    /// Everything the agent had no business with: all of the run's folder but the workspace and the folder for temporary
    /// files, before and after, without the agent's own state. Paths start with `home/` or `outside/`, or are names
    /// beside those.
    pub outside: TreeChange,
    /// Strings planted outside the workspace; none may appear in any request.
    #[serde(default)]
    pub canaries: Vec<String>,
    /// Processes alive after the agent ended that carry the run's environment marker.
    #[serde(default)]
    pub leftover: Vec<Leftover>,
    /// How the agent ended.
    pub end: AgentEnd,
}

/// One scripted turn as the mock served it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ServedTurn {
    /// Index in the script, from 0.
    pub index: usize,
    /// How many times it was served (a retry re-serves the same state).
    pub times: usize,
    /// Whether the bytes ended with the dialect's terminal signal.
    pub terminal: bool,
    /// The semantic stop reason the wire carried, such as `tool_calls`, `stop` or `max_tokens`; empty when none was sent.
    pub stop: String,
    /// The text the turn carried.
    pub text: String,
    /// The calls it carried, in order.
    pub calls: Vec<ServedCall>,
}

/// One structured tool call as the mock served it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ServedCall {
    /// The call id the script gave.
    pub id: String,
    /// The tool name as sent, after binding and corruption.
    pub name: String,
    /// The argument text as sent, after corruption.
    pub arguments: String,
}

/// One request as it arrived, parsed without judging it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct WireRequest {
    /// Position in the order of arrival, from 0, over the requests of the conversation.
    pub index: usize,
    /// The dialect's name: `chat`, `anthropic` or `responses`.
    pub dialect: String,
    /// Which scripted turn answered it, when its state was known.
    #[serde(default)]
    pub turn: Option<usize>,
    /// The advertised tools, in order.
    pub tools: Vec<WireTool>,
    /// System text and messages, in order.
    pub items: Vec<WireItem>,
    /// The raw bytes of the prompt-bearing parts as transmitted, as text.
    pub raw: RawParts,
}

/// The prompt-bearing parts of a request exactly as transmitted (JSON text), in no particular order of the body.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct RawParts {
    /// The `tools` array, empty when the field was absent.
    pub tools: String,
    /// The system text where the dialect gives it a field of its own.
    pub system: String,
    /// Each message or item of the conversation.
    pub items: Vec<String>,
}

/// One advertised tool.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct WireTool {
    /// The advertised name.
    pub name: String,
    /// The description, empty when absent.
    #[serde(default)]
    pub description: String,
    /// The input schema, `null` when absent.
    #[serde(default)]
    pub schema: Value,
    /// The whole entry exactly as transmitted.
    pub raw: String,
}

/// One item of the conversation, in the one shape that all dialects share.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum WireItem {
    /// System or developer text.
    System {
        /// The text.
        text: String,
    },
    /// A person's (or the host's) message.
    User {
        /// The text.
        text: String,
    },
    /// The model's own words and calls, as the agent replays them.
    Assistant {
        /// The text, empty when there was none.
        text: String,
        /// The replayed calls, in order.
        calls: Vec<WireCall>,
    },
    /// A tool result.
    ToolResult {
        /// The call it answers.
        call_id: String,
        /// The text that the model reads.
        content: String,
        /// The error flag, where the dialect has one.
        #[serde(default)]
        is_error: Option<bool>,
    },
}

/// A call as an agent replays it in its history.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct WireCall {
    /// The call id.
    pub id: String,
    /// The tool name.
    pub name: String,
    /// The argument text.
    pub arguments: String,
}

/// A tree of files before and after a run.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct TreeChange {
    /// Before the agent started.
    pub before: BTreeMap<String, Node>,
    /// After it ended.
    pub after: BTreeMap<String, Node>,
}

/// One entry of a tree. `mode` holds its permission bits, and 0 where they are not known.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Node {
    /// A file whose bytes are UTF-8 and at most 64 KiB.
    File {
        /// The content.
        text: String,
        /// The permission bits.
        #[serde(default)]
        mode: u32,
    },
    /// Any other file.
    Blob {
        /// Length in bytes.
        len: u64,
        /// A hash of the content, for equality only.
        hash: u64,
        /// The permission bits.
        #[serde(default)]
        mode: u32,
    },
    /// A folder.
    Dir {
        /// The permission bits.
        #[serde(default)]
        mode: u32,
    },
    /// A symbolic link, not followed.
    Link {
        /// Where it points, literally.
        target: String,
    },
    /// A FIFO, socket or device.
    Special,
}

impl Node {
    /// A text file of no known permissions.
    pub fn text(text: impl Into<String>) -> Node {
        Node::File { text: text.into(), mode: 0 }
    }

    /// The permission bits, of what has any.
    pub fn mode_mut(&mut self) -> Option<&mut u32> {
        match self {
            Node::File { mode, .. } | Node::Blob { mode, .. } | Node::Dir { mode } => Some(mode),
            Node::Link { .. } | Node::Special => None,
        }
    }
}

/// A process that outlived its agent.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Leftover {
    /// The process id.
    pub pid: u32,
    /// Its command line, arguments joined by blanks, at most 200 characters.
    pub command: String,
}

/// How an agent ended.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum AgentEnd {
    /// It has not run: the default, so that a forgotten field is visible.
    #[default]
    NotRun,
    /// It ended by itself.
    Finished {
        /// The exit code; 0 for an in-process run that ended well.
        code: i32,
    },
    /// It was stopped because it outlived its time limit.
    TimedOut {
        /// The limit, in milliseconds.
        limit_ms: u64,
    },
    /// It was killed by a signal.
    Signalled {
        /// The signal number.
        signal: i32,
    },
    /// It could not be started.
    NotStarted {
        /// Why.
        reason: String,
    },
    /// Nobody saw its end: a person drove it, so that its exit, its output and its processes are unknown.
    Unseen,
}

/// The reference runtime's canonical event log, one JSON object per event, in canonical order.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct RuntimeTrace {
    /// The events. Each has at least `lane` and `event`.
    pub events: Vec<Value>,
}

impl RuntimeTrace {
    /// The events with this name, in canonical order.
    pub fn named<'a>(&'a self, name: &'a str) -> impl Iterator<Item = &'a Value> {
        self.events.iter().filter(move |e| e["event"] == name)
    }

    /// The events of one lane (such as `call:c1`), in order.
    pub fn lane<'a>(&'a self, lane: &'a str) -> impl Iterator<Item = &'a Value> {
        self.events.iter().filter(move |e| e["lane"] == lane)
    }
}

impl WireRequest {
    /// The tool results it carries, in order, as `(call id, content)`.
    pub fn results(&self) -> impl Iterator<Item = (&str, &str)> {
        self.items.iter().filter_map(|item| match item {
            WireItem::ToolResult { call_id, content, .. } => Some((call_id.as_str(), content.as_str())),
            _ => None,
        })
    }

    /// The calls it replays, in order.
    pub fn calls(&self) -> impl Iterator<Item = &WireCall> {
        self.items
            .iter()
            .filter_map(|item| match item {
                WireItem::Assistant { calls, .. } => Some(calls.iter()),
                _ => None,
            })
            .flatten()
    }
}

//! Scripts: what the mock model says, turn by turn.
//!
//! A script is data. It says what each turn carries (text, calls, stop), how the bound, serialised text of a call is
//! corrupted, how the stream is framed and where its bytes are cut. It never counts requests: a turn is served for a
//! conversation state, so a retry gets the same bytes again and a title request moves nothing.

use crate::fault::Fault;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// A whole script.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Script {
    /// The turns, in order. The last one should carry no call, so that the agent can end.
    #[serde(rename = "turn", default)]
    pub turns: Vec<Turn>,
    /// Seed of every random choice the script asks for (random cuts, ids left out). 0 when absent.
    #[serde(default)]
    pub seed: u64,
}

/// One turn of the model.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Turn {
    /// Text before the calls. It may name the script's calls as raw bytes do (see `fault.bytes`): `$NAME(c1)`, `$JSON(c1)`.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub say: String,
    /// Reasoning before the text, in the dialect's own channel. It may name calls as `say` does.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub reason: String,
    /// The tool calls, in order.
    #[serde(rename = "call", default, skip_serializing_if = "Vec::is_empty")]
    pub calls: Vec<Call>,
    /// The stop reason. When absent: `tool_calls` if the turn has calls, else `stop`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stop: Option<Stop>,
    /// How the bytes of the stream are grouped into writes.
    #[serde(default)]
    pub delivery: Delivery,
    /// Cuts by anchor; each starts a new write at that place, whatever `delivery` says.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub cut: Vec<Cut>,
    /// How the SSE frames are written.
    #[serde(default)]
    pub framing: Framing,
    /// How the stream ends.
    #[serde(default)]
    pub end: End,
    /// What goes wrong with the response.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fault: Option<Fault>,
    /// Attempts that fail before the turn is served: the first request in this state gets the first of them, and so
    /// on; when they are used up, the turn itself follows.
    #[serde(rename = "attempt", default, skip_serializing_if = "Vec::is_empty")]
    pub attempts: Vec<Fault>,
    /// Holds the response back at this point until the test (or a later request) opens the gate of this name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub gate: Option<String>,
}

/// One tool call. Exactly one of `op` and `tool` names what is called; exactly one of `with` and `raw` gives the
/// arguments.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Call {
    /// The call id, unique in the script. Must be given: checks speak of calls by it.
    pub id: String,
    /// The id that is sent, where it is to be another one: the same for two calls, the one of an earlier turn, or none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sent_id: Option<String>,
    /// An abstract operation, bound to a tool at the first `tools[]` the agent sends.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub op: Option<Op>,
    /// A literal tool name, sent as it stands.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tool: Option<String>,
    /// The arguments: for an `op` in the operation's own field names, for a `tool` as the tool takes them. `$WORKSPACE`,
    /// `$OUTSIDE` and `$HOME` in string values stand for the run's folders, and `$FILL(n)` for so many letters.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub with: Option<Map<String, Value>>,
    /// The argument text itself, for text that is no JSON object; sent as it stands.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub raw: Option<String>,
    /// Corruptions of the bound, serialised argument text, applied in order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub mangle: Vec<Mangle>,
}

impl Call {
    /// The id that goes on the wire.
    pub fn wire_id(&self) -> &str {
        self.sent_id.as_deref().unwrap_or(&self.id)
    }
}

/// An abstract operation. The fields are the ones a script uses in `with`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum Op {
    /// Read a file: `path`.
    Read,
    /// Create or overwrite a file: `path`, `content`.
    Write,
    /// Replace text in a file: `path`, `old`, `new`.
    Edit,
    /// List a folder: `path`.
    List,
    /// Run a shell command: `command`.
    Shell,
    /// Fetch a URL: `url`.
    Fetch,
}

/// A named corruption of serialised argument text.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Mangle {
    /// `{"a":1}` becomes `{"a":1,}`.
    TrailingComma,
    /// The last `}` is left out.
    DropCloser,
    /// One `}` too many.
    ExtraCloser,
    /// Cut inside the last string value, half way.
    CutInString,
    /// `{"a":1}` becomes `{"a":1, ` and, on a line of its own, `}`.
    SpacedComma,
    /// One `]` too many, at the end.
    ExtraBracket,
    /// Line feeds, tabs and carriage returns in strings stand there as they are, not escaped.
    RawControls,
    /// Backslashes in strings are not escaped.
    RawBackslashes,
    /// Double quotes in strings are not escaped.
    RawQuotes,
    /// A vertical tab (U+000B) stands half way in the longest string value.
    StrayControl,
    /// Half of a surrogate pair, as an escape, ends the last string value.
    LoneSurrogate,
    /// The first key is there twice: before its member stands the same key with the value `"decoy"`.
    DuplicateKey,
    /// A code fence stands around the text.
    CodeFence,
    /// The language tag of a lost code fence stands before the text.
    LanguageTag,
    /// The text is encoded once more, as a JSON string.
    DoubleEncode,
    /// A sentence follows.
    ProseAfter,
    /// The whole text again follows.
    Twice,
    /// `{"a":1}` becomes `[{"a":1}]`.
    AsArray,
    /// 100,000 brackets, opened and closed one inside the other, are the value of a first member `deep`.
    Nest,
}

/// Why a turn stopped, in the neutral spelling; each dialect has its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Stop {
    /// The model is done.
    Stop,
    /// The model wants its calls answered.
    ToolCalls,
    /// The output limit cut the turn.
    MaxTokens,
    /// A content filter cut the turn.
    ContentFilter,
}

/// How bytes are grouped into writes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Delivery {
    /// One write per SSE frame.
    #[default]
    Frames,
    /// One write per byte.
    Bytes,
    /// Writes of 1 to 64 bytes drawn from the script's seed.
    Random,
    /// The whole body in one write.
    Coalesced,
}

/// A cut by anchor, found in the body's bytes. Exactly one of `inside`, `before` and `after`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Cut {
    /// Cut inside the first occurrence of this text, `byte` bytes after its start.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub inside: Option<String>,
    /// With `inside`: how many bytes after its start, from 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub byte: Option<usize>,
    /// Cut right before the first occurrence.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub before: Option<String>,
    /// Cut right after the first occurrence.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub after: Option<String>,
    /// Which occurrence, from 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub nth: Option<usize>,
}

/// How SSE frames are written. All of these are legal SSE.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Framing {
    /// Line end: `lf` (default), `crlf` or `cr`.
    #[serde(default)]
    pub eol: Eol,
    /// Starts the stream with a byte order mark.
    #[serde(default)]
    pub bom: bool,
    /// Writes `data:x` in place of `data: x`.
    #[serde(default)]
    pub no_space: bool,
    /// Writes a comment line before every frame.
    #[serde(default)]
    pub comments: bool,
    /// Splits each payload over several `data:` lines where JSON allows a line end.
    #[serde(default)]
    pub multi_line: bool,
    /// Adds `id:`, `retry:` and an unknown field to every frame.
    #[serde(default)]
    pub extra_fields: bool,
}

/// A line end.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Eol {
    /// `\n`
    #[default]
    Lf,
    /// `\r\n`
    Crlf,
    /// `\r`
    Cr,
}

/// How the stream ends.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum End {
    /// With the dialect's terminal signal, then an orderly end of the body.
    #[default]
    Clean,
    /// The body ends in good order, but the terminal signal (stop reason and `[DONE]`) was never sent.
    NoTerminal,
    /// The connection closes in the middle of the body.
    Disconnect,
}

//! Faults: how a response breaks on its way, as data, and what that does to its bytes.
//!
//! A fault never changes what a turn means to say; it changes what arrives of it. Faults can be combined. A turn may
//! have failing attempts before it, so that "the first try breaks, the second works" is one script.

mod apply;
mod gzip;
mod words;

pub(crate) use apply::apply;
pub(crate) use words::Words;

use crate::script::Cut;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What goes wrong with one response.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Fault {
    /// Answers with this status and an error body of the dialect, in place of the turn. 200 gives the error body under
    /// a status that says all is well.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub status: Option<u16>,
    /// With `status`: the `Retry-After` field as it stands, sensible or not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub retry_after: Option<String>,
    /// With `status`: the message of the error body.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
    /// Sends these bytes in place of the encoded turn, one write each. Escapes: `\n \r \t \0 \\ \xHH`. The turn's own
    /// text, calls and end still say what a reader should make of them. Of the call with the id `c1` they may hold
    /// `$ID(c1)`, `$NAME(c1)`, `$ARGS(c1)`, `$HEAD(c1)` and `$TAIL(c1)` (its arguments and their two halves), each as the
    /// inside of a JSON string, and `$JSON(c1)`, the arguments as they are.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bytes: Option<Vec<String>>,
    /// Changes to the stream's frames, in order.
    #[serde(rename = "frame", default, skip_serializing_if = "Vec::is_empty")]
    pub frames: Vec<FrameFault>,
    /// What happens part way through the body.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub then: Option<Break>,
    /// With `then`: where. At a place drawn from the seed when it is absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub at: Option<Cut>,
    /// With `then`: before the first byte of the response, its head included, in place of `at`.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub before_head: bool,
    /// With `then = "stall"`: the gate that ends the stall, after which the rest of the body follows. Without it the
    /// response stalls until the client leaves.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub until: Option<String>,
    /// Gives a content length that is so many bytes too large (or too small, when negative), in place of chunks.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub length: Option<i64>,
    /// Compresses the body with gzip, whether or not the client accepts it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub gzip: bool,
    /// Another content type than the body's own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub content_type: Option<String>,
}

/// What happens part way through a body.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Break {
    /// Nothing more is sent.
    Stall,
    /// Nothing more is sent but a comment four times a second. Break at the end of a frame, so that they are comments.
    Comments,
    /// The connection is closed in good order (FIN), between two chunks.
    Close,
    /// The connection is reset (RST). On an in-process stream, which knows no resets, it is closed.
    Reset,
    /// The connection is closed inside a chunk: the last one promises twice what it holds.
    HalfChunk,
}

/// A change to one frame of a stream.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct FrameFault {
    /// What is done.
    pub edit: Edit,
    /// The frame that holds this text; the last frame when it is absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub holding: Option<String>,
    /// Which of the frames that hold it, from 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub nth: Option<usize>,
}

/// What is done to a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Edit {
    /// It is left out.
    Drop,
    /// It is sent twice.
    Duplicate,
    /// It changes places with the frame after it.
    Swap,
    /// It is sent again after everything else.
    Late,
    /// The provider's error event stands in its place, and the stream ends there.
    Error,
}

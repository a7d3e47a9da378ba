//! What a run is given and what it gives back.

use serde_json::{Map, Value};
use thiserror::Error;
use tokio_util::sync::CancellationToken;

/// What a tool is told about the run it is in. Everything else (a workspace, a fetcher) is handed to a tool when it is
/// built; there is no context that knows everything.
#[derive(Clone, Debug)]
pub struct RunContext {
    /// The id of the call.
    pub call_id: String,
    /// Cancelled when the call must end. A tool ends its work, its processes included, before it returns.
    pub cancel: CancellationToken,
}

/// What a tool gives back.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ToolOutput {
    /// What the model reads.
    pub content: String,
    /// Whether the model is told that the call failed. A command that exits with 1 is an output, and failed.
    pub is_error: bool,
    /// Facts for the host and the log; never shown to the model.
    pub metadata: Map<String, Value>,
}

impl ToolOutput {
    /// A successful output.
    pub fn ok(content: impl Into<String>) -> Self {
        ToolOutput { content: content.into(), is_error: false, metadata: Map::new() }
    }

    /// A failed output.
    pub fn failed(content: impl Into<String>) -> Self {
        ToolOutput { content: content.into(), is_error: true, metadata: Map::new() }
    }
}

/// Why a tool did not give an output. Each text is written for the model: it says what, where and the next step.
#[derive(Debug, Error, PartialEq, Eq)]
pub enum ToolError {
    /// The input cannot be served.
    #[error("{0}")]
    InvalidInput(String),
    /// Something that was named does not exist.
    #[error("{0}")]
    NotFound(String),
    /// A boundary refused.
    #[error("{0}")]
    Denied(String),
    /// The tool cannot run at all.
    #[error("{0}")]
    Unavailable(String),
    /// The run was cancelled.
    #[error("the call was cancelled before it finished; nothing of it is running any more")]
    Cancelled,
    /// It failed in some other way.
    #[error("{0}")]
    Failed(String),
}

//! What a run is given and what it gives back.

use super::BoxFuture;
use serde_json::{Map, Value};
use std::{fmt, sync::Arc};
use thiserror::Error;
use tokio_util::sync::CancellationToken;

/// What a tool is told about the run it is in. Everything else (a workspace, a fetcher) is handed to a tool when it is
/// built; there is no context that knows everything.
#[derive(Clone)]
pub struct RunContext {
    /// The id of the call.
    pub call_id: String,
    /// Cancelled when the call must end. A tool ends its work, its processes included, before it returns.
    pub cancel: CancellationToken,
    inner: Option<Arc<dyn CallTools>>,
    progress: Option<Arc<dyn ReportProgress>>,
}

impl RunContext {
    /// A run that cannot call tools.
    pub fn new(call_id: impl Into<String>, cancel: CancellationToken) -> Self {
        RunContext { call_id: call_id.into(), cancel, inner: None, progress: None }
    }

    /// The run with a way to call tools.
    #[must_use]
    pub fn with_tools(self, inner: Arc<dyn CallTools>) -> Self {
        RunContext { inner: Some(inner), ..self }
    }

    /// The run with somebody who hears of its progress.
    #[must_use]
    pub fn with_progress(self, progress: Arc<dyn ReportProgress>) -> Self {
        RunContext { progress: Some(progress), ..self }
    }

    /// Tells a person how far the run is, in a few words on one line. The model never reads it, and nothing depends on
    /// whether anybody does. Once the run has ended or is to end, nothing is told any more.
    pub fn progress(&self, text: &str) {
        if let Some(progress) = self.progress.as_ref().filter(|_| !self.cancel.is_cancelled()) {
            progress.report(&self.call_id, text);
        }
    }

    /// Calls tools from within the run. Each inner call passes every stage by itself and gets one result; the results are
    /// in the order of the calls.
    pub async fn call_tools(&self, calls: Vec<InnerCall>) -> Result<Vec<InnerResult>, ToolError> {
        match &self.inner {
            Some(inner) => Ok(inner.call_tools(calls).await),
            None => {
                Err(ToolError::Unavailable("tools cannot be called from here; make the calls one by one".to_owned()))
            }
        }
    }
}

impl fmt::Debug for RunContext {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RunContext").field("call_id", &self.call_id).finish_non_exhaustive()
    }
}

/// The slot as seen from within a run.
pub trait CallTools: Send + Sync {
    /// Takes the calls through every stage; one result for each, in order.
    fn call_tools(&self, calls: Vec<InnerCall>) -> BoxFuture<'_, Vec<InnerResult>>;
}

/// Hears how far a run is.
pub trait ReportProgress: Send + Sync {
    /// Takes one report of a call. Must not block.
    fn report(&self, call_id: &str, text: &str);
}

/// A call that a tool makes.
#[derive(Clone, Debug, PartialEq)]
pub struct InnerCall {
    /// The tool.
    pub tool: String,
    /// Its input.
    pub input: Value,
}

/// What an inner call came to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InnerResult {
    /// What the model would read.
    pub content: String,
    /// Whether it failed.
    pub is_error: bool,
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

//! What the tools over files of the workspace have in common: how each is shown, called and judged.
//!
//! A tool says in [`FileTool`] what it is and what it does with an input; everything that the engine asks of it besides
//! follows from whether it looks or changes. Nothing here knows a tool, and no tool here knows how it is run.

use crate::work::blocking;
use serde_json::Value;
use slot_runtime::{
    boundary::FileBoundary,
    contract::{
        BoxFuture, Capability, CapabilitySet, InterruptBehaviour, Presentation, RunContext, Tool, ToolError,
        ToolOutput, ToolSpec, ValidationFault,
    },
};
use std::{marker::PhantomData, sync::Arc};
use tokio_util::sync::CancellationToken;

/// What a tool does to the files.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Does {
    /// It looks at many of them.
    Searches,
    /// It looks at one, which is quickly done, also before it is decided that the call stands.
    Looks,
    /// It changes some, which is short and cannot be taken back halfway.
    Changes,
}

/// A tool over files: what it is, and what it does with an input.
pub trait FileTool: 'static {
    /// Its name.
    const NAME: &'static str;
    /// What the model reads of it.
    const DESCRIPTION: &'static str;
    /// Words by which it is found.
    const HINT: &'static str;
    /// What a person reads: the name of what it does, and that it does it.
    const SHOWN: [&'static str; 2];
    /// What it does to the files.
    const DOES: Does;

    /// The schema of its input.
    fn schema() -> Value;

    /// What the schema cannot say of an input.
    ///
    /// # Errors
    /// What is wrong with it.
    fn check(input: &Value) -> Result<(), ValidationFault>;

    /// Does it, and answers with what the model reads. What takes long ends early once nobody waits, as `stop` tells.
    ///
    /// # Errors
    /// Why not.
    fn act(files: &dyn FileBoundary, input: &Value, stop: &CancellationToken) -> Result<String, ToolError>;
}

/// A tool over the files behind a boundary.
pub struct OverFiles<T> {
    files: Arc<dyn FileBoundary>,
    tool: PhantomData<fn() -> T>,
}

impl<T> OverFiles<T> {
    /// The tool over these files.
    pub fn new(files: Arc<dyn FileBoundary>) -> Self {
        OverFiles { files, tool: PhantomData }
    }
}

impl<T: FileTool> Tool for OverFiles<T> {
    fn name(&self) -> &str {
        T::NAME
    }

    fn description(&self) -> &str {
        T::DESCRIPTION
    }

    fn input_schema(&self) -> Value {
        T::schema()
    }

    fn run<'a>(&'a self, input: &'a Value, run: &'a RunContext) -> BoxFuture<'a, Result<ToolOutput, ToolError>> {
        Box::pin(async move {
            let (files, input) = (Arc::clone(&self.files), input.clone());
            blocking(run, move |stop| T::act(&*files, &input, stop).map(ToolOutput::ok)).await
        })
    }
}

impl<T: FileTool> ToolSpec for OverFiles<T> {
    fn capabilities(&self) -> CapabilitySet {
        let changes = T::DOES == Does::Changes;
        CapabilitySet::of(&[if changes { Capability::WritesFiles } else { Capability::ReadOnly }])
    }

    fn validate_input(&self, input: &Value) -> Result<(), ValidationFault> {
        T::check(input)
    }

    fn supports_parallel(&self) -> bool {
        T::DOES != Does::Changes
    }

    fn may_start_early(&self) -> bool {
        T::DOES == Does::Looks
    }

    fn is_destructive(&self) -> bool {
        T::DOES == Does::Changes
    }

    fn interrupt_behaviour(&self) -> InterruptBehaviour {
        if T::DOES == Does::Changes { InterruptBehaviour::Finish } else { InterruptBehaviour::Cancel }
    }

    fn search_hint(&self) -> Option<&str> {
        Some(T::HINT)
    }

    fn presentation(&self) -> Presentation {
        let [title, activity] = T::SHOWN;
        Presentation { title: Some(title.into()), activity: Some(activity.into()), transparent: false }
    }
}

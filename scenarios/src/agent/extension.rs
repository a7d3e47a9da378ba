//! Tools that a case registers in the runtime under test, broken ones among them.

use super::room::Room;
use crate::world::{Behaviour, ExtensionTool};
use serde_json::Value;
use slot_runtime::contract::{
    BoxFuture, CapabilitySet, Exposure, InterruptBehaviour, Origin, OriginKind, RunContext, Tool, ToolError,
    ToolOutput, ToolSpec, ValidationFault,
};
use std::path::PathBuf;
use std::sync::Arc;

/// A tool that does what its case says.
pub struct CaseTool {
    spec: ExtensionTool,
    capabilities: CapabilitySet,
    workspace: PathBuf,
    room: Arc<Room>,
}

impl CaseTool {
    /// The tool of this spec, working in this workspace. The tools of one run share a room.
    pub fn new(spec: ExtensionTool, workspace: PathBuf, room: Arc<Room>) -> Self {
        let capabilities = CapabilitySet::of(&spec.capabilities);
        CaseTool { spec, capabilities, workspace, room }
    }

    fn touch(&self, file: &str) -> Result<ToolOutput, ToolError> {
        std::fs::write(self.workspace.join(file), "touched")
            .map(|()| ToolOutput::ok(format!("touched {file}")))
            .map_err(|e| ToolError::Failed(format!("cannot touch {file}: {e}")))
    }
}

impl Tool for CaseTool {
    fn name(&self) -> &str {
        &self.spec.name
    }

    fn description(&self) -> &str {
        assert!(self.spec.behaviour != Behaviour::PanicInDescription, "planted by the case: no description");
        &self.spec.description
    }

    fn input_schema(&self) -> Value {
        assert!(self.spec.behaviour != Behaviour::PanicInSchema, "planted by the case: no schema");
        self.spec.schema.clone()
    }

    fn run<'a>(&'a self, input: &'a Value, run: &'a RunContext) -> BoxFuture<'a, Result<ToolOutput, ToolError>> {
        Box::pin(async move {
            match &self.spec.behaviour {
                Behaviour::Echo => Ok(ToolOutput::ok(input.to_string())),
                Behaviour::Touch(file) => self.touch(file),
                Behaviour::Finish(file) => {
                    run.cancel.cancelled().await;
                    // The others get to see the cancellation first.
                    tokio::task::yield_now().await;
                    self.touch(file)
                }
                Behaviour::Fail => Err(ToolError::Failed("planted by the case: it fails".to_owned())),
                Behaviour::Panic => panic!("planted by the case: it panics"),
                Behaviour::Hang => std::future::pending().await,
                Behaviour::Meet(count) => {
                    self.room.meet(*count).await;
                    Ok(ToolOutput::ok(format!("met, called with {input}")))
                }
                Behaviour::Alone => match self.room.is_alone().await {
                    true => Ok(ToolOutput::ok("it was alone")),
                    false => Err(ToolError::Failed("another call ran at the same time".to_owned())),
                },
                Behaviour::Invalid(_) | Behaviour::PanicInSchema | Behaviour::PanicInDescription => {
                    Ok(ToolOutput::ok("it ran"))
                }
            }
        })
    }
}

impl ToolSpec for CaseTool {
    fn capabilities(&self) -> CapabilitySet {
        self.capabilities
    }

    fn origin(&self) -> Origin {
        match &self.spec.server {
            Some(server) => Origin { kind: OriginKind::Mcp { server: server.clone() }, ..Origin::extension("case") },
            None => Origin::extension("case"),
        }
    }

    fn supports_parallel(&self) -> bool {
        self.spec.parallel
    }

    fn exposure(&self) -> Exposure {
        self.spec.exposure
    }

    fn polls(&self) -> bool {
        self.spec.polls
    }

    fn may_start_early(&self) -> bool {
        self.spec.early
    }

    fn interrupt_behaviour(&self) -> InterruptBehaviour {
        match self.spec.behaviour {
            Behaviour::Finish(_) => InterruptBehaviour::Finish,
            _ => InterruptBehaviour::Cancel,
        }
    }

    fn validate_input(&self, _: &Value) -> Result<(), ValidationFault> {
        match &self.spec.behaviour {
            Behaviour::Invalid(message) => Err(ValidationFault::at("", message.clone())),
            _ => Ok(()),
        }
    }
}

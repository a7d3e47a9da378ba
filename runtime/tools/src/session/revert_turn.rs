//! `revert_turn`: the changes of the last turn, taken back.

use super::journal::{How, Journal, RevertError};
use crate::work::{blocking, refused};
use serde_json::{Value, json};
use slot_runtime::contract::{
    BoxFuture, Capability, CapabilitySet, InterruptBehaviour, Presentation, RunContext, Tool, ToolError, ToolOutput,
    ToolSpec,
};
use std::sync::Arc;

const DESCRIPTION: &str = "\
Take back everything that the file tools changed in the last turn in which they changed something: files hold what they held \
before, and can be run or not as before; new ones are removed, and removed ones are back. Use it when an attempt went wrong as a whole, instead of git \
checkout or git reset, which lose changes of others too. All is taken back or nothing; a file that has changed since, by a \
command or by hand, keeps it from being done. Do not use it for one of several files, which edit_file or write_file mend, or for \
what commands changed: that is not taken back. In a working tree, what was changed in it since it was entered is meant. The \
user is asked. Example: {}.";

/// The tool.
pub struct RevertTurn {
    journal: Arc<Journal>,
}

impl RevertTurn {
    /// The tool over what this journal has kept.
    pub fn new(journal: Arc<Journal>) -> Self {
        RevertTurn { journal }
    }
}

impl Tool for RevertTurn {
    fn name(&self) -> &str {
        "revert_turn"
    }

    fn description(&self) -> &str {
        DESCRIPTION
    }

    fn input_schema(&self) -> Value {
        json!({ "type": "object", "properties": {}, "additionalProperties": false })
    }

    fn run<'a>(&'a self, _: &'a Value, run: &'a RunContext) -> BoxFuture<'a, Result<ToolOutput, ToolError>> {
        Box::pin(async move {
            let journal = Arc::clone(&self.journal);
            blocking(run, move |_| {
                let reverted = journal.revert().map_err(|error| match error {
                    RevertError::Boundary(error) => refused(error),
                    RevertError::Nothing | RevertError::Changed(_) | RevertError::Unknown(_) => {
                        ToolError::InvalidInput(error.to_string())
                    }
                })?;
                let mut text = "The last turn is taken back:".to_owned();
                for one in reverted {
                    let how = match one.how {
                        How::Restored => "holds what it held",
                        How::BroughtBack => "is there again",
                        How::Removed => "is removed",
                    };
                    text.push_str(&format!("\n- {} {how}", one.path.display()));
                }
                Ok(ToolOutput::ok(text))
            })
            .await
        })
    }
}

impl ToolSpec for RevertTurn {
    fn capabilities(&self) -> CapabilitySet {
        CapabilitySet::of(&[Capability::WritesFiles, Capability::RequiresApproval])
    }

    fn is_destructive(&self) -> bool {
        true
    }

    /// All is taken back or nothing, and not half of it.
    fn interrupt_behaviour(&self) -> InterruptBehaviour {
        InterruptBehaviour::Finish
    }

    fn search_hint(&self) -> Option<&str> {
        Some("undo take back restore discard changes rollback")
    }

    fn presentation(&self) -> Presentation {
        Presentation {
            title: Some("Take back the turn".into()),
            activity: Some("Taking changes back".into()),
            transparent: false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        testing::{World, call},
        write_file::WriteFile,
    };
    use slot_runtime::{boundary::FileBoundary, mode::UserTurns, place::Place};

    #[test]
    fn what_a_tool_wrote_is_taken_back() {
        let world = World::new().with("a", "one");
        let journal = Arc::new(Journal::new(world.boundary(), UserTurns::default(), Place::default()));
        let tool = RevertTurn::new(Arc::clone(&journal));
        assert!(call(&tool, json!({})).is_err());
        let files = Arc::clone(&journal) as Arc<dyn FileBoundary>;
        call(&WriteFile::new(Arc::clone(&files)), json!({ "path": "a", "content": "two" })).expect("it is written");
        call(&WriteFile::new(files), json!({ "path": "b", "content": "two" })).expect("it is written");
        let told = call(&tool, json!({})).expect("an answer").content;
        assert_eq!(told, "The last turn is taken back:\n- a holds what it held\n- b is removed");
        assert!(!world.path("b").exists());
    }
}

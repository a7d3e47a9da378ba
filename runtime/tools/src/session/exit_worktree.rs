//! `exit_worktree`: back to the workspace, and the working tree kept or removed.

use super::working_tree::{Left, WorkingTrees, branch_name};
use crate::{
    input::{fault, invalid, optional_flag, text},
    work::blocking,
};
use serde_json::{Value, json};
use slot_runtime::{
    contract::{
        BoxFuture, Capability, CapabilitySet, InterruptBehaviour, Presentation, RunContext, Tool, ToolError,
        ToolOutput, ToolSpec, ValidationFault,
    },
    place::WORKING_TREES,
};
use std::sync::Arc;

const DESCRIPTION: &str = "\
Leave the working tree that enter_worktree entered, and work in the workspace again from the next call on. With action keep, \
tree and branch stay, and enter_worktree enters them again by their name. With action remove, the tree is removed, and its \
branch too unless it has commits of its own; where something would be lost that is neither committed nor ignored, nothing is \
removed and you are told what. discard_changes: true removes it all the same. Use it instead of git worktree remove in exec_shell, and do \
not use it to undo single changes, which git_diff shows and edit_file mends. The user is asked. \
Examples: {\"action\": \"keep\"}; {\"action\": \"remove\"}; {\"action\": \"remove\", \"discard_changes\": true}.";

/// The tool.
pub struct ExitWorktree {
    trees: Arc<WorkingTrees>,
}

impl ExitWorktree {
    /// The tool over these trees.
    pub fn new(trees: Arc<WorkingTrees>) -> Self {
        ExitWorktree { trees }
    }
}

/// Whether the tree is removed, and whether with what is committed nowhere.
fn request(input: &Value) -> Result<(bool, bool), ValidationFault> {
    let remove = match text(input, "action")? {
        "keep" => false,
        "remove" => true,
        _ => return Err(fault("action", "the action is keep or remove")),
    };
    let discard = optional_flag(input, "discard_changes")?.unwrap_or(false);
    if discard && !remove {
        return Err(fault("discard_changes", "a tree that is kept keeps its changes; leave discard_changes out"));
    }
    Ok((remove, discard))
}

impl Tool for ExitWorktree {
    fn name(&self) -> &str {
        "exit_worktree"
    }

    fn description(&self) -> &str {
        DESCRIPTION
    }

    fn input_schema(&self) -> Value {
        json!({
            "type": "object",
            "properties": {
                "action": { "type": "string", "enum": ["keep", "remove"], "description": "What becomes of the tree." },
                "discard_changes": {
                    "type": "boolean",
                    "description": "Whether to remove it with what is not committed.",
                },
            },
            "required": ["action"],
            "additionalProperties": false,
        })
    }

    fn run<'a>(&'a self, input: &'a Value, run: &'a RunContext) -> BoxFuture<'a, Result<ToolOutput, ToolError>> {
        Box::pin(async move {
            let (remove, discard) = request(input).map_err(invalid)?;
            let trees = Arc::clone(&self.trees);
            blocking(run, move |stop| {
                let (name, left) = trees.leave(remove, discard, stop)?;
                let became = match left {
                    Left::Kept => format!("stays in {WORKING_TREES}/{name}, on the branch it is on"),
                    Left::Gone => "is not there any more; somebody else has removed it".to_owned(),
                    Left::Removed => format!("is removed, and so is its branch {}", branch_name(&name)),
                    Left::RemovedFromBranch => "is removed; its branch stays, with its commits".to_owned(),
                };
                Ok(ToolOutput::ok(format!(
                    "The session is in the workspace again. The working tree {name} {became}. Paths and commands start in the \
                     workspace now."
                )))
            })
            .await
        })
    }
}

impl ToolSpec for ExitWorktree {
    fn capabilities(&self) -> CapabilitySet {
        CapabilitySet::of(&[Capability::WritesFiles, Capability::RequiresApproval])
    }

    fn validate_input(&self, input: &Value) -> Result<(), ValidationFault> {
        request(input).map(drop)
    }

    fn is_destructive(&self) -> bool {
        true
    }

    fn interrupt_behaviour(&self) -> InterruptBehaviour {
        InterruptBehaviour::Finish
    }

    fn search_hint(&self) -> Option<&str> {
        Some("git worktree leave back remove branch")
    }

    fn presentation(&self) -> Presentation {
        Presentation {
            title: Some("Leave working tree".into()),
            activity: Some("Leaving the working tree".into()),
            transparent: false,
        }
    }
}

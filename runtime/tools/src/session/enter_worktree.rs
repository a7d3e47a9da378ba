//! `enter_worktree`: from here on the session works in a working tree of its own.

use super::working_tree::{WorkingTrees, branch_name, check_name};
use crate::{
    git::revision,
    input::{invalid, text},
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
Work in a working tree of your own: a commit of the repository, checked out a second time in a folder of the workspace on a \
new branch, so that an attempt changes none of the user's files. From the next call on, every path and every command starts \
there, and the file tools reach nothing around it, until exit_worktree. What is not committed in the workspace is not there. A \
tree of this name that is there already is entered as it is. Use it instead of git worktree add in exec_shell, or of copying \
folders: no hook and no filter that the repository names is run. Do not use it for small changes, or to look at another \
commit, which git_show does. The user is asked. Examples: {\"name\": \"try-cache\"}; \
{\"name\": \"fix-1\", \"from\": \"main~2\"}.";

/// The tool.
pub struct EnterWorktree {
    trees: Arc<WorkingTrees>,
}

impl EnterWorktree {
    /// The tool over these trees.
    pub fn new(trees: Arc<WorkingTrees>) -> Self {
        EnterWorktree { trees }
    }
}

fn request(input: &Value) -> Result<(&str, Option<&str>), ValidationFault> {
    let name = text(input, "name")?;
    check_name(name)?;
    Ok((name, revision(input, "from")?))
}

impl Tool for EnterWorktree {
    fn name(&self) -> &str {
        "enter_worktree"
    }

    fn description(&self) -> &str {
        DESCRIPTION
    }

    fn input_schema(&self) -> Value {
        json!({
            "type": "object",
            "properties": {
                "name": { "type": "string", "description": "What the tree is called, such as try-cache." },
                "from": {
                    "type": "string",
                    "description": "The branch, tag or hash that a new tree is made of; the last commit when absent.",
                },
            },
            "required": ["name"],
            "additionalProperties": false,
        })
    }

    fn run<'a>(&'a self, input: &'a Value, run: &'a RunContext) -> BoxFuture<'a, Result<ToolOutput, ToolError>> {
        Box::pin(async move {
            let (name, from) = request(input).map_err(invalid)?;
            let (name, from) = (name.to_owned(), from.map(str::to_owned));
            let trees = Arc::clone(&self.trees);
            blocking(run, move |stop| {
                let how = match trees.enter(&name, from.as_deref(), stop)?.made_of {
                    Some(commit) => format!("made of {:.10} on the new branch {}", commit, branch_name(&name)),
                    None => "which was there already".to_owned(),
                };
                Ok(ToolOutput::ok(format!(
                    "The session is in the working tree {name} ({WORKING_TREES}/{name}), {how}. Paths and commands start there \
                     now; what you read of the workspace counts as not read here. Leave it with exit_worktree."
                )))
            })
            .await
        })
    }
}

impl ToolSpec for EnterWorktree {
    fn capabilities(&self) -> CapabilitySet {
        CapabilitySet::of(&[Capability::WritesFiles, Capability::RequiresApproval])
    }

    fn validate_input(&self, input: &Value) -> Result<(), ValidationFault> {
        request(input).map(drop)
    }

    /// A tree is there or not, and not half of it.
    fn interrupt_behaviour(&self) -> InterruptBehaviour {
        InterruptBehaviour::Finish
    }

    fn search_hint(&self) -> Option<&str> {
        Some("git worktree isolate branch separate copy experiment")
    }

    fn presentation(&self) -> Presentation {
        Presentation {
            title: Some("Enter working tree".into()),
            activity: Some("Making a working tree".into()),
            transparent: false,
        }
    }
}

//! `git_status`: which files differ from the last commit.

use super::{Git, path, with_repository};
use crate::input::{invalid, optional_flag};
use serde_json::{Value, json};
use slot_runtime::contract::{
    BoxFuture, Capability, CapabilitySet, Presentation, RunContext, Tool, ToolError, ToolOutput, ToolSpec,
    ValidationFault,
};
use std::sync::Arc;

const DESCRIPTION: &str = "\
Show the state of the git repository: the branch, and each changed, staged or untracked file on a line of its own, as \
`git status --short --branch` does. The first letter is the index against the last commit, the second the file against the \
index; `??` is untracked. Use this instead of git status in exec_shell: it needs no approval and starts nothing that the \
repository names. Do not use it to see what changed inside a file; that is git_diff. Submodules are left out, and \
filters such as LFS are not applied. Examples: {}; {\"path\": \"src\"}.";

/// What a name in the repository's own folder tells of.
const UNDER_WAY: [(&str, &str); 6] = [
    ("MERGE_HEAD", "A merge"),
    ("rebase-merge", "A rebase"),
    ("rebase-apply", "A rebase or an am"),
    ("CHERRY_PICK_HEAD", "A cherry-pick"),
    ("REVERT_HEAD", "A revert"),
    ("BISECT_LOG", "A bisection"),
];

/// The tool.
pub struct GitStatus {
    git: Arc<Git>,
}

impl GitStatus {
    /// The tool over `git`.
    pub fn new(git: Arc<Git>) -> Self {
        GitStatus { git }
    }
}

impl Tool for GitStatus {
    fn name(&self) -> &str {
        "git_status"
    }

    fn description(&self) -> &str {
        DESCRIPTION
    }

    fn input_schema(&self) -> Value {
        json!({
            "type": "object",
            "properties": {
                "path": {
                    "type": "string",
                    "description": "A file or folder to look at, relative to the workspace; the whole repository when absent.",
                },
                "all_untracked": {
                    "type": "boolean",
                    "description": "Whether to name each file in untracked folders, and not only the folders.",
                },
            },
            "additionalProperties": false,
        })
    }

    fn run<'a>(&'a self, input: &'a Value, run: &'a RunContext) -> BoxFuture<'a, Result<ToolOutput, ToolError>> {
        Box::pin(async move {
            let all = optional_flag(input, "all_untracked").map_err(invalid)?.unwrap_or(false);
            let path = path(input, "path").map_err(invalid)?;
            with_repository(&self.git, run, path, move |repository, stop| {
                let untracked = if all { "--untracked-files=all" } else { "--untracked-files=normal" };
                let mut arguments =
                    vec!["status", "--porcelain=v1", "--branch", untracked, "--ignore-submodules=all", "--"];
                arguments.extend(repository.path.as_deref());
                let mut text = repository.text(&arguments, stop, "Pass a path to see less.")?;
                if text.lines().count() == 1 {
                    text.push_str("[No changes.]\n");
                }
                for (name, what) in UNDER_WAY {
                    if repository.own_names.iter().any(|own| own == name) {
                        text.push_str(&format!("[{what} is under way.]\n"));
                    }
                }
                Ok(ToolOutput::ok(text.trim_end()))
            })
            .await
        })
    }
}

impl ToolSpec for GitStatus {
    fn capabilities(&self) -> CapabilitySet {
        CapabilitySet::of(&[Capability::ReadOnly])
    }

    fn validate_input(&self, input: &Value) -> Result<(), ValidationFault> {
        path(input, "path").map(drop)
    }

    fn supports_parallel(&self) -> bool {
        true
    }

    fn search_hint(&self) -> Option<&str> {
        Some("version control branch changed modified staged untracked files")
    }

    fn presentation(&self) -> Presentation {
        Presentation {
            title: Some("Git status".into()),
            activity: Some("Looking at the repository".into()),
            transparent: false,
        }
    }
}

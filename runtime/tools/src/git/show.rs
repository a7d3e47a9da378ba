//! `git_show`: one commit and what it changed, or a file as it was.

use super::{Git, path, revision::revision, with_repository};
use crate::input::{fault, invalid, optional_flag};
use serde_json::{Value, json};
use slot_runtime::contract::{
    BoxFuture, Capability, CapabilitySet, Presentation, RunContext, Tool, ToolError, ToolOutput, ToolSpec,
    ValidationFault,
};
use std::sync::Arc;

const DESCRIPTION: &str = "\
Show one commit: who made it and when, its whole message, and its changes as a unified diff. With `rev` as \
REVISION:PATH, such as HEAD~2:src/lib.rs, show that file as it was then; the path is the one from the root of the repository. \
Use this instead of git show in exec_shell: it needs no approval and starts nothing that the repository names. With `stat` \
only names and numbers of lines are shown instead of the diff. Do not use it to find a commit, which git_log does, or to \
compare two of them, which git_diff does. \
Examples: {\"rev\": \"HEAD\"}; {\"rev\": \"a1b2c3d\", \"stat\": true}; {\"rev\": \"main:README.md\"}.";

/// The head of a commit, the same on every machine.
const FORMAT: &str = "--format=commit %H%nAuthor: %an <%ae>%nDate: %ad%nRefs:%d%n%n%B";

/// The tool.
pub struct GitShow {
    git: Arc<Git>,
}

impl GitShow {
    /// The tool over `git`.
    pub fn new(git: Arc<Git>) -> Self {
        GitShow { git }
    }
}

fn rev(input: &Value) -> Result<&str, ValidationFault> {
    revision(input, "rev")?.ok_or_else(|| fault("rev", "the field \"rev\" is missing; pass a revision, such as HEAD"))
}

impl Tool for GitShow {
    fn name(&self) -> &str {
        "git_show"
    }

    fn description(&self) -> &str {
        DESCRIPTION
    }

    fn input_schema(&self) -> Value {
        json!({
            "type": "object",
            "properties": {
                "rev": { "type": "string", "description": "The commit or tag, or REVISION:PATH for a file of one." },
                "path": {
                    "type": "string",
                    "description": "Only the changes of this file or folder, relative to the workspace.",
                },
                "stat": { "type": "boolean", "description": "Whether to show only names and numbers of lines." },
            },
            "required": ["rev"],
            "additionalProperties": false,
        })
    }

    fn run<'a>(&'a self, input: &'a Value, run: &'a RunContext) -> BoxFuture<'a, Result<ToolOutput, ToolError>> {
        Box::pin(async move {
            let rev = rev(input).map_err(invalid)?.to_owned();
            let stat = optional_flag(input, "stat").map_err(invalid)?.unwrap_or(false);
            let path = path(input, "path").map_err(invalid)?;
            with_repository(&self.git, run, path, move |repository, stop| {
                let hash = repository.resolve(&rev, stop)?;
                if repository.kind(&hash, stop)? == "blob" {
                    let next = "Read the file itself in pages, or the commits that changed it with git_log.";
                    let text = repository.text(&["cat-file", "blob", &hash], stop, next)?;
                    return Ok(ToolOutput::ok(match text {
                        text if text.contains('\0') => format!("[{rev} is no text.]"),
                        text if text.is_empty() => format!("[{rev} is empty.]"),
                        text => text,
                    }));
                }
                let mut arguments = vec![
                    "show",
                    "--no-ext-diff",
                    "--no-textconv",
                    "--no-color",
                    "--no-show-signature",
                    "--decorate=short",
                    "--date=iso",
                    FORMAT,
                ];
                arguments.extend(stat.then_some("--stat=100"));
                arguments.extend([hash.as_str(), "--"]);
                arguments.extend(repository.path.as_deref());
                let text = repository.text(&arguments, stop, "Pass a path, or stat: true for the names alone.")?;
                Ok(ToolOutput::ok(if text.is_empty() {
                    format!("[{rev} changes nothing there.]")
                } else {
                    text.replacen("\nRefs:\n", "\n", 1)
                }))
            })
            .await
        })
    }
}

impl ToolSpec for GitShow {
    fn capabilities(&self) -> CapabilitySet {
        CapabilitySet::of(&[Capability::ReadOnly])
    }

    fn validate_input(&self, input: &Value) -> Result<(), ValidationFault> {
        rev(input)?;
        path(input, "path").map(drop)
    }

    fn supports_parallel(&self) -> bool {
        true
    }

    fn search_hint(&self) -> Option<&str> {
        Some("version control commit message patch old version of a file revision tag")
    }

    fn presentation(&self) -> Presentation {
        Presentation {
            title: Some("Git show".into()),
            activity: Some("Looking at a commit".into()),
            transparent: false,
        }
    }
}

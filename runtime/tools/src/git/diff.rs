//! `git_diff`: what changed inside files.

use super::{Git, path, revision::revision, with_repository};
use crate::input::{fault, invalid, optional_count, optional_flag};
use serde_json::{Value, json};
use slot_runtime::contract::{
    BoxFuture, Capability, CapabilitySet, Presentation, RunContext, Tool, ToolError, ToolOutput, ToolSpec,
    ValidationFault,
};
use std::sync::Arc;

/// The most lines around a change.
const MAX_CONTEXT: u64 = 100;

const DESCRIPTION: &str = "\
Show what changed as a unified diff. Without fields: the files against the index, that is what is not staged yet. \
`staged`: the index against the last commit. `from`: the files against that revision; `from` and `to`: two revisions. Use \
this instead of git diff in exec_shell: it needs no approval and starts nothing that the repository names. With `stat` only \
the names and the numbers of lines are shown; begin with it when much may have changed. Do not use it for the changes \
of one commit, which git_show tells, or for untracked files, which git_status names and read_file shows. Submodules are left \
out. Examples: {}; {\"staged\": true, \"stat\": true}; {\"from\": \"main\", \"to\": \"HEAD\", \"path\": \"src/lib.rs\"}.";

/// The tool.
pub struct GitDiff {
    git: Arc<Git>,
}

impl GitDiff {
    /// The tool over `git`.
    pub fn new(git: Arc<Git>) -> Self {
        GitDiff { git }
    }
}

struct Request {
    path: Option<String>,
    staged: bool,
    from: Option<String>,
    to: Option<String>,
    stat: bool,
    context: u64,
}

impl Request {
    fn of(input: &Value) -> Result<Request, ValidationFault> {
        let request = Request {
            path: path(input, "path")?.map(str::to_owned),
            staged: optional_flag(input, "staged")?.unwrap_or(false),
            from: revision(input, "from")?.map(str::to_owned),
            to: revision(input, "to")?.map(str::to_owned),
            stat: optional_flag(input, "stat")?.unwrap_or(false),
            context: optional_count(input, "context", 0)?.unwrap_or(3),
        };
        if request.context > MAX_CONTEXT {
            return Err(fault(
                "context",
                format!("the most lines of context are {MAX_CONTEXT}; read the file for more"),
            ));
        }
        if request.to.is_some() && (request.from.is_none() || request.staged) {
            let message = "`to` goes with `from`, and not with `staged`; pass `from` and `to` to compare two revisions";
            return Err(fault("to", message));
        }
        Ok(request)
    }
}

impl Tool for GitDiff {
    fn name(&self) -> &str {
        "git_diff"
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
                "staged": { "type": "boolean", "description": "Whether to compare the index and not the files." },
                "from": { "type": "string", "description": "The older revision, such as HEAD~1 or main." },
                "to": { "type": "string", "description": "The newer revision; the files when absent." },
                "stat": { "type": "boolean", "description": "Whether to show only names and numbers of lines." },
                "context": {
                    "type": "integer", "minimum": 0, "maximum": MAX_CONTEXT,
                    "description": "How many lines around each change; 3 when absent.",
                },
            },
            "additionalProperties": false,
        })
    }

    fn run<'a>(&'a self, input: &'a Value, run: &'a RunContext) -> BoxFuture<'a, Result<ToolOutput, ToolError>> {
        Box::pin(async move {
            let request = Request::of(input).map_err(invalid)?;
            let path = request.path.clone();
            with_repository(&self.git, run, path.as_deref(), move |repository, stop| {
                let resolve = |revision: &Option<String>| {
                    revision.as_deref().map(|revision| repository.resolve(revision, stop)).transpose()
                };
                let (from, to) = (resolve(&request.from)?, resolve(&request.to)?);
                let context = format!("--unified={}", request.context);
                let mut arguments =
                    vec!["diff", "--no-ext-diff", "--no-textconv", "--no-color", "--ignore-submodules=all"];
                arguments.push(if request.stat { "--stat=100" } else { &context });
                arguments.extend(request.staged.then_some("--cached"));
                arguments.extend(from.as_deref());
                arguments.extend(to.as_deref());
                arguments.push("--");
                arguments.extend(repository.path.as_deref());
                let text = repository.text(&arguments, stop, "Pass a path, or stat: true for the names alone.")?;
                Ok(ToolOutput::ok(if text.is_empty() { nothing(&request).to_owned() } else { text }))
            })
            .await
        })
    }
}

fn nothing(request: &Request) -> &'static str {
    match (&request.from, request.staged) {
        (None, false) => {
            "[No difference between the files and the index. What is staged is shown by staged: true, and untracked files by \
             git_status.]"
        }
        (None, true) => "[Nothing is staged.]",
        (Some(_), _) => "[No difference.]",
    }
}

impl ToolSpec for GitDiff {
    fn capabilities(&self) -> CapabilitySet {
        CapabilitySet::of(&[Capability::ReadOnly])
    }

    fn validate_input(&self, input: &Value) -> Result<(), ValidationFault> {
        Request::of(input).map(drop)
    }

    fn supports_parallel(&self) -> bool {
        true
    }

    fn search_hint(&self) -> Option<&str> {
        Some("version control changes difference compare staged unified patch")
    }

    fn presentation(&self) -> Presentation {
        Presentation { title: Some("Git diff".into()), activity: Some("Looking at changes".into()), transparent: false }
    }
}

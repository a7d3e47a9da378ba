//! `git_log`: which commits there are.

use super::{Git, path, repository::no_commits, revision::revision, with_repository};
use crate::input::{fault, invalid, optional_count, optional_text};
use serde_json::{Value, json};
use slot_runtime::contract::{
    BoxFuture, Capability, CapabilitySet, Presentation, RunContext, Tool, ToolError, ToolOutput, ToolSpec,
    ValidationFault,
};
use std::sync::Arc;

/// How many commits are shown when nothing else is asked for.
const DEFAULT_COUNT: u64 = 20;
/// The most that can be asked for.
const MAX_COUNT: u64 = 200;
/// The longest text to search for, in bytes.
const MAX_FILTER: usize = 512;

const DESCRIPTION: &str = "\
List commits, the newest first, one a line: hash, date, author, subject, and the branches and tags on it. Use this instead \
of git log in exec_shell: it needs no approval and starts nothing that the repository names. `path` keeps the commits that \
changed a file or folder, `rev` says where to begin or which range to show (main..HEAD), and `author`, `message`, `since` \
and `until` narrow it down. 20 commits are shown unless max_count says otherwise (200 at most); pass skip for older ones. Do \
not use it to see what a commit changed; that is git_show. \
Examples: {}; {\"path\": \"src/lib.rs\", \"max_count\": 5}; {\"rev\": \"v1.0..HEAD\", \"message\": \"fix\"}.";

/// The tool.
pub struct GitLog {
    git: Arc<Git>,
}

impl GitLog {
    /// The tool over `git`.
    pub fn new(git: Arc<Git>) -> Self {
        GitLog { git }
    }
}

struct Request {
    path: Option<String>,
    rev: Option<String>,
    count: u64,
    skip: u64,
    /// Options that narrow it down, each with its value in the same argument.
    filters: Vec<String>,
}

impl Request {
    fn of(input: &Value) -> Result<Request, ValidationFault> {
        let mut filters = Vec::new();
        for (field, option) in
            [("author", "--author"), ("message", "--grep"), ("since", "--since"), ("until", "--until")]
        {
            let Some(text) = optional_text(input, field)? else { continue };
            if text.is_empty() || text.len() > MAX_FILTER || text.contains(char::is_control) {
                return Err(fault(
                    field,
                    format!(
                        "the field {field:?} must be one line of 1 to {MAX_FILTER} bytes; leave it out for every commit"
                    ),
                ));
            }
            filters.push(format!("{option}={text}"));
        }
        let count = optional_count(input, "max_count", 1)?.unwrap_or(DEFAULT_COUNT);
        if count > MAX_COUNT {
            return Err(fault(
                "max_count",
                format!("the most commits at once are {MAX_COUNT}; pass skip for older ones"),
            ));
        }
        Ok(Request {
            path: path(input, "path")?.map(str::to_owned),
            rev: revision(input, "rev")?.map(str::to_owned),
            count,
            skip: optional_count(input, "skip", 0)?.unwrap_or(0).min(u64::from(u32::MAX)),
            filters,
        })
    }
}

impl Tool for GitLog {
    fn name(&self) -> &str {
        "git_log"
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
                    "description": "Only commits that changed this file or folder, relative to the workspace.",
                },
                "rev": {
                    "type": "string",
                    "description": "Where to begin, or a range such as main..HEAD; HEAD when absent.",
                },
                "max_count": {
                    "type": "integer", "minimum": 1, "maximum": MAX_COUNT,
                    "description": "The most commits to show: 20 when absent.",
                },
                "skip": { "type": "integer", "minimum": 0, "description": "How many of the newest to pass over." },
                "author": { "type": "string", "description": "Only commits whose author's name or address holds this text." },
                "message": { "type": "string", "description": "Only commits whose message holds this text, in any case." },
                "since": { "type": "string", "description": "Only commits after this date, such as 2026-01-31." },
                "until": { "type": "string", "description": "Only commits before this date." },
            },
            "additionalProperties": false,
        })
    }

    fn run<'a>(&'a self, input: &'a Value, run: &'a RunContext) -> BoxFuture<'a, Result<ToolOutput, ToolError>> {
        Box::pin(async move {
            let request = Request::of(input).map_err(invalid)?;
            let path = request.path.clone();
            with_repository(&self.git, run, path.as_deref(), move |repository, stop| {
                if request.rev.is_none() && !repository.has_commits(stop)? {
                    return Err(no_commits());
                }
                // One more than is shown, to know whether there is one.
                let (count, skip) = (format!("--max-count={}", request.count + 1), format!("--skip={}", request.skip));
                let mut arguments = vec![
                    "log",
                    "--no-color",
                    "--no-show-signature",
                    "--decorate=short",
                    "--abbrev=10",
                    "--format=%h %as %an: %s%d",
                    "--fixed-strings",
                    "--regexp-ignore-case",
                    &count,
                    &skip,
                ];
                arguments.extend(request.filters.iter().map(String::as_str));
                arguments.extend(["--end-of-options", request.rev.as_deref().unwrap_or("HEAD"), "--"]);
                arguments.extend(repository.path.as_deref());
                let text = repository.text(&arguments, stop, "Pass a smaller max_count.")?;
                Ok(ToolOutput::ok(shown(&text, &request)))
            })
            .await
        })
    }
}

fn shown(text: &str, request: &Request) -> String {
    let count = usize::try_from(request.count).unwrap_or(usize::MAX);
    let mut lines: Vec<&str> = text.lines().take(count).collect();
    if lines.is_empty() {
        return "[No commit is like that.]".to_owned();
    }
    let more =
        format!("[There are older ones: pass skip: {} to see them.]", request.skip.saturating_add(request.count));
    if text.lines().count() > count {
        lines.push(&more);
    }
    lines.join("\n")
}

impl ToolSpec for GitLog {
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
        Some("version control history commits author date who when")
    }

    fn presentation(&self) -> Presentation {
        Presentation {
            title: Some("Git log".into()),
            activity: Some("Looking at the history".into()),
            transparent: false,
        }
    }
}

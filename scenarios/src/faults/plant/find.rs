//! The tools of the reference runtime that find and read files, in the ways in which they go wrong.

use super::Seam;
use super::wrapped::{Flaws, Wrapped};
use serde_json::{Value, json};
use slot_runtime::contract::{BoxFuture, RunContext, ToolError, ToolOutput, ToolSpec, ValidationFault};
use std::sync::Arc;

/// The tools that find.
const FINDERS: [&str; 4] = ["file_search", "glob_files", "grep_files", "list_dir"];

/// Whether the seam is one of these tools.
pub(super) fn decorates(seam: Seam) -> bool {
    matches!(
        seam,
        Seam::FindFollows
            | Seam::FindCaps
            | Seam::FindUnsorted
            | Seam::FindEverywhere
            | Seam::FindSilent
            | Seam::FindTerse
            | Seam::FindWaits
    ) || is_read(seam)
}

fn is_read(seam: Seam) -> bool {
    matches!(seam, Seam::ReadSkips | Seam::ReadWhole | Seam::ReadPaged | Seam::ReadEnds | Seam::ReadGuesses)
}

/// The tools, with those that find or read replaced.
pub(super) fn plant(seam: Seam, tools: Vec<Arc<dyn ToolSpec>>) -> Vec<Arc<dyn ToolSpec>> {
    let shell = tools.iter().find(|tool| tool.name() == "exec_shell").cloned();
    let said = matches!(seam, Seam::FindSilent | Seam::FindTerse);
    let broken = |tool: Arc<dyn ToolSpec>| {
        let reads = tool.name() == "read_file" && (is_read(seam) || said);
        let finds = FINDERS.contains(&tool.name()) && !is_read(seam);
        match &shell {
            Some(shell) if reads || finds => Wrapped::tool(tool, Broken { seam, shell: Arc::clone(shell) }),
            _ => tool,
        }
    };
    tools.into_iter().map(broken).collect()
}

struct Broken {
    seam: Seam,
    shell: Arc<dyn ToolSpec>,
}

impl Flaws for Broken {
    fn run<'a>(
        &'a self,
        inner: &'a dyn ToolSpec,
        input: &'a Value,
        run: &'a RunContext,
    ) -> BoxFuture<'a, Result<ToolOutput, ToolError>> {
        Box::pin(async move {
            if let Some(command) = by_hand(self.seam, inner.name(), input) {
                return self.shell.run(&json!({ "command": command }), run).await;
            }
            let mut input = input.clone();
            match self.seam {
                Seam::FindWaits => return std::future::pending().await,
                Seam::FindEverywhere if inner.name() != "list_dir" => input["include_ignored"] = json!(true),
                Seam::ReadPaged if input.get("start_line").is_none() => input["start_line"] = json!(1),
                _ => {}
            }
            match inner.run(&input, run).await {
                Err(_) if self.seam == Seam::FindTerse => Err(ToolError::InvalidInput("no".to_owned())),
                Ok(output) if self.seam == Seam::ReadEnds && output.content.contains("[NO CONTENT]") => {
                    Err(ToolError::InvalidInput("there is no such line".to_owned()))
                }
                Ok(output) => Ok(ToolOutput { content: spoiled(self.seam, &output.content), ..output }),
                error => error,
            }
        })
    }

    fn validate_input(&self, inner: &dyn ToolSpec, input: &Value) -> Result<(), ValidationFault> {
        let judged = inner.validate_input(input);
        if self.seam == Seam::FindTerse {
            judged.map_err(|fault| ValidationFault::at(fault.pointer, "no"))
        } else {
            judged
        }
    }
}

/// What somebody would type in a shell in place of the call.
fn by_hand(seam: Seam, tool: &str, input: &Value) -> Option<String> {
    let field = |name: &str| input[name].as_str().unwrap_or(".");
    match (seam, tool) {
        (Seam::FindFollows, "grep_files") => Some(format!("grep -RIn -E -e '{}' {}", field("pattern"), field("path"))),
        (Seam::FindFollows, _) => Some(format!("find -L {} -type f", field("path"))),
        (Seam::ReadWhole, _) => Some(format!("cat {}", field("path"))),
        _ => None,
    }
}

fn spoiled(seam: Seam, text: &str) -> String {
    let lines: Vec<&str> = text.lines().collect();
    match seam {
        Seam::FindSilent => lines.into_iter().filter(|line| !line.starts_with('[')).collect::<Vec<_>>().join("\n"),
        Seam::FindUnsorted => lines.into_iter().rev().collect::<Vec<_>>().join("\n"),
        Seam::FindCaps => {
            let (shown, rest) = (lines.len().saturating_sub(2), text.trim_start_matches(|c: char| c.is_ascii_digit()));
            format!("{shown}{rest}")
        }
        Seam::ReadSkips => {
            let next = |word: &str| if word.starts_with("start_line=") { format!("{word}0") } else { word.to_owned() };
            text.split(' ').map(next).collect::<Vec<_>>().join(" ")
        }
        Seam::ReadGuesses => text.replace("at least ", "").replace("+\"", "\""),
        _ => text.to_owned(),
    }
}

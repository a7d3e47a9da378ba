//! The edits of the reference runtime, in the ways in which they go wrong.

use super::Seam;
use super::wrapped::{Flaws, Wrapped};
use serde_json::Value;
use slot_runtime::contract::{BoxFuture, RunContext, ToolError, ToolOutput, ToolSpec, ValidationFault};
use std::sync::Arc;

/// The names of the tools.
const EDITS: [&str; 3] = ["apply_patch", "edit_file", "fim_edit"];

pub(super) fn decorates(seam: Seam) -> bool {
    matches!(
        seam,
        Seam::EditRefuse | Seam::EditSilent | Seam::EditTerse | Seam::PatchFirst | Seam::PatchTop | Seam::PatchSkips
    )
}

/// The tools, with those that edit replaced.
pub(super) fn plant(seam: Seam, tools: Vec<Arc<dyn ToolSpec>>) -> Vec<Arc<dyn ToolSpec>> {
    let broken = |tool: Arc<dyn ToolSpec>| {
        if EDITS.contains(&tool.name()) { Wrapped::tool(tool, Broken { seam }) } else { tool }
    };
    tools.into_iter().map(broken).collect()
}

struct Broken {
    seam: Seam,
}

impl Flaws for Broken {
    fn validate_input(&self, inner: &dyn ToolSpec, input: &Value) -> Result<(), ValidationFault> {
        match self.seam {
            Seam::PatchSkips => inner.validate_input(&without_the_impossible(input)),
            _ => inner.validate_input(input),
        }
    }

    fn run<'a>(
        &'a self,
        inner: &'a dyn ToolSpec,
        input: &'a Value,
        run: &'a RunContext,
    ) -> BoxFuture<'a, Result<ToolOutput, ToolError>> {
        Box::pin(async move {
            if self.seam == Seam::EditRefuse {
                return Err(ToolError::InvalidInput("the text was not found".to_owned()));
            }
            if self.seam == Seam::PatchSkips {
                return inner.run(&without_the_impossible(input), run).await;
            }
            if self.seam == Seam::PatchTop {
                return inner.run(&at_line(input, "1").unwrap_or_else(|| input.clone()), run).await;
            }
            match (self.seam, inner.run(input, run).await) {
                (Seam::PatchFirst, Err(ToolError::InvalidInput(said))) => match bound(input, &said) {
                    Some(bound) => inner.run(&bound, run).await,
                    None => Err(ToolError::InvalidInput(said)),
                },
                (Seam::EditSilent, Ok(output)) => {
                    let kept: Vec<&str> = output.content.lines().filter(|line| !line.starts_with('[')).collect();
                    Ok(ToolOutput { content: kept.join("\n"), ..output })
                }
                (Seam::EditTerse, Err(_)) => Err(ToolError::InvalidInput("no".to_owned())),
                (_, result) => result,
            }
        })
    }
}

/// The patch with its hunk on the first of the lines that a refusal names.
fn bound(input: &Value, said: &str) -> Option<Value> {
    let (_, places) = said.split_once("several places (line ")?;
    let first: String = places.chars().take_while(char::is_ascii_digit).collect();
    at_line(input, &first)
}

/// The patch with its last hunk on another line.
fn at_line(input: &Value, line: &str) -> Option<Value> {
    let (head, hunk) = input["patch"].as_str()?.rsplit_once("@@ -")?;
    let rest = hunk.trim_start_matches(|c: char| c.is_ascii_digit());
    let mut bound = input.clone();
    bound["patch"] = format!("{head}@@ -{line}{rest}").into();
    Some(bound)
}

/// The input with a patch that has lost its sections of git about anything but text, if it is a patch.
fn without_the_impossible(input: &Value) -> Value {
    let mut left = input.clone();
    if let Some(patch) = input["patch"].as_str() {
        let impossible = |section: &&str| !section.contains("GIT binary patch") && !section.contains("mode 120000");
        let sections = patch.split("diff --git ").filter(impossible).collect::<Vec<_>>();
        left["patch"] = sections.join("diff --git ").into();
    }
    left
}

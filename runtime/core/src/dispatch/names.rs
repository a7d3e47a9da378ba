//! Names: the tool that a model's name means, and the answer where it means none.
//!
//! The ladder itself is [`slot_wire::names`], a pure function. This file knows which tools take part, and words the answers.
//! It does not decide who is asked about a guess.

use super::call::{Refusal, Stage};
use super::policy::{NameResolver, Resolution};
use crate::contract::{Exposure, MetadataSnapshot, ToolMetadata};
use slot_wire::names::{Candidate, Meaning, NameMatch, quoted, resolve};

#[cfg(test)]
mod tests;

/// The most names of the catalog that an answer lists.
const LISTED: usize = 60;

/// The name ladder: exact, case, separators, CamelCase, a `tool` suffix, a unique beginning.
pub struct NameLadder;

impl NameResolver for NameLadder {
    fn resolve(&self, requested: &str, snapshot: &MetadataSnapshot) -> Result<Resolution, Refusal> {
        // What the ladder's first rung finds, without a look at every tool: a tool's own name outranks every alias.
        if let Some(tool) = snapshot.tools.get(requested) {
            return match is_withheld(tool) {
                true => Err(Refusal::new(Stage::Name, withheld(requested, snapshot))),
                false => Ok(Resolution { tool: tool.name.clone(), how: NameMatch::Exact }),
            };
        }
        // Hidden tools take part, so that a name that means one does not slide on to its neighbour.
        let tools: Vec<Candidate<'_>> = snapshot.tools.values().map(|tool| candidate(tool)).collect();
        let reason = match resolve(requested, &tools) {
            Meaning::Tool { name, how } => return Ok(Resolution { tool: name.to_owned(), how }),
            Meaning::Withheld => withheld(requested, snapshot),
            Meaning::Several(names) => ambiguous(requested, &names),
            Meaning::Unknown(near) => unknown(requested, &near, snapshot),
            Meaning::NoName(near) => illegal(requested, &near, snapshot),
        };
        Err(Refusal::new(Stage::Name, reason))
    }
}

/// Whether the tool is there for nobody who calls it by name: not at all, or only within another.
fn is_withheld(tool: &ToolMetadata) -> bool {
    matches!(tool.exposure, Exposure::Hidden | Exposure::Inner)
}

fn candidate(tool: &ToolMetadata) -> Candidate<'_> {
    Candidate {
        name: &tool.name,
        aliases: &tool.aliases,
        is_withheld: is_withheld(tool),
        // Not a stub that always answers unavailable. A deferred tool is: calling it is how its schema is had.
        is_suggested: tool.fail_closed.is_none(),
    }
}

fn illegal(requested: &str, near: &[&str], snapshot: &MetadataSnapshot) -> String {
    format!(
        "{} is no tool name: a name has 1 to 64 letters, digits, underscores or hyphens, and arguments are sent beside it, \
         not in it; nothing was run. {}",
        quoted(requested),
        next_step(near, snapshot)
    )
}

/// Names no tool: a withheld one is not to be found by asking for its neighbours.
fn withheld(requested: &str, snapshot: &MetadataSnapshot) -> String {
    format!("the tool {} is not available in this session; nothing was run. {}", quoted(requested), listed(snapshot))
}

fn ambiguous(requested: &str, several: &[&str]) -> String {
    let shown: Vec<&str> = several.iter().copied().take(LISTED).collect();
    format!(
        "{} could mean several tools, so nothing was run. Did you mean: {}? Call the one you mean by its full name",
        quoted(requested),
        shown.join(", ")
    )
}

fn unknown(requested: &str, near: &[&str], snapshot: &MetadataSnapshot) -> String {
    format!("there is no tool {} here; nothing was run. {}", quoted(requested), next_step(near, snapshot))
}

fn next_step(near: &[&str], snapshot: &MetadataSnapshot) -> String {
    if near.is_empty() { listed(snapshot) } else { format!("Did you mean: {}?", near.join(", ")) }
}

fn listed(snapshot: &MetadataSnapshot) -> String {
    let names = snapshot.catalog.names();
    let mut text = names.iter().take(LISTED).map(String::as_str).collect::<Vec<_>>().join(", ");
    if names.len() > LISTED {
        text.push_str(&format!(" and {} more", names.len() - LISTED));
    }
    if text.is_empty() { "There are no tools".to_owned() } else { format!("The tools are: {text}") }
}

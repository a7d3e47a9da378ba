//! Names: which tool a name means that a model wrote.
//!
//! A ladder of readings, each looser than the one before. The first rung on which anything answers decides; what a rung
//! finds is never weighed against the next. All tools take part, hidden ones and aliases included, because a name that
//! means a withheld tool must not slide on to its neighbour. Similarity never runs anything: it only suggests.
//!
//! This file does not decide who is asked about a guess; it says that it was one ([`NameMatch::Prefix`]).

use super::call::{Refusal, Stage};
use super::policy::{NameMatch, NameResolver, Resolution};
use crate::contract::{Exposure, MetadataSnapshot, ToolMetadata};
use std::collections::BTreeSet;

#[cfg(test)]
mod tests;

/// The longest name that is looked at. No provider advertises a longer one, and distances cost its square.
const LONGEST: usize = 64;
/// The shortest beginning of a name that may stand for it.
const SHORTEST_PREFIX: usize = 3;
/// How far a suggestion may be from what was written, in edits.
const FARTHEST: usize = 3;
/// The most names that are suggested.
const SUGGESTIONS: usize = 3;
/// The most names of the catalog that an answer lists.
const LISTED: usize = 60;

/// The name ladder: exact, case, separators, CamelCase, a `tool` suffix, a unique beginning.
pub struct NameLadder;

impl NameResolver for NameLadder {
    fn resolve(&self, requested: &str, snapshot: &MetadataSnapshot) -> Result<Resolution, Refusal> {
        if !is_readable(requested) {
            return Err(refusal(illegal(requested, snapshot)));
        }
        for how in NameMatch::LADDER {
            let found = on_rung(how, requested, snapshot);
            match found.as_slice() {
                [] => {}
                [tool] if is_withheld(tool) => return Err(refusal(withheld(requested, snapshot))),
                [tool] => return Ok(Resolution { tool: tool.name.clone(), how }),
                several => return Err(refusal(ambiguous(requested, several, snapshot))),
            }
        }
        Err(refusal(unknown(requested, snapshot)))
    }
}

/// The name as it may be shown or sent back to a provider: only legal characters, at most 64 of them, never empty.
pub fn legal_form(name: &str) -> String {
    if crate::registry::is_legal_name(name) {
        return name.to_owned();
    }
    let clean: String =
        name.chars().take(LONGEST).map(|c| if c.is_ascii_alphanumeric() || c == '-' { c } else { '_' }).collect();
    if clean.is_empty() { "unnamed".to_owned() } else { clean }
}

/// The name as it is quoted in an answer: escaped, and cut where it is longer than any tool's.
pub fn quoted(name: &str) -> String {
    match name.char_indices().nth(LONGEST) {
        Some((end, _)) => format!("{:?}… ({} bytes)", &name[..end], name.len()),
        None => format!("{name:?}"),
    }
}

/// The words of a name in lower case, joined by underscores: `HTTPGet`, `http-get` and `Http Get` are all `http_get`.
pub(super) fn snake(name: &str) -> String {
    let chars: Vec<char> = name.trim().chars().collect();
    let mut out = String::with_capacity(chars.len() + 8);
    for (i, &c) in chars.iter().enumerate() {
        let before = i.checked_sub(1).and_then(|i| chars.get(i));
        let after = chars.get(i + 1);
        let starts_word = c.is_ascii_uppercase()
            && before.is_some_and(|b| {
                b.is_ascii_lowercase()
                    || b.is_ascii_digit()
                    || (b.is_ascii_uppercase() && after.is_some_and(char::is_ascii_lowercase))
            });
        if starts_word {
            out.push('_');
        }
        out.push(if c == '-' || c == ' ' { '_' } else { c.to_ascii_lowercase() });
    }
    out
}

/// Lower case, with hyphens and blanks as underscores.
fn separated(name: &str) -> String {
    name.trim().chars().map(|c| if c == '-' || c == ' ' { '_' } else { c.to_ascii_lowercase() }).collect()
}

/// Whether the name is looked at at all: letters, digits and separators of ASCII. Nothing else is folded into them, since
/// a letter that only looks like another must not turn a name that is denied into one that is not.
fn is_readable(name: &str) -> bool {
    (1..=LONGEST).contains(&name.len())
        && name.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'-' | b' '))
}

/// The tools that answer to the name on a rung, each once, sorted by name. A tool's own name outranks another's alias.
fn on_rung<'a>(how: NameMatch, requested: &str, snapshot: &'a MetadataSnapshot) -> Vec<&'a ToolMetadata> {
    let Some(wanted) = reading(how, requested) else { return Vec::new() };
    let answers = |name: &str| match how {
        NameMatch::Exact => name == wanted,
        NameMatch::Case => name.eq_ignore_ascii_case(&wanted),
        NameMatch::Separator => separated(name) == wanted,
        NameMatch::Camel | NameMatch::Suffix => snake(name) == wanted,
        NameMatch::Prefix => snake(name).starts_with(&wanted),
    };
    let tools = || snapshot.tools.values().map(AsRef::as_ref);
    let own: Vec<&ToolMetadata> = tools().filter(|tool| answers(&tool.name)).collect();
    let by_alias = |tool: &&ToolMetadata| tool.aliases.iter().any(|alias| answers(alias));
    match how {
        // A beginning is a guess, and everything that it could mean counts.
        NameMatch::Prefix => tools().filter(|tool| answers(&tool.name) || by_alias(tool)).collect(),
        _ if own.is_empty() => tools().filter(by_alias).collect(),
        _ => own,
    }
}

/// What is looked for on a rung; `None` where the rung has no reading of the name.
fn reading(how: NameMatch, requested: &str) -> Option<String> {
    match how {
        NameMatch::Exact | NameMatch::Case => Some(requested.to_owned()),
        NameMatch::Separator => Some(separated(requested)),
        NameMatch::Camel => Some(snake(requested)),
        NameMatch::Suffix => snake(requested).strip_suffix("_tool").filter(|rest| !rest.is_empty()).map(str::to_owned),
        NameMatch::Prefix => Some(snake(requested)).filter(|name| name.len() >= SHORTEST_PREFIX),
    }
}

fn is_withheld(tool: &ToolMetadata) -> bool {
    tool.exposure == Exposure::Hidden
}

fn refusal(reason: String) -> Refusal {
    Refusal::new(Stage::Name, reason)
}

fn illegal(requested: &str, snapshot: &MetadataSnapshot) -> String {
    let next = next_step(&suggestions(requested, snapshot), snapshot);
    format!(
        "{} is no tool name: a name has 1 to 64 letters, digits, underscores or hyphens, and arguments are sent beside it, \
         not in it; nothing was run. {next}",
        quoted(requested)
    )
}

/// Names no tool: a withheld one is not to be found by asking for its neighbours.
fn withheld(requested: &str, snapshot: &MetadataSnapshot) -> String {
    format!("the tool {} is not available in this session; nothing was run. {}", quoted(requested), listed(snapshot))
}

fn ambiguous(requested: &str, several: &[&ToolMetadata], snapshot: &MetadataSnapshot) -> String {
    let shown: Vec<&str> = several.iter().filter(|t| is_suggested(t)).map(|t| t.name.as_str()).take(LISTED).collect();
    if shown.is_empty() {
        return withheld(requested, snapshot);
    }
    format!(
        "{} could mean several tools, so nothing was run. Did you mean: {}? Call the one you mean by its full name",
        quoted(requested),
        shown.join(", ")
    )
}

fn unknown(requested: &str, snapshot: &MetadataSnapshot) -> String {
    let next = next_step(&suggestions(requested, snapshot), snapshot);
    format!("there is no tool {} here; nothing was run. {next}", quoted(requested))
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

/// Whether a tool may be named to the model as the one it may have meant: not a withheld one, nor a stub that always
/// answers unavailable. A deferred tool may: calling it is how its schema is had.
fn is_suggested(tool: &ToolMetadata) -> bool {
    !is_withheld(tool) && tool.fail_closed.is_none()
}

/// The tools' own names near to what was written, nearest first: at most three, none farther than three edits.
fn suggestions<'a>(requested: &str, snapshot: &'a MetadataSnapshot) -> Vec<&'a str> {
    if requested.len() > LONGEST {
        return Vec::new();
    }
    let wanted = snake(requested);
    let mut near: BTreeSet<(usize, usize, &str)> = BTreeSet::new();
    for tool in snapshot.tools.values().filter(|tool| is_suggested(tool)) {
        let names = std::iter::once(&tool.name).chain(&tool.aliases);
        let best = names.filter_map(|name| nearness(&wanted, &snake(name))).min();
        near.extend(best.map(|(rank, distance)| (rank, distance, tool.name.as_str())));
    }
    near.into_iter().map(|(_, _, name)| name).take(SUGGESTIONS).collect()
}

/// How near two names are: whether one begins with the other (0), holds it (1) or neither (2), then the edits between
/// them. `None` beyond three edits, and where every letter would have to change.
fn nearness(wanted: &str, name: &str) -> Option<(usize, usize)> {
    let distance = strsim::levenshtein(wanted, name);
    if distance > FARTHEST || distance >= wanted.chars().count() {
        return None;
    }
    let rank = if name.starts_with(wanted) || wanted.starts_with(name) {
        0
    } else if name.contains(wanted) || wanted.contains(name) {
        1
    } else {
        2
    };
    Some((rank, distance))
}

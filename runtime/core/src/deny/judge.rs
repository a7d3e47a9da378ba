//! Whether a rule with a parameter covers a call, and what the model is told.

use super::command::Commands;
use super::families::{Family, Field, Grammar, families};
use super::host::host_of;
use super::reader;
use super::rule::{DenyRule, Filter, Subject};
use super::{DenyRules, glob, squashed};
use crate::contract::{Capability, ToolMetadata};
use serde_json::Value;
use std::collections::BTreeMap;

/// The most texts of an input that are looked at. A tool that takes more in one call is none of ours.
const MOST_TEXTS: usize = 10_000;

/// What is said where the rule speaks for itself.
pub fn blanket() -> String {
    "No call of this tool is allowed. Go on without it, or tell the user what you need and why".to_owned()
}

/// What command lines of one input run: each is read once, however many rules ask.
pub type Known = BTreeMap<String, Commands>;

/// Why the rule denies the call, if it does. The rule does not hide the tool.
pub fn call(
    rule: &DenyRule,
    tool: &ToolMetadata,
    input: &Value,
    rules: &DenyRules,
    known: &mut Known,
) -> Option<String> {
    if !rule.names(tool) {
        return None;
    }
    match &rule.filter {
        Filter::Every => server(rule, input),
        Filter::Command(pattern) => texts(rule, tool, input).find_map(|text| {
            let Some(text) = text else { return Some(opaque("it is input for a program that runs", &pattern.shown())) };
            match known.entry(text.to_owned()).or_insert_with(|| reader::read(text)) {
                Commands::Opaque { why } => Some(opaque(why, &pattern.shown())),
                Commands::Simple(commands) => commands
                    .iter()
                    .any(|command| pattern.covers(command))
                    .then(|| format!("It denies `{}`, in whatever way it is called. {NEXT}", pattern.shown())),
            }
        }),
        Filter::Path(pattern) => texts(rule, tool, input).find_map(|text| {
            let covered = text.is_none_or(|text| spellings(text).any(|text| pattern.covers(text, &rules.roots)));
            covered.then(|| format!("It denies every path that matches {:?}. {NEXT}", pattern.shown()))
        }),
        Filter::Host(pattern) => texts(rule, tool, input).find_map(|text| match text.and_then(host_of) {
            Some(host) if !pattern.covers(&host) => None,
            Some(_) => Some(format!("It denies {} and every host below it. {NEXT}", pattern.shown())),
            None => Some(
                "The host of this URL cannot be told for certain. Write it as http(s)://HOST/PATH, in ASCII, without a user \
                 name before the host"
                    .to_owned(),
            ),
        }),
        Filter::Name(pattern) => texts(rule, tool, input).find_map(|text| match text {
            Some(text) if !glob(pattern, &squashed(text)) => None,
            Some(_) => Some(format!("It denies what it names. {NEXT}")),
            None => Some("The call does not say which one it means. Name it".to_owned()),
        }),
    }
}

const NEXT: &str = "Do this another way without it, or tell the user what you need and why";

fn opaque(why: &str, shown: &str) -> String {
    format!(
        "It denies `{shown}`, and nobody can tell that this does not run that: {why}. Send plain commands: each program by its \
         name and its arguments, on one line, without substitutions, groups, assignments or programs that run others"
    )
}

/// Whether a call of the host's own tools for servers is about a server that is denied.
fn server(rule: &DenyRule, input: &Value) -> Option<String> {
    let names = ["server", "server_name"].iter().filter_map(|field| input.get(field)).filter_map(Value::as_str);
    let denied = names.into_iter().any(|server| rule.covers_server(server));
    denied.then(|| "It denies everything that this server offers. Go on without it".to_owned())
}

/// The texts of an input that a rule looks at. `None` stands for something that cannot be read.
fn texts<'a>(
    rule: &DenyRule,
    tool: &ToolMetadata,
    input: &'a Value,
) -> impl Iterator<Item = Option<&'a str>> + use<'a> {
    let found = match field(rule, tool) {
        Field::At(name) => match (input.get(name), tool.name.as_str()) {
            (Some(Value::String(text)), _) => vec![Some(text.as_str())],
            // What the tool takes where nothing is said.
            (None, "list_dir") => vec![Some(".")],
            _ => every(input),
        },
        Field::OneOf(names) => {
            let given: Vec<_> = names.iter().filter_map(|name| input.get(name)).map(Value::as_str).collect();
            if given.is_empty() { vec![None] } else { given }
        }
        Field::Opaque => vec![None],
        Field::Nothing => Vec::new(),
        Field::Patch(name) => {
            let beside = input.get(name).and_then(Value::as_str);
            let mut texts: Vec<_> = beside.into_iter().map(Some).collect();
            let every = every(input);
            texts.extend(every.into_iter().flat_map(|text| match text {
                Some(text) => text.lines().flat_map(named_in_patch).map(Some).collect(),
                None => vec![None],
            }));
            texts
        }
        Field::Every => every(input),
    };
    found.into_iter()
}

/// Where the tool's input says what the rule is about. Of a tool that is in no table, any text may say it.
fn field(rule: &DenyRule, tool: &ToolMetadata) -> Field {
    let grammar = match &rule.filter {
        Filter::Command(_) => Grammar::Command,
        Filter::Path(_) => Grammar::Path,
        Filter::Host(_) => Grammar::Host,
        Filter::Name(_) => Grammar::Name,
        Filter::Every => Grammar::None,
    };
    if !tool.origin.is_builtin() {
        return Field::Every;
    }
    let mut candidates: Vec<&Family> = match rule.subject {
        Subject::Family(family) => vec![family],
        _ => families().iter().filter(|family| family.grammar == grammar).collect(),
    };
    let known = candidates.drain(..).find_map(|family| family.field(&tool.name));
    // Tools of the shell that run nothing themselves, such as one that waits.
    let quiet = grammar == Grammar::Command && !tool.capabilities.contains(Capability::ExecutesCode);
    known.unwrap_or(if quiet { Field::Nothing } else { Field::Every })
}

/// Every text in a value, keys of objects included: a tool may take paths as keys.
fn every(value: &Value) -> Vec<Option<&str>> {
    let (mut texts, mut open) = (Vec::new(), vec![value]);
    while let Some(value) = open.pop() {
        match value {
            Value::String(text) => texts.push(Some(text.as_str())),
            Value::Array(items) => open.extend(items.iter().rev()),
            Value::Object(fields) => {
                texts.extend(fields.keys().map(|key| Some(key.as_str())));
                open.extend(fields.values().rev());
            }
            Value::Null | Value::Bool(_) | Value::Number(_) => {}
        }
        if texts.len() > MOST_TEXTS {
            return vec![None];
        }
    }
    texts
}

/// What a text may name as a path: itself, and what stands after a colon, as in `HEAD:path` or `:(top)path`.
fn spellings(text: &str) -> impl Iterator<Item = &str> {
    let after_colon = text.match_indices(':').map(|(at, _)| &text[at + 1..]);
    let after_magic = text.strip_prefix(":(").and_then(|rest| rest.split_once(')')).map(|(_, path)| path);
    std::iter::once(text).chain(after_colon.take(16)).chain(after_magic)
}

/// The paths that a line of a patch may name.
fn named_in_patch(line: &str) -> Vec<&str> {
    const BEGINNINGS: [&str; 12] = [
        "--- ",
        "+++ ",
        "*** Update File:",
        "*** Add File:",
        "*** Delete File:",
        "*** Move to:",
        "rename from ",
        "rename to ",
        "copy from ",
        "copy to ",
        "Index: ",
        "diff --git ",
    ];
    let Some(rest) = BEGINNINGS.iter().find_map(|beginning| line.trim_start().strip_prefix(beginning)) else {
        return Vec::new();
    };
    // A date may follow a tab, and two paths a blank; each beginning and end is looked at.
    let rest = rest.trim();
    let before_tab = rest.split('\t').next().unwrap_or(rest).trim();
    let words = rest.split_whitespace();
    let mut paths: Vec<&str> = [rest, before_tab].into_iter().chain(words).map(|path| path.trim_matches('"')).collect();
    let stripped: Vec<&str> = paths.iter().filter_map(|path| path.split_once('/')).map(|(_, rest)| rest).collect();
    paths.extend(stripped);
    paths
}

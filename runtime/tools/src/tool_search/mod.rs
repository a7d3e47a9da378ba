//! `tool_search`: finds tools that are not in the list of every request.
//!
//! Finding is all it does: what it names can be called from the model's next turn on, and that call passes every gate. A
//! tool that is denied or withheld is in no answer.

mod index;
mod library;
mod pattern;

#[cfg(test)]
mod tests;

pub use library::{Library, Shelf};

use crate::input::{fault, invalid, optional_count, optional_text, text};
use library::source_of;
use pattern::Pattern;
use serde_json::{Map, Value, json};
use slot_runtime::contract::{
    BoxFuture, Capability, CapabilitySet, Exposure, Presentation, Role, RunContext, Tool, ToolError, ToolMetadata,
    ToolOutput, ToolSpec, ValidationFault,
};
use std::sync::Arc;

/// How many tools are shown where nothing is said.
const SHOWN: u64 = 8;
/// How many are shown at most, and how many names.
const MOST_SHOWN: u64 = 40;
const MOST_NAMES: usize = 400;
/// The longest query, in bytes.
const LONGEST_QUERY: usize = 1000;
/// How much of a tool's text and schema is shown, in bytes.
const SHOWN_TEXT: usize = 1024;
const SHOWN_SCHEMA: usize = 8192;

const DESCRIPTION: &str = "\
Find tools that are not in your list, such as those of connected servers, and see what they take. Say in query what the tool \
should do, for example \"create an issue\"; the best come first, and each can be called from your next turn on, not in this \
one. by = \"regex\" looks for a pattern in names and descriptions, regardless of case; by = \"name\" takes exact names, with \
commas between them; by = \"index\" only lists names, those of one server where server is given, else the servers with how \
many tools each has. server keeps to the tools of one server; limit is how many are shown (8 when absent, 40 at most). Use it \
instead of guessing a tool's name or fields. Do not use it for tools that are in your list already. \
Example: {\"query\": \"send a message to a channel\", \"limit\": 3}.";

/// The tool.
pub struct ToolSearch {
    shelf: Shelf,
    /// Whether what is found is called through the proxy.
    proxy: bool,
}

impl ToolSearch {
    /// The tool over what is on the shelf.
    pub fn new(shelf: Shelf, proxy: bool) -> Self {
        ToolSearch { shelf, proxy }
    }
}

/// How tools are looked for.
enum By {
    Words,
    Pattern(Pattern),
    Name,
    Index,
}

struct Request<'a> {
    query: &'a str,
    by: By,
    server: Option<&'a str>,
    limit: usize,
}

impl<'a> Request<'a> {
    fn of(input: &'a Value) -> Result<Self, ValidationFault> {
        let query = optional_text(input, "query")?.unwrap_or_default();
        if query.len() > LONGEST_QUERY {
            return Err(fault("query", format!("it is longer than {LONGEST_QUERY} bytes; say it in a few words")));
        }
        let by = match optional_text(input, "by")?.unwrap_or("words") {
            "words" => By::Words,
            "regex" => By::Pattern(pattern(query)?),
            "name" => By::Name,
            "index" => By::Index,
            other => {
                return Err(fault("by", format!("{other:?} is no way to search; use words, regex, name or index")));
            }
        };
        if !matches!(by, By::Index) {
            text(input, "query")?;
            if query.trim().is_empty() {
                return Err(fault(
                    "query",
                    "it is empty; say what the tool should do, or list names with by = \"index\"",
                ));
            }
        }
        let server = optional_text(input, "server")?;
        let limit = optional_count(input, "limit", 1)?.unwrap_or(SHOWN).clamp(1, MOST_SHOWN);
        Ok(Request { query, by, server, limit: usize::try_from(limit).unwrap_or(usize::MAX) })
    }
}

fn pattern(text: &str) -> Result<Pattern, ValidationFault> {
    Pattern::of(text).map_err(|error| {
        fault("query", format!("it is no pattern: {error}; write it in the syntax of RE2, or use words"))
    })
}

impl Request<'_> {
    /// The tools that are meant, best first.
    fn find<'l>(&self, library: &'l Library) -> Vec<&'l Arc<ToolMetadata>> {
        match &self.by {
            By::Words => library.described(self.query, self.server),
            By::Pattern(pattern) => library.matching(pattern, self.server),
            By::Name => {
                let query = self.query.trim().strip_prefix("select:").unwrap_or(self.query);
                let mut found: Vec<&Arc<ToolMetadata>> = Vec::new();
                for name in query.split(',').map(str::trim) {
                    found.extend(library.get(name).filter(|tool| found.iter().all(|known| known.name != tool.name)));
                }
                found
            }
            By::Index => Vec::new(),
        }
    }
}

impl ToolSearch {
    fn answer(&self, request: &Request<'_>) -> ToolOutput {
        let library = self.shelf.library();
        if matches!(request.by, By::Index) {
            return ToolOutput::ok(names(&library, request.server));
        }
        let found = request.find(&library);
        if found.is_empty() {
            return ToolOutput::ok(nothing(&library, request));
        }
        let shown: Vec<&Arc<ToolMetadata>> = found.iter().copied().take(request.limit).collect();
        let mut text = format!(
            "{} of {} tools that can be found match. {}\n",
            found.len(),
            library.count(),
            if self.proxy {
                "From your next turn on, call one with call_tool: its name as tool, and what it takes as input."
            } else {
                "From your next turn on, call one by its name."
            }
        );
        for tool in &shown {
            text.push_str(&entry(tool));
        }
        if found.len() > shown.len() {
            text.push_str(&format!(
                "\n{} more match; say more of what you need, or name a server",
                found.len() - shown.len()
            ));
        }
        let names: Vec<&str> = shown.iter().map(|tool| tool.name.as_str()).collect();
        let mut metadata = Map::new();
        metadata.insert("loads".to_owned(), json!(names));
        ToolOutput { metadata, ..ToolOutput::ok(text) }
    }
}

fn entry(tool: &ToolMetadata) -> String {
    let schema = tool.schema.to_string();
    let schema = if schema.len() > SHOWN_SCHEMA {
        "too long to be shown; call it to be told its fields".to_owned()
    } else {
        schema
    };
    format!("\n{} (from {})\n{}\ninput: {schema}\n", tool.name, source_of(tool), cut(&tool.description, SHOWN_TEXT))
}

/// The names alone: of one source, or the sources with how many there are.
fn names(library: &Library, server: Option<&str>) -> String {
    let Some(server) = server else {
        let sources = library.sources();
        let lines: Vec<String> =
            sources.iter().take(MOST_NAMES).map(|(source, count)| format!("{source}: {count} tools")).collect();
        let more = sources.len().saturating_sub(lines.len());
        let rest = if more > 0 { format!("\nand {more} more") } else { String::new() };
        return if lines.is_empty() { NOTHING.to_owned() } else { format!("{}{rest}", lines.join("\n")) };
    };
    let all: Vec<&str> = library.from(Some(server)).map(|tool| tool.name.as_str()).collect();
    if all.is_empty() {
        let sources: Vec<&str> = library.sources().into_keys().take(MOST_NAMES).collect();
        return format!(
            "no tools that can be found come from {:?}; they come from: {}",
            cut(server, 64),
            sources.join(", ")
        );
    }
    let shown: Vec<&str> = all.iter().copied().take(MOST_NAMES).collect();
    let rest = if all.len() > shown.len() { format!("\nand {} more", all.len() - shown.len()) } else { String::new() };
    format!("{}{rest}", shown.join("\n"))
}

const NOTHING: &str =
    "There are no tools besides those in your list. Use one of them, or tell the user what is missing.";

fn nothing(library: &Library, request: &Request<'_>) -> String {
    if library.count() == 0 {
        return NOTHING.to_owned();
    }
    let query = request.query.trim();
    let query = query.strip_prefix("select:").unwrap_or(query);
    let listed: Vec<&str> = query.split(',').map(str::trim).filter(|name| library.offers(name)).collect();
    if !listed.is_empty() {
        return format!("{} need not be found: call it as it stands in your list.", listed.join(", "));
    }
    format!(
        "None of the {} tools that can be found matches {:?}. Say what it should do in other words, or see what there is with \
         by = \"index\".",
        library.count(),
        cut(query, 200)
    )
}

/// A text of bounded length.
fn cut(text: &str, most: usize) -> &str {
    &text[..text.floor_char_boundary(most)]
}

impl Tool for ToolSearch {
    fn name(&self) -> &str {
        "tool_search"
    }

    fn description(&self) -> &str {
        DESCRIPTION
    }

    fn input_schema(&self) -> Value {
        json!({
            "type": "object",
            "properties": {
                "query": { "type": "string", "description": "What the tool should do, a pattern, or names." },
                "by": {
                    "type": "string", "enum": ["words", "regex", "name", "index"],
                    "description": "How to look: words when absent.",
                },
                "server": { "type": "string", "description": "Only tools of this server." },
                "limit": {
                    "type": "integer", "minimum": 1, "maximum": MOST_SHOWN,
                    "description": "How many tools are shown: 8 when absent.",
                },
            },
            "additionalProperties": false,
        })
    }

    fn run<'a>(&'a self, input: &'a Value, _: &'a RunContext) -> BoxFuture<'a, Result<ToolOutput, ToolError>> {
        Box::pin(async move { Request::of(input).map(|request| self.answer(&request)).map_err(invalid) })
    }
}

impl ToolSpec for ToolSearch {
    fn capabilities(&self) -> CapabilitySet {
        CapabilitySet::of(&[Capability::ReadOnly])
    }

    fn validate_input(&self, input: &Value) -> Result<(), ValidationFault> {
        Request::of(input).map(drop)
    }

    fn exposure(&self) -> Exposure {
        Exposure::Always
    }

    fn role(&self) -> Role {
        Role::Finder
    }

    fn presentation(&self) -> Presentation {
        Presentation {
            title: Some("Tool search".to_owned()),
            activity: Some("Looking for tools".to_owned()),
            ..Presentation::default()
        }
    }
}

//! `recall`: what earlier sessions have remembered.

use super::memory::{Memory, name};
use crate::{
    input::{fault, invalid, optional_text},
    work::blocking,
};
use serde_json::{Value, json};
use slot_runtime::contract::{
    BoxFuture, Capability, CapabilitySet, Presentation, RunContext, Tool, ToolError, ToolOutput, ToolSpec,
    ValidationFault,
};

/// The most lines of a search.
const MAX_LINES: usize = 50;
/// The most characters of a line that are shown, and of a search.
const MAX_SHOWN: usize = 200;

const DESCRIPTION: &str = "\
Read what earlier sessions remembered: without fields the names with their first lines, with `name` one memory whole, with \
`query` the lines that hold a text. Use it at the start of a task instead of asking the user what they told you before. A \
memory may be out of date: check it before you rely on it. Do not use it for the notes of this session; that is note. \
Examples: {}; {\"name\": \"build-steps\"}; {\"query\": \"deploy\"}.";

/// The tool.
pub struct Recall {
    memory: Memory,
}

impl Recall {
    /// The tool over these memories.
    pub fn new(memory: Memory) -> Self {
        Recall { memory }
    }
}

enum Request {
    Names,
    One(String),
    Search(String),
}

impl Request {
    fn of(input: &Value) -> Result<Request, ValidationFault> {
        match (input.get("name"), optional_text(input, "query")?) {
            (None, None) => Ok(Request::Names),
            (Some(_), None) => Ok(Request::One(name(input)?.to_owned())),
            (None, Some(query)) if query.trim().is_empty() || query.chars().count() > MAX_SHOWN => {
                Err(fault("query", format!("a query has 1 to {MAX_SHOWN} characters; leave it out for all names")))
            }
            (None, Some(query)) => Ok(Request::Search(query.to_owned())),
            (Some(_), Some(_)) => Err(fault("query", "pass `name` or `query`, and not both")),
        }
    }
}

impl Tool for Recall {
    fn name(&self) -> &str {
        "recall"
    }

    fn description(&self) -> &str {
        DESCRIPTION
    }

    fn input_schema(&self) -> Value {
        json!({
            "type": "object",
            "properties": {
                "name": { "type": "string", "description": "The memory to read whole." },
                "query": { "type": "string", "description": "A text to look for, in any case." },
            },
            "additionalProperties": false,
        })
    }

    fn run<'a>(&'a self, input: &'a Value, run: &'a RunContext) -> BoxFuture<'a, Result<ToolOutput, ToolError>> {
        Box::pin(async move {
            let request = Request::of(input).map_err(invalid)?;
            let memory = self.memory.clone();
            blocking(run, move |_| match request {
                Request::One(name) => one(&memory, &name),
                Request::Names => lines(&memory, None),
                Request::Search(query) => lines(&memory, Some(&query)),
            })
            .await
        })
    }
}

fn one(memory: &Memory, name: &str) -> Result<ToolOutput, ToolError> {
    match memory.read(name)? {
        Some(content) => Ok(ToolOutput::ok(format!("[Kept in an earlier session; it may be out of date.]\n{content}"))),
        None => {
            let names = memory.names()?;
            let names = if names.is_empty() { "none yet".to_owned() } else { names.join(", ") };
            Err(ToolError::NotFound(format!("there is no memory {name:?}; the names are: {names}")))
        }
    }
}

/// The first line of each memory, or every line that holds `query`.
fn lines(memory: &Memory, query: Option<&str>) -> Result<ToolOutput, ToolError> {
    let query = query.map(|query| (query, query.to_lowercase()));
    let mut found = Vec::new();
    for name in memory.names()? {
        let Some(content) = memory.read(&name)? else { continue };
        let line = |line: &str| format!("{name}: {}", line.chars().take(MAX_SHOWN).collect::<String>());
        match &query {
            None => found.extend(content.lines().next().map(line)),
            Some((_, query)) => {
                found.extend(content.lines().filter(|text| text.to_lowercase().contains(query)).map(line));
            }
        }
    }
    let more = found.len().saturating_sub(if query.is_some() { MAX_LINES } else { usize::MAX });
    found.truncate(found.len() - more);
    if more > 0 {
        found.push(format!("[{more} more lines hold it; pass a longer query.]"));
    }
    if found.is_empty() {
        found.push(match query {
            None => "[Nothing is remembered.]".to_owned(),
            Some((query, _)) => format!("[No memory holds {query:?}.]"),
        });
    }
    Ok(ToolOutput::ok(found.join("\n")))
}

impl ToolSpec for Recall {
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
        Some("memory remembered facts preferences of earlier sessions")
    }

    fn presentation(&self) -> Presentation {
        Presentation { title: Some("Recall".into()), activity: Some("Recalling".into()), transparent: false }
    }
}

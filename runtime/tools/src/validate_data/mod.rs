//! `validate_data`: whether a file or a text is well-formed, and where it is not.
//!
//! [`json`] reads JSON more strictly than programs do that take the last of two equal keys; [`csv`] counts columns. TOML
//! is read by its own parser.

mod csv;
mod json;

#[cfg(test)]
mod tests;

use crate::{
    input::{fault, invalid, optional_text},
    work::{blocking, refused},
};
use serde_json::{Value, json as object};
use slot_runtime::{
    boundary::FileBoundary,
    contract::{
        BoxFuture, Capability, CapabilitySet, Presentation, RunContext, Tool, ToolError, ToolOutput, ToolSpec,
        ValidationFault,
    },
};
use std::{io::Read, sync::Arc};

/// The largest file that is read.
const MAX_BYTES: u64 = 16 << 20;
/// The most faults that are told.
const MAX_FAULTS: usize = 20;

const DESCRIPTION: &str = "\
Check whether data is well-formed, and tell where it is not, by line and column: JSON (with keys that occur twice), JSON \
Lines, TOML, or CSV (rows with another number of columns, quotes that are not closed). Pass `path` for a file of the \
workspace, or `content` for a text. Use it after you wrote a file of data, instead of python -m json.tool or jq in \
exec_shell. Do not use it to read or change data. \
Examples: {\"path\": \"package.json\"}; {\"content\": \"a = 1\", \"format\": \"toml\"}.";

/// What can be checked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Format {
    Json,
    JsonLines,
    Toml,
    Csv,
}

impl Format {
    const WORDS: [&'static str; 4] = ["csv", "json", "jsonl", "toml"];

    fn of(word: &str) -> Option<Format> {
        match word {
            "json" => Some(Format::Json),
            "jsonl" | "ndjson" => Some(Format::JsonLines),
            "toml" => Some(Format::Toml),
            "csv" => Some(Format::Csv),
            _ => None,
        }
    }

    fn name(self) -> &'static str {
        match self {
            Format::Json => "JSON",
            Format::JsonLines => "JSON Lines",
            Format::Toml => "TOML",
            Format::Csv => "CSV",
        }
    }
}

/// The tool.
pub struct ValidateData {
    boundary: Arc<dyn FileBoundary>,
}

impl ValidateData {
    /// The tool over the files behind `boundary`.
    pub fn new(boundary: Arc<dyn FileBoundary>) -> Self {
        ValidateData { boundary }
    }
}

enum Source {
    File(String),
    Text(String),
}

struct Request {
    source: Source,
    format: Format,
}

impl Request {
    fn of(input: &Value) -> Result<Request, ValidationFault> {
        let word = optional_text(input, "format")?;
        let (source, format) = match (optional_text(input, "path")?, optional_text(input, "content")?) {
            (Some(path), None) => {
                let ending = path.rsplit_once('.').map_or("", |(_, ending)| ending).to_ascii_lowercase();
                let ending = if ending == "lock" { "toml".to_owned() } else { ending };
                (Source::File(path.to_owned()), Format::of(word.unwrap_or(&ending)))
            }
            (None, Some(content)) => (Source::Text(content.to_owned()), word.and_then(Format::of)),
            _ => return Err(fault("path", "pass `path` or `content`, and not both")),
        };
        let format = format.ok_or_else(|| {
            fault(
                "format",
                format!("the format is not known from the name; pass `format`: {}", Format::WORDS.join(", ")),
            )
        })?;
        Ok(Request { source, format })
    }
}

impl Tool for ValidateData {
    fn name(&self) -> &str {
        "validate_data"
    }

    fn description(&self) -> &str {
        DESCRIPTION
    }

    fn input_schema(&self) -> Value {
        object!({
            "type": "object",
            "properties": {
                "path": { "type": "string", "description": "The file, relative to the workspace." },
                "content": { "type": "string", "description": "The text to check, in place of a file." },
                "format": {
                    "type": "string", "enum": Format::WORDS,
                    "description": "What it is to be; the ending of the file's name when absent.",
                },
            },
            "additionalProperties": false,
        })
    }

    fn run<'a>(&'a self, input: &'a Value, run: &'a RunContext) -> BoxFuture<'a, Result<ToolOutput, ToolError>> {
        Box::pin(async move {
            let Request { source, format } = Request::of(input).map_err(invalid)?;
            let boundary = Arc::clone(&self.boundary);
            blocking(run, move |_| {
                let (name, bytes) = match source {
                    Source::File(path) => (path.clone(), read(boundary.as_ref(), &path)?),
                    Source::Text(text) => ("the content".to_owned(), text.into_bytes()),
                };
                Ok(told(&name, format, &check(&bytes, format)))
            })
            .await
        })
    }
}

fn read(boundary: &dyn FileBoundary, path: &str) -> Result<Vec<u8>, ToolError> {
    let opened = boundary.open_file(path).map_err(refused)?;
    if opened.len > MAX_BYTES {
        return Err(ToolError::InvalidInput(format!(
            "{path} has {} bytes; at most {MAX_BYTES} are checked. Check a part of it as `content`",
            opened.len
        )));
    }
    let mut bytes = Vec::new();
    match opened.file.take(MAX_BYTES).read_to_end(&mut bytes) {
        Ok(_) => Ok(bytes),
        Err(error) => Err(ToolError::Failed(format!("{path} could not be read: {error}; try again"))),
    }
}

/// Something that is wrong, and where: line and column from 1.
#[derive(Debug, PartialEq, Eq)]
struct Wrong {
    line: usize,
    column: usize,
    what: String,
}

/// What was found: how much there is, in words, or what is wrong with it.
fn check(bytes: &[u8], format: Format) -> Result<String, Vec<Wrong>> {
    let text = std::str::from_utf8(bytes).map_err(|error| {
        let (line, column) = place(bytes, error.valid_up_to());
        vec![Wrong { line, column, what: "this is no UTF-8 text".to_owned() }]
    })?;
    if text.starts_with('\u{feff}') {
        return Err(vec![Wrong { line: 1, column: 1, what: "a byte-order mark stands before the data".to_owned() }]);
    }
    match format {
        Format::Json => json::check(text).map(|()| "one value".to_owned()).map_err(|wrong| vec![wrong]),
        Format::JsonLines => json::check_lines(text),
        Format::Toml => text.parse::<toml::Table>().map(|table| counted(table.len(), "key", "keys")).map_err(|error| {
            let (line, column) = place(bytes, error.span().map_or(0, |span| span.start));
            vec![Wrong { line, column, what: error.message().to_owned() }]
        }),
        Format::Csv => csv::check(text),
    }
}

/// The first thing that is wrong: its line and column, from 1, and what it is.
pub(crate) fn first_fault(bytes: &[u8], format: Format) -> Option<(usize, usize, String)> {
    let wrong = check(bytes, format).err()?.into_iter().next()?;
    Some((wrong.line, wrong.column, wrong.what))
}

fn counted(count: usize, one: &str, many: &str) -> String {
    if count == 1 { format!("1 {one}") } else { format!("{count} {many}") }
}

/// The line and column of a byte, both from 1; columns count characters.
fn place(bytes: &[u8], at: usize) -> (usize, usize) {
    let before = &bytes[..at.min(bytes.len())];
    let line = before.iter().filter(|byte| **byte == b'\n').count() + 1;
    let start = before.iter().rposition(|byte| *byte == b'\n').map_or(0, |newline| newline + 1);
    (line, String::from_utf8_lossy(&before[start..]).chars().count() + 1)
}

fn told(name: &str, format: Format, found: &Result<String, Vec<Wrong>>) -> ToolOutput {
    match found {
        Ok(much) => ToolOutput::ok(format!("{name} is valid {} ({much}).", format.name())),
        Err(wrongs) => {
            let mut text = format!("{name} is not valid {}:", format.name());
            for wrong in wrongs.iter().take(MAX_FAULTS) {
                text.push_str(&format!("\n- line {}, column {}: {}", wrong.line, wrong.column, wrong.what));
            }
            if wrongs.len() > MAX_FAULTS {
                text.push_str("\n[There is more; mend these first.]");
            }
            ToolOutput::failed(text)
        }
    }
}

impl ToolSpec for ValidateData {
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
        Some("check lint json jsonl toml csv syntax well-formed parse")
    }

    fn presentation(&self) -> Presentation {
        Presentation { title: Some("Validate data".into()), activity: Some("Checking data".into()), transparent: false }
    }
}

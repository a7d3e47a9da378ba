//! `edit_file`: a part of one file.
//!
//! Where an edit applies is decided in [`matching`], which knows no file; here are the input, the texts and the write.

pub mod matching;

mod diff;
mod words;

use crate::{
    input::{fault, invalid, optional_count, optional_flag, optional_text, text},
    over_files::{Does, FileTool, OverFiles},
    work::refused,
};
use matching::{Choice, Target, find, splice};
use serde_json::{Value, json};
use slot_runtime::{
    boundary::{FileBoundary, OpenFile, WriteMode},
    contract::{ToolError, ValidationFault},
};
use std::io::Read;
use tokio_util::sync::CancellationToken;

/// The largest file that is edited, before and after.
const MOST_BYTES: usize = 64 << 20;

const DESCRIPTION: &str = "\
Replace text in one file of the workspace. Use this instead of sed -i, perl -pi or a script in exec_shell, and instead of \
write_file when only a part of a file changes: every byte outside of what you name stays as it is. search is the present \
text, copied verbatim from a prior read_file result, with enough lines around it to occur once. When it occurs more often \
nothing is changed and you are told where; then quote more lines, or pass occurrence (which one, from 1) or \
replace_all=true. replace is written exactly as you send it; an empty replace deletes. To replace a range of more than 40 \
lines do not quote it: pass search_start (its first lines, which occur once in the file) and search_end (its last lines, \
the next place after them) and no search. Tolerated where search is nowhere as sent, if exactly one place fits, and told \
in the result: other indentation, curly quotes, dashes or no-break spaces for plain ones, and the line numbers of \
read_file. In lines that end in CRLF a newline in search matches the CRLF, and newlines in replace become CRLF. Do not use it \
to create a file, or to replace most of a file. Read the file before, and copy from what you read. \
Examples: {\"path\": \"src/main.rs\", \"search\": \"let port = 80;\", \"replace\": \"let port = 8080;\"}; \
{\"path\": \"src/gen.rs\", \"search_start\": \"// BEGIN table\\n\", \"search_end\": \"// END table\\n\", \"replace\": \"\"} \
(copy the text verbatim from a prior read_file result).";

/// What was asked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Request {
    pub(crate) path: String,
    pub(crate) replace: String,
    pub(crate) place: Place,
}

/// What is to be replaced.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Place {
    Search(String, Choice),
    Anchors(String, String),
    Hole(String, String),
}

impl Place {
    fn target(&self) -> Target<'_> {
        match self {
            Place::Search(search, choice) => Target::Search(search, *choice),
            Place::Anchors(start, end) => Target::Anchors(start, end),
            Place::Hole(prefix, suffix) => Target::Hole(prefix, suffix),
        }
    }

    /// The text it begins with, where it names two.
    fn start(&self) -> Option<&str> {
        match self {
            Place::Search(..) => None,
            Place::Anchors(start, _) | Place::Hole(start, _) => Some(start),
        }
    }
}

impl Request {
    fn of(input: &Value) -> Result<Request, ValidationFault> {
        let path = text(input, "path")?.to_owned();
        let replace = text(input, "replace")?.to_owned();
        let search = optional_text(input, "search")?;
        let anchors = (optional_text(input, "search_start")?, optional_text(input, "search_end")?);
        let place = match (search, anchors) {
            (None, (Some(start), Some(end))) => Request::anchors(input, start, end)?,
            (Some(_), (Some(_), Some(_))) => {
                let message = "pass either search or search_start and search_end, not both";
                return Err(fault("search", message));
            }
            (_, (Some(_), None) | (None, Some(_))) => {
                let message = "pass search_start and search_end together, or neither (use search to quote all of the \
                               present text)";
                return Err(fault("search_start", message));
            }
            (None, (None, None)) => {
                let message = "the field \"search\" is missing: it is the present text that is to be replaced; for a long \
                               range pass search_start and search_end in its place";
                return Err(fault("search", message));
            }
            (Some(search), (None, None)) => Request::search(input, search, &replace)?,
        };
        Ok(Request { path, replace, place })
    }

    fn search(input: &Value, search: &str, replace: &str) -> Result<Place, ValidationFault> {
        if search.is_empty() {
            let message = "search is empty, and an empty text is everywhere: quote the text to replace; to insert, quote \
                           the line beside the place and send it again in replace";
            return Err(fault("search", message));
        }
        if search == replace {
            let message = "search and replace are identical, so nothing would change: send the new text in replace";
            return Err(fault("replace", message));
        }
        let occurrence = optional_count(input, "occurrence", 1)?;
        let choice = match (optional_flag(input, "replace_all")?.unwrap_or(false), occurrence) {
            (true, Some(_)) => {
                return Err(fault("occurrence", "pass either replace_all=true or occurrence, not both"));
            }
            (true, None) => Choice::All,
            (false, Some(nth)) => Choice::Nth(nth),
            (false, None) => Choice::Only,
        };
        Ok(Place::Search(search.to_owned(), choice))
    }

    fn anchors(input: &Value, start: &str, end: &str) -> Result<Place, ValidationFault> {
        for (field, anchor) in [("search_start", start), ("search_end", end)] {
            if anchor.is_empty() {
                return Err(fault(field, format!("{field} is empty: quote a whole line of the file in it")));
            }
        }
        if optional_count(input, "occurrence", 1)?.is_some() || optional_flag(input, "replace_all")? == Some(true) {
            let message =
                "search_start names one place by itself: leave occurrence and replace_all out, or pass search";
            return Err(fault("search_start", message));
        }
        Ok(Place::Anchors(start.to_owned(), end.to_owned()))
    }
}

/// The tool.
pub type EditFile = OverFiles<Edit>;

/// What it is.
pub struct Edit;

impl FileTool for Edit {
    const NAME: &'static str = "edit_file";
    const DESCRIPTION: &'static str = DESCRIPTION;
    const HINT: &'static str = "change modify substitute str_replace old_string new_string sed patch";
    const SHOWN: [&'static str; 2] = ["Edit file", "Editing a file"];
    const DOES: Does = Does::Changes;

    fn schema() -> Value {
        json!({
            "type": "object",
            "properties": {
                "path": { "type": "string", "description": "The file, relative to the workspace." },
                "search": {
                    "type": "string",
                    "description": "The present text, verbatim. Not together with search_start and search_end.",
                },
                "replace": { "type": "string", "description": "The new text, written exactly as sent." },
                "occurrence": {
                    "type": "integer", "minimum": 1,
                    "description": "Which place of search to replace, from 1, when it has several.",
                },
                "replace_all": {
                    "type": "boolean",
                    "description": "Replace every place of search. Not together with occurrence.",
                },
                "search_start": {
                    "type": "string",
                    "description": "The first lines of a range to replace; they occur once in the file.",
                },
                "search_end": {
                    "type": "string",
                    "description": "The last lines of that range: their first place after search_start.",
                },
            },
            "required": ["path", "replace"],
            "additionalProperties": false,
        })
    }

    fn check(input: &Value) -> Result<(), ValidationFault> {
        Request::of(input).map(drop)
    }

    fn act(files: &dyn FileBoundary, input: &Value, _: &CancellationToken) -> Result<String, ToolError> {
        edit(files, &Request::of(input).map_err(invalid)?)
    }
}

/// Makes an edit.
pub(crate) fn edit(boundary: &dyn FileBoundary, request: &Request) -> Result<String, ToolError> {
    let path = &request.path;
    let file = content(path, boundary.open_file(path).map_err(refused)?)?;
    let plan = find(&file, request.place.target(), &request.replace)
        .map_err(|miss| ToolError::InvalidInput(words::miss(path, &request.place, &file, &miss)))?;
    if plan.len_after(file.len()) > MOST_BYTES {
        return Err(too_large(path, "would have", plan.len_after(file.len())));
    }
    let new = splice(&file, &plan);
    if new == file {
        return Ok(words::unchanged(path, &request.place, &file, &plan));
    }
    let written = boundary.write_atomic(path, &new, WriteMode::Overwrite).map_err(refused)?;
    Ok(words::done(&written.path.display().to_string(), &request.place, &file, &plan))
}

/// The bytes of a file that can be edited as text.
pub(crate) fn content(path: &str, open: OpenFile) -> Result<Vec<u8>, ToolError> {
    let len = usize::try_from(open.len).unwrap_or(usize::MAX);
    if len > MOST_BYTES {
        return Err(too_large(path, "has", len));
    }
    let mut file = Vec::with_capacity(len + 1);
    open.file.take(MOST_BYTES as u64 + 1).read_to_end(&mut file).map_err(|error| {
        ToolError::Failed(format!("could not read {path}: {error}. Nothing was changed; try again"))
    })?;
    if file.len() > MOST_BYTES {
        return Err(too_large(path, "has", file.len()));
    }
    if memchr::memchr(0, &file).is_some() {
        return Err(ToolError::InvalidInput(format!(
            "{path} is not UTF-8 text: it contains NUL bytes, as binary files and UTF-16 text do. Nothing was changed; \
             find out with `file` what it is, and change it with a program that is made for it"
        )));
    }
    Ok(file)
}

fn too_large(path: &str, has: &str, bytes: usize) -> ToolError {
    ToolError::InvalidInput(format!(
        "{path} {has} {bytes} bytes, and an edit takes files of up to {MOST_BYTES} bytes. Nothing was changed; use a \
         program that works line by line, such as sed, on a copy"
    ))
}

#[cfg(test)]
mod tests;

//! `read_file`: a text file, whole when it is small, else page by page.
//!
//! [`page`] reads; this module decides between the two forms and writes what the model reads. What it promises: the
//! parameters in a notice are those of the next page, word for word, whatever cut the page.

pub mod page;

use crate::{
    input::{fault, invalid, optional_count, text},
    over_files::{Does, FileTool, OverFiles},
    work::refused,
};
use memchr::memchr;
use page::{PAGE_BYTES, Page, PageError, Range, Total};
use serde_json::{Value, json};
use slot_runtime::{
    boundary::{FileBoundary, OpenFile},
    contract::{ToolError, ValidationFault},
};
use std::{
    borrow::Cow,
    fmt::Write,
    fs::File,
    io::{self, Read, Seek},
};
use tokio_util::sync::CancellationToken;

/// How many lines a page has when nothing else is asked for.
pub const DEFAULT_LINES: u64 = 200;
/// The most lines of a page; asking for more gives this many.
pub const MAX_LINES: u64 = 500;

const DESCRIPTION: &str = "\
Read a text file in the workspace. Use this instead of cat, head, tail, less or sed -n in exec_shell: it is faster, needs \
no approval and tells you how to go on. Without a range, a file of at most 200 lines and 16 KiB comes back exactly as it \
is. Every other page is numbered, one line as `    12│ text`: the number and the bar are not part of the file, so leave \
them out when you quote it. A page has 200 lines unless max_lines says otherwise, at most 500, and at most 16 KiB; when \
there is more, it ends with the call that reads on. Do not use it for folders, or to search many files for a text. \
Examples: {\"path\": \"src/main.rs\"} (the first 200 lines); {\"path\": \"src/big.rs\", \"start_line\": 201, \
\"max_lines\": 200} (the next page).";

/// What was asked for.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Request {
    path: String,
    range: Range,
    /// Whether a part of the file was asked for by any field.
    explicit: bool,
}

impl Request {
    fn of(input: &Value) -> Result<Request, ValidationFault> {
        let start_line = optional_count(input, "start_line", 1)?;
        let start_byte = optional_count(input, "start_byte", 0)?;
        let max_lines = optional_count(input, "max_lines", 1)?;
        if start_byte.is_some() && start_line.is_none() {
            return Err(fault("start_byte", "start_byte counts within a line: pass start_line with it"));
        }
        Ok(Request {
            path: text(input, "path")?.to_owned(),
            range: Range {
                line: start_line.unwrap_or(1),
                byte: start_byte.unwrap_or(0),
                lines: max_lines.unwrap_or(DEFAULT_LINES).min(MAX_LINES),
            },
            explicit: start_line.is_some() || start_byte.is_some() || max_lines.is_some(),
        })
    }
}

/// The tool.
pub type ReadFile = OverFiles<Pages>;

/// What it is.
pub struct Pages;

impl FileTool for Pages {
    const NAME: &'static str = "read_file";
    const DESCRIPTION: &'static str = DESCRIPTION;
    const HINT: &'static str = "cat head tail view show open content lines source";
    const SHOWN: [&'static str; 2] = ["Read file", "Reading a file"];
    const DOES: Does = Does::Looks;

    fn schema() -> Value {
        json!({
            "type": "object",
            "properties": {
                "path": { "type": "string", "description": "The file, relative to the workspace." },
                "start_line": { "type": "integer", "minimum": 1, "description": "The first line to show, from 1." },
                "max_lines": {
                    "type": "integer", "minimum": 1,
                    "description": "The most lines to show: 200 when absent, 500 at most.",
                },
                "start_byte": {
                    "type": "integer", "minimum": 0,
                    "description": "Within start_line, the byte to start at. Only as a notice told you, for a line \
                                    longer than a page.",
                },
            },
            "required": ["path"],
            "additionalProperties": false,
        })
    }

    fn check(input: &Value) -> Result<(), ValidationFault> {
        Request::of(input).map(drop)
    }

    fn act(files: &dyn FileBoundary, input: &Value, stop: &CancellationToken) -> Result<String, ToolError> {
        let request = Request::of(input).map_err(invalid)?;
        answer(&request, files.open_file(&request.path).map_err(refused)?, stop)
    }
}

fn answer(request: &Request, open: OpenFile, stop: &CancellationToken) -> Result<String, ToolError> {
    let OpenFile { mut file, len, .. } = open;
    let failed = |error: &io::Error| {
        ToolError::Failed(format!(
            "could not read {}: {error}; try again, and tell the user if it goes on",
            request.path
        ))
    };
    if !request.explicit
        && let Some(whole) = whole_if_small(&mut file, len).map_err(|e| failed(&e))?
    {
        return Ok(whole);
    }
    let mut start = [0; 4];
    file.rewind().and_then(|()| read_up_to(&mut file, &mut start)).map_err(|e| failed(&e))?;
    file.rewind().map_err(|e| failed(&e))?;
    if let Some(encoding) = wide_encoding(&start) {
        return Err(wide(&request.path, encoding));
    }
    let mut page = page::read(file, len, request.range, stop).map_err(|error| match error {
        PageError::PastLine(bytes) => ToolError::InvalidInput(format!(
            "line {} of {} has only {bytes} bytes; leave start_byte out to read it from its start",
            request.range.line, request.path
        )),
        PageError::Stopped => ToolError::Cancelled,
        PageError::Io(error) => failed(&error),
    })?;
    if page.rows.contains(0) {
        return Err(binary(&request.path, len));
    }
    let bom = page.rows.strip_from_file("\u{feff}".as_bytes());
    Ok(render(request, &page, bom))
}

/// The file as it is, if it is small and nothing has to be said about it.
fn whole_if_small(file: &mut File, len: u64) -> io::Result<Option<String>> {
    if len == 0 || len > PAGE_BYTES as u64 {
        return Ok(None);
    }
    let mut bytes = Vec::with_capacity(PAGE_BYTES + 1);
    file.take(PAGE_BYTES as u64 + 1).read_to_end(&mut bytes)?;
    let lines = bytes.split_inclusive(|byte| *byte == b'\n').count() as u64;
    let plain = !bytes.is_empty() && bytes.len() <= PAGE_BYTES && lines <= DEFAULT_LINES && memchr(0, &bytes).is_none();
    let text = if plain { String::from_utf8(bytes).ok() } else { None };
    // A byte-order mark is not text; whoever quotes the file must not quote it.
    let text = text.map(|text| text.trim_start_matches('\u{feff}').to_owned());
    Ok(text.filter(|text| !text.is_empty()))
}

fn read_up_to(file: &mut File, buffer: &mut [u8]) -> io::Result<()> {
    let mut filled = 0;
    while filled < buffer.len() {
        match file.read(&mut buffer[filled..])? {
            0 => break,
            more => filled += more,
        }
    }
    Ok(())
}

/// The encoding that a byte-order mark says, where it is not UTF-8.
fn wide_encoding(start: &[u8; 4]) -> Option<&'static str> {
    match start {
        [0xff, 0xfe, 0, 0] => Some("UTF-32LE"),
        [0, 0, 0xfe, 0xff] => Some("UTF-32BE"),
        [0xff, 0xfe, ..] => Some("UTF-16LE"),
        [0xfe, 0xff, ..] => Some("UTF-16BE"),
        _ => None,
    }
}

fn wide(path: &str, encoding: &str) -> ToolError {
    ToolError::InvalidInput(format!(
        "{path} is text in {encoding}, and only UTF-8 can be shown. Convert a copy and read that: iconv -f {encoding} -t \
         UTF-8 FILE > COPY"
    ))
}

fn binary(path: &str, len: u64) -> ToolError {
    ToolError::InvalidInput(format!(
        "{path} is a binary file ({len} bytes): it contains NUL bytes, so it is not shown as text. To find out what it is, \
         run `file` on it; to see bytes, run `xxd -l 256` on it"
    ))
}

fn render(request: &Request, page: &Page, bom: bool) -> String {
    let path = attribute(&request.path);
    let total = match page.total {
        Total::Exact(total) => total.to_string(),
        Total::AtLeast(total) => format!("{total}+"),
    };
    let Some((first, last)) = page.rows.span() else {
        return nothing(request, &path, &total);
    };
    let mut text = format!(
        "<file path=\"{path}\" total_lines=\"{total}\" shown_lines=\"{first}-{last}\" truncated=\"{}\"",
        page.next.is_some()
    );
    if let Some((line, byte)) = page.next {
        put(&mut text, format_args!(" next_start_line=\"{line}\""));
        if byte > 0 {
            put(&mut text, format_args!(" next_start_byte=\"{byte}\""));
        }
    }
    if bom {
        text.push_str(" byte_order_mark=\"hidden\"");
    }
    if page.rows.iter().any(|(_, line)| line.ends_with(b"\r")) {
        text.push_str(" line_endings=\"crlf\"");
    }
    text.push_str(">\n");
    let mut lossy = false;
    for (number, line) in page.rows.iter() {
        put(&mut text, format_args!("{number:>6}"));
        text.push_str("│ ");
        let line = String::from_utf8_lossy(line);
        lossy |= matches!(line, Cow::Owned(_));
        text.push_str(&line);
        text.push('\n');
    }
    notices(request, page, lossy, &mut text);
    text.push_str("</file>");
    text
}

/// What has to be said below a page.
fn notices(request: &Request, page: &Page, lossy: bool, text: &mut String) {
    if page.unfinished {
        text.push_str("\n[The last line has no newline at its end.]\n");
    }
    if lossy {
        text.push_str(
            "\n[NOT UTF-8] Some bytes are not UTF-8 and are shown as \u{fffd}; text with that sign in it will not be \
             found in the file.\n",
        );
    }
    let (Some((line, byte)), Some((first, last))) = (page.next, page.rows.span()) else { return };
    let total = match page.total {
        Total::Exact(total) => total.to_string(),
        Total::AtLeast(total) => format!("at least {total}"),
    };
    let path = json!(request.path);
    let lines = request.range.lines;
    if byte > 0 {
        put(
            text,
            format_args!(
                "\n[TRUNCATED] Line {line} of {total} is longer than a page ({PAGE_BYTES} bytes); it is shown up to byte \
                 {byte}. To continue, call read_file with path={path} start_line={line} start_byte={byte} \
                 max_lines={lines}\n"
            ),
        );
    } else {
        let why = if last + 1 - first < lines { " (a page holds 16 KiB)" } else { "" };
        put(
            text,
            format_args!(
                "\n[TRUNCATED] Showing lines {first}-{last} of {total}{why}. To continue, call read_file with path={path} \
                 start_line={line} max_lines={lines}\n"
            ),
        );
    }
}

/// A page without lines is an answer, not an error: whoever turns the last page is told that the book is over.
fn nothing(request: &Request, path: &str, total: &str) -> String {
    let why = if total == "0" {
        "The file is empty.".to_owned()
    } else {
        format!("start_line {} is beyond the last line, which is {total}.", request.range.line)
    };
    format!(
        "<file path=\"{path}\" total_lines=\"{total}\" shown_lines=\"none\" truncated=\"false\">\n\n[NO CONTENT] {why}\n</file>"
    )
}

/// Text for an attribute in double quotes.
fn attribute(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => escaped.push_str("&amp;"),
            '"' => escaped.push_str("&quot;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            c if c.is_control() => put(&mut escaped, format_args!("&#{};", u32::from(c))),
            c => escaped.push(c),
        }
    }
    escaped
}

fn put(text: &mut String, arguments: std::fmt::Arguments<'_>) {
    // Writing to a string cannot fail.
    let _ = text.write_fmt(arguments);
}

#[cfg(test)]
mod tests;

//! `grep_files`: lines of many files that match.
//!
//! Every matching line is counted before any is left out, so that the number in an answer is that of all.

mod kept;
mod long;
pub mod search;

use crate::{
    find::{
        self, ANSWER_BYTES, DEFAULT_SHOWN, MOST_SHOWN, Scope, Start,
        answer::{call, counted, no_walk, passed_over, skipped, visible_path},
        pattern,
        walk::{Candidate, PassedOver, Tally, Visit, Walk},
    },
    input::{fault, invalid, optional_count, optional_flag, optional_text, text},
    over_files::{Does, FileTool, OverFiles},
};
use globset::GlobMatcher;
use kept::{FileHits, Kept};
use memchr::memchr;
use search::{Manner, Pattern, Row, Search, compile, rows};
use serde_json::{Value, json};
use slot_runtime::{
    boundary::{FileBoundary, OpenFile},
    contract::{ToolError, ValidationFault},
};
use std::{
    io::{self, Read},
    path::Path,
};
use tokio_util::sync::CancellationToken;

/// The largest file that is searched, in bytes.
pub const FILE_BYTES: usize = 10 << 20;
/// The most lines shown before and after each that matches.
const MOST_CONTEXT: usize = 10;

const DESCRIPTION: &str = "\
Find the lines that match a regular expression, in all files of the workspace or below one folder. Use this instead of \
grep -r, rg, ag or git grep in exec_shell: it is faster, needs no approval, counts every match before it leaves any out, and \
says what it did not search. pattern is a regular expression without look-around, over one line at a time; with literal=true \
it is the text itself. Matching lines are shown below the path of their file as `    12│ text`, lines around them, with \
context_lines, as `    13- text`: number and mark are not part of the file. With mode=\"files\" only the files and their \
numbers of matching lines are shown. Binary files, files over 10 MB and files with lines over 1 MB are skipped and told. Do not use it to find files by \
their names (glob_files, file_search) or to read one file (read_file). \
Examples: {\"pattern\": \"fn main\"}; {\"pattern\": \"a.b[0]\", \"literal\": true, \"path\": \"src\", \"include\": \
\"*.{ts,tsx}\"}; {\"pattern\": \"TODO|FIXME\", \"mode\": \"files\"}.";

/// What was asked for.
#[derive(Clone)]
struct Request {
    scope: Scope,
    pattern: Pattern,
    include: Option<GlobMatcher>,
    exclude: Option<GlobMatcher>,
    context: usize,
    only_files: bool,
}

impl Request {
    fn of(input: &Value) -> Result<Request, ValidationFault> {
        let flag = |field| Ok(optional_flag(input, field)?.unwrap_or(false));
        let manner = Manner { literal: flag("literal")?, any_case: flag("case_insensitive")? };
        let pattern = compile(text(input, "pattern")?, manner)?;
        let glob = |field| optional_text(input, field)?.map(|glob| pattern::glob(field, glob)).transpose();
        let only_files = match optional_text(input, "mode")? {
            None | Some("lines") => false,
            Some("files") => true,
            Some(_) => return Err(fault("mode", "the field \"mode\" must be \"lines\" or \"files\"")),
        };
        let context = optional_count(input, "context_lines", 0)?.unwrap_or(0);
        Ok(Request {
            pattern,
            include: glob("include")?,
            exclude: glob("exclude")?,
            context: usize::try_from(context).unwrap_or(MOST_CONTEXT).min(MOST_CONTEXT),
            only_files,
            scope: Scope::of(input, DEFAULT_SHOWN, MOST_SHOWN)?,
        })
    }
}

/// The tool.
pub type GrepFiles = OverFiles<Lines>;

/// What it is.
pub struct Lines;

impl FileTool for Lines {
    const NAME: &'static str = "grep_files";
    const DESCRIPTION: &'static str = DESCRIPTION;
    const HINT: &'static str = "grep rg ripgrep search find text content regex pattern usages";
    const SHOWN: [&'static str; 2] = ["Search in files", "Searching"];
    const DOES: Does = Does::Searches;

    fn schema() -> Value {
        let fields = json!({
            "pattern": { "type": "string", "description": "What to look for: a regular expression, or text with literal=true." },
            "literal": { "type": "boolean", "description": "Whether pattern is the text itself, with nothing to escape." },
            "case_insensitive": { "type": "boolean", "description": "Whether upper and lower case are the same." },
            "include": { "type": "string", "description": "Only files that match this glob, such as *.rs or src/**/*.ts." },
            "exclude": { "type": "string", "description": "No files that match this glob." },
            "context_lines": {
                "type": "integer", "minimum": 0,
                "description": "How many lines to show before and after each matching one: 0 when absent, 10 at most.",
            },
            "mode": {
                "type": "string", "enum": ["lines", "files"],
                "description": "What to show: the matching lines (when absent), or the files that have some.",
            },
            "max_results": {
                "type": "integer", "minimum": 0,
                "description": "The most matching lines (or files) to show: 100 when absent, 1000 at most. All are counted.",
            },
        });
        find::schema(fields, "pattern", "a folder or a file")
    }

    fn check(input: &Value) -> Result<(), ValidationFault> {
        Request::of(input).map(drop)
    }

    fn act(files: &dyn FileBoundary, input: &Value, stop: &CancellationToken) -> Result<String, ToolError> {
        let request = Request::of(input).map_err(invalid)?;
        Ok(render(&request, input, &grep(files, &request, stop)?))
    }
}

/// What was found, all of it.
struct Results {
    kept: Kept,
    lines: u64,
    files: u64,
    searched: u64,
    large: Tally,
    /// Files with lines that are too long.
    long: Tally,
    binary: Tally,
    unreadable: Tally,
    passed: PassedOver,
}

fn grep(boundary: &dyn FileBoundary, request: &Request, stop: &CancellationToken) -> Result<Results, ToolError> {
    let stopped = || stop.is_cancelled();
    let make = || Grep {
        request,
        search: Search::new(&request.pattern, &stopped),
        buffer: Vec::new(),
        results: Results {
            kept: Kept::new(request.scope.most),
            lines: 0,
            files: 0,
            searched: 0,
            large: Tally::default(),
            long: Tally::default(),
            binary: Tally::default(),
            unreadable: Tally::default(),
            passed: PassedOver::default(),
        },
    };
    match request.scope.open(boundary)? {
        Start::File(path, open) => {
            let mut grep = make();
            grep.look(&path, open);
            if stop.is_cancelled() { Err(ToolError::Cancelled) } else { Ok(grep.results) }
        }
        Start::Folder(tree, above) => {
            let walk = Walk { tree: &tree, above, ignored: request.scope.ignored, stop };
            let (visitors, passed) = walk.run(make).map_err(no_walk)?;
            let mut all = make().results;
            for grep in visitors {
                all.join(grep.results);
            }
            Ok(Results { passed, ..all })
        }
    }
}

impl Results {
    fn join(&mut self, other: Results) {
        self.kept.join(other.kept);
        self.lines += other.lines;
        self.files += other.files;
        self.searched += other.searched;
        self.large.join(other.large);
        self.long.join(other.long);
        self.binary.join(other.binary);
        self.unreadable.join(other.unreadable);
    }
}

/// One thread's search.
struct Grep<'a> {
    request: &'a Request,
    search: Search<'a>,
    buffer: Vec<u8>,
    results: Results,
}

impl Visit for Grep<'_> {
    fn file(&mut self, file: &Candidate<'_>) {
        let covers = |glob: &Option<GlobMatcher>| glob.as_ref().map(|glob| glob.is_match(file.below));
        if covers(&self.request.include) == Some(false) || covers(&self.request.exclude) == Some(true) {
            return;
        }
        match file.open() {
            Ok(open) => self.look(file.shown, open),
            Err(_) => self.results.unreadable.add(file.shown),
        }
    }
}

impl Grep<'_> {
    fn look(&mut self, path: &Path, open: OpenFile) {
        let length = match read(open, &mut self.buffer) {
            Ok(Some(length)) => length,
            Ok(None) => return self.results.large.add(path),
            Err(_) => return self.results.unreadable.add(path),
        };
        let text = &self.buffer[..length];
        if memchr(0, text).is_some() {
            return self.results.binary.add(path);
        }
        let text = text.strip_prefix("\u{feff}".as_bytes()).unwrap_or(text);
        let Request { scope, context, only_files, .. } = self.request;
        let wanted = self.results.kept.wants(path);
        let keep = if wanted && !only_files { scope.most } else { 0 };
        let found = match self.search.find(text, keep) {
            Ok(Some(found)) => found,
            Ok(None) => return self.results.long.add(path),
            Err(_) => return self.results.unreadable.add(path),
        };
        self.results.searched += 1;
        if found.count == 0 {
            return;
        }
        self.results.lines += found.count;
        self.results.files += 1;
        if wanted {
            let rows = rows(text, &found.starts, *context, |line| self.search.place(line));
            let weight = if *only_files { 1 } else { found.starts.len() };
            self.results.kept.add(path.to_path_buf(), FileHits { count: found.count, rows, weight });
        }
    }
}

/// Reads a file into the start of `buffer`; `None` if it is too large.
fn read(open: OpenFile, buffer: &mut Vec<u8>) -> io::Result<Option<usize>> {
    let OpenFile { mut file, len, .. } = open;
    let Some(len) = usize::try_from(len).ok().filter(|len| *len <= FILE_BYTES) else { return Ok(None) };
    let mut filled = 0;
    loop {
        if buffer.len() <= filled.max(len) {
            // Files that the system makes up as they are read have no size.
            buffer.resize((2 * filled).max(len + 1).max(4096), 0);
        }
        match file.read(&mut buffer[filled..]) {
            Ok(0) => return Ok(Some(filled)),
            Ok(more) => filled += more,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
        if filled > FILE_BYTES {
            return Ok(None);
        }
        // What is appended meanwhile is left out.
        if len > 0 && filled >= len {
            return Ok(Some(len));
        }
    }
}

fn render(request: &Request, input: &Value, found: &Results) -> String {
    let (body, shown) = body(request, found);
    let all = if request.only_files { found.files } else { found.lines };
    let mut text = if found.lines == 0 {
        format!("No line matches in {}.", counted(found.searched, "searched file", "searched files"))
    } else {
        format!(
            "{} in {} ({} searched).",
            counted(found.lines, "matching line", "matching lines"),
            counted(found.files, "file", "files"),
            found.searched
        )
    };
    text.push('\n');
    text.push_str(&body);
    for line in notices(request, input, found, all, shown) {
        text.push_str(&line);
        text.push('\n');
    }
    text.pop();
    text
}

/// The findings, as many as fit, and how many they are.
fn body(request: &Request, found: &Results) -> (String, u64) {
    let (mut body, mut shown) = (String::new(), 0);
    for (path, hits) in found.kept.files() {
        if request.only_files {
            let line = format!("{}: {}\n", visible_path(path), hits.count);
            if body.len() + line.len() > ANSWER_BYTES {
                break;
            }
            body.push_str(&line);
            shown += 1;
            continue;
        }
        let mut heading = format!("{}\n", visible_path(path));
        for row in &hits.rows {
            let line = line(row);
            let is_over = row.hit && shown == request.scope.most as u64;
            if is_over || body.len() + heading.len() + line.len() > ANSWER_BYTES {
                return (body, shown);
            }
            body.push_str(&std::mem::take(&mut heading));
            body.push_str(&line);
            shown += u64::from(row.hit);
        }
    }
    (body, shown)
}

fn line(row: &Row) -> String {
    let mark = if row.hit { '│' } else { '-' };
    format!("{:>6}{mark} {}\n", row.number, row.text)
}

fn notices(request: &Request, input: &Value, found: &Results, all: u64, shown: u64) -> Vec<String> {
    let mut lines = Vec::new();
    if shown < all {
        let what = if request.only_files { "files" } else { "matching lines" };
        let next = if shown == request.scope.most as u64 && all <= MOST_SHOWN as u64 {
            format!("To see all of them, {}", call("grep_files", input, &[("max_results", json!(all))]))
        } else if request.only_files {
            "To see the others, pass the path of a folder, or a narrower include".to_owned()
        } else {
            let files = call("grep_files", input, &[("mode", json!("files")), ("max_results", Value::Null)]);
            format!("To see which files they are in, {files}; then pass one of them as path")
        };
        lines.push(format!("[TRUNCATED] The first {shown} of {all} {what} are shown. {next}."));
    }
    if found.searched == 0 && found.lines == 0 && (request.include.is_some() || request.exclude.is_some()) {
        lines.push(
            "[NO FILE] No file there passes include and exclude; they are globs over paths below path.".to_owned(),
        );
    }
    let large = format!("larger than {} MB, not searched; read them with read_file", FILE_BYTES >> 20);
    for (tally, why) in [
        (&found.large, large.as_str()),
        (&found.long, "with a line over 1 MB or too long for this pattern, not searched; read them with read_file"),
        (&found.binary, "binary or UTF-16, not searched"),
        (&found.unreadable, "could not be read"),
    ] {
        if tally.count > 0 {
            lines.push(skipped(tally, "file", "files", why));
        }
    }
    lines.extend(passed_over(&found.passed, request.scope.ignored));
    lines
}

#[cfg(test)]
mod tests;

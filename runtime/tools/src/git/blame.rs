//! `git_blame`: which commit each line of a file comes from.

use super::{Git, path, repository::no_commits, revision::revision, with_repository};
use crate::{
    input::{fault, invalid, optional_count},
    work::refused,
};
use serde_json::{Value, json};
use slot_runtime::contract::{
    BoxFuture, Capability, CapabilitySet, Presentation, RunContext, Tool, ToolError, ToolOutput, ToolSpec,
    ValidationFault,
};
use std::{collections::BTreeMap, fmt::Write, io::Read, sync::Arc};

/// How many lines are shown when no end is given.
const DEFAULT_LINES: u64 = 200;
/// The most lines at once.
const MAX_LINES: u64 = 1000;
/// The largest file that is looked at.
const MAX_FILE: u64 = 16 << 20;
/// Characters of a hash and of an author's name that are shown.
const SHOWN_HASH: usize = 10;
const SHOWN_AUTHOR: usize = 20;

const DESCRIPTION: &str = "\
Show for each line of a file the commit that last changed it, with its date and author: `hash date author line| text`. Use \
this instead of git blame in exec_shell: it needs no approval and starts nothing that the repository names. It looks at the \
file as it is now, where lines that are not committed have no hash, or as it was at `rev`. 200 lines from start_line on are \
shown unless end_line says otherwise (1000 at most). Do not use it to read a file, which read_file does, or to see a \
commit, which git_show does. Examples: {\"path\": \"src/lib.rs\", \"start_line\": 40, \"end_line\": 60}; {\"path\": \
\"README.md\", \"rev\": \"v1.0\"}.";

/// The tool.
pub struct GitBlame {
    git: Arc<Git>,
}

impl GitBlame {
    /// The tool over `git`.
    pub fn new(git: Arc<Git>) -> Self {
        GitBlame { git }
    }
}

struct Request {
    path: String,
    rev: Option<String>,
    start: u64,
    end: u64,
}

impl Request {
    fn of(input: &Value) -> Result<Request, ValidationFault> {
        let path = path(input, "path")?.ok_or_else(|| fault("path", "the field \"path\" is missing; pass a file"))?;
        let start = optional_count(input, "start_line", 1)?.unwrap_or(1);
        let end = optional_count(input, "end_line", 1)?.unwrap_or(start.saturating_add(DEFAULT_LINES - 1));
        if end < start || end - start >= MAX_LINES {
            return Err(fault(
                "end_line",
                format!(
                    "the lines {start} to {end} are not 1 to {MAX_LINES} lines; pass an end_line from start_line on"
                ),
            ));
        }
        let rev = revision(input, "rev")?.map(str::to_owned);
        Ok(Request { path: path.to_owned(), rev, start, end: end.min(u64::from(u32::MAX)) })
    }
}

impl Tool for GitBlame {
    fn name(&self) -> &str {
        "git_blame"
    }

    fn description(&self) -> &str {
        DESCRIPTION
    }

    fn input_schema(&self) -> Value {
        json!({
            "type": "object",
            "properties": {
                "path": { "type": "string", "description": "The file, relative to the workspace." },
                "rev": { "type": "string", "description": "The file as it was at this revision; as it is now when absent." },
                "start_line": { "type": "integer", "minimum": 1, "description": "The first line; 1 when absent." },
                "end_line": { "type": "integer", "minimum": 1, "description": "The last line." },
            },
            "required": ["path"],
            "additionalProperties": false,
        })
    }

    fn run<'a>(&'a self, input: &'a Value, run: &'a RunContext) -> BoxFuture<'a, Result<ToolOutput, ToolError>> {
        Box::pin(async move {
            let request = Request::of(input).map_err(invalid)?;
            let path = request.path.clone();
            let boundary = Arc::clone(&self.git.boundary);
            with_repository(&self.git, run, Some(&path), move |repository, stop| {
                let Some(inside) = repository.path.clone() else {
                    return Err(ToolError::InvalidInput("the path is a folder; pass a file".to_owned()));
                };
                if !repository.has_commits(stop)? {
                    return Err(no_commits());
                }
                let range = format!("-L{},{}", request.start, request.end);
                let mut arguments = vec!["blame".to_owned(), "--porcelain".to_owned(), range];
                match &request.rev {
                    Some(rev) => arguments.push(repository.resolve(rev, stop)?),
                    None => {
                        // What the file holds is read here: `git` would open it by its name, wherever that leads by then.
                        let opened = boundary.open_file(&repository.boundary_path).map_err(refused)?;
                        if opened.len > MAX_FILE {
                            return Err(ToolError::InvalidInput(format!(
                                "the file has {} bytes; at most {MAX_FILE} are looked at",
                                opened.len
                            )));
                        }
                        let mut bytes = Vec::new();
                        opened.file.take(MAX_FILE).read_to_end(&mut bytes).map_err(|error| {
                            ToolError::Failed(format!("the file could not be read: {error}; try again"))
                        })?;
                        let contents = repository.keep("contents", &bytes)?;
                        arguments.push(format!("--contents={}", contents.display()));
                    }
                }
                arguments.extend(["--".to_owned(), inside]);
                let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
                let text = repository.text(&arguments, stop, "Pass a smaller end_line.")?;
                Ok(ToolOutput::ok(render(&text)))
            })
            .await
        })
    }
}

/// What is known of a commit.
#[derive(Clone, Default)]
struct Commit {
    author: String,
    /// Seconds since 1970, and the author's distance from UTC.
    time: i64,
    zone: String,
}

/// What `git blame --porcelain` prints, one line for each line of the file. What it says of a commit comes once.
fn render(text: &str) -> String {
    let mut commits: BTreeMap<String, Commit> = BTreeMap::new();
    let mut at = (String::new(), 0_u64);
    let mut shown = String::new();
    for line in text.split('\n') {
        if let Some(content) = line.strip_prefix('\t') {
            let commit = commits.get(&at.0).cloned().unwrap_or_default();
            let (hash, date, author) = if at.0.bytes().all(|byte| byte == b'0') {
                ("-".repeat(SHOWN_HASH), "not committed".to_owned(), String::new())
            } else {
                let author: String = commit.author.chars().take(SHOWN_AUTHOR).collect();
                (at.0.chars().take(SHOWN_HASH).collect(), date(commit.time, &commit.zone), format!(" {author}"))
            };
            // Writing to a string cannot fail.
            let _ = writeln!(shown, "{hash} {date}{author} {}| {content}", at.1);
            continue;
        }
        let (word, rest) = line.split_once(' ').unwrap_or((line, ""));
        match word {
            "author" => commits.entry(at.0.clone()).or_default().author = rest.to_owned(),
            "author-time" => commits.entry(at.0.clone()).or_default().time = rest.parse().unwrap_or(0),
            "author-tz" => commits.entry(at.0.clone()).or_default().zone = rest.to_owned(),
            hash if hash.len() >= 40 && hash.bytes().all(|byte| byte.is_ascii_hexdigit()) => {
                at = (hash.to_owned(), rest.split(' ').nth(1).and_then(|line| line.parse().ok()).unwrap_or(0));
            }
            note if note.starts_with('[') => shown.push_str(line),
            _ => {}
        }
    }
    shown.trim_end_matches('\n').to_owned()
}

/// The day, as the author's clock had it.
fn date(time: i64, zone: &str) -> String {
    let zone: i64 = zone.parse().unwrap_or(0);
    let offset = (zone / 100) * 3600 + (zone % 100) * 60;
    // Days of a calendar whose years begin in March, so that the leap day is the last: what comes after is arithmetic.
    let days = time.saturating_add(offset).div_euclid(86_400).saturating_add(719_468);
    let era = days.div_euclid(146_097);
    let day_of_era = days.rem_euclid(146_097);
    let year_of_era = (day_of_era - day_of_era / 1460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let month = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * month + 2) / 5 + 1;
    let month = if month < 10 { month + 3 } else { month - 9 };
    let year = year_of_era.saturating_add(era.saturating_mul(400)).saturating_add(i64::from(month <= 2));
    format!("{year:04}-{month:02}-{day:02}")
}

impl ToolSpec for GitBlame {
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
        Some("version control annotate who wrote changed a line author commit")
    }

    fn presentation(&self) -> Presentation {
        Presentation {
            title: Some("Git blame".into()),
            activity: Some("Looking at who wrote a file".into()),
            transparent: false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(time: i64, zone: &str, expect: &str) {
        assert_eq!(date(time, zone), expect);
    }

    #[test]
    fn days_are_those_of_the_author() {
        check(0, "+0000", "1970-01-01");
        check(951_782_400, "+0000", "2000-02-29");
        check(1_767_225_599, "+0000", "2025-12-31");
        check(1_767_225_599, "+0100", "2026-01-01");
        check(0, "-0130", "1969-12-31");
    }

    #[test]
    fn what_is_said_of_a_commit_once_holds_for_all_of_its_lines() {
        let (a, none) = ("a".repeat(40), "0".repeat(40));
        let text = format!(
            "{a} 1 1 2\nauthor Ann\nauthor-time 0\nauthor-tz +0000\nsummary x\nfilename f\n\tone\n{none} 9 2 1\nauthor External\n\t\ttwo\n{a} 2 3\n\tthree\n"
        );
        assert_eq!(
            render(&text),
            "aaaaaaaaaa 1970-01-01 Ann 1| one\n---------- not committed 2| \ttwo\naaaaaaaaaa 1970-01-01 Ann 3| three"
        );
    }
}

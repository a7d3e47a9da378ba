//! `file_search`: files by what somebody remembers of their names.

mod score;

use crate::{
    find::{
        self, ANSWER_BYTES, Start,
        answer::{call, counted, no_walk, passed_over, visible_path},
        common_fields,
        walk::{Candidate, Visit, Walk},
    },
    input::{fault, invalid, optional_flag, optional_text, text},
    work::blocking,
};
use score::Words;
use serde_json::{Value, json};
use slot_runtime::{
    boundary::FileBoundary,
    contract::{
        BoxFuture, Capability, CapabilitySet, Presentation, RunContext, Tool, ToolError, ToolOutput, ToolSpec,
        ValidationFault,
    },
};
use std::{cmp::Reverse, collections::BTreeSet, path::PathBuf, sync::Arc};
use tokio_util::sync::CancellationToken;

/// How many files are shown where nothing is said.
const DEFAULT_FILES: usize = 20;
/// The most files that are shown.
const MOST_FILES: usize = 200;
/// The longest query, in bytes.
const QUERY_BYTES: usize = 256;
/// The most words of a query.
const QUERY_WORDS: usize = 8;

const DESCRIPTION: &str = "\
Find files by a part of their name or path, the best match first. Use this instead of find | grep, fzf or locate in \
exec_shell: it is faster and needs no approval. Case makes no difference, letters may be missing between, and several words \
must all be there, in any order. Paths can be passed to other tools as they are. Do not use it with a glob such as *.rs \
(glob_files), to see what one folder holds (list_dir), or to look for text in files (grep_files). \
Examples: {\"query\": \"usermodel\"}; {\"query\": \"config test\", \"path\": \"packages\", \"max_results\": 50}.";

/// The tool.
pub struct FileSearch {
    boundary: Arc<dyn FileBoundary>,
}

impl FileSearch {
    /// The tool over the files behind `boundary`.
    pub fn new(boundary: Arc<dyn FileBoundary>) -> Self {
        FileSearch { boundary }
    }
}

struct Request {
    path: String,
    words: Words,
    ignored: bool,
    most: usize,
}

impl Request {
    fn of(input: &Value) -> Result<Request, ValidationFault> {
        let query = text(input, "query")?;
        let words = Words::of(query);
        if words.is_empty() {
            return Err(fault("query", "query is empty; pass a part of the name, or list a folder with list_dir"));
        }
        if query.len() > QUERY_BYTES || query.split_whitespace().count() > QUERY_WORDS {
            return Err(fault(
                "query",
                format!(
                    "query is too long; up to {QUERY_WORDS} words and {QUERY_BYTES} bytes are compared. Pass fewer"
                ),
            ));
        }
        Ok(Request {
            path: optional_text(input, "path")?.unwrap_or(".").to_owned(),
            words,
            ignored: optional_flag(input, "include_ignored")?.unwrap_or(false),
            most: find::shown(input, DEFAULT_FILES, MOST_FILES)?,
        })
    }
}

impl Tool for FileSearch {
    fn name(&self) -> &str {
        "file_search"
    }

    fn description(&self) -> &str {
        DESCRIPTION
    }

    fn input_schema(&self) -> Value {
        let mut fields = json!({
            "query": { "type": "string", "description": "Words or parts of words of the name or path." },
            "max_results": {
                "type": "integer", "minimum": 0,
                "description": "The most files to show: 20 when absent, brought between 1 and 200. All are counted.",
            },
        });
        for (name, schema) in common_fields("a folder") {
            fields[name] = schema;
        }
        json!({ "type": "object", "properties": fields, "required": ["query"], "additionalProperties": false })
    }

    fn run<'a>(&'a self, input: &'a Value, run: &'a RunContext) -> BoxFuture<'a, Result<ToolOutput, ToolError>> {
        Box::pin(async move {
            let request = Request::of(input).map_err(invalid)?;
            let (boundary, input) = (Arc::clone(&self.boundary), input.clone());
            blocking(run, move |stop| search(&*boundary, &request, &input, stop).map(ToolOutput::ok)).await
        })
    }
}

impl ToolSpec for FileSearch {
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
        Some("find file by name fuzzy fzf locate where is path")
    }

    fn presentation(&self) -> Presentation {
        Presentation { title: Some("Find a file".into()), activity: Some("Finding a file".into()), transparent: false }
    }
}

/// A path in the order in which it is shown: by score, then the shorter one, then by its bytes.
type Ranked = (Reverse<u32>, usize, PathBuf);

struct Scored<'a> {
    request: &'a Request,
    count: u64,
    first: BTreeSet<Ranked>,
}

impl Scored<'_> {
    fn keep(&mut self, ranked: Ranked) {
        self.first.insert(ranked);
        if self.first.len() > self.request.most {
            self.first.pop_last();
        }
    }
}

impl Visit for Scored<'_> {
    fn file(&mut self, file: &Candidate<'_>) {
        if let Some(score) = self.request.words.score(&file.below.to_string_lossy()) {
            self.count += 1;
            self.keep((Reverse(score), file.shown.as_os_str().len(), file.shown.to_path_buf()));
        }
    }
}

fn search(
    boundary: &dyn FileBoundary,
    request: &Request,
    input: &Value,
    stop: &CancellationToken,
) -> Result<String, ToolError> {
    let Start::Folder(tree, above) = find::start(boundary, &request.path, request.ignored)? else {
        return Err(ToolError::InvalidInput(format!(
            "path {} is a file already. Pass a folder to look in, or call read_file with path={}",
            request.path,
            json!(request.path)
        )));
    };
    let walk = Walk { tree: &tree, above, ignored: request.ignored, stop };
    let make = || Scored { request, count: 0, first: BTreeSet::new() };
    let (visitors, passed) = walk.run(make).map_err(no_walk)?;
    let mut all = make();
    for found in visitors {
        all.count += found.count;
        found.first.into_iter().for_each(|ranked| all.keep(ranked));
    }
    let mut text = match all.count {
        0 => {
            "No file matches. Pass fewer letters or words, or call glob_files with pattern=\"**/*\" to see which files \
              there are.\n"
                .to_owned()
        }
        count => format!("{}, the best first.\n", counted(count, "file matches", "files match")),
    };
    let mut shown = 0;
    for (_, _, path) in &all.first {
        let line = visible_path(path);
        if text.len() + line.len() > ANSWER_BYTES {
            break;
        }
        text.push_str(&line);
        text.push('\n');
        shown += 1;
    }
    if shown < all.count {
        let next = if shown == request.most as u64 && request.most < MOST_FILES {
            let more = all.count.min(MOST_FILES as u64);
            format!("To see more, {}", call("file_search", input, &[("max_results", json!(more))]))
        } else {
            "To see others, pass more of the name, or the path of a folder".to_owned()
        };
        text.push_str(&format!("[TRUNCATED] The best {shown} of {} files are shown. {next}.\n", all.count));
    }
    for line in passed_over(&passed, request.ignored) {
        text.push_str(&line);
        text.push('\n');
    }
    text.pop();
    Ok(text)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{World, call as run};

    #[track_caller]
    fn check(world: &World, input: Value, expect: &str) {
        let output = run(&FileSearch::new(world.boundary()), input).expect("an answer");
        assert_eq!(output.content, expect);
    }

    #[track_caller]
    fn check_refused(input: Value, expect: &str) {
        let world = World::new().with("f", "");
        let tool = FileSearch::new(world.boundary());
        let error = run(&tool, input).expect_err("a refusal").to_string();
        assert!(error.contains(expect), "{error}");
    }

    #[test]
    fn the_best_comes_first_and_equals_are_in_order() {
        let world = World::new()
            .with("lib/user.rs", "")
            .with("src/user.rs", "")
            .with("a/b/user.rs", "")
            .with("src/users_test.rs", "")
            .with("src/other.rs", "");
        check(
            &world,
            json!({ "query": "User" }),
            "4 files match, the best first.\na/b/user.rs\nlib/user.rs\nsrc/user.rs\nsrc/users_test.rs",
        );
        check(&world, json!({ "query": "user", "path": "lib" }), "1 file matches, the best first.\nlib/user.rs");
    }

    #[test]
    fn results_are_clamped_and_all_are_counted() {
        let world = (0..250).fold(World::new(), |world, n| world.with(&format!("x{n:03}"), ""));
        let answer = |max: Value| {
            let input =
                if max.is_null() { json!({ "query": "x" }) } else { json!({ "query": "x", "max_results": max }) };
            run(&FileSearch::new(world.boundary()), input).expect("an answer").content
        };
        for (asked, lines) in [(Value::Null, 20), (json!(0), 1), (json!(7), 7), (json!(5000), 200)] {
            let answer = answer(asked.clone());
            assert!(answer.starts_with("250 files match"), "{answer}");
            assert_eq!(answer.lines().filter(|line| line.starts_with('x')).count(), lines, "{asked}");
        }
        assert!(answer(Value::Null).ends_with("call file_search with max_results=200 query=\"x\"."));
        assert!(answer(json!(200)).ends_with("pass more of the name, or the path of a folder."));
    }

    #[test]
    fn what_cannot_be_searched_is_refused_with_the_next_step() {
        check_refused(json!({ "query": " " }), "list a folder with list_dir");
        check_refused(json!({ "query": "a b c d e f g h i" }), "up to 8 words");
        check_refused(json!({ "query": "x", "path": "../y" }), "path escapes workspace");
        check_refused(json!({ "query": "x", "path": "f" }), "call read_file with path=\"f\"");
    }
}

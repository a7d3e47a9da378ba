//! `file_search`: files by what somebody remembers of their names.

mod score;

use crate::{
    find::{
        self, Scope,
        answer::{call, counted},
        files::files,
    },
    input::{fault, invalid, text},
    over_files::{Does, FileTool, OverFiles},
};
use score::Words;
use serde_json::{Value, json};
use slot_runtime::{
    boundary::FileBoundary,
    contract::{ToolError, ValidationFault},
};
use std::cmp::Reverse;
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

struct Request {
    scope: Scope,
    words: Words,
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
        Ok(Request { words, scope: Scope::of(input, DEFAULT_FILES, MOST_FILES)? })
    }
}

/// The tool.
pub type FileSearch = OverFiles<Names>;

/// What it is.
pub struct Names;

impl FileTool for Names {
    const NAME: &'static str = "file_search";
    const DESCRIPTION: &'static str = DESCRIPTION;
    const HINT: &'static str = "find file by name fuzzy fzf locate where is path";
    const SHOWN: [&'static str; 2] = ["Find a file", "Finding a file"];
    const DOES: Does = Does::Searches;

    fn schema() -> Value {
        let fields = json!({
            "query": { "type": "string", "description": "Words or parts of words of the name or path." },
            "max_results": {
                "type": "integer", "minimum": 0,
                "description": "The most files to show: 20 when absent, brought between 1 and 200. All are counted.",
            },
        });
        find::schema(fields, "query", "a folder")
    }

    fn check(input: &Value) -> Result<(), ValidationFault> {
        Request::of(input).map(drop)
    }

    fn act(files: &dyn FileBoundary, input: &Value, stop: &CancellationToken) -> Result<String, ToolError> {
        search(files, &Request::of(input).map_err(invalid)?, input, stop)
    }
}

fn search(
    boundary: &dyn FileBoundary,
    request: &Request,
    input: &Value,
    stop: &CancellationToken,
) -> Result<String, ToolError> {
    let Request { scope, words } = request;
    // By score, then the shorter path.
    let found = files(boundary, scope, stop, |file| {
        let score = words.score(&file.below.to_string_lossy())?;
        Some((Reverse(score), file.shown.as_os_str().len()))
    })?;
    let head = match found.count {
        0 => {
            "No file matches. Pass fewer letters or words, or call glob_files with pattern=\"**/*\" to see which files \
             there are."
                .to_owned()
        }
        count => format!("{}, the best first.", counted(count, "file matches", "files match")),
    };
    Ok(found.render(scope, &head, "best", |shown| {
        if shown == scope.most as u64 && scope.most < MOST_FILES {
            let more = found.count.min(MOST_FILES as u64);
            format!("To see more, {}", call("file_search", input, &[("max_results", json!(more))]))
        } else {
            "To see others, pass more of the name, or the path of a folder".to_owned()
        }
    }))
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

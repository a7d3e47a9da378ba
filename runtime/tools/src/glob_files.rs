//! `glob_files`: the files whose paths match a pattern.

use crate::{
    find::{
        self, ANSWER_BYTES, DEFAULT_SHOWN, MOST_SHOWN, Start,
        answer::{call, counted, no_walk, passed_over, visible_path},
        common_fields, pattern,
        walk::{Candidate, Visit, Walk},
    },
    input::{invalid, optional_flag, optional_text, text},
    work::blocking,
};
use globset::GlobMatcher;
use serde_json::{Value, json};
use slot_runtime::{
    boundary::FileBoundary,
    contract::{
        BoxFuture, Capability, CapabilitySet, Presentation, RunContext, Tool, ToolError, ToolOutput, ToolSpec,
        ValidationFault,
    },
};
use std::{collections::BTreeSet, path::PathBuf, sync::Arc};
use tokio_util::sync::CancellationToken;

const DESCRIPTION: &str = "\
Find files whose paths match a glob. Use this instead of find -name, fd or ls -R in exec_shell: it is faster, needs no \
approval, and counts every match before it leaves any out. `*` and `?` stop at a slash, `**` does not; {a,b} and [a-z] work; \
a glob without a slash is over names in any folder. Paths are sorted and can be passed to other tools as they are. Do not \
use it when you know only a part of a name (file_search), to see what one folder holds (list_dir), or to look for text in \
files (grep_files). Examples: {\"pattern\": \"*.rs\"}; {\"pattern\": \"src/**/*.{ts,tsx}\"}; {\"pattern\": \"*_test.go\", \
\"path\": \"internal\"}.";

/// The tool.
pub struct GlobFiles {
    boundary: Arc<dyn FileBoundary>,
}

impl GlobFiles {
    /// The tool over the files behind `boundary`.
    pub fn new(boundary: Arc<dyn FileBoundary>) -> Self {
        GlobFiles { boundary }
    }
}

struct Request {
    path: String,
    glob: GlobMatcher,
    ignored: bool,
    most: usize,
}

impl Request {
    fn of(input: &Value) -> Result<Request, ValidationFault> {
        Ok(Request {
            path: optional_text(input, "path")?.unwrap_or(".").to_owned(),
            glob: pattern::glob("pattern", text(input, "pattern")?)?,
            ignored: optional_flag(input, "include_ignored")?.unwrap_or(false),
            most: find::shown(input, DEFAULT_SHOWN, MOST_SHOWN)?,
        })
    }
}

impl Tool for GlobFiles {
    fn name(&self) -> &str {
        "glob_files"
    }

    fn description(&self) -> &str {
        DESCRIPTION
    }

    fn input_schema(&self) -> Value {
        let mut fields = json!({
            "pattern": { "type": "string", "description": "The glob, over paths below path." },
            "max_results": {
                "type": "integer", "minimum": 0,
                "description": "The most files to show: 100 when absent, 1000 at most. All are counted.",
            },
        });
        for (name, schema) in common_fields("a folder") {
            fields[name] = schema;
        }
        json!({ "type": "object", "properties": fields, "required": ["pattern"], "additionalProperties": false })
    }

    fn run<'a>(&'a self, input: &'a Value, run: &'a RunContext) -> BoxFuture<'a, Result<ToolOutput, ToolError>> {
        Box::pin(async move {
            let request = Request::of(input).map_err(invalid)?;
            let (boundary, input) = (Arc::clone(&self.boundary), input.clone());
            blocking(run, move |stop| search(&*boundary, &request, &input, stop).map(ToolOutput::ok)).await
        })
    }
}

impl ToolSpec for GlobFiles {
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
        Some("glob find fd files paths names extension pattern")
    }

    fn presentation(&self) -> Presentation {
        Presentation { title: Some("Find files".into()), activity: Some("Finding files".into()), transparent: false }
    }
}

struct Globbed<'a> {
    request: &'a Request,
    count: u64,
    first: BTreeSet<PathBuf>,
}

impl Globbed<'_> {
    fn keep(&mut self, path: PathBuf) {
        self.first.insert(path);
        if self.first.len() > self.request.most {
            self.first.pop_last();
        }
    }
}

impl Visit for Globbed<'_> {
    fn file(&mut self, file: &Candidate<'_>) {
        if self.request.glob.is_match(file.below) {
            self.count += 1;
            self.keep(file.shown.to_path_buf());
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
            "path {} is a file, and a glob is over what lies in a folder. Pass the folder of it, or call read_file with \
             path={}",
            request.path,
            json!(request.path)
        )));
    };
    let walk = Walk { tree: &tree, above, ignored: request.ignored, stop };
    let make = || Globbed { request, count: 0, first: BTreeSet::new() };
    let (visitors, passed) = walk.run(make).map_err(no_walk)?;
    let mut all = make();
    for found in visitors {
        all.count += found.count;
        found.first.into_iter().for_each(|path| all.keep(path));
    }
    let mut text = match all.count {
        0 => "No file matches.\n".to_owned(),
        count => format!("{}.\n", counted(count, "file matches", "files match")),
    };
    let mut shown = 0;
    for path in &all.first {
        let line = visible_path(path);
        if text.len() + line.len() > ANSWER_BYTES {
            break;
        }
        text.push_str(&line);
        text.push('\n');
        shown += 1;
    }
    if shown < all.count {
        let next = if shown == request.most as u64 && all.count <= MOST_SHOWN as u64 {
            format!("To see all of them, {}", call("glob_files", input, &[("max_results", json!(all.count))]))
        } else {
            "To see the others, pass the path of a folder, or a narrower pattern".to_owned()
        };
        text.push_str(&format!("[TRUNCATED] The first {shown} of {} files are shown. {next}.\n", all.count));
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
        let output = run(&GlobFiles::new(world.boundary()), input).expect("an answer");
        assert_eq!(output.content, expect);
    }

    #[track_caller]
    fn check_refused(world: &World, input: Value, expect: &str) {
        let tool = GlobFiles::new(world.boundary());
        let error = run(&tool, input).expect_err("a refusal").to_string();
        assert!(error.contains(expect), "{error}");
    }

    fn world() -> World {
        World::new().with("a.rs", "").with("src/b.rs", "").with("src/deep/c.rs", "").with("src/d.txt", "")
    }

    #[test]
    fn paths_are_sorted_and_can_be_passed_on() {
        check(&world(), json!({ "pattern": "*.rs" }), "3 files match.\na.rs\nsrc/b.rs\nsrc/deep/c.rs");
        check(&world(), json!({ "pattern": "*.rs", "path": "src" }), "2 files match.\nsrc/b.rs\nsrc/deep/c.rs");
        check(&world(), json!({ "pattern": "src/*" }), "2 files match.\nsrc/b.rs\nsrc/d.txt");
        check(&world(), json!({ "pattern": "*.go" }), "No file matches.");
    }

    #[test]
    fn all_are_counted_before_any_is_left_out() {
        let world = (0..120).fold(World::new(), |world, n| world.with(&format!("d/{n:03}.c"), ""));
        let first: String = (0..100).map(|n| format!("d/{n:03}.c\n")).collect();
        check(
            &world,
            json!({ "pattern": "*.c" }),
            &format!(
                "120 files match.\n{first}[TRUNCATED] The first 100 of 120 files are shown. To see all of them, call \
                 glob_files with max_results=120 pattern=\"*.c\"."
            ),
        );
        let all: String = (0..120).map(|n| format!("\nd/{n:03}.c")).collect();
        check(&world, json!({ "pattern": "*.c", "max_results": 120 }), &format!("120 files match.{all}"));
        check(
            &world,
            json!({ "pattern": "*.c", "max_results": 0 }),
            "120 files match.\nd/000.c\n[TRUNCATED] The first 1 of 120 files are shown. To see all of them, call glob_files \
             with max_results=120 pattern=\"*.c\".",
        );
    }

    #[test]
    fn what_leads_out_is_refused() {
        check_refused(&world(), json!({ "pattern": "../*" }), "never leads up");
        check_refused(&world(), json!({ "pattern": "*", "path": ".." }), "path escapes workspace");
        check_refused(&world(), json!({ "pattern": "*", "path": "a.rs" }), "call read_file with path=\"a.rs\"");
        check_refused(&world(), json!({ "pattern": "*", "path": "absent" }), "not found: absent");
    }

    #[test]
    fn what_was_left_out_is_told_with_the_way_to_it() {
        let world = world().with("target/x.rs", "");
        check(
            &world,
            json!({ "pattern": "x.rs" }),
            "No file matches.\n[LEFT OUT] 1 folder and 0 files that ignore files name or that hold build output or installed \
             code; include_ignored=true looks at them too.",
        );
        check(&world, json!({ "pattern": "x.rs", "include_ignored": true }), "1 file matches.\ntarget/x.rs");
    }
}

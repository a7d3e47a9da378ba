//! `glob_files`: the files whose paths match a pattern.

use crate::{
    find::{
        self, DEFAULT_SHOWN, MOST_SHOWN, Scope,
        answer::{call, counted},
        files::files,
        pattern,
    },
    input::{invalid, text},
    over_files::{Does, FileTool, OverFiles},
};
use globset::GlobMatcher;
use serde_json::{Value, json};
use slot_runtime::{
    boundary::FileBoundary,
    contract::{ToolError, ValidationFault},
};
use tokio_util::sync::CancellationToken;

const DESCRIPTION: &str = "\
Find files whose paths match a glob. Use this instead of find -name, fd or ls -R in exec_shell: it is faster, needs no \
approval, and counts every match before it leaves any out. `*` and `?` stop at a slash, `**` does not; {a,b} and [a-z] work; \
a glob without a slash is over names in any folder. Paths are sorted and can be passed to other tools as they are. Do not \
use it when you know only a part of a name (file_search), to see what one folder holds (list_dir), or to look for text in \
files (grep_files). Examples: {\"pattern\": \"*.rs\"}; {\"pattern\": \"src/**/*.{ts,tsx}\"}; {\"pattern\": \"*_test.go\", \
\"path\": \"internal\"}.";

struct Request {
    scope: Scope,
    glob: GlobMatcher,
}

impl Request {
    fn of(input: &Value) -> Result<Request, ValidationFault> {
        Ok(Request {
            glob: pattern::glob("pattern", text(input, "pattern")?)?,
            scope: Scope::of(input, DEFAULT_SHOWN, MOST_SHOWN)?,
        })
    }
}

/// The tool.
pub type GlobFiles = OverFiles<Paths>;

/// What it is.
pub struct Paths;

impl FileTool for Paths {
    const NAME: &'static str = "glob_files";
    const DESCRIPTION: &'static str = DESCRIPTION;
    const HINT: &'static str = "glob find fd files paths names extension pattern";
    const SHOWN: [&'static str; 2] = ["Find files", "Finding files"];
    const DOES: Does = Does::Searches;

    fn schema() -> Value {
        let fields = json!({
            "pattern": { "type": "string", "description": "The glob, over paths below path." },
            "max_results": {
                "type": "integer", "minimum": 0,
                "description": "The most files to show: 100 when absent, 1000 at most. All are counted.",
            },
        });
        find::schema(fields, "pattern", "a folder")
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
    let Request { scope, glob } = request;
    let found = files(boundary, scope, stop, |file| glob.is_match(file.below).then_some(()))?;
    let head = match found.count {
        0 => "No file matches.".to_owned(),
        count => format!("{}.", counted(count, "file matches", "files match")),
    };
    Ok(found.render(scope, &head, "first", |shown| {
        if shown == scope.most as u64 && found.count <= MOST_SHOWN as u64 {
            format!("To see all of them, {}", call("glob_files", input, &[("max_results", json!(found.count))]))
        } else {
            "To see the others, pass the path of a folder, or a narrower pattern".to_owned()
        }
    }))
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

//! `fim_edit`: what stands between two texts of one file.
//!
//! It fills in the middle: the two texts around it are quoted and stay, and only what is new is sent. Where they stand is
//! decided where all edits are ([`crate::edit_file::matching`]); here are the input and the texts.

use crate::{
    edit_file::{Place, Request, edit},
    input::{fault, invalid, text},
    over_files::{Does, FileTool, OverFiles},
};
use serde_json::{Value, json};
use slot_runtime::{
    boundary::FileBoundary,
    contract::{ToolError, ValidationFault},
};
use tokio_util::sync::CancellationToken;

const DESCRIPTION: &str = "\
Fill in the middle of one file of the workspace: whatever stands between prefix and suffix becomes middle, and both stay as \
they are. Use it to write the body of a function that is a stub, or to insert at a place that you can name by the lines \
around it. Use this instead of edit_file when what you would quote is what stays, and instead of sed, ed or a script in \
exec_shell. prefix is the text right before the place, copied verbatim from a prior read_file result, and occurs once in the \
file; suffix is the text right after it: its next place behind prefix. Where the two touch, middle is inserted between them. \
middle is written exactly as you send it, so it brings its own newlines; an empty one deletes what is there. In lines that \
end in CRLF a newline matches the CRLF, and newlines in middle become CRLF. The result shows what was replaced: check it. Do \
not use it to change text that you can quote in full, or to create a file. \
Examples: {\"path\": \"src/sum.rs\", \"prefix\": \"fn sum(a: u8, b: u8) -> u8 {\\n\", \"suffix\": \"}\\n\", \"middle\": \"    \
a + b\\n\"}; {\"path\": \"src/main.rs\", \"prefix\": \"use std::fs;\\n\", \"suffix\": \"\\n\", \"middle\": \"use \
std::io;\\n\"} (inserts a line).";

fn request(input: &Value) -> Result<Request, ValidationFault> {
    let (path, replace) = (text(input, "path")?.to_owned(), text(input, "middle")?.to_owned());
    let (prefix, suffix) = (text(input, "prefix")?, text(input, "suffix")?);
    for (field, around) in [("prefix", prefix), ("suffix", suffix)] {
        if around.is_empty() {
            let message = format!("{field} is empty, and an empty text is everywhere: quote the text around the place");
            return Err(fault(field, message));
        }
    }
    Ok(Request { path, replace, place: Place::Hole(prefix.to_owned(), suffix.to_owned()) })
}

/// The tool.
pub type FimEdit = OverFiles<Fill>;

/// What it is.
pub struct Fill;

impl FileTool for Fill {
    const NAME: &'static str = "fim_edit";
    const DESCRIPTION: &'static str = DESCRIPTION;
    const HINT: &'static str = "fill middle insert between complete body stub hole prefix suffix";
    const SHOWN: [&'static str; 2] = ["Fill in", "Filling in a file"];
    const DOES: Does = Does::Changes;

    fn schema() -> Value {
        json!({
            "type": "object",
            "properties": {
                "path": { "type": "string", "description": "The file, relative to the workspace." },
                "prefix": {
                    "type": "string",
                    "description": "The text right before the place; it occurs once in the file, and stays.",
                },
                "suffix": {
                    "type": "string",
                    "description": "The text right after the place: its next place behind prefix; it stays.",
                },
                "middle": { "type": "string", "description": "What stands between them then, written exactly as sent." },
            },
            "required": ["path", "prefix", "suffix", "middle"],
            "additionalProperties": false,
        })
    }

    fn check(input: &Value) -> Result<(), ValidationFault> {
        request(input).map(drop)
    }

    fn act(files: &dyn FileBoundary, input: &Value, _: &CancellationToken) -> Result<String, ToolError> {
        edit(files, &request(input).map_err(invalid)?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{World, call};
    use std::{
        fs,
        os::unix::fs::{PermissionsExt, symlink},
    };

    fn fill(world: &World, prefix: &str, suffix: &str, middle: &str) -> Result<String, String> {
        let input = json!({ "path": "f", "prefix": prefix, "suffix": suffix, "middle": middle });
        let output = call(&FimEdit::new(world.boundary()), input);
        output.map(|output| output.content).map_err(|error| error.to_string())
    }

    #[track_caller]
    fn check(file: &str, [prefix, suffix, middle]: [&str; 3], expect: &str, told: &str) {
        let world = World::new().with("f", file);
        let result = fill(&world, prefix, suffix, middle).expect("it is filled in");
        assert!(result.contains(told), "{result}");
        assert_eq!(fs::read_to_string(world.path("f")).expect("it is there"), expect);
    }

    #[track_caller]
    fn check_refused(file: &str, [prefix, suffix]: [&str; 2], expect: &str) {
        let world = World::new().with("f", file);
        let error = fill(&world, prefix, suffix, "x").expect_err("a refusal");
        assert!(error.starts_with(expect), "{error}");
        assert_eq!(fs::read_to_string(world.path("f")).expect("it is there"), file);
    }

    #[test]
    fn what_is_between_is_replaced_and_what_is_around_stays() {
        check(
            "fn f() {\n    todo!()\n}\n",
            ["fn f() {\n", "}\n", "    1\n"],
            "fn f() {\n    1\n}\n",
            "-    todo!()\n+    1\n",
        );
        check("a[1]b[2]", ["b[", "]", "3"], "a[1]b[3]", "Replaced what was between prefix and suffix, line 1 of f.");
        check("a(x)b", ["a(", ")", ""], "a()b", "Replaced what was");
        check("「甲」「乙」", ["乙", "」", "丙"], "「甲」「乙丙」", "Inserted");
    }

    #[test]
    fn where_they_touch_it_is_inserted() {
        check("a\nb\n", ["a\n", "b\n", "new\n"], "a\nnew\nb\n", "Inserted between prefix and suffix at line 2 of f");
        check("ab", ["a", "b", "-"], "a-b", "nothing was there");
        check("aXbXc", ["a", "X", "1"], "a1XbXc", "Inserted");
    }

    #[test]
    fn line_ends_are_those_of_the_file() {
        check("a\r\nold\r\nb\r\n", ["a\n", "b\n", "1\n2\n"], "a\r\n1\r\n2\r\nb\r\n", "[LINE ENDINGS]");
        check("a\nold", ["a\n", "old", "x "], "a\nx old", "");
    }

    #[test]
    fn what_is_not_clear_changes_nothing() {
        check_refused("a a b", ["a", "b"], "prefix matched 2 locations in f (lines 1, 1)");
        check_refused("b a", ["a", "b"], "suffix not found after prefix in f; prefix is on line 1");
        check_refused(
            "a\nx\ny",
            ["a\nz\n", "y"],
            "prefix not found in f; it is matched exactly. The closest block begins on line 1; line 2 differs: prefix has",
        );
        check_refused("aaab", ["aa", "b"], "prefix matched 2 locations");
        check_refused("ab", ["", "b"], "prefix is empty");
        check_refused("ab", ["a", ""], "suffix is empty");
    }

    #[test]
    fn what_is_there_already_is_no_change() {
        check("a1b", ["a", "b", "1"], "a1b", "f was not changed: line 1 reads as middle says already");
    }

    #[test]
    fn the_file_keeps_its_mode_and_a_link_stays_one() {
        let world = World::new().with("real", "ab");
        symlink("real", world.path("f")).expect("a link");
        fs::set_permissions(world.path("real"), fs::Permissions::from_mode(0o751)).expect("the test owns it");
        fill(&world, "a", "b", "-").expect("it is filled in");
        assert!(world.path("f").is_symlink());
        let metadata = fs::metadata(world.path("real")).expect("it is there");
        assert_eq!(metadata.permissions().mode() & 0o7777, 0o751);
        assert_eq!(fs::read_to_string(world.path("real")).expect("it is there"), "a-b");
    }
}

//! `write_file`: a whole file at once.

use crate::{
    input::{invalid, text},
    over_files::{Does, FileTool, OverFiles},
    work::refused,
};
use serde_json::{Value, json};
use slot_runtime::{
    boundary::{FileBoundary, WriteMode},
    contract::{ToolError, ValidationFault},
};
use tokio_util::sync::CancellationToken;

const DESCRIPTION: &str = "\
Write a whole file in the workspace: a new one, or one of which everything is to be replaced. Use this instead of cat \
with a heredoc, echo >, tee or printf > in exec_shell: nothing in the content is interpreted by a shell, and the file is \
replaced in one step, so that it is never half-written. Missing folders are created, and an existing file keeps its \
permissions. The content is written byte for byte as you send it; end it with a newline unless the file must not have \
one. Do not use it to change a few lines of a long file, or to append: what you do not send is lost. \
Examples: {\"path\": \"src/greet.py\", \"content\": \"print(\\\"hi\\\")\\n\"}; {\"path\": \"notes/new/todo.md\", \
\"content\": \"- test\\n\"} (the folders are created).";

/// The tool.
pub type WriteFile = OverFiles<Write>;

/// What it is.
pub struct Write;

impl FileTool for Write {
    const NAME: &'static str = "write_file";
    const DESCRIPTION: &'static str = DESCRIPTION;
    const HINT: &'static str = "create save new file overwrite replace content";
    const SHOWN: [&'static str; 2] = ["Write file", "Writing a file"];
    const DOES: Does = Does::Changes;

    fn schema() -> Value {
        json!({
            "type": "object",
            "properties": {
                "path": { "type": "string", "description": "Where to write, relative to the workspace." },
                "content": { "type": "string", "description": "The whole content of the file." },
            },
            "required": ["path", "content"],
            "additionalProperties": false,
        })
    }

    fn check(input: &Value) -> Result<(), ValidationFault> {
        request(input).map(drop)
    }

    fn act(files: &dyn FileBoundary, input: &Value, _: &CancellationToken) -> Result<String, ToolError> {
        let (path, content) = request(input).map_err(invalid)?;
        let written = files.write_atomic(path, content.as_bytes(), WriteMode::Overwrite).map_err(refused)?;
        let verb = if written.created { "Created" } else { "Overwrote" };
        let place = written.path.display();
        Ok(format!("{verb} {place} ({}).", bytes(content.len())))
    }
}

/// The path and the content.
fn request(input: &Value) -> Result<(&str, &str), ValidationFault> {
    Ok((text(input, "path")?, text(input, "content")?))
}

fn bytes(count: usize) -> String {
    if count == 1 { "1 byte".to_owned() } else { format!("{count} bytes") }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{World, call};
    use slot_runtime::contract::ToolOutput;
    use std::{
        fs,
        os::unix::fs::{PermissionsExt, symlink},
    };

    #[track_caller]
    fn check(world: &World, path: &str, content: &str, expect: &str) {
        let output = call(&WriteFile::new(world.boundary()), json!({ "path": path, "content": content }));
        assert_eq!(output, Ok(ToolOutput::ok(expect)));
        assert_eq!(fs::read_to_string(world.path(path)).expect("it was written"), content);
    }

    #[track_caller]
    fn check_refused(world: &World, path: &str, expect: &str) {
        let error = call(&WriteFile::new(world.boundary()), json!({ "path": path, "content": "x" }))
            .expect_err("a refusal")
            .to_string();
        assert!(error.starts_with(expect), "{error}");
    }

    #[test]
    fn the_result_says_what_was_written_and_how_much() {
        check(&World::new(), "a.txt", "häh\n", "Created a.txt (5 bytes).");
        check(&World::new().with("a.txt", "old"), "a.txt", "n", "Overwrote a.txt (1 byte).");
        check(&World::new(), "x/y/z.txt", "", "Created x/y/z.txt (0 bytes).");
    }

    #[test]
    fn content_lands_as_it_was_sent() {
        for content in ["no newline", "a\r\nb\r\n", "\u{feff}bom", "“curly” — $HOME `id` \\n\u{0}", "EOF\n"] {
            check(&World::new(), "a", content, &format!("Created a ({} bytes).", content.len()));
        }
    }

    #[test]
    fn an_existing_file_keeps_its_mode() {
        let world = World::new().with("run.sh", "old");
        fs::set_permissions(world.path("run.sh"), fs::Permissions::from_mode(0o750)).expect("the test owns it");
        check(&world, "run.sh", "new", "Overwrote run.sh (3 bytes).");
        assert_eq!(fs::metadata(world.path("run.sh")).expect("it exists").permissions().mode() & 0o777, 0o750);
    }

    #[test]
    fn the_result_names_the_target_of_a_link() {
        let world = World::new().with("real.txt", "old");
        symlink("real.txt", world.path("link.txt")).expect("a link");
        check(&world, "link.txt", "new", "Overwrote real.txt (3 bytes).");
    }

    #[test]
    fn a_refusal_is_the_boundarys_own() {
        check_refused(&World::new(), "../x", "path escapes workspace: ../x.");
        check_refused(&World::new().with("d/f", ""), "d", "not a file: d is a folder.");
        check_refused(&World::new(), "new/../x", "not found: new/../x");
        check_refused(&World::new(), "", "invalid path: `` is empty");
    }
}

//! `list_dir`: the names in one folder.

use crate::{
    input::{invalid, optional_text},
    work::{blocking, refused},
};
use serde_json::{Value, json};
use slot_runtime::{
    boundary::{DirEntry, EntryKind, FileBoundary, Listing},
    contract::{BoxFuture, Capability, CapabilitySet, Presentation, RunContext, Tool, ToolError, ToolOutput, ToolSpec},
};
use std::{ffi::OsStr, fmt::Write, sync::Arc};

/// The most names in one answer.
pub const MAX_ENTRIES: usize = 500;

const DESCRIPTION: &str = "\
List the names in one folder of the workspace. Use this instead of ls, find -maxdepth 1, tree or dir in exec_shell: it is \
faster and needs no approval. One name a line, sorted; a folder ends with `/`, a symbolic link with `@ -> ` and its \
target, a pipe with `|`, a socket with `=`. Hidden and ignored names are included. At most 500 names are shown, and the \
exact number of all is told. Do not use it to search for a name or a text in many folders. \
Examples: {} (the workspace itself); {\"path\": \"src\"}.";

/// The tool.
pub struct ListDir {
    boundary: Arc<dyn FileBoundary>,
}

impl ListDir {
    /// The tool over the files behind `boundary`.
    pub fn new(boundary: Arc<dyn FileBoundary>) -> Self {
        ListDir { boundary }
    }
}

impl Tool for ListDir {
    fn name(&self) -> &str {
        "list_dir"
    }

    fn description(&self) -> &str {
        DESCRIPTION
    }

    fn input_schema(&self) -> Value {
        json!({
            "type": "object",
            "properties": {
                "path": {
                    "type": "string",
                    "description": "The folder, relative to the workspace; the workspace itself when absent.",
                },
            },
            "additionalProperties": false,
        })
    }

    fn run<'a>(&'a self, input: &'a Value, run: &'a RunContext) -> BoxFuture<'a, Result<ToolOutput, ToolError>> {
        Box::pin(async move {
            let path = optional_text(input, "path").map_err(invalid)?.unwrap_or(".").to_owned();
            let boundary = Arc::clone(&self.boundary);
            blocking(run, move |_| {
                let listing = boundary.list_dir(&path, MAX_ENTRIES).map_err(refused)?;
                Ok(ToolOutput::ok(render(&path, &listing)))
            })
            .await
        })
    }
}

impl ToolSpec for ListDir {
    fn capabilities(&self) -> CapabilitySet {
        CapabilitySet::of(&[Capability::ReadOnly])
    }

    fn supports_parallel(&self) -> bool {
        true
    }

    fn may_start_early(&self) -> bool {
        true
    }

    fn search_hint(&self) -> Option<&str> {
        Some("ls dir folder directory files names tree")
    }

    fn presentation(&self) -> Presentation {
        Presentation {
            title: Some("List folder".into()),
            activity: Some("Listing a folder".into()),
            transparent: false,
        }
    }
}

fn render(path: &str, listing: &Listing) -> String {
    if listing.total == 0 {
        return format!("[The folder {path} is empty.]");
    }
    let mut text = String::new();
    for entry in &listing.entries {
        text.push_str(&line(entry));
        text.push('\n');
    }
    let shown = listing.entries.len();
    if shown < listing.total {
        // Writing to a string cannot fail.
        let _ = write!(
            text,
            "[{shown} of {} names are shown, the first in order of their bytes. List a folder below, or search for a \
             name or a pattern, to see the others.]",
            listing.total
        );
    } else {
        text.pop();
    }
    text
}

fn line(entry: &DirEntry) -> String {
    let name = visible(&entry.name);
    match entry.kind {
        EntryKind::Directory => format!("{name}/"),
        EntryKind::Symlink => {
            let target = entry.link_target.as_ref().map_or_else(|| "?".to_owned(), |t| visible(t.as_os_str()));
            format!("{name}@ -> {target}")
        }
        EntryKind::Fifo => format!("{name}|"),
        EntryKind::Socket => format!("{name}="),
        EntryKind::File | EntryKind::Device | EntryKind::Unknown => name,
    }
}

/// A name on one line: what is no text or would break the line is escaped.
fn visible(name: &OsStr) -> String {
    let text = name.to_string_lossy();
    if !text.contains(char::is_control) {
        return text.into_owned();
    }
    text.chars().fold(String::new(), |mut shown, c| {
        if c.is_control() {
            shown.extend(c.escape_default())
        } else {
            shown.push(c)
        }
        shown
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{World, call};
    use rustix::fs::{CWD, Mode, mkfifoat};
    use std::{
        fs,
        os::unix::{ffi::OsStrExt, fs::symlink, net::UnixListener},
    };

    #[track_caller]
    fn check(world: &World, input: Value, expect: &str) {
        let output = call(&ListDir::new(world.boundary()), input).expect("a listing");
        assert_eq!(output.content, expect);
        assert!(!output.is_error);
    }

    #[test]
    fn names_are_sorted_by_bytes_and_tell_their_kind() {
        let world = World::new().with("b", "").with("B", "").with("a/x", "").with(".hidden", "").with("ä", "");
        symlink("a/x", world.path("link")).expect("a link");
        symlink("/etc/passwd", world.path("out")).expect("a link");
        mkfifoat(CWD, world.path("pipe"), Mode::RUSR).expect("a pipe");
        let _socket = UnixListener::bind(world.path("sock")).expect("a socket");
        check(&world, json!({}), ".hidden\nB\na/\nb\nlink@ -> a/x\nout@ -> /etc/passwd\npipe|\nsock=\nä");
        check(&world, json!({ "path": "a" }), "x");
    }

    #[test]
    fn an_empty_folder_says_so() {
        let world = World::new();
        check(&world, json!({}), "[The folder . is empty.]");
        fs::create_dir(world.path("sub")).expect("a folder");
        check(&world, json!({ "path": "sub/" }), "[The folder sub/ is empty.]");
    }

    #[test]
    fn a_large_folder_is_cut_with_the_exact_number() {
        let mut world = World::new();
        for n in 0..MAX_ENTRIES {
            world = world.with(&format!("d/{n:03}"), "");
        }
        let all: Vec<String> = (0..MAX_ENTRIES).map(|n| format!("{n:03}")).collect();
        check(&world, json!({ "path": "d" }), &all.join("\n"));
        let world = world.with("d/zzz", "");
        let expect = format!(
            "{}\n[500 of 501 names are shown, the first in order of their bytes. List a folder below, or search for a \
             name or a pattern, to see the others.]",
            all.join("\n")
        );
        check(&world, json!({ "path": "d" }), &expect);
    }

    #[test]
    fn a_name_cannot_pretend_to_be_two() {
        let world = World::new().with("a\nb", "").with("c\u{1b}[31m", "");
        fs::write(world.path("").join(OsStr::from_bytes(b"\xff")), "").expect("a file");
        check(&world, json!({}), "a\\nb\nc\\u{1b}[31m\n\u{fffd}");
    }

    #[test]
    fn a_refusal_is_the_boundarys_own() {
        let world = World::new().with("f", "");
        let tool = ListDir::new(world.boundary());
        let error = call(&tool, json!({ "path": ".." })).expect_err("an escape").to_string();
        assert!(error.starts_with("path escapes workspace: ..."), "{error}");
    }
}

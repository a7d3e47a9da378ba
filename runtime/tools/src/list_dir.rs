//! `list_dir`: the names in one folder.

use crate::{
    find::answer::{call, counted, visible},
    input::{fault, invalid, optional_count, optional_text},
    over_files::{Does, FileTool, OverFiles},
    work::refused,
};
use serde_json::{Value, json};
use slot_runtime::{
    boundary::{DirEntry, EntryKind, FileBoundary, Listing},
    contract::{ToolError, ValidationFault},
};
use tokio_util::sync::CancellationToken;

/// The most names in one answer.
pub const MAX_ENTRIES: usize = 500;
/// The most bytes of names in one answer.
const MAX_BYTES: usize = 32 * 1024;
/// How many names may be left out at the start: to find the next ones, those before them have to be known.
const MOST_OFFSET: usize = 100_000;

const DESCRIPTION: &str = "\
List the names in one folder of the workspace. Use this instead of ls, find -maxdepth 1, tree or dir in exec_shell: it is \
faster and needs no approval. One name a line, sorted; a folder ends with `/`, a symbolic link with `@ -> ` and its \
target, a pipe with `|`, a socket with `=`. Hidden and ignored names are included. All names are counted and up to 500 are \
shown, with the call that shows the next ones. Do not use it to find files in many folders (glob_files, file_search) or to \
look for text (grep_files). Examples: {} (the workspace itself); {\"path\": \"src\"}.";

/// The folder, and how many of its names to leave out.
fn request(input: &Value) -> Result<(String, usize), ValidationFault> {
    let path = optional_text(input, "path")?.unwrap_or(".").to_owned();
    let offset = usize::try_from(optional_count(input, "offset", 0)?.unwrap_or(0)).unwrap_or(usize::MAX);
    if offset > MOST_OFFSET {
        let glob = json!({ "path": path, "pattern": "a*" });
        let next = call("glob_files", &glob, &[]);
        return Err(fault(
            "offset",
            format!("offset is {offset}; the limit is {MOST_OFFSET}. To see names by how they begin, {next}"),
        ));
    }
    Ok((path, offset))
}

/// The tool.
pub type ListDir = OverFiles<List>;

/// What it is.
pub struct List;

impl FileTool for List {
    const NAME: &'static str = "list_dir";
    const DESCRIPTION: &'static str = DESCRIPTION;
    const HINT: &'static str = "ls dir folder directory files names tree";
    const SHOWN: [&'static str; 2] = ["List folder", "Listing a folder"];
    const DOES: Does = Does::Looks;

    fn schema() -> Value {
        json!({
            "type": "object",
            "properties": {
                "path": {
                    "type": "string",
                    "description": "The folder, relative to the workspace; the workspace itself when absent.",
                },
                "offset": {
                    "type": "integer", "minimum": 0,
                    "description": "How many names to leave out at the start, as a notice told you.",
                },
            },
            "additionalProperties": false,
        })
    }

    fn check(input: &Value) -> Result<(), ValidationFault> {
        request(input).map(drop)
    }

    fn act(files: &dyn FileBoundary, input: &Value, stop: &CancellationToken) -> Result<String, ToolError> {
        let (path, offset) = request(input).map_err(invalid)?;
        let listing = list(files, &path, offset, stop)?;
        Ok(render(&path, offset, input, &listing))
    }
}

fn list(
    boundary: &dyn FileBoundary,
    path: &str,
    offset: usize,
    stop: &CancellationToken,
) -> Result<Listing, ToolError> {
    let listing = boundary.list_dir_until(path, offset + MAX_ENTRIES, &|| stop.is_cancelled());
    if stop.is_cancelled() { Err(ToolError::Cancelled) } else { listing.map_err(refused) }
}

fn render(path: &str, offset: usize, input: &Value, listing: &Listing) -> String {
    let path = visible(path.as_ref());
    if listing.total == 0 {
        return format!("[The folder {path} is empty.]");
    }
    let total = counted(listing.total as u64, "name", "names");
    if offset >= listing.total {
        return format!("[NO CONTENT] offset {offset} is beyond the last name; {path} has {total}.");
    }
    let (mut text, mut shown) = (String::new(), offset);
    for entry in listing.entries.iter().skip(offset) {
        let line = line(entry);
        if text.len() + line.len() > MAX_BYTES {
            break;
        }
        text.push_str(&line);
        text.push('\n');
        shown += 1;
    }
    if shown < listing.total {
        let next = call("list_dir", input, &[("offset", json!(shown))]);
        text.push_str(&format!(
            "[TRUNCATED] Names {}-{shown} of {} are shown, in the order of their bytes. To continue, {next}.",
            offset + 1,
            listing.total
        ));
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{World, call as call_tool};
    use rustix::fs::{CWD, Mode, mkfifoat};
    use std::{
        ffi::OsStr,
        fs,
        os::unix::{ffi::OsStrExt, fs::symlink, net::UnixListener},
    };

    #[track_caller]
    fn check(world: &World, input: Value, expect: &str) {
        let output = call_tool(&ListDir::new(world.boundary()), input).expect("a listing");
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
            "{}\n[TRUNCATED] Names 1-500 of 501 are shown, in the order of their bytes. To continue, call list_dir with \
             offset=500 path=\"d\".",
            all.join("\n")
        );
        check(&world, json!({ "path": "d" }), &expect);
        check(&world, json!({ "path": "d", "offset": 500 }), "zzz");
        let beyond = "[NO CONTENT] offset 501 is beyond the last name; d has 501 names.";
        check(&world, json!({ "path": "d", "offset": 501 }), beyond);
        let error = call_tool(&ListDir::new(world.boundary()), json!({ "offset": 100_001 })).expect_err("too far");
        assert!(error.to_string().ends_with("call glob_files with path=\".\" pattern=\"a*\""), "{error}");
    }

    #[test]
    fn long_names_are_cut_by_their_bytes_and_following_the_notice_shows_all() {
        let name = |n: usize| format!("{n:03}{}", "x".repeat(240));
        let world = (0..300).fold(World::new(), |world, n| world.with(&name(n), ""));
        let (mut seen, mut input) = (Vec::new(), json!({}));
        loop {
            let answer = call_tool(&ListDir::new(world.boundary()), input).expect("a listing").content;
            seen.extend(answer.lines().filter(|line| !line.starts_with('[')).map(str::to_owned));
            let Some((_, offset)) = answer.split_once("call list_dir with offset=") else { break };
            input = json!({ "offset": offset.trim_end_matches('.').parse::<u64>().expect("a number") });
        }
        assert_eq!(seen, (0..300).map(name).collect::<Vec<_>>());
    }

    #[test]
    fn a_name_cannot_pretend_to_be_two() {
        let world = World::new().with("a\nb", "").with("c\u{1b}[31m", "");
        fs::write(world.path("").join(OsStr::from_bytes(b"\xff")), "").expect("a file");
        check(&world, json!({}), "a\\nb\nc\\u{1b}[31m\n\u{fffd}");
    }

    #[test]
    fn a_listing_nobody_waits_for_ends() {
        let stop = CancellationToken::new();
        stop.cancel();
        let listing = list(&*World::new().with("f", "").boundary(), ".", 0, &stop);
        assert!(matches!(listing, Err(ToolError::Cancelled)));
    }

    #[test]
    fn a_refusal_is_the_boundarys_own() {
        let world = World::new().with("f", "");
        let tool = ListDir::new(world.boundary());
        let error = call_tool(&tool, json!({ "path": ".." })).expect_err("an escape").to_string();
        assert!(error.starts_with("path escapes workspace: ..."), "{error}");
    }
}

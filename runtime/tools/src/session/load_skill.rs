//! `load_skill`: instructions for one kind of work, from a folder of the workspace.

use crate::{
    input::{fault, invalid, optional_text},
    work::{blocking, refused},
};
use serde_json::{Value, json};
use slot_runtime::{
    boundary::{BoundaryError, EntryKind, FileBoundary},
    contract::{
        BoxFuture, Capability, CapabilitySet, Presentation, RunContext, Tool, ToolError, ToolOutput, ToolSpec,
        ValidationFault,
    },
};
use std::{io::Read, path::Path, sync::Arc};

/// Where the skills are. Nothing there is written by a file tool.
const FOLDER: &str = ".slot/skills";
/// The file of a skill that is loaded first.
const MAIN: &str = "SKILL.md";
/// The most bytes of one file.
const MAX_BYTES: u64 = 64 * 1024;
/// The most skills that are named.
const MAX_NAMED: usize = 100;
/// The most characters of what a skill says of itself.
const MAX_ABOUT: usize = 200;
/// The longest name of a skill, and of a file of one.
const MAX_NAME: usize = 64;
const MAX_FILE: usize = 512;

const DESCRIPTION: &str = "\
Load the instructions of a skill: how one kind of work is done in this project, such as a release. Without fields the skills \
are named with what they are for; with `name` its SKILL.md is shown, and with `file` another file of the same skill. Load a \
skill before you begin work that it is for, instead of working out the steps again. Do not use it to read files of the \
project; that is read_file. Examples: {}; {\"name\": \"release\"}; {\"name\": \"release\", \"file\": \"checks.md\"}.";

/// The tool.
pub struct LoadSkill {
    boundary: Arc<dyn FileBoundary>,
}

impl LoadSkill {
    /// The tool over the files behind `boundary`.
    pub fn new(boundary: Arc<dyn FileBoundary>) -> Self {
        LoadSkill { boundary }
    }
}

struct Request {
    name: Option<String>,
    file: String,
}

impl Request {
    fn of(input: &Value) -> Result<Request, ValidationFault> {
        let name = optional_text(input, "name")?;
        if let Some(name) = name
            && !is_name(name)
        {
            return Err(fault("name", format!("a skill's name has 1 to {MAX_NAME} letters, digits, `-` or `_`")));
        }
        let file = optional_text(input, "file")?;
        if file.is_some() && name.is_none() {
            return Err(fault("file", "`file` goes with `name`, the skill it belongs to"));
        }
        let file = file.unwrap_or(MAIN);
        let whole = file.len() <= MAX_FILE && !file.contains('\0');
        if !whole || file.split('/').any(|part| matches!(part, "" | "." | "..")) {
            return Err(fault("file", "a file of a skill is named relative to its folder, without `..`"));
        }
        Ok(Request { name: name.map(str::to_owned), file: file.to_owned() })
    }
}

fn is_name(name: &str) -> bool {
    (1..=MAX_NAME).contains(&name.len())
        && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_'))
}

impl Tool for LoadSkill {
    fn name(&self) -> &str {
        "load_skill"
    }

    fn description(&self) -> &str {
        DESCRIPTION
    }

    fn input_schema(&self) -> Value {
        json!({
            "type": "object",
            "properties": {
                "name": { "type": "string", "description": "The skill; all are named when absent." },
                "file": { "type": "string", "description": "A file of the skill, relative to its folder; SKILL.md when absent." },
            },
            "additionalProperties": false,
        })
    }

    fn run<'a>(&'a self, input: &'a Value, run: &'a RunContext) -> BoxFuture<'a, Result<ToolOutput, ToolError>> {
        Box::pin(async move {
            let request = Request::of(input).map_err(invalid)?;
            let boundary = Arc::clone(&self.boundary);
            blocking(run, move |_| {
                let boundary = boundary.as_ref();
                match request.name {
                    None => named(boundary).map(ToolOutput::ok),
                    Some(name) => match load(boundary, &name, &request.file) {
                        Err(ToolError::NotFound(_)) if request.file == MAIN => {
                            Err(ToolError::NotFound(format!("there is no skill {name:?}. {}", named(boundary)?)))
                        }
                        loaded => loaded.map(ToolOutput::ok),
                    },
                }
            })
            .await
        })
    }
}

fn load(boundary: &dyn FileBoundary, name: &str, file: &str) -> Result<String, ToolError> {
    let path = format!("{FOLDER}/{name}/{file}");
    let opened = boundary.open_file(&path).map_err(refused)?;
    // A link may lead to another file of the workspace, which is none of the skill's.
    if !opened.path.starts_with(Path::new(FOLDER).join(name)) {
        return Err(ToolError::Denied(format!(
            "{file} leads out of the folder of the skill {name:?}, and was not read; tell the user"
        )));
    }
    if opened.len > MAX_BYTES {
        return Err(ToolError::InvalidInput(format!(
            "{path} has {} bytes; a file of a skill has at most {MAX_BYTES}. Read it in pages with read_file",
            opened.len
        )));
    }
    let mut bytes = Vec::new();
    opened
        .file
        .take(MAX_BYTES)
        .read_to_end(&mut bytes)
        .map_err(|error| ToolError::Failed(format!("{path} could not be read: {error}; try again")))?;
    let text = String::from_utf8_lossy(&bytes).into_owned();
    Ok(if text.is_empty() { format!("[{path} is empty.]") } else { text })
}

/// The skills, each with what it is for.
fn named(boundary: &dyn FileBoundary) -> Result<String, ToolError> {
    let listing = match boundary.list_dir(FOLDER, MAX_NAMED) {
        Err(BoundaryError::NotFound { .. }) => return Ok("[There are no skills in this workspace.]".to_owned()),
        listing => listing.map_err(refused)?,
    };
    let folders = listing.entries.iter().filter(|entry| entry.kind == EntryKind::Directory);
    let names = folders.filter_map(|entry| entry.name.to_str()).filter(|name| is_name(name));
    let mut lines: Vec<String> = Vec::new();
    for name in names {
        // One that cannot be loaded is not named.
        if let Ok(text) = load(boundary, name, MAIN) {
            lines.push(format!("{name}: {}", about(&text)));
        }
    }
    Ok(if lines.is_empty() {
        "[There are no skills in this workspace.]".to_owned()
    } else {
        format!("The skills are:\n{}", lines.join("\n"))
    })
}

/// What a skill says it is for: the description of its front matter, or its first line of prose.
fn about(text: &str) -> String {
    let described = text.lines().take(30).find_map(|line| line.strip_prefix("description:"));
    let prose =
        || text.lines().map(|line| line.trim_start_matches('#').trim()).find(|line| !matches!(*line, "" | "---"));
    let line = described.or_else(prose).unwrap_or_default().trim().trim_matches('"');
    line.chars().filter(|c| !c.is_control()).take(MAX_ABOUT).collect()
}

impl ToolSpec for LoadSkill {
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
        Some("skill instructions how-to procedure workflow guide")
    }

    fn presentation(&self) -> Presentation {
        Presentation { title: Some("Load skill".into()), activity: Some("Loading a skill".into()), transparent: false }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{World, call};
    use std::os::unix::fs::symlink;

    fn world() -> World {
        World::new()
            .with(".slot/skills/release/SKILL.md", "---\nname: release\ndescription: How to release\n---\nTag it.\n")
            .with(".slot/skills/release/more/checks.md", "check\n")
            .with(".slot/skills/plain/SKILL.md", "# Plain work\nDo it.\n")
            .with(".slot/skills/no skill/SKILL.md", "x")
            .with(".slot/skills/empty/other.md", "x")
            .with("secret", "SECRET")
    }

    #[track_caller]
    fn check(world: &World, input: Value, expect: &str) {
        let tool = LoadSkill::new(world.boundary());
        let answer = match tool.validate_input(&input) {
            Ok(()) => call(&tool, input).map_or_else(|error| error.to_string(), |output| output.content),
            Err(fault) => fault.message,
        };
        assert_eq!(answer, expect);
    }

    #[test]
    fn skills_are_named_and_loaded() {
        let all = "The skills are:\nplain: Plain work\nrelease: How to release";
        check(&world(), json!({}), all);
        check(&world(), json!({ "name": "plain" }), "# Plain work\nDo it.\n");
        check(&world(), json!({ "name": "release", "file": "more/checks.md" }), "check\n");
        check(&world(), json!({ "name": "nope" }), &format!("there is no skill \"nope\". {all}"));
        check(&World::new(), json!({}), "[There are no skills in this workspace.]");
    }

    #[test]
    fn a_file_is_read_inside_its_skill_only() {
        let wrong = "a file of a skill is named relative to its folder, without `..`";
        for file in ["../plain/SKILL.md", "/etc/passwd", "a/../../plain/SKILL.md", "", ".", "a//b"] {
            check(&world(), json!({ "name": "release", "file": file }), wrong);
        }
        for name in ["..", "../..", "release/more", "", "/"] {
            check(&world(), json!({ "name": name }), "a skill's name has 1 to 64 letters, digits, `-` or `_`");
        }
    }

    #[test]
    fn a_link_out_of_the_skill_is_not_followed() {
        let world = world();
        symlink("../../../secret", world.path(".slot/skills/release/inside")).expect("a link");
        symlink("../plain/SKILL.md", world.path(".slot/skills/release/other")).expect("a link");
        for file in ["inside", "other"] {
            let expect =
                format!("{file} leads out of the folder of the skill \"release\", and was not read; tell the user");
            check(&world, json!({ "name": "release", "file": file }), &expect);
        }
        symlink("/etc/passwd", world.path(".slot/skills/release/far")).expect("a link");
        let far = call(&LoadSkill::new(world.boundary()), json!({ "name": "release", "file": "far" }));
        assert!(far.expect_err("an escape").to_string().starts_with("path escapes workspace"));
        // A whole skill that is a link is not named, and is not one.
        symlink("../../d", world.path(".slot/skills/linked")).expect("a link");
        let world = world.with("d/SKILL.md", "SECRET");
        check(
            &world,
            json!({ "name": "linked" }),
            "SKILL.md leads out of the folder of the skill \"linked\", and was not read; tell the user",
        );
    }
}

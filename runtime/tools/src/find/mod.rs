//! What the tools that look for files share.
//!
//! - [`walk`]: every file below a folder, found by handle and looked at on all processors.
//! - [`exclude`]: what is left out: build output, other people's code, and what ignore files name.
//! - [`pattern`]: globs over paths.
//! - [`files`]: files that are looked for by their paths.
//! - [`answer`]: how names are shown, what is told of what was left out, and the call that goes on.
//!
//! No order of discovery shows in an answer: everything is counted, the first of each kind are kept by the bytes of their
//! paths, and only then is anything cut.

pub mod answer;
pub mod exclude;
pub mod files;
pub mod pattern;
pub mod walk;

use crate::{
    input::{optional_count, optional_flag, optional_text},
    work::refused,
};
use exclude::IgnoreFiles;
use serde_json::{Value, json};
use slot_runtime::{
    boundary::{BoundaryError, EntryKind, FileBoundary, OpenFile, Tree},
    contract::{ToolError, ValidationFault},
};
use std::{path::PathBuf, sync::Arc};

/// How many findings an answer shows where nothing is said.
pub const DEFAULT_SHOWN: usize = 100;
/// The most it shows.
pub const MOST_SHOWN: usize = 1000;
/// The most bytes of findings it shows.
pub const ANSWER_BYTES: usize = 32 * 1024;

/// Where a search begins.
pub enum Start {
    /// At a folder, with the ignore files of those above it.
    Folder(Tree, Option<Arc<IgnoreFiles>>),
    /// At one file.
    File(PathBuf, OpenFile),
}

/// Opens what `path` names. With `ignored` no ignore file is asked.
fn start(boundary: &dyn FileBoundary, path: &str, ignored: bool) -> Result<Start, ToolError> {
    match boundary.tree(path) {
        Ok(tree) => {
            let above = if ignored { None } else { exclude::above(boundary, tree.path()) };
            Ok(Start::Folder(tree, above))
        }
        Err(BoundaryError::NotADirectory { kind: EntryKind::File, .. }) => {
            let open = boundary.open_file(path).map_err(refused)?;
            Ok(Start::File(open.path.clone(), open))
        }
        Err(error) => Err(refused(error)),
    }
}

/// What all of these tools are asked: where to look, whether also at what is usually left out, and how much to show.
#[derive(Clone, Debug)]
pub struct Scope {
    /// Where.
    pub path: String,
    /// Whether what is usually left out is looked at as well.
    pub ignored: bool,
    /// The most findings to show.
    pub most: usize,
}

impl Scope {
    /// What an input asks for: `default` findings where it says nothing, and no more than `most`.
    pub fn of(input: &Value, default: usize, most: usize) -> Result<Scope, ValidationFault> {
        let asked = optional_count(input, "max_results", 0)?;
        Ok(Scope {
            path: optional_text(input, "path")?.unwrap_or(".").to_owned(),
            ignored: optional_flag(input, "include_ignored")?.unwrap_or(false),
            most: asked.map_or(default, |asked| usize::try_from(asked).unwrap_or(most).clamp(1, most)),
        })
    }

    /// Opens where to look.
    pub fn open(&self, boundary: &dyn FileBoundary) -> Result<Start, ToolError> {
        start(boundary, &self.path, self.ignored)
    }
}

/// The schema of a tool with these `fields` besides those that all have, of which one is `required`.
pub fn schema(mut fields: Value, required: &str, finds: &str) -> Value {
    let path = format!("Where to look: {finds} in the workspace; the whole workspace when absent.");
    fields["path"] = json!({ "type": "string", "description": path });
    fields["include_ignored"] = json!({
        "type": "boolean",
        "description": "Whether to look also into what ignore files name and into node_modules, target, dist, build, \
                        __pycache__, .venv and venv.",
    });
    json!({ "type": "object", "properties": fields, "required": [required], "additionalProperties": false })
}

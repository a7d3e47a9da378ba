//! What the tools that look for files share.
//!
//! - [`walk`]: every file below a folder, found by handle and looked at on all processors.
//! - [`exclude`]: what is left out: build output, other people's code, and what ignore files name.
//! - [`pattern`]: globs over paths.
//! - [`answer`]: how names are shown, what is told of what was left out, and the call that goes on.
//!
//! No order of discovery shows in an answer: everything is counted, the first of each kind are kept by the bytes of their
//! paths, and only then is anything cut.

pub mod answer;
pub mod exclude;
pub mod pattern;
pub mod walk;

use crate::{input::optional_count, work::refused};
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
pub fn start(boundary: &dyn FileBoundary, path: &str, ignored: bool) -> Result<Start, ToolError> {
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

/// How many findings to show: what `max_results` asks for, brought between one and `most`.
pub fn shown(input: &Value, default: usize, most: usize) -> Result<usize, ValidationFault> {
    let asked = optional_count(input, "max_results", 0)?;
    Ok(asked.map_or(default, |asked| usize::try_from(asked).unwrap_or(most).clamp(1, most)))
}

/// The fields that all of these tools take.
pub fn common_fields(finds: &str) -> [(&'static str, Value); 2] {
    let path = format!("Where to look: {finds} in the workspace; the whole workspace when absent.");
    [
        ("path", json!({ "type": "string", "description": path })),
        (
            "include_ignored",
            json!({
                "type": "boolean",
                "description": "Whether to look also into what ignore files name and into node_modules, target, dist, \
                                build, __pycache__, .venv and venv.",
            }),
        ),
    ]
}

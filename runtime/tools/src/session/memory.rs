//! What outlives a session: short texts under names, in the one folder that the host names, and nowhere else.
//!
//! A name is letters, digits, `-` and `_`, so that it is a file of that folder and no path; the folder is used through a
//! boundary of its own, so that a link in it leads nowhere else either.

use crate::{
    input::{fault, text},
    work::refused,
};
use serde_json::Value;
use slot_runtime::{
    boundary::{BoundaryError, EntryKind, Workspace, WriteMode},
    contract::{ToolError, ValidationFault},
};
use std::{
    io::{ErrorKind, Read},
    path::{Path, PathBuf},
};

/// The longest name.
const MAX_NAME: usize = 64;
/// The most bytes of one memory.
pub const MAX_BYTES: usize = 16 * 1024;
/// The most memories.
pub const MAX_MEMORIES: usize = 256;
/// What the files are called after their name.
const ENDING: &str = ".md";

/// The folder of the memories. It is made when the first one is kept.
#[derive(Clone, Debug)]
pub struct Memory {
    folder: PathBuf,
}

impl Memory {
    /// The memories in `folder`, which the host names.
    pub fn in_folder(folder: &Path) -> Self {
        Memory { folder: folder.to_owned() }
    }

    /// The folder, if it is there.
    fn open(&self) -> Result<Option<Workspace>, ToolError> {
        match Workspace::open(&self.folder) {
            Ok(folder) => Ok(Some(folder)),
            Err(BoundaryError::NotFound { .. }) => Ok(None),
            Err(BoundaryError::Io { source, .. }) if source.kind() == ErrorKind::NotFound => Ok(None),
            Err(_) => Err(unusable()),
        }
    }

    /// The names, sorted.
    pub fn names(&self) -> Result<Vec<String>, ToolError> {
        let Some(folder) = self.open()? else { return Ok(Vec::new()) };
        let entries = folder.list_dir(".", 4 * MAX_MEMORIES).map_err(refused)?.entries;
        let files = entries.iter().filter(|entry| entry.kind == EntryKind::File);
        let names = files.filter_map(|entry| entry.name.to_str()?.strip_suffix(ENDING).map(str::to_owned));
        Ok(names.filter(|name| is_name(name)).collect())
    }

    /// The memory of this name, where there is one.
    pub fn read(&self, name: &str) -> Result<Option<String>, ToolError> {
        let Some(folder) = self.open()? else { return Ok(None) };
        let opened = match folder.open_file(&format!("{name}{ENDING}")) {
            Err(BoundaryError::NotFound { .. }) => return Ok(None),
            opened => opened.map_err(refused)?,
        };
        let mut bytes = Vec::new();
        let most = u64::try_from(MAX_BYTES).unwrap_or(u64::MAX);
        opened
            .file
            .take(most)
            .read_to_end(&mut bytes)
            .map_err(|error| ToolError::Failed(format!("the memory {name:?} could not be read: {error}; try again")))?;
        Ok(Some(String::from_utf8_lossy(&bytes).into_owned()))
    }

    /// Keeps a memory, in place of the one of this name: whether it is new.
    pub fn keep(&self, name: &str, content: &str) -> Result<bool, ToolError> {
        std::fs::create_dir_all(&self.folder).map_err(|_| unusable())?;
        let folder = self.open()?.ok_or_else(unusable)?;
        let names = self.names()?;
        if names.len() >= MAX_MEMORIES && !names.iter().any(|known| known == name) {
            return Err(ToolError::InvalidInput(format!(
                "there are {MAX_MEMORIES} memories already, which is the most; replace one of them by its name"
            )));
        }
        let written = folder.write_atomic(&format!("{name}{ENDING}"), content.as_bytes(), WriteMode::Overwrite);
        written.map(|written| written.created).map_err(refused)
    }
}

fn unusable() -> ToolError {
    ToolError::Unavailable("the folder for memories cannot be used; tell the user, and go on without it".to_owned())
}

/// The name in `input`.
pub fn name(input: &Value) -> Result<&str, ValidationFault> {
    let name = text(input, "name")?;
    if !is_name(name) {
        return Err(fault(
            "name",
            format!(
                "a name has 1 to {MAX_NAME} letters, digits, `-` or `_`, and is no path; pass one such as build-steps"
            ),
        ));
    }
    Ok(name)
}

fn is_name(name: &str) -> bool {
    (1..=MAX_NAME).contains(&name.len())
        && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(name: &str, expect: bool) {
        assert_eq!(is_name(name), expect, "{name:?}");
    }

    #[test]
    fn a_name_is_no_path() {
        for name in ["a", "build-steps", "A_1"] {
            check(name, true);
        }
        for name in ["", ".", "..", "../x", "a/b", "a.md", "/etc/x", "a b", "ü", "a\0", "~", &"x".repeat(65)] {
            check(name, false);
        }
    }
}

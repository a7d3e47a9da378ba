//! Working trees of a session's own: a commit of the repository in the workspace, checked out a second time.
//!
//! A tree lies in a folder of the workspace ([`WORKING_TREES`]) under its name, on a branch of its own, and is to every
//! `git` what `git worktree add` makes. It is not made by that: adding one runs a hook, writes through filters that the
//! repository names, and follows whatever link lies in the repository's folder. The boundary writes the file by which the
//! folder is this session's, `git` writes those of the commit over a view ([`crate::git`]), and the few small ones of the
//! repository that make the folder a tree are written by the boundary again, all of them or none ([`make`]). [`leave`] takes
//! a tree away again.
//!
//! Not owned here: who is asked, and what being in a tree means for other tools ([`slot_runtime::place`]).

mod leave;
mod make;

#[cfg(test)]
mod tests;

pub use leave::Left;

use crate::{
    git::{Git, Repository},
    input::fault,
    work::refused,
};
use slot_runtime::{
    boundary::{BoundaryError, EntryKind, FileBoundary},
    contract::{ToolError, ValidationFault},
    place::{Away, Place, WORKING_TREES},
};
use std::{path::Path, sync::Arc};
use tokio_util::sync::CancellationToken;

/// The longest name of a tree, in bytes.
const MAX_NAME: usize = 64;
/// What the branch of a tree is called before the name of the tree.
const BRANCH: &str = "worktree-";
/// The folder of the repository; a tree is made of one that lies in the workspace itself.
const REPOSITORY: &str = ".git";

/// Makes, enters and leaves the trees of a session.
pub struct WorkingTrees {
    git: Arc<Git>,
    workspace: Arc<dyn FileBoundary>,
    place: Place,
}

/// How a tree was entered.
pub struct Entered {
    /// The hash of the commit that it was made of; `None` where it was there already.
    pub made_of: Option<String>,
}

impl WorkingTrees {
    /// The trees of the repository in `workspace`, for a session that is at `place`.
    pub fn new(git: Arc<Git>, workspace: Arc<dyn FileBoundary>, place: Place) -> Self {
        WorkingTrees { git, workspace, place }
    }

    /// Enters the tree of this name, which is made of the commit that `from` means where there is none.
    pub fn enter(&self, name: &str, from: Option<&str>, stop: &CancellationToken) -> Result<Entered, ToolError> {
        if let Some(away) = self.place.away() {
            return Err(ToolError::InvalidInput(format!(
                "the session is in the working tree {} already; leave it with exit_worktree first",
                away.name
            )));
        }
        let base = base(name);
        let made_of = match self.workspace.metadata(&base) {
            Ok(found) if found.kind == EntryKind::Directory => {
                self.known(name, from, stop)?;
                None
            }
            Ok(found) => {
                return Err(ToolError::InvalidInput(format!(
                    "{base} is {}, so that no working tree can be made there; choose another name",
                    found.kind.described()
                )));
            }
            Err(BoundaryError::NotFound { .. }) => Some(self.make(name, from.unwrap_or("HEAD"), stop)?),
            Err(error) => return Err(refused(error)),
        };
        let narrowed = self.workspace.narrowed(&base).map_err(refused)?;
        if narrowed.path != Path::new(&base) {
            return Err(elsewhere(&base));
        }
        self.place.enter(Away { name: name.to_owned(), base: narrowed.path, files: narrowed.files });
        Ok(Entered { made_of })
    }

    /// Sees to it that a folder is a tree of this repository and no other folder.
    fn known(&self, name: &str, from: Option<&str>, stop: &CancellationToken) -> Result<(), ToolError> {
        let base = base(name);
        // One that is being made has no head yet.
        if !self.is_there(&format!("{}/HEAD", own(name)))? {
            return Err(not_ours(&base));
        }
        let repository = Repository::in_workspace(&self.git, &base, stop)?;
        if repository.root != base || repository.own != own(name) {
            return Err(not_ours(&base));
        }
        if from.is_some() {
            return Err(ToolError::InvalidInput(format!(
                "the working tree {name} is there already, so that it cannot be made from another commit; leave `from` out to \
                 enter it as it is, or choose another name"
            )));
        }
        Ok(())
    }

    /// Whether there is such a file, or such a folder with anything in it.
    fn is_there(&self, path: &str) -> Result<bool, ToolError> {
        match self.workspace.metadata(path) {
            Err(BoundaryError::NotFound { .. } | BoundaryError::NotADirectory { .. }) => Ok(false),
            Ok(found) if found.kind == EntryKind::Directory => {
                Ok(self.workspace.list_dir(path, 1).map_err(refused)?.total > 0)
            }
            found => found.map(|_| true).map_err(refused),
        }
    }
}

/// The folder of a tree, from the workspace.
fn base(name: &str) -> String {
    format!("{WORKING_TREES}/{name}")
}

/// What the repository keeps for a tree alone.
fn own(name: &str) -> String {
    format!("{REPOSITORY}/worktrees/{name}")
}

fn branch(name: &str) -> String {
    format!("refs/heads/{BRANCH}{name}")
}

/// The name of a tree's branch, as a person writes it.
pub fn branch_name(name: &str) -> String {
    format!("{BRANCH}{name}")
}

fn not_ours(base: &str) -> ToolError {
    ToolError::InvalidInput(format!(
        "{base} is there already and is no working tree of the repository in the workspace; choose another name"
    ))
}

fn elsewhere(base: &str) -> ToolError {
    ToolError::Denied(format!("{base} leads elsewhere through a link, and no working tree lies there; tell the user"))
}

/// A name that is one for a folder and for a branch on every system.
pub fn check_name(name: &str) -> Result<(), ValidationFault> {
    let is_plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || matches!(c, '-' | '_' | '.');
    let begins = name.starts_with(|c: char| c.is_ascii_lowercase() || c.is_ascii_digit());
    let ends = !name.ends_with(['.', '-']) && !name.ends_with(".lock");
    if begins && ends && name.len() <= MAX_NAME && name.chars().all(is_plain) && !name.contains("..") {
        return Ok(());
    }
    Err(fault(
        "name",
        format!(
            "the name of a working tree has 1 to {MAX_NAME} characters out of a to z, 0 to 9, `-`, `_` and `.`, and begins with \
             a letter or a digit; pass one such as try-cache"
        ),
    ))
}

//! A tree is made: its files, and what makes them a tree of the repository.

use super::{BRANCH, REPOSITORY, WorkingTrees, absolute, base, branch, elsewhere, own};
use crate::{
    git::{Repository, no_commits},
    work::refused,
};
use slot_runtime::{
    boundary::{BoundaryError, Change, Permissions, WriteMode},
    contract::ToolError,
    place::WORKING_TREES,
};
use std::path::Path;
use tokio_util::sync::CancellationToken;

impl WorkingTrees {
    /// Makes the tree of the commit that `from` means: the hash of it. After an error nothing of it is there.
    pub(super) fn make(&self, name: &str, from: &str, stop: &CancellationToken) -> Result<String, ToolError> {
        let repository = Repository::in_workspace(&self.git, ".", stop)?;
        if repository.root != "." || repository.own != REPOSITORY {
            return Err(ToolError::InvalidInput(
                "the workspace is not the folder of a repository itself, of which a working tree could be made; work in the \
                 workspace, or ask the user to make one"
                    .to_owned(),
            ));
        }
        if !repository.has_commits(stop)? {
            return Err(no_commits());
        }
        let committed = format!("{from}^{{commit}}");
        let found = repository.answer(&["rev-parse", "--verify", "--quiet", "--end-of-options", &committed], stop)?;
        let commit = found.ok_or_else(|| {
            ToolError::NotFound(format!(
                "there is no commit {from:?} in this repository; git_log shows the commits, and what a branch points to is one"
            ))
        })?;
        self.require_free(&repository, name, stop)?;
        let base = base(name);
        let ignore = format!("{WORKING_TREES}/.gitignore");
        if self.workspace.create_dirs(&base).map_err(refused)? != Path::new(&base) {
            return Err(elsewhere(&base));
        }
        let made = self.keep_from_git(&ignore).and_then(|()| {
            let folder = self.workspace.open_dir(&base).map_err(refused)?;
            if folder.path != Path::new(&base) {
                return Err(elsewhere(&base));
            }
            let index = repository.check_out(&commit, &folder, stop)?;
            self.record(name, &commit, &index)
        });
        match made {
            Ok(()) => Ok(commit),
            Err(error) => Err(self.given_up(&base, error)),
        }
    }

    /// Neither the branch nor the entry of the tree may be there: they would be somebody else's.
    fn require_free(&self, repository: &Repository<'_>, name: &str, stop: &CancellationToken) -> Result<(), ToolError> {
        if repository.own_names.iter().any(|own| own == "reftable") {
            return Err(ToolError::InvalidInput(
                "the repository keeps its refs in a form that is only read here; ask the user to make the working tree with \
                 git worktree add, or work in the workspace"
                    .to_owned(),
            ));
        }
        let branch = branch(name);
        if repository.answer(&["for-each-ref", "--count=1", &branch], stop)?.is_some() {
            return Err(ToolError::InvalidInput(format!(
                "there is a branch {BRANCH}{name} already, from which nothing may get lost; choose another name"
            )));
        }
        let entry = own(name);
        match self.workspace.metadata(&entry) {
            Err(BoundaryError::NotFound { .. }) => Ok(()),
            Ok(_) => Err(ToolError::InvalidInput(format!(
                "the repository still has an entry for a working tree of that name ({entry}); choose another name, or ask \
                 the user to run git worktree prune"
            ))),
            Err(error) => Err(refused(error)),
        }
    }

    /// The folder of the trees is no part of what the repository holds.
    fn keep_from_git(&self, ignore: &str) -> Result<(), ToolError> {
        match self.workspace.write_atomic(ignore, b"*\n", WriteMode::Create) {
            Ok(_) | Err(BoundaryError::Exists { .. }) => Ok(()),
            Err(error) => Err(refused(error)),
        }
    }

    /// Writes what makes the folder a tree: what is read by every `git`, as `gitrepository-layout` has it.
    fn record(&self, name: &str, commit: &str, index: &[u8]) -> Result<(), ToolError> {
        let root = absolute(self.workspace.as_ref())?;
        let (base, own, branch) = (base(name), own(name), branch(name));
        let files: [(String, Vec<u8>); 6] = [
            (format!("{own}/commondir"), b"../..\n".to_vec()),
            (format!("{own}/gitdir"), format!("{root}/{base}/.git\n").into_bytes()),
            (format!("{own}/HEAD"), format!("ref: {branch}\n").into_bytes()),
            (format!("{own}/index"), index.to_vec()),
            (format!("{REPOSITORY}/{branch}"), format!("{commit}\n").into_bytes()),
            (format!("{base}/.git"), format!("gitdir: {root}/{own}\n").into_bytes()),
        ];
        let changes: Vec<Change<'_>> = files
            .iter()
            .map(|(path, bytes)| Change::Write {
                path,
                bytes,
                mode: WriteMode::Create,
                like: None,
                permissions: Permissions::Kept,
            })
            .collect();
        self.workspace.administering().change_all(&changes).map(drop).map_err(refused)
    }

    /// Takes the files away that were written out before something went wrong.
    fn given_up(&self, base: &str, error: ToolError) -> ToolError {
        match self.workspace.administering().remove_tree(base) {
            Ok(()) => error,
            Err(left) => ToolError::Failed(format!("{error} What was written to {base} is still there: {left}")),
        }
    }
}

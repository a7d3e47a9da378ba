//! A tree is made: its files, and what makes them a tree of the repository.

use super::{BRANCH, REPOSITORY, WorkingTrees, base, branch, elsewhere, not_ours, own};
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
        // What leaves a commit out has a hash too, with a sign before it.
        let commit = found.filter(|hash| hash.bytes().all(|byte| byte.is_ascii_hexdigit())).ok_or_else(|| {
            ToolError::NotFound(format!(
                "there is no commit {from:?} in this repository; git_log shows the commits, and what a branch points to is one"
            ))
        })?;
        self.require_free(&repository, name, stop)?;
        let base = base(name);
        self.keep_from_git()?;
        self.claim(name)?;
        let made = self.workspace.open_dir(&base).map_err(refused).and_then(|folder| {
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

    /// Neither the branch nor the entry of the tree may be there: they would be somebody else's. No link may lead what is
    /// made elsewhere.
    fn require_free(&self, repository: &Repository<'_>, name: &str, stop: &CancellationToken) -> Result<(), ToolError> {
        if self.is_there(&format!("{REPOSITORY}/reftable"))? {
            return Err(ToolError::InvalidInput(
                "the repository keeps its refs in a form that is only read here; ask the user to make the working tree with \
                 git worktree add, or work in the workspace"
                    .to_owned(),
            ));
        }
        let branch = branch(name);
        if repository.line(&["for-each-ref", "--count=1", &branch], stop)?.is_some() {
            return Err(ToolError::InvalidInput(format!(
                "there is a branch {BRANCH}{name} already, from which nothing may get lost; choose another name"
            )));
        }
        let (base, entry) = (base(name), own(name));
        if self.is_taken(&base)? {
            return Err(not_ours(&base));
        }
        if self.is_taken(&entry)? {
            return Err(ToolError::InvalidInput(format!(
                "the repository still has an entry for a working tree of that name ({entry}); choose another name, or ask \
                 the user to run git worktree prune"
            )));
        }
        Ok(())
    }

    /// Whether something has this path, which no link may lead elsewhere.
    fn is_taken(&self, path: &str) -> Result<bool, ToolError> {
        match self.workspace.metadata(path) {
            Ok(found) if found.path == Path::new(path) => Ok(true),
            Err(BoundaryError::NotFound { missing, .. }) if Path::new(path).starts_with(&missing) => Ok(false),
            Ok(_) | Err(BoundaryError::NotFound { .. }) => Err(elsewhere(path)),
            Err(error) => Err(refused(error)),
        }
    }

    /// The folder of the trees is no part of what the repository holds.
    fn keep_from_git(&self) -> Result<(), ToolError> {
        let ignore = format!("{WORKING_TREES}/.gitignore");
        match self.workspace.write_atomic(&ignore, b"*\n", WriteMode::Create) {
            Ok(_) | Err(BoundaryError::Exists { .. }) => Ok(()),
            Err(error) => Err(refused(error)),
        }
    }

    /// Makes the folder, with the file in it that makes it a tree. Of several sessions that make a tree of one name, the one
    /// that has written that file has the folder; the others touch nothing in it.
    fn claim(&self, name: &str) -> Result<(), ToolError> {
        let (base, administering) = (base(name), self.workspace.administering());
        let (path, text) = (format!("{base}/.git"), format!("gitdir: {}/{}\n", self.absolute()?, own(name)));
        match administering.write_atomic(&path, text.as_bytes(), WriteMode::Create) {
            Ok(_) => {}
            Err(BoundaryError::Exists { .. }) => return Err(not_ours(&base)),
            Err(error) => return Err(refused(error)),
        }
        match self.workspace.list_dir(&base, 1) {
            Ok(listing) if listing.total == 1 => Ok(()),
            // It was made by somebody else in between, and what is in it is theirs.
            listed => {
                administering.change_all(&[Change::Remove { path: &path }]).map_err(refused)?;
                Err(listed.map_or_else(refused, |_| not_ours(&base)))
            }
        }
    }

    /// Writes what the file in the folder names: what is read by every `git`, as `gitrepository-layout` has it.
    fn record(&self, name: &str, commit: &str, index: &[u8]) -> Result<(), ToolError> {
        let (root, base, own, branch) = (self.absolute()?, base(name), own(name), branch(name));
        let files: [(String, Vec<u8>); 5] = [
            (format!("{own}/commondir"), b"../..\n".to_vec()),
            (format!("{own}/gitdir"), format!("{root}/{base}/.git\n").into_bytes()),
            (format!("{own}/index"), index.to_vec()),
            (format!("{REPOSITORY}/{branch}"), format!("{commit}\n").into_bytes()),
            // The last: who finds it finds a tree that is whole.
            (format!("{own}/HEAD"), format!("ref: {branch}\n").into_bytes()),
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

    /// The absolute path of the workspace, as text.
    fn absolute(&self) -> Result<String, ToolError> {
        let folder = self.workspace.open_dir(".").map_err(refused)?;
        let text = folder.absolute.to_str().filter(|text| !text.contains('\n'));
        text.map(str::to_owned).ok_or_else(|| {
            ToolError::InvalidInput(
                "the path of the workspace cannot be written down for git; tell the user".to_owned(),
            )
        })
    }

    /// Takes the files away that were written out before something went wrong.
    fn given_up(&self, base: &str, error: ToolError) -> ToolError {
        match self.workspace.administering().remove_tree(base) {
            Ok(()) => error,
            Err(left) => ToolError::Failed(format!("{error} What was written to {base} is still there: {left}")),
        }
    }
}

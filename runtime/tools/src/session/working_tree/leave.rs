//! A tree is left, and taken away where nothing in it would be lost.

use super::{REPOSITORY, WorkingTrees, base, branch, branch_name, own};
use crate::{git::Repository, work::refused};
use slot_runtime::{
    boundary::{BoundaryError, Change},
    contract::ToolError,
    place::Away,
};
use std::io::Read;
use tokio_util::sync::CancellationToken;

/// How many changes are named to somebody who would lose them.
const MOST_NAMED: usize = 10;
/// The most trees of a repository whose heads are looked at, and the longest head.
const MOST_TREES: usize = 1000;
const MOST_HEAD: u64 = 4096;
/// The longest file of packed refs that is looked through.
const MOST_REFS: u64 = 64 << 20;

/// What `git` keeps for one tree alone and may hold what is nowhere else: operations that have not ended, with the changes
/// that they have set aside, the repositories of submodules, and refs of the tree's own.
const HOLDS: [&str; 6] = ["MERGE_AUTOSTASH", "modules", "rebase-apply", "rebase-merge", "refs/bisect", "refs/worktree"];

/// What became of a tree that was left.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Left {
    /// It is there as it was.
    Kept,
    /// Somebody else has taken it away.
    Gone,
    /// It is gone, and so is its branch, which had no commit of its own.
    Removed,
    /// It is gone; its branch stays, for its commits.
    RemovedFromBranch,
}

impl WorkingTrees {
    /// Leaves the tree in which the session is: its name, and what became of it.
    pub fn leave(&self, remove: bool, discard: bool, stop: &CancellationToken) -> Result<(String, Left), ToolError> {
        let away = self.place.away().ok_or_else(|| {
            ToolError::InvalidInput("the session is in no working tree; it works in the workspace itself".to_owned())
        })?;
        let left = if remove {
            self.take_away(&away, discard, stop)?
        } else if self.is_there(&base(&away.name)).unwrap_or(true) {
            Left::Kept
        } else {
            Left::Gone
        };
        self.place.leave();
        Ok((away.name, left))
    }

    fn take_away(&self, away: &Away, discard: bool, stop: &CancellationToken) -> Result<Left, ToolError> {
        let name = away.name.as_str();
        let (base, own) = (base(name), own(name));
        let repository = Repository::in_workspace(&self.git, &base, stop)?;
        if repository.root != base || repository.own != own {
            return Err(ToolError::InvalidInput(format!(
                "{base} is no working tree of the repository any more, so that it was not removed; leave it with action keep, \
                 and tell the user"
            )));
        }
        if self.is_there(&format!("{own}/locked"))? {
            return Err(ToolError::InvalidInput(
                "the working tree is locked, so that it was not removed; leave it with action keep, and tell the user"
                    .to_owned(),
            ));
        }
        if !discard {
            self.refuse_loss(&repository, stop)?;
        }
        let with_branch = self.is_spent(&repository, name, stop)?;
        let administering = self.workspace.administering();
        // Who may not change the entry is told so while everything is there.
        administering.create_dirs(&own).map_err(refused)?;
        administering.remove_tree(&base).map_err(refused)?;
        administering.remove_tree(&own).map_err(refused)?;
        if !with_branch {
            return Ok(Left::RemovedFromBranch);
        }
        // Its log goes with it: the name of a branch that has one is not free.
        let (path, log) = (format!("{REPOSITORY}/{}", branch(name)), format!("{REPOSITORY}/logs/{}", branch(name)));
        let mut changes = vec![Change::Remove { path: &path }];
        if self.is_there(&log)? {
            changes.push(Change::Remove { path: &log });
        }
        administering.change_all(&changes).map_err(refused)?;
        Ok(Left::Removed)
    }

    /// Whether the tree's branch can go with it: it is the one that was made for it, stands in a file of its own, is the
    /// head of nothing else, and has no commit that no other branch has.
    fn is_spent(&self, repository: &Repository<'_>, name: &str, stop: &CancellationToken) -> Result<bool, ToolError> {
        let branch = branch(name);
        if repository.answer(&["symbolic-ref", "--quiet", "HEAD"], stop)?.as_deref() != Some(&branch) {
            return Ok(false);
        }
        if self.is_head_elsewhere(name)?
            || self.is_packed(&branch)?
            || self.workspace.metadata(&format!("{REPOSITORY}/{branch}")).is_err()
        {
            return Ok(false);
        }
        let exclude = format!("--exclude={}", branch_name(name));
        let own = ["rev-list", "--max-count=1", &branch, "--not", &exclude, "--branches", "--tags", "--remotes"];
        Ok(repository.line(&own, stop)?.is_none())
    }

    /// Whether the workspace or another tree is on the tree's branch, which `git` allows to whoever insists.
    fn is_head_elsewhere(&self, name: &str) -> Result<bool, ToolError> {
        let others = self.workspace.list_dir(&format!("{REPOSITORY}/worktrees"), MOST_TREES).map_err(refused)?;
        if others.total > others.entries.len() {
            return Ok(true);
        }
        let names = others.entries.iter().filter(|entry| entry.name != *name);
        let heads = names.map(|entry| format!("{REPOSITORY}/worktrees/{}/HEAD", entry.name.to_string_lossy()));
        for head in heads.chain([format!("{REPOSITORY}/HEAD")]) {
            let mut text = String::new();
            match self.workspace.open_file(&head) {
                Err(BoundaryError::NotFound { .. } | BoundaryError::NotADirectory { .. }) => continue,
                opened => opened.map_err(refused)?.file.take(MOST_HEAD).read_to_string(&mut text),
            }
            .map_err(|error| ToolError::Failed(format!("{head} could not be read: {error}; try again")))?;
            if text.strip_prefix("ref:").is_some_and(|target| target.trim() == branch(name)) {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Whether the list of packed refs has the branch, which would be there again once its own file is gone.
    fn is_packed(&self, branch: &str) -> Result<bool, ToolError> {
        let opened = match self.workspace.open_file(".git/packed-refs") {
            Err(BoundaryError::NotFound { .. }) => return Ok(false),
            opened => opened.map_err(refused)?,
        };
        let mut text = Vec::new();
        let read = opened.file.take(MOST_REFS).read_to_end(&mut text);
        let ends = format!(" {branch}");
        let is_there = || text.split(|byte| *byte == b'\n').any(|line| line.ends_with(ends.as_bytes()));
        // A list that cannot be read whole may have it.
        Ok(read.is_err() || u64::try_from(text.len()).unwrap_or(u64::MAX) >= MOST_REFS || is_there())
    }

    /// Refuses to take away what is nowhere else: changes that are not committed, also those that `git` was told not to look
    /// at, commits that no branch has, what an operation of `git` has set aside, and whatever a submodule holds. What the
    /// repository ignores is made again by whoever needs it, and goes.
    fn refuse_loss(&self, repository: &Repository<'_>, stop: &CancellationToken) -> Result<(), ToolError> {
        // What is in a submodule is judged apart: looking into one would mean to trust its configuration.
        let arguments = ["status", "--porcelain=v1", "--untracked-files=normal", "--ignore-submodules=all"];
        let changed = repository.text(&arguments, stop, "There are more.")?;
        let mut lost: Vec<String> = changed.lines().take(MOST_NAMED).map(str::to_owned).collect();
        let more = changed.lines().count().saturating_sub(MOST_NAMED);
        if more > 0 {
            lost.push(format!("and {more} more"));
        }
        lost.extend(self.unwatched(repository, stop)?);
        lost.extend(self.filled_submodules(repository, stop)?);
        for held in HOLDS {
            if self.is_there(&format!("{}/{held}", repository.own))? {
                lost.push(format!("what git keeps for this tree alone in {held}"));
            }
        }
        let detached = ["rev-list", "--max-count=1", "HEAD", "--not", "--branches", "--tags", "--remotes"];
        if let Some(commit) = repository.line(&detached, stop)? {
            lost.push(format!("the commit {commit}, which no branch has"));
        }
        if lost.is_empty() {
            return Ok(());
        }
        let name = repository.root.rsplit('/').next().unwrap_or_default();
        Err(ToolError::InvalidInput(format!(
            "the working tree was not removed, because this would be lost:\n{}\nCommit it on the branch {}, leave with action \
             keep, or pass discard_changes: true if it is worth nothing",
            lost.join("\n"),
            branch_name(name),
        )))
    }

    /// The files that may have changes although a status shows none.
    fn unwatched(&self, repository: &Repository<'_>, stop: &CancellationToken) -> Result<Vec<String>, ToolError> {
        let mut there = Vec::new();
        for path in repository.unwatched(stop)? {
            if there.len() == MOST_NAMED {
                break;
            }
            match self.workspace.metadata(&format!("{}/{path}", repository.root)) {
                Err(BoundaryError::NotFound { .. } | BoundaryError::NotADirectory { .. }) => {}
                // What cannot be looked at may hold anything.
                _ => there.push(format!("{path}, at whose changes git was told not to look")),
            }
        }
        Ok(there)
    }

    /// The submodules whose folders are not empty.
    fn filled_submodules(
        &self,
        repository: &Repository<'_>,
        stop: &CancellationToken,
    ) -> Result<Vec<String>, ToolError> {
        let mut filled = Vec::new();
        for path in repository.submodules(stop)? {
            match self.workspace.list_dir(&format!("{}/{path}", repository.root), 1) {
                Ok(listing) if listing.total == 0 => {}
                Err(BoundaryError::NotFound { .. }) => {}
                // What cannot be looked into may hold anything.
                _ => filled.push(format!("the submodule {path}, in which files are")),
            }
        }
        Ok(filled)
    }
}

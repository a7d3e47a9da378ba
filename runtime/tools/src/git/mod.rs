//! The version-control tools: what a repository in the workspace holds, and what has changed.
//!
//! They run the real `git`, and a repository is not to be trusted: its configuration names programs (a file watcher,
//! filters, a pager, external diffs, hooks, signature checks, transports) that `git` would start while it only looks. So
//! `git` never sees the repository's own folder as one. For each call [`repository`] makes a [`view`] of it: a folder of
//! its own with a configuration of known words alone ([`settings`]), and the refs, the index and the objects of the
//! repository. [`process`] runs `git` over that view, bounded in bytes and time, and ends it with the call.
//!
//! Each tool is one module: [`status`], [`diff`], [`log`], [`show`], [`blame`]. `revision` says what may stand for a
//! revision.
//!
//! Not owned here: a process that changes the folder of the repository while `git` reads it.

mod blame;
mod checkout;
mod diff;
mod log;
mod process;
mod repository;
mod revision;
mod settings;
mod show;
mod status;
mod view;

#[cfg(test)]
mod tests;

pub use blame::GitBlame;
pub use diff::GitDiff;
pub use log::GitLog;
pub(crate) use repository::{Repository, no_commits};
pub(crate) use revision::revision;
pub use show::GitShow;
pub use status::GitStatus;

use crate::{
    input::{fault, optional_text},
    work::blocking,
};
use serde_json::Value;
use slot_runtime::{
    boundary::FileBoundary,
    contract::{RunContext, ToolError, ToolOutput, ToolSpec, ValidationFault},
    place::Place,
};
use std::{
    env,
    ffi::{OsStr, OsString},
    os::unix::fs::PermissionsExt,
    path::PathBuf,
    sync::Arc,
};
use tokio_util::sync::CancellationToken;

/// The most bytes of one answer.
const MAX_OUTPUT: usize = 60_000;
/// The longest path that is taken, as the file tools take it.
const MAX_PATH_BYTES: usize = 4096;

/// What the tools share: the files of the workspace, and the program.
pub struct Git {
    /// The whole workspace, wherever the session is: the repository of a working tree lies outside of it.
    boundary: Arc<dyn FileBoundary>,
    place: Place,
    /// `None` where there is no `git`.
    program: Option<PathBuf>,
    /// The folders of `PATH` in which it may look for parts of itself.
    folders: OsString,
}

impl Git {
    /// Repositories behind `boundary`, read by the `git` that `PATH` of the `inherited` environment names. Folders of
    /// `PATH` that are not absolute are passed over: they would mean the folder of whoever runs a command.
    pub fn new(boundary: Arc<dyn FileBoundary>, inherited: &[(OsString, OsString)]) -> Self {
        let path = inherited.iter().rev().find(|(name, _)| name == "PATH").map(|(_, value)| value.as_os_str());
        let folders: Vec<PathBuf> = env::split_paths(path.unwrap_or(OsStr::new("/usr/bin:/bin")))
            .filter(|folder| folder.is_absolute())
            .collect();
        let program = folders.iter().map(|folder| folder.join("git")).find(|program| {
            program.metadata().is_ok_and(|found| found.is_file() && found.permissions().mode() & 0o111 != 0)
        });
        Git { boundary, place: Place::default(), program, folders: env::join_paths(&folders).unwrap_or_default() }
    }

    /// The same, with paths that are relative to where the session is.
    #[must_use]
    pub fn at(self, place: Place) -> Self {
        Git { place, ..self }
    }
}

/// The tools, over one [`Git`].
pub fn tools(git: &Arc<Git>) -> Vec<Arc<dyn ToolSpec>> {
    vec![
        Arc::new(GitBlame::new(Arc::clone(git))),
        Arc::new(GitDiff::new(Arc::clone(git))),
        Arc::new(GitLog::new(Arc::clone(git))),
        Arc::new(GitShow::new(Arc::clone(git))),
        Arc::new(GitStatus::new(Arc::clone(git))),
    ]
}

/// Opens the repository that `path` lies in and does `work` with it, on a thread that may block.
async fn with_repository(
    git: &Arc<Git>,
    run: &RunContext,
    path: Option<&str>,
    work: impl FnOnce(&Repository, &CancellationToken) -> Result<ToolOutput, ToolError> + Send + 'static,
) -> Result<ToolOutput, ToolError> {
    let (git, path) = (Arc::clone(git), path.unwrap_or(".").to_owned());
    blocking(run, move |stop| {
        let repository = Repository::of(&git, &path, stop)?;
        work(&repository, stop)
    })
    .await
}

/// The path in `field`, where there is one.
fn path<'a>(input: &'a Value, field: &str) -> Result<Option<&'a str>, ValidationFault> {
    let Some(text) = optional_text(input, field)? else { return Ok(None) };
    if text.is_empty() {
        return Err(fault(field, "the path is empty; leave the field out to look at the whole repository"));
    }
    if text.contains('\0') {
        return Err(fault(field, "the path contains a NUL character, which no file name can; remove it"));
    }
    if text.len() > MAX_PATH_BYTES {
        return Err(fault(field, format!("the path has {} bytes; the limit is {MAX_PATH_BYTES}", text.len())));
    }
    Ok(Some(text))
}

/// What is said when an answer ends before it is whole; `next` is what to do.
fn cut_note(bytes: usize, next: &str) -> String {
    format!("[The output ends here, after {bytes} bytes. {next}]")
}

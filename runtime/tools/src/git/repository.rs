//! From a path in the workspace to the repository it lies in, and one run of `git` on it.
//!
//! A repository is looked for in the folder of the path and in those above it, up to the workspace and not beyond. Its
//! folder may be a `.git` that is a file naming another place, as in a linked set of files; that place is resolved by the
//! boundary as any path, so that one outside of the workspace is an escape.

use super::{
    Git, MAX_OUTPUT, cut_note, process,
    view::{Parts, View, join},
};
use crate::work::refused;
use slot_runtime::{
    boundary::{BoundaryError, EntryKind, FileBoundary, OpenDir},
    contract::ToolError,
};
use std::{
    ffi::OsStr,
    io::Read,
    ops::ControlFlow,
    path::{Path, PathBuf},
    time::Duration,
};
use tokio_util::sync::CancellationToken;

/// The longest text in a `.git` file.
const MAX_POINTER: u64 = 4096;

/// A repository, open for one call.
pub struct Repository<'a> {
    git: &'a Git,
    /// The root of its files.
    pub(super) files: OpenDir,
    pub(super) view: View,
    /// The folder of its files, and the one that belongs to them alone, as the workspace names them.
    pub root: String,
    /// See there.
    pub own: String,
    /// The names of what the repository's own folder holds, such as `MERGE_HEAD`.
    pub own_names: Vec<String>,
    /// The path that was asked for, relative to the root of the files; `None` for all of them.
    pub path: Option<String>,
    /// The same path for the boundary.
    pub boundary_path: String,
}

impl<'a> Repository<'a> {
    /// The repository that `path` lies in, which is a path of the place where the session is. It need not exist: what was
    /// deleted has a history too.
    pub fn of(git: &'a Git, path: &str, stop: &CancellationToken) -> Result<Repository<'a>, ToolError> {
        let Some(away) = git.place.away() else { return Self::in_workspace(git, path, stop) };
        let (resolved, is_folder) = resolve(away.files.as_ref(), path)?;
        let base = inside(&away.base)?;
        let repository = Self::around(git, join(&base, &resolved), is_folder, stop)?;
        // The one of the workspace was found where the tree is none any more. It is around the tree, and not in it.
        if !Path::new(&repository.root).starts_with(&base) {
            return Err(ToolError::NotFound(format!(
                "the working tree {} has no repository of its own any more, since its .git is gone; leave it with exit_worktree \
                 and action keep, and tell the user",
                away.name
            )));
        }
        Ok(repository)
    }

    /// The repository that a path of the workspace lies in.
    pub fn in_workspace(git: &'a Git, path: &str, stop: &CancellationToken) -> Result<Repository<'a>, ToolError> {
        let (resolved, is_folder) = resolve(git.boundary.as_ref(), path)?;
        Self::around(git, resolved, is_folder, stop)
    }

    fn around(
        git: &'a Git,
        resolved: String,
        is_folder: bool,
        stop: &CancellationToken,
    ) -> Result<Repository<'a>, ToolError> {
        let boundary = git.boundary.as_ref();
        let start = if is_folder { resolved.as_str() } else { parent(&resolved).unwrap_or(".") };
        let (root, parts) = find(boundary, start)?;
        let files = boundary.open_dir(&root).map_err(refused)?;
        let names = boundary.list_dir(&parts.own, 1000).map_err(refused)?.entries;
        let own_names = names.iter().map(|entry| entry.name.to_string_lossy().into_owned()).collect();
        let view = View::of(git, &parts, &files.spawn_path(), stop)?;
        let inside = if root == "." { Some(resolved.as_str()) } else { resolved.strip_prefix(&root) };
        let inside = inside.map(|rest| rest.trim_start_matches('/')).filter(|rest| !matches!(*rest, "" | "."));
        let path = inside.map(str::to_owned);
        let repository =
            Repository { git, files, view, root, own: parts.own, own_names, path, boundary_path: resolved };
        repository.refuse_wrong_names(stop)?;
        Ok(repository)
    }

    /// Runs `git`, and hands what it prints to `take`.
    pub fn run<S: AsRef<OsStr>>(
        &self,
        arguments: &[S],
        stop: &CancellationToken,
        take: &mut dyn FnMut(&[u8]) -> ControlFlow<()>,
    ) -> Result<process::Finished, ToolError> {
        self.run_in(&self.files, process::LOOKS, arguments, stop, take)
    }

    /// The same with `folder` as the root of the files, for as long as `time`.
    pub(super) fn run_in<S: AsRef<OsStr>>(
        &self,
        folder: &OpenDir,
        time: Duration,
        arguments: &[S],
        stop: &CancellationToken,
        take: &mut dyn FnMut(&[u8]) -> ControlFlow<()>,
    ) -> Result<process::Finished, ToolError> {
        let place = process::Place { view: self.view.path(), files: &folder.spawn_path(), time };
        process::run(self.git, place, arguments, stop, take)
    }

    /// What `git` prints, up to a limit; `next` is what to do when there is more.
    pub fn text(&self, arguments: &[&str], stop: &CancellationToken, next: &str) -> Result<String, ToolError> {
        let mut bytes = Vec::new();
        let finished = self.run(arguments, stop, &mut |more| {
            bytes.extend_from_slice(&more[..more.len().min(MAX_OUTPUT + 1 - bytes.len())]);
            if bytes.len() > MAX_OUTPUT { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        })?;
        if !finished.ok {
            return Err(self.failed(&finished.messages));
        }
        Ok(whole_lines(bytes, finished.cut, next))
    }

    /// The one line that `git` prints, or `None` if it prints nothing. That it fails is no answer.
    pub fn line(&self, arguments: &[&str], stop: &CancellationToken) -> Result<Option<String>, ToolError> {
        let text = self.text(arguments, stop, "There is more.")?;
        let line = text.lines().next().map(str::trim);
        Ok(line.filter(|line| !line.is_empty()).map(str::to_owned))
    }

    /// The one line that `git` prints, or `None` if it fails.
    pub fn answer(&self, arguments: &[&str], stop: &CancellationToken) -> Result<Option<String>, ToolError> {
        let mut bytes = Vec::new();
        let finished = self.run(arguments, stop, &mut |more| {
            bytes.extend_from_slice(&more[..more.len().min(MAX_OUTPUT - bytes.len())]);
            ControlFlow::Continue(())
        })?;
        let text = String::from_utf8_lossy(&bytes).trim().to_owned();
        Ok((finished.ok && !text.is_empty()).then_some(text))
    }

    /// The hash that a revision means.
    pub fn resolve(&self, revision: &str, stop: &CancellationToken) -> Result<String, ToolError> {
        match self.answer(&["rev-parse", "--verify", "--quiet", "--end-of-options", revision], stop)? {
            Some(hash) => Ok(hash),
            None if revision == "HEAD" => Err(no_commits()),
            None => Err(ToolError::NotFound(format!(
                "there is no revision {revision:?} in this repository; git_log shows the commits, and a file of one is \
                 written as HEAD:src/main.rs"
            ))),
        }
    }

    /// Whether there is any commit.
    pub fn has_commits(&self, stop: &CancellationToken) -> Result<bool, ToolError> {
        Ok(self.answer(&["rev-parse", "--verify", "--quiet", "HEAD"], stop)?.is_some())
    }

    /// The kind of an object: `blob`, `tree`, `commit` or `tag`.
    pub fn kind(&self, hash: &str, stop: &CancellationToken) -> Result<String, ToolError> {
        let kind = self.answer(&["cat-file", "-t", hash], stop)?;
        kind.ok_or_else(|| {
            ToolError::NotFound(format!("the object {hash} is missing from the repository; tell the user"))
        })
    }

    /// Puts a file beside the view, for `git` to read.
    pub fn keep(&self, name: &str, bytes: &[u8]) -> Result<PathBuf, ToolError> {
        self.view.keep(name, bytes)
    }

    /// The error for the model. `git` names the view, which means nothing to anybody.
    pub fn failed(&self, messages: &str) -> ToolError {
        let messages = messages.replace(&*self.view.path().to_string_lossy(), ".git");
        let first = messages.lines().find(|line| !line.trim().is_empty()).unwrap_or("it said nothing");
        let first = first.trim_start_matches("fatal: ").trim_start_matches("error: ");
        ToolError::Failed(format!("git failed: {first}. Check what you asked for, and tell the user if it is right"))
    }

    /// An index can be written by hand to hold any name, and `git` opens what it names: `../x` as well.
    fn refuse_wrong_names(&self, stop: &CancellationToken) -> Result<(), ToolError> {
        let mut names = Names::default();
        let finished = self.run(&["ls-files", "-z", "--cached"], stop, &mut |bytes| names.take(bytes))?;
        if let Some(wrong) = names.wrong {
            return Err(ToolError::Denied(format!(
                "the index of the repository names {wrong:?}, which does not lie below its folder; nothing was read. Tell the \
                 user that the repository was tampered with"
            )));
        }
        if finished.ok { Ok(()) } else { Err(self.failed(&finished.messages)) }
    }
}

/// There is nothing to look at.
pub fn no_commits() -> ToolError {
    ToolError::NotFound("the repository has no commits yet; git_status shows what there is".to_owned())
}

/// Reads names that end in NUL, and keeps the first that no checkout would make.
#[derive(Default)]
struct Names {
    /// The beginning of a name whose end has not come yet.
    begun: Vec<u8>,
    wrong: Option<String>,
}

impl Names {
    /// Longer than any path that a system opens.
    const LONGEST: usize = 8192;

    fn take(&mut self, bytes: &[u8]) -> ControlFlow<()> {
        for piece in bytes.split_inclusive(|byte| *byte == 0) {
            let (text, ends) = match piece.split_last() {
                Some((0, text)) => (text, true),
                _ => (piece, false),
            };
            self.begun.extend_from_slice(text);
            if (ends && is_wrong(&self.begun)) || self.begun.len() > Self::LONGEST {
                let shown: String = String::from_utf8_lossy(&self.begun).chars().take(200).collect();
                self.wrong = Some(shown);
                return ControlFlow::Break(());
            }
            if ends {
                self.begun.clear();
            }
        }
        ControlFlow::Continue(())
    }
}

fn is_wrong(name: &[u8]) -> bool {
    name.split(|byte| *byte == b'/')
        .any(|part| matches!(part, b"" | b"." | b"..") || part.eq_ignore_ascii_case(b".git"))
}

/// Where a path is, relative to the workspace and without links, and whether it is a folder. What does not exist keeps
/// its last names as they were written.
fn resolve(boundary: &dyn FileBoundary, path: &str) -> Result<(String, bool), ToolError> {
    let first = match boundary.metadata(path) {
        Ok(found) => return Ok((inside(&found.path)?, found.kind == EntryKind::Directory)),
        Err(BoundaryError::NotFound { path, missing }) => BoundaryError::NotFound { path, missing },
        Err(error) => return Err(refused(error)),
    };
    // `..` goes where the folder before it leads, and that one may be missing.
    if path.split('/').any(|part| part == "..") {
        return Err(refused(first));
    }
    let mut missing: Vec<&str> = Vec::new();
    let mut above = path.trim_end_matches('/');
    loop {
        let (folder, name) = match above.rsplit_once('/') {
            Some((folder, name)) => (if folder.is_empty() { "/" } else { folder }, name),
            None => (".", above),
        };
        if !matches!(name, "" | ".") {
            missing.push(name);
        }
        match boundary.metadata(folder) {
            Ok(found) => {
                let mut resolved = inside(&found.path)?;
                for name in missing.iter().rev() {
                    resolved = join(&resolved, name);
                }
                return Ok((resolved, false));
            }
            Err(BoundaryError::NotFound { .. }) if folder != "." && folder != "/" => above = folder,
            Err(error) => return Err(refused(error)),
        }
    }
}

/// A resolved path as text below the workspace.
fn inside(path: &Path) -> Result<String, ToolError> {
    let text = path.to_str().filter(|_| path.is_relative());
    text.map(str::to_owned).ok_or_else(|| {
        ToolError::InvalidInput(format!(
            "{} does not lie in the workspace itself, or is no text; pass a path of the workspace",
            path.display()
        ))
    })
}

fn parent(path: &str) -> Option<&str> {
    match path.rsplit_once('/') {
        Some((folder, _)) => Some(folder),
        None => (path != ".").then_some("."),
    }
}

/// The nearest folder from `start` upwards that has a repository: the root of its files, and where its parts are.
fn find(boundary: &dyn FileBoundary, start: &str) -> Result<(String, Parts), ToolError> {
    let mut at = start.to_owned();
    loop {
        let dot_git = join(&at, ".git");
        match boundary.metadata(&dot_git) {
            Ok(found) if found.kind == EntryKind::Directory => {
                let own = inside(&found.path)?;
                let common = common(boundary, &own)?;
                return Ok((at, Parts { own, common }));
            }
            Ok(found) if found.kind == EntryKind::File => {
                let own = pointed(boundary, &dot_git, &at, "gitdir: ")?;
                let common = common(boundary, &own)?;
                return Ok((at, Parts { own, common }));
            }
            // The folder that a missing path lies in may be missing as well.
            Ok(_) | Err(BoundaryError::NotFound { .. } | BoundaryError::NotADirectory { .. }) => {}
            Err(error) => return Err(refused(error)),
        }
        match parent(&at) {
            Some(above) => at = above.to_owned(),
            None => {
                return Err(ToolError::NotFound(
                    "there is no git repository here: neither the folder nor one above it, up to the workspace, has a \
                     .git. Pass a path inside of a repository, or go on without version control"
                        .to_owned(),
                ));
            }
        }
    }
}

fn common(boundary: &dyn FileBoundary, own: &str) -> Result<String, ToolError> {
    let pointer = join(own, "commondir");
    match boundary.metadata(&pointer) {
        Err(BoundaryError::NotFound { .. }) => Ok(own.to_owned()),
        Err(error) => Err(refused(error)),
        Ok(_) => pointed(boundary, &pointer, own, ""),
    }
}

/// The folder that a file names, seen from `from`.
fn pointed(boundary: &dyn FileBoundary, file: &str, from: &str, begins: &str) -> Result<String, ToolError> {
    let mut text = String::new();
    let opened = boundary.open_file(file).map_err(refused)?;
    let read = opened.file.take(MAX_POINTER).read_to_string(&mut text);
    let target = text.strip_prefix(begins).map(|rest| rest.trim_end_matches(['\n', '\r']));
    let Some(target) = target.filter(|target| read.is_ok() && !target.is_empty() && !target.contains('\n')) else {
        return Err(ToolError::InvalidInput(format!("{file} does not name the folder of a repository; tell the user")));
    };
    let target = if target.starts_with('/') { target.to_owned() } else { join(from, target) };
    let folder = boundary.open_dir(&target).map_err(|error| match error {
        error @ BoundaryError::Escape { .. } => ToolError::Denied(format!(
            "the repository's own folder, which {file} names, lies outside of the workspace: {error}"
        )),
        error => refused(error),
    })?;
    inside(&folder.path)
}

/// The text of what was read: whole lines, and a note where there was more.
fn whole_lines(mut bytes: Vec<u8>, cut: bool, next: &str) -> String {
    if !cut {
        return String::from_utf8_lossy(&bytes).into_owned();
    }
    bytes.truncate(MAX_OUTPUT);
    let end = bytes.iter().rposition(|byte| *byte == b'\n').map_or(bytes.len(), |at| at + 1);
    bytes.truncate(end);
    let mut text = String::from_utf8_lossy(&bytes).into_owned();
    if !text.ends_with('\n') {
        text.push('\n');
    }
    text.push_str(&cut_note(end, next));
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(name: &str, expect: bool) {
        assert_eq!(is_wrong(name.as_bytes()), expect, "{name}");
    }

    #[test]
    fn names_that_no_checkout_makes_are_wrong() {
        for name in ["../x", "a/../../x", "/etc/passwd", "./x", "a//b", ".git/config", "a/.GIT/config", ""] {
            check(name, true);
        }
        for name in ["a", "a/b", "..a", "a..", ".gitignore", "a/.github/b", "-x", "a b"] {
            check(name, false);
        }
    }

    #[test]
    fn names_are_read_across_pieces() {
        let mut names = Names::default();
        for byte in b"ab/c\0d\0../e\0f\0" {
            if names.take(&[*byte]).is_break() {
                break;
            }
        }
        assert_eq!(names.wrong.as_deref(), Some("../e"));
    }

    #[test]
    fn an_answer_ends_with_a_whole_line() {
        let long = "0123456789\n".repeat(MAX_OUTPUT / 10);
        let text = whole_lines(long.clone().into_bytes(), true, "Pass a path.");
        let (shown, note) = text.split_at(text.len() - "[The output ends here, after 59994 bytes. Pass a path.]".len());
        assert_eq!(note, "[The output ends here, after 59994 bytes. Pass a path.]");
        assert!(long.starts_with(shown) && shown.ends_with('\n'));
        assert_eq!(whole_lines(b"a\nb".to_vec(), false, ""), "a\nb");
    }
}

//! The folder that `git` is given in place of the repository's own. It holds copies of the small files, a configuration of
//! known words, and names for the refs and the objects. It is gone with the call.
//!
//! Everything is read through the boundary, so that a repository whose parts lie outside of the workspace is refused
//! like any path that leads out. What cannot be copied is looked through first: a link in it, or objects that are
//! borrowed from elsewhere, would be followed by `git`, which knows no boundary.

use super::{Git, process, settings::known};
use crate::work::refused;
use slot_runtime::{
    boundary::{BoundaryError, EntryKind, FileBoundary},
    contract::ToolError,
};
use std::{
    fs::{self, File},
    io::{self, Read},
    ops::ControlFlow,
    os::unix::fs::symlink,
    path::{Path, PathBuf},
};
use tempfile::TempDir;
use tokio_util::sync::CancellationToken;

/// The largest index and list of packed refs that are copied.
const MAX_COPY: u64 = 256 << 20;
/// The largest configuration that is read.
const MAX_SETTINGS: u64 = 1 << 20;
/// The most bytes of its settings, each written out.
const MAX_LIST: usize = 4 << 20;
/// The most names of one folder, and of all folders, that are looked through.
const MAX_NAMES: usize = 200_000;
/// How deep.
const MAX_DEPTH: usize = 32;

/// The view of one repository.
pub struct View {
    folder: TempDir,
}

/// Where the parts of a repository are, as paths for the boundary.
pub struct Parts {
    /// What belongs to this set of files alone: the head and the index.
    pub own: String,
    /// What all sets of files share: refs, objects and settings. The same folder in most cases.
    pub common: String,
}

impl View {
    /// Makes the view. `files` is the folder `git` will work in.
    pub fn of(git: &Git, parts: &Parts, files: &Path, stop: &CancellationToken) -> Result<View, ToolError> {
        let boundary = git.boundary.as_ref();
        for folder in ["refs", "objects"] {
            NoLinks { boundary, left: MAX_NAMES, stop }.check(&join(&parts.common, folder), MAX_DEPTH)?;
        }
        refuse_borrowed(boundary, &parts.common)?;
        let folder = tempfile::Builder::new().prefix("slot-git-").tempdir().map_err(|error| made(&error))?;
        let view = View { folder };
        for made_folder in ["info", "objects/info"] {
            fs::create_dir_all(view.path().join(made_folder)).map_err(|error| made(&error))?;
        }
        view.copy_files(boundary, parts)?;
        view.name_folders(boundary, parts, stop)?;
        view.settle(git, &parts.common, files, stop)?;
        Ok(view)
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        self.folder.path()
    }

    /// Puts a file of the call's own into the view.
    pub fn keep(&self, name: &str, bytes: &[u8]) -> Result<PathBuf, ToolError> {
        let path = self.path().join(name);
        fs::write(&path, bytes).map_err(|error| made(&error))?;
        Ok(path)
    }

    fn copy_files(&self, boundary: &dyn FileBoundary, parts: &Parts) -> Result<(), ToolError> {
        if !self.copy(boundary, &parts.own, "HEAD", MAX_SETTINGS)? {
            return Err(ToolError::InvalidInput(format!(
                "{} is not the folder of a repository: it has no HEAD; tell the user, and go on without its history",
                parts.own
            )));
        }
        self.copy(boundary, &parts.own, "index", MAX_COPY)?;
        for entry in list(boundary, &parts.own)?.entries {
            let name = entry.name.to_string_lossy();
            if name.starts_with("sharedindex.") && !name.contains('/') {
                self.copy(boundary, &parts.own, &name, MAX_COPY)?;
            }
        }
        for name in ["packed-refs", "shallow", "info/exclude", "info/attributes"] {
            self.copy(boundary, &parts.common, name, MAX_COPY)?;
        }
        Ok(())
    }

    /// Copies one file with its time, by which the index is compared with the files: whether there is one.
    fn copy(&self, boundary: &dyn FileBoundary, from: &str, name: &str, most: u64) -> Result<bool, ToolError> {
        let path = join(from, name);
        let opened = match boundary.open_file(&path) {
            Err(BoundaryError::NotFound { .. }) => return Ok(false),
            opened => opened.map_err(refused)?,
        };
        if opened.len > most {
            return Err(ToolError::Failed(format!(
                "{path} has {} bytes, more than are read; tell the user",
                opened.len
            )));
        }
        let time = opened.file.metadata().and_then(|found| found.modified());
        let copied = File::create(self.path().join(name)).and_then(|mut to| {
            io::copy(&mut opened.file.take(most), &mut to)?;
            to.set_modified(time?)
        });
        copied.map(|()| true).map_err(|error| made(&error))
    }

    /// Gives the refs and the objects a name in the view. Objects are borrowed, so that none is ever written there.
    fn name_folders(
        &self,
        boundary: &dyn FileBoundary,
        parts: &Parts,
        stop: &CancellationToken,
    ) -> Result<(), ToolError> {
        let refs = boundary.open_dir(&join(&parts.common, "refs")).map_err(refused)?;
        symlink(&refs.absolute, self.path().join("refs")).map_err(|error| made(&error))?;
        for name in ["reftable", "logs"] {
            let path = join(&parts.common, name);
            match boundary.open_dir(&path) {
                Err(BoundaryError::NotFound { .. }) => {}
                // The history of a head that is not the common one is elsewhere; it is left out.
                Ok(_) if name == "logs" && parts.own != parts.common => {}
                opened => {
                    let folder = opened.map_err(refused)?;
                    NoLinks { boundary, left: MAX_NAMES, stop }.check(&path, MAX_DEPTH)?;
                    symlink(&folder.absolute, self.path().join(name)).map_err(|error| made(&error))?;
                }
            }
        }
        let objects = boundary.open_dir(&join(&parts.common, "objects")).map_err(refused)?;
        let Some(text) = objects.absolute.to_str().filter(|text| !text.contains('\n')) else {
            return Err(ToolError::InvalidInput(
                "the path of the repository cannot be written down for git".to_owned(),
            ));
        };
        self.keep("objects/info/alternates", format!("{text}\n").as_bytes()).map(drop)
    }

    /// Writes the configuration: first an empty one, with which `git` then reads the repository's own as mere text.
    fn settle(&self, git: &Git, common: &str, files: &Path, stop: &CancellationToken) -> Result<(), ToolError> {
        self.keep("config", b"[core]\n\trepositoryformatversion = 0\n")?;
        let own = join(common, "config");
        let text = match git.boundary.open_file(&own) {
            Err(BoundaryError::NotFound { .. }) => return Ok(()),
            opened => {
                let mut text = Vec::new();
                let opened = opened.map_err(refused)?;
                opened.file.take(MAX_SETTINGS).read_to_end(&mut text).map_err(|error| made(&error))?;
                text
            }
        };
        let untrusted = self.keep("untrusted", &text)?;
        let place = process::Place { view: self.path(), files, time: process::LOOKS };
        let mut list = Vec::new();
        let arguments = [
            "config".as_ref(),
            "--file".as_ref(),
            untrusted.as_os_str(),
            "--no-includes".as_ref(),
            "--list".as_ref(),
            "-z".as_ref(),
        ];
        let read = process::run(git, place, &arguments, stop, &mut |bytes| {
            list.extend_from_slice(bytes);
            // The name of a section is repeated for each of its settings, so that a short file can make a long list.
            if list.len() > MAX_LIST { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        })?;
        if !read.ok || read.cut {
            return Err(ToolError::InvalidInput(format!(
                "the settings of the repository, {own}, cannot be read; tell the user to look at them"
            )));
        }
        let settings = known(&list).map_err(|demand| {
            ToolError::InvalidInput(format!(
                "the repository demands {demand}, which is not known here, so that it would be misread; tell the user"
            ))
        })?;
        self.keep("config", settings.as_bytes()).map(drop)
    }
}

/// Objects that are borrowed from another repository lie wherever that is.
fn refuse_borrowed(boundary: &dyn FileBoundary, common: &str) -> Result<(), ToolError> {
    let path = join(common, "objects/info/alternates");
    match boundary.metadata(&path) {
        Err(BoundaryError::NotFound { .. }) => Ok(()),
        Ok(found) if found.len == 0 => Ok(()),
        Ok(_) => Err(ToolError::Denied(format!(
            "the repository borrows objects from another folder ({path}), which may lie outside of the workspace; nothing \
             of it was read. Ask the user to make the repository whole with `git repack -a -d`"
        ))),
        Err(error) => Err(refused(error)),
    }
}

/// Looks through a folder for links.
struct NoLinks<'a> {
    boundary: &'a dyn FileBoundary,
    /// How many names may still be met.
    left: usize,
    stop: &'a CancellationToken,
}

impl NoLinks<'_> {
    fn check(&mut self, path: &str, depth: usize) -> Result<(), ToolError> {
        if self.stop.is_cancelled() {
            return Err(ToolError::Cancelled);
        }
        let listing = list(self.boundary, path)?;
        self.left = self.left.checked_sub(listing.total).filter(|_| depth > 0).ok_or_else(|| {
            ToolError::Failed(format!(
                "{path} holds more than is looked through; ask the user to run `git gc`, or use git_log and git_show less"
            ))
        })?;
        for entry in listing.entries {
            let name = entry.name.to_string_lossy();
            match entry.kind {
                EntryKind::Directory => self.check(&join(path, &name), depth - 1)?,
                EntryKind::Symlink => {
                    return Err(ToolError::Denied(format!(
                        "{} is a symbolic link inside of the repository's own folder, which git never makes and would \
                         follow out of the workspace; nothing was read. Tell the user",
                        join(path, &name)
                    )));
                }
                _ => {}
            }
        }
        Ok(())
    }
}

fn list(boundary: &dyn FileBoundary, path: &str) -> Result<slot_runtime::boundary::Listing, ToolError> {
    boundary.list_dir(path, MAX_NAMES).map_err(refused)
}

/// A name below a folder, as a path for the boundary.
pub fn join(folder: &str, name: &str) -> String {
    match (folder, name) {
        (".", name) => name.to_owned(),
        (folder, ".") => folder.to_owned(),
        (folder, name) => format!("{}/{name}", folder.trim_end_matches('/')),
    }
}

fn made(error: &io::Error) -> ToolError {
    ToolError::Failed(format!(
        "a folder for git could not be made: {error}; try again, and tell the user if it goes on"
    ))
}

//! A workspace within the workspace, the repository's own folder, and whole folders removed: what a working tree of a
//! session needs beyond single files.

use super::{Retry, Root, Workspace, failed, raced, remove::remove, walk::Place};
use crate::boundary::{
    BoundaryError,
    path::{NOT_PLAIN, is_plainly},
    shown_path,
};
use rustix::fs::OFlags;
use std::{ffi::CString, os::unix::ffi::OsStrExt, path::PathBuf, sync::Arc};

impl Workspace {
    /// The workspace that a folder of this one is. See [`crate::boundary::FileBoundary::narrowed`].
    pub fn narrowed(&self, path: &str) -> Result<(Workspace, PathBuf), BoundaryError> {
        self.attempt(path, |place| {
            self.require_directory(path, &place)?;
            if place.root != 0 {
                return Err(BoundaryError::Escape { path: path.to_owned(), via: None }.into());
            }
            // What is protected stays so, and would not be under another root.
            self.require_writable(path, &place)?;
            let handle = self.open_place(path, &place, OFlags::PATH | OFlags::DIRECTORY, "open")?;
            let outer = self.workspace();
            let spellings = outer.spellings.iter().map(|names| [names.as_slice(), &place.names].concat()).collect();
            let mut roots = vec![Root { handle, path: self.absolute(&place), spellings, kernel: outer.kernel }];
            // One that overlaps with the workspace would lead from the folder to what is around it.
            let apart = |root: &&Root| !root.path.starts_with(&outer.path) && !outer.path.starts_with(&root.path);
            for trusted in self.roots[1..].iter().filter(apart) {
                roots.push(trusted.duplicate()?);
            }
            Ok((Workspace { roots: Arc::new(roots), ..self.clone() }, shown_path(&self.shown(&place))))
        })
    }

    /// The same handle, which may write to `.git`. See [`crate::boundary::FileBoundary::administering`].
    #[must_use]
    pub fn administering(&self) -> Workspace {
        Workspace { protected: self.protected.administering(), ..self.clone() }
    }

    /// Removes a folder with what is in it. See [`crate::boundary::FileBoundary::remove_tree`].
    pub fn remove_tree(&self, path: &str) -> Result<(), BoundaryError> {
        self.attempt(path, |place| {
            self.require_directory(path, &place)?;
            self.require_writable(path, &place)?;
            if place.root != 0 || !is_plainly(path, &place.names) {
                return Err(BoundaryError::Invalid { path: path.to_owned(), reason: NOT_PLAIN.to_owned() }.into());
            }
            self.remove_found(path, &place)
        })
    }

    fn remove_found(&self, path: &str, place: &Place) -> Result<(), Retry> {
        let Some((name, above)) = place.names.split_last() else {
            let reason = "is a root of the files itself, which is never removed.".to_owned();
            return Err(BoundaryError::Invalid { path: path.to_owned(), reason }.into());
        };
        let folder = self
            .workspace()
            .open_beneath(above, OFlags::PATH | OFlags::DIRECTORY)
            .map_err(|errno| raced(path, "remove", errno))?;
        let name = CString::new(name.as_bytes()).map_err(|_| Retry::Again)?;
        remove(&folder, &name).map_err(|errno| failed(path, "remove", errno))
    }
}

//! A folder and all that lies below it, where there is no `openat2`.
//!
//! Each folder is a sandbox of `cap-std` of its own, opened from the one above it after a look that it is no link. Should
//! it have become one meanwhile, it can lead no further than to another folder of the workspace.

use super::{Workspace, kind_of, shown_path};
use crate::boundary::{
    BoundaryError, EntryKind, OpenFile, TreeFilter,
    path::MAX_COMPONENTS,
    tree::{below_top, either, invalid},
};
use cap_std::fs::{Dir, OpenOptions, OpenOptionsExt};
use std::{
    ffi::OsStr,
    ops::ControlFlow,
    path::{Component, Path, PathBuf},
    sync::Arc,
};

/// A folder and all that lies below it. No link in it is followed.
#[derive(Clone)]
pub struct Tree {
    top: Arc<Dir>,
    path: PathBuf,
    filter: Option<TreeFilter>,
}

/// One open folder of a [`Tree`].
pub struct Branch {
    handle: Dir,
    path: PathBuf,
    filter: Option<TreeFilter>,
}

impl Workspace {
    /// The folder with all that lies below it. See [`crate::boundary::FileBoundary::tree`].
    pub fn tree(&self, path: &str) -> Result<Tree, BoundaryError> {
        let place = self.place(path)?;
        let found = place.root.handle.metadata(&place.relative).map_err(|e| place.error("list", e))?;
        if !found.is_dir() {
            let (path, kind) = (path.to_owned(), kind_of(found.file_type()));
            return Err(BoundaryError::NotADirectory { at: path.clone(), path, kind });
        }
        let top = place.root.handle.open_dir(&place.relative).map_err(|e| place.error("list", e))?;
        Ok(Tree { top: Arc::new(top), path: shown_path(&place.resolved()?), filter: None })
    }
}

impl Tree {
    /// Where its top was found.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The same tree without what `filter` leaves out.
    #[must_use]
    pub fn leaving_out(self, filter: TreeFilter) -> Tree {
        Tree { filter: Some(either(self.filter.clone(), filter)), ..self }
    }

    /// Opens the folder that is reached from the top by the names of `below`; by none, the top itself.
    ///
    /// # Errors
    ///
    /// [`BoundaryError::Unstable`] when it is no folder, which it was when somebody found it.
    pub fn open(&self, below: &Path) -> Result<Branch, BoundaryError> {
        let path = if below.as_os_str().is_empty() { self.path.clone() } else { below_top(&self.path, below) };
        let text = path.to_string_lossy().into_owned();
        if below.components().count() > MAX_COMPONENTS {
            return Err(invalid(&text, "lies too deep; use a shallower path."));
        }
        if self.filter.as_ref().is_some_and(|filter| filter(&path, EntryKind::Directory)) {
            return Err(BoundaryError::NotFound { path: text.clone(), missing: text });
        }
        let unstable = |_| BoundaryError::Unstable { path: text.clone() };
        let mut handle = self.top.try_clone().map_err(unstable)?;
        for part in below.components() {
            let Component::Normal(name) = part else {
                return Err(invalid(&text, "is not made of names alone; pass the path of a folder."));
            };
            if !handle.symlink_metadata(name).map_err(unstable)?.is_dir() {
                return Err(BoundaryError::Unstable { path: text });
            }
            handle = handle.open_dir(name).map_err(unstable)?;
        }
        Ok(Branch { handle, path, filter: self.filter.clone() })
    }
}

impl Branch {
    /// Where the folder was found.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Shows every name in the folder and its kind to `visit`, in no order, until it breaks. Answers how many names were
    /// left out by filters.
    ///
    /// # Errors
    ///
    /// What the system says of the folder.
    pub fn names(&self, mut visit: impl FnMut(&OsStr, EntryKind) -> ControlFlow<()>) -> Result<u64, BoundaryError> {
        let io = |e| BoundaryError::from_io(&self.path.to_string_lossy(), "list", e);
        let mut left_out = 0;
        for entry in self.handle.entries().map_err(io)? {
            let entry = entry.map_err(io)?;
            let kind = entry.file_type().map_or(EntryKind::Unknown, kind_of);
            if self.leaves_out(&entry.file_name(), kind) {
                left_out += 1;
            } else if visit(&entry.file_name(), kind).is_break() {
                break;
            }
        }
        Ok(left_out)
    }

    /// Opens a regular file by its name in the folder, without blocking on anything that is not one.
    ///
    /// # Errors
    ///
    /// [`BoundaryError::Unstable`] when it is a link or gone, [`BoundaryError::NotAFile`] when it is something else.
    pub fn open_file(&self, name: &OsStr) -> Result<OpenFile, BoundaryError> {
        let path = below_top(&self.path, Path::new(name));
        let text = path.to_string_lossy().into_owned();
        if !matches!(Path::new(name).components().collect::<Vec<_>>()[..], [Component::Normal(only)] if only == name) {
            return Err(invalid(&text, "is no name in a folder; pass one name."));
        }
        if self.leaves_out(name, EntryKind::File) {
            return Err(BoundaryError::NotFound { path: text.clone(), missing: text });
        }
        let unstable = |_| BoundaryError::Unstable { path: text.clone() };
        let found = self.handle.symlink_metadata(name).map_err(unstable)?;
        let regular = |kind: EntryKind| match kind {
            EntryKind::File => Ok(()),
            EntryKind::Symlink => Err(BoundaryError::Unstable { path: text.clone() }),
            kind => Err(BoundaryError::NotAFile { path: text.clone(), kind }),
        };
        regular(kind_of(found.file_type()))?;
        let mut options = OpenOptions::new();
        options.read(true).custom_flags(i32::try_from(rustix::fs::OFlags::NONBLOCK.bits()).unwrap_or(0));
        let file = self.handle.open_with(name, &options).map_err(|e| BoundaryError::from_io(&text, "open", e))?;
        let found = file.metadata().map_err(|e| BoundaryError::from_io(&text, "open", e))?;
        regular(kind_of(found.file_type()))?;
        Ok(OpenFile { file: file.into_std(), len: found.len(), path })
    }

    fn leaves_out(&self, name: &OsStr, kind: EntryKind) -> bool {
        self.filter.as_ref().is_some_and(|filter| filter(&below_top(&self.path, Path::new(name)), kind))
    }
}

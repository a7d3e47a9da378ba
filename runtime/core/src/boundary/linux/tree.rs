//! A folder and all that lies below it, to be walked.
//!
//! Every folder is opened by its names from the root in one call in which the kernel follows no link, and every file by
//! its name in such a folder. So whatever is swapped for a link while somebody walks, what is opened lies in the
//! workspace: a walk by paths would have to hope. No handle but the one in use is held, however deep the tree.

use super::{Retry, Workspace, kind_from, kind_of, length, raced, require_regular, shown_path};
use crate::boundary::{
    BoundaryError, EntryKind, OpenFile, TreeFilter,
    path::MAX_COMPONENTS,
    tree::{below_top, either, invalid},
};
use rustix::{
    fs::{self, AtFlags, FileType, Mode, OFlags, RawDir, SeekFrom},
    io::Errno,
};
use std::{
    ffi::{OsStr, OsString},
    fs::File,
    mem::MaybeUninit,
    ops::ControlFlow,
    os::{fd::OwnedFd, unix::ffi::OsStrExt},
    path::{Component, Path, PathBuf},
};

/// What is read of a folder at once.
const NAMES_BYTES: usize = 32 * 1024;

/// A folder and all that lies below it. No link in it is followed.
#[derive(Clone)]
pub struct Tree {
    workspace: Workspace,
    root: usize,
    top: Vec<OsString>,
    path: PathBuf,
    filter: Option<TreeFilter>,
}

/// One open folder of a [`Tree`].
pub struct Branch {
    handle: OwnedFd,
    path: PathBuf,
    filter: Option<TreeFilter>,
}

impl Workspace {
    /// The folder with all that lies below it. See [`crate::boundary::FileBoundary::tree`].
    pub fn tree(&self, path: &str) -> Result<Tree, BoundaryError> {
        self.attempt(path, |place| {
            self.require_directory(path, &place)?;
            let (path, root) = (shown_path(&self.shown(&place)), place.root);
            Ok(Tree { workspace: self.clone(), root, top: place.names, path, filter: None })
        })
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
        let mut names = self.top.clone();
        for part in below.components() {
            match part {
                Component::Normal(name) => names.push(name.to_owned()),
                _ => return Err(invalid(&text, "is not made of names alone; pass the path of a folder.")),
            }
        }
        if names.len() > MAX_COMPONENTS {
            return Err(invalid(&text, "lies too deep; use a shallower path."));
        }
        if self.filter.as_ref().is_some_and(|filter| filter(&path, EntryKind::Directory)) {
            return Err(BoundaryError::NotFound { path: text.clone(), missing: text });
        }
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NONBLOCK;
        let handle = settle(&text, self.workspace.roots[self.root].open_beneath(&names, flags), "list")?;
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
        let io = |e: Errno| BoundaryError::from_io(&self.path.to_string_lossy(), "list", e.into());
        // Where the handle stands is where the last look ended.
        fs::seek(&self.handle, SeekFrom::Start(0)).map_err(io)?;
        let mut buffer = vec![MaybeUninit::uninit(); NAMES_BYTES];
        let mut names = RawDir::new(&self.handle, &mut buffer);
        let mut left_out = 0;
        while let Some(entry) = names.next() {
            let entry = entry.map_err(io)?;
            let name = entry.file_name().to_bytes();
            if name == b"." || name == b".." {
                continue;
            }
            let name = OsStr::from_bytes(name);
            let kind = match entry.file_type() {
                FileType::Unknown => fs::statat(&self.handle, name, AtFlags::SYMLINK_NOFOLLOW)
                    .map_or(EntryKind::Unknown, |stat| kind_of(&stat)),
                known => kind_from(known),
            };
            if self.leaves_out(name, kind) {
                left_out += 1;
            } else if visit(name, kind).is_break() {
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
        let text = path.to_string_lossy();
        let bytes = name.as_bytes();
        if matches!(bytes, b"" | b"." | b"..") || bytes.contains(&b'/') {
            return Err(invalid(&text, "is no name in a folder; pass one name."));
        }
        if self.leaves_out(name, EntryKind::File) {
            return Err(BoundaryError::NotFound { path: text.to_string(), missing: text.into_owned() });
        }
        let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let handle = settle(&text, fs::openat(&self.handle, name, flags, Mode::empty()), "open")?;
        let stat = fs::fstat(&handle).map_err(|e| BoundaryError::from_io(&text, "open", e.into()))?;
        once(&text, require_regular(&text, &stat))?;
        Ok(OpenFile { file: File::from(handle), len: length(&stat), path })
    }

    fn leaves_out(&self, name: &OsStr, kind: EntryKind) -> bool {
        self.filter.as_ref().is_some_and(|filter| filter(&below_top(&self.path, Path::new(name)), kind))
    }
}

/// What was opened. There is no second try: whoever walks has more to see, and tells what it could not.
fn settle<T>(path: &str, opened: Result<T, Errno>, doing: &'static str) -> Result<T, BoundaryError> {
    once(path, opened.map_err(|errno| raced(path, doing, errno)))
}

fn once<T>(path: &str, done: Result<T, Retry>) -> Result<T, BoundaryError> {
    done.map_err(|retry| match retry {
        Retry::Again => BoundaryError::Unstable { path: path.to_owned() },
        Retry::Never(error) => error,
    })
}

//! A path under one of the roots, and what it leads to.

use super::super::path::{is_shell_word, names_of};
use super::super::{BoundaryError, EntryKind};
use cap_std::{
    ambient_authority,
    fs::{Dir, FileTypeExt},
};
use std::{
    ffi::OsString,
    io,
    path::{Component, Path, PathBuf},
};

/// A folder whose files may be used.
pub(super) struct Root {
    pub(super) handle: Dir,
    pub(super) path: PathBuf,
    pub(super) spellings: Vec<Vec<OsString>>,
}

/// A path under one of the roots, not yet resolved.
pub(super) struct Place<'a> {
    pub(super) root: &'a Root,
    pub(super) is_workspace: bool,
    pub(super) relative: PathBuf,
    /// Whether the text asks for a folder.
    pub(super) is_folder: bool,
    pub(super) text: &'a str,
}

impl Root {
    pub(super) fn open(root: &Path) -> Result<Root, BoundaryError> {
        let text = root.to_string_lossy();
        let failed = |e| BoundaryError::from_io(&text, "open the root", e);
        let path = std::fs::canonicalize(root).map_err(failed)?;
        let handle = Dir::open_ambient_dir(&path, ambient_authority()).map_err(failed)?;
        let mut spellings = vec![names_of(&path)];
        let given = std::path::absolute(root).unwrap_or_else(|_| path.clone());
        let climbs = given.components().any(|part| part == std::path::Component::ParentDir);
        if !climbs && names_of(&given) != spellings[0] {
            spellings.push(names_of(&given));
        }
        Ok(Root { handle, path, spellings })
    }

    pub(super) fn duplicate(&self) -> Result<Root, BoundaryError> {
        let failed = |e| BoundaryError::from_io(&self.path.to_string_lossy(), "open the root", e);
        let handle = self.handle.try_clone().map_err(failed)?;
        Ok(Root { handle, path: self.path.clone(), spellings: self.spellings.clone() })
    }
}

impl Place<'_> {
    pub(super) fn require_file(&self, doing: &'static str) -> Result<(), BoundaryError> {
        let found = self.root.handle.metadata(&self.relative).map_err(|e| self.error(doing, e))?;
        if found.is_file() {
            return Ok(());
        }
        Err(BoundaryError::NotAFile { path: self.text.to_owned(), kind: kind_of(found.file_type()) })
    }

    /// The path with its links resolved, under its root.
    pub(super) fn canonical(&self) -> Result<PathBuf, BoundaryError> {
        self.root.handle.canonicalize(&self.relative).map_err(|e| self.error("resolve", e))
    }

    /// The path of a file that is not there yet, as far as it exists without links: a link that dangles is not written
    /// through, and nothing goes up again behind what is missing.
    pub(super) fn to_create(&self) -> Result<PathBuf, BoundaryError> {
        if self.root.handle.symlink_metadata(&self.relative).is_ok() {
            return Err(self.not_found());
        }
        if self.is_folder {
            return Err(BoundaryError::ends_like_a_folder(self.text));
        }
        let Some(name) = self.relative.file_name() else { return Err(self.not_found()) };
        let parent = self.relative.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
        match self.root.handle.canonicalize(parent) {
            Ok(folder) => Ok(if folder == Path::new(".") { PathBuf::from(name) } else { folder.join(name) }),
            Err(e) if e.kind() == io::ErrorKind::NotFound && !self.means_nothing() => Ok(self.relative.clone()),
            Err(e) => Err(self.error("write", e)),
        }
    }

    /// Whether no folder is made on the way: the path goes up somewhere, or begins with a name that nobody means.
    pub(super) fn means_nothing(&self) -> bool {
        let mut parts = self.relative.components();
        parts.any(|part| part == Component::ParentDir) || self.relative.iter().next().is_some_and(is_shell_word)
    }

    /// The path with its links resolved, as answers give it.
    pub(super) fn resolved(&self) -> Result<PathBuf, BoundaryError> {
        let relative = self.canonical()?;
        Ok(if self.is_workspace { relative } else { self.root.path.join(relative) })
    }

    pub(super) fn not_found(&self) -> BoundaryError {
        let missing = self.relative.to_string_lossy().into_owned();
        BoundaryError::NotFound { path: self.text.to_owned(), missing }
    }

    /// An error of `cap-std`, which reports an escape as a refused permission without a number of the system.
    pub(super) fn error(&self, doing: &'static str, error: io::Error) -> BoundaryError {
        let path = self.text.to_owned();
        match error.kind() {
            io::ErrorKind::NotFound => self.not_found(),
            io::ErrorKind::NotADirectory => {
                BoundaryError::NotADirectory { path, at: self.text.to_owned(), kind: EntryKind::File }
            }
            io::ErrorKind::PermissionDenied if error.raw_os_error().is_none() => {
                BoundaryError::Escape { path, via: None }
            }
            _ => BoundaryError::from_io(self.text, doing, error),
        }
    }
}

/// What a file of this type is called.
pub(super) fn kind_of(kind: cap_std::fs::FileType) -> EntryKind {
    if kind.is_file() {
        EntryKind::File
    } else if kind.is_dir() {
        EntryKind::Directory
    } else if kind.is_symlink() {
        EntryKind::Symlink
    } else if kind.is_fifo() {
        EntryKind::Fifo
    } else if kind.is_socket() {
        EntryKind::Socket
    } else if kind.is_block_device() || kind.is_char_device() {
        EntryKind::Device
    } else {
        EntryKind::Unknown
    }
}

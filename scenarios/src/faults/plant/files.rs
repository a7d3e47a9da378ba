//! Faults of whole operations on files: links that are followed or all refused, and changes that are made in part. How a
//! path is read is spoiled in its neighbour `paths`.

use super::{Seam, fresh};
use slot_runtime::boundary::{
    BoundaryError, Change, ChangeGate, FileBoundary, Listing, Metadata, Narrowed, OpenDir, OpenFile, Tree, Written,
};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// What the system said of a path.
pub fn io(path: &str, source: std::io::Error) -> BoundaryError {
    BoundaryError::Io { path: path.to_owned(), doing: "use", source }
}

/// What the tools hold of the files, as this seam spoils it.
pub struct Files {
    seam: Seam,
    inner: Arc<dyn FileBoundary>,
    root: PathBuf,
}

impl Files {
    pub fn new(seam: Seam, inner: Arc<dyn FileBoundary>, root: &Path) -> Self {
        Files { seam, inner, root: root.to_owned() }
    }

    /// A refusal as this seam words it.
    fn spoil<T>(&self, result: Result<T, BoundaryError>) -> Result<T, BoundaryError> {
        match (self.seam, result) {
            (Seam::BoundaryTerse, Err(BoundaryError::Escape { .. })) => Err(io("it", std::io::Error::other("no"))),
            (_, result) => result,
        }
    }

    /// Refuses whatever is a link.
    fn refuse_link(&self, path: &str) -> Result<(), BoundaryError> {
        let is_link = self.root.join(path).symlink_metadata().is_ok_and(|m| m.is_symlink());
        if self.seam == Seam::BoundaryRefuse && is_link {
            return Err(BoundaryError::Escape { path: path.to_owned(), via: None });
        }
        Ok(())
    }
}

impl FileBoundary for Files {
    fn open_file(&self, path: &str) -> Result<OpenFile, BoundaryError> {
        self.refuse_link(path)?;
        if self.seam == Seam::BoundaryFollow {
            let full = self.root.join(path);
            let file = std::fs::File::open(&full).map_err(|e| io(path, e))?;
            let len = file.metadata().map_err(|e| io(path, e))?.len();
            return Ok(OpenFile { file, path: full, len });
        }
        self.spoil(self.inner.open_file(path))
    }

    fn open_dir(&self, path: &str) -> Result<OpenDir, BoundaryError> {
        self.spoil(self.inner.open_dir(path))
    }

    fn metadata(&self, path: &str) -> Result<Metadata, BoundaryError> {
        self.spoil(self.inner.metadata(path))
    }

    fn list_dir_until(&self, path: &str, limit: usize, stop: &dyn Fn() -> bool) -> Result<Listing, BoundaryError> {
        self.refuse_link(path)?;
        self.spoil(self.inner.list_dir_until(path, limit, stop))
    }

    fn tree(&self, path: &str) -> Result<Tree, BoundaryError> {
        self.refuse_link(path)?;
        self.spoil(self.inner.tree(path))
    }

    fn change_gated(
        &self,
        changes: &[Change<'_>],
        gate: Option<&dyn ChangeGate>,
    ) -> Result<Vec<Written>, BoundaryError> {
        if let (Seam::BoundaryFollow, [Change::Write { path, bytes, .. }]) = (self.seam, changes) {
            let full = self.root.join(path);
            std::fs::write(&full, bytes).map_err(|e| io(path, e))?;
            return Ok(vec![Written { path: full, created: true }]);
        }
        if let [Change::Write { path, .. }] = changes {
            self.refuse_link(path)?;
        }
        if let [change @ Change::Write { path, mode, like, permissions, .. }] = changes
            && let Some(bytes) = fresh::written(self.seam, change)?
        {
            let change = Change::Write { path, bytes: &bytes, mode: *mode, like: *like, permissions: *permissions };
            return self.inner.change_gated(&[change], gate);
        }
        if self.seam != Seam::PatchInPart {
            return self.spoil(self.inner.change_gated(changes, gate));
        }
        // One after the other, and what was done stays when one fails.
        changes.iter().map(|change| Ok(self.inner.change_gated(&[*change], gate)?.remove(0))).collect()
    }

    fn create_dirs(&self, path: &str) -> Result<PathBuf, BoundaryError> {
        self.spoil(self.inner.create_dirs(path))
    }

    fn narrowed(&self, path: &str) -> Result<Narrowed, BoundaryError> {
        self.inner.narrowed(path)
    }

    fn administering(&self) -> Arc<dyn FileBoundary> {
        self.inner.administering()
    }

    fn remove_tree(&self, path: &str) -> Result<(), BoundaryError> {
        self.inner.remove_tree(path)
    }
}

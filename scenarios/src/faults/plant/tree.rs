//! The files of a working tree of the reference runtime, in the ways in which they go wrong. Its tools are with those of the
//! session.

use super::Seam;
use slot_runtime::boundary::{
    BoundaryError, Change, ChangeGate, FileBoundary, Listing, Metadata, Narrowed, OpenDir, OpenFile, Tree, Written,
};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// A boundary whose narrowed ones go wrong in the way of their seam.
pub(super) struct Trees {
    seam: Seam,
    inner: Arc<dyn FileBoundary>,
    /// The workspace.
    root: PathBuf,
    /// The tree, from the workspace; empty outside of one.
    base: PathBuf,
}

impl Trees {
    pub(super) fn new(seam: Seam, inner: Arc<dyn FileBoundary>, root: &Path) -> Self {
        Trees { seam, inner, root: root.to_owned(), base: PathBuf::new() }
    }

    /// Where this seam takes a path to lie.
    fn at(&self, path: &str) -> String {
        let text = Path::new(path);
        let inside = text.strip_prefix(&self.root).unwrap_or(text);
        if self.base.as_os_str().is_empty() || inside != text {
            return inside.to_string_lossy().into_owned();
        }
        self.base.join(path).to_string_lossy().into_owned()
    }
}

impl FileBoundary for Trees {
    fn open_file(&self, path: &str) -> Result<OpenFile, BoundaryError> {
        self.inner.open_file(&self.at(path))
    }

    fn open_dir(&self, path: &str) -> Result<OpenDir, BoundaryError> {
        self.inner.open_dir(&self.at(path))
    }

    fn metadata(&self, path: &str) -> Result<Metadata, BoundaryError> {
        self.inner.metadata(&self.at(path))
    }

    fn list_dir_until(&self, path: &str, limit: usize, stop: &dyn Fn() -> bool) -> Result<Listing, BoundaryError> {
        self.inner.list_dir_until(&self.at(path), limit, stop)
    }

    fn tree(&self, path: &str) -> Result<Tree, BoundaryError> {
        self.inner.tree(&self.at(path))
    }

    fn change_gated(
        &self,
        changes: &[Change<'_>],
        gate: Option<&dyn ChangeGate>,
    ) -> Result<Vec<Written>, BoundaryError> {
        if let [Change::Write { path, bytes, mode, like, permissions }] = changes {
            let path = &self.at(path);
            let change = Change::Write { path, bytes, mode: *mode, like: *like, permissions: *permissions };
            return self.inner.change_gated(&[change], gate);
        }
        self.inner.change_gated(changes, gate)
    }

    fn create_dirs(&self, path: &str) -> Result<PathBuf, BoundaryError> {
        self.inner.create_dirs(&self.at(path))
    }

    fn narrowed(&self, path: &str) -> Result<Narrowed, BoundaryError> {
        let Narrowed { files: _, path } = self.inner.narrowed(path)?;
        let base = if self.seam == Seam::TreePrefix { path.clone() } else { PathBuf::new() };
        let files = Trees { seam: self.seam, inner: Arc::clone(&self.inner), root: self.root.clone(), base };
        Ok(Narrowed { files: Arc::new(files), path })
    }

    fn administering(&self) -> Arc<dyn FileBoundary> {
        self.inner.administering()
    }

    fn remove_tree(&self, path: &str) -> Result<(), BoundaryError> {
        self.inner.remove_tree(path)
    }
}

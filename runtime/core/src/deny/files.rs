//! Path rules at the file handle, where links have been resolved.
//!
//! A call is judged by the paths it names; a link in the workspace can lead from any of those to any other. So the
//! boundary's answers are judged as well: what was opened, before anything of it is handed on, and what would be written,
//! before it is.

use super::rule::Filter;
use super::{DenyRules, LiveRules};
use crate::boundary::{
    BoundaryError, Change, ChangeGate, EntryKind, FileBoundary, Listing, Metadata, Narrowed, OpenDir, OpenFile, Tree,
    Written,
};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// A boundary that opens and writes nothing a path rule denies.
pub struct Guarded {
    inner: Arc<dyn FileBoundary>,
    rules: Arc<LiveRules>,
    /// Where its workspace lies in the one that the rules are about.
    base: PathBuf,
}

impl Guarded {
    /// The boundary under these rules.
    pub fn new(inner: Arc<dyn FileBoundary>, rules: Arc<LiveRules>) -> Self {
        Guarded { inner, rules, base: PathBuf::new() }
    }

    /// The same rules over another boundary, whose workspace lies at `base` in that of this one.
    fn over(&self, inner: Arc<dyn FileBoundary>, base: &Path) -> Arc<dyn FileBoundary> {
        Arc::new(Guarded { inner, rules: Arc::clone(&self.rules), base: self.base.join(base) })
    }

    /// Refuses what was found at `found`, which `path` led to.
    fn readable(&self, path: &str, found: &Path) -> Result<(), BoundaryError> {
        self.allowed(path, found, DenyRules::denies_reading)
    }

    /// Refuses to write through `path`, wherever it leads.
    fn writable(&self, path: &str) -> Result<(), BoundaryError> {
        if self.rules.current().is_empty() {
            return Ok(());
        }
        let found = self.place(path);
        self.allowed(path, Path::new(path), DenyRules::denies_writing)?;
        self.allowed(path, &found, DenyRules::denies_writing)
    }

    /// Where `path` leads: the file it names, or the nearest folder above it that exists and what is missing below that.
    fn place(&self, path: &str) -> PathBuf {
        let mut known = Path::new(path);
        let mut missing = PathBuf::new();
        loop {
            let text = known.to_str().filter(|text| !text.is_empty()).unwrap_or(".");
            if let Ok(metadata) = self.inner.metadata(text) {
                return if missing.as_os_str().is_empty() { metadata.path } else { metadata.path.join(&missing) };
            }
            let (Some(above), Some(name)) = (known.parent(), known.file_name()) else { return PathBuf::from(path) };
            missing = if missing.as_os_str().is_empty() { PathBuf::from(name) } else { Path::new(name).join(&missing) };
            known = above;
        }
    }

    fn allowed(
        &self,
        path: &str,
        found: &Path,
        denies: fn(&DenyRules, &str) -> Option<String>,
    ) -> Result<(), BoundaryError> {
        let rules = self.rules.current();
        match denies(&rules, &self.base.join(found).to_string_lossy()) {
            Some(rule) => Err(BoundaryError::DeniedByRule { path: path.to_owned(), rule }),
            None => Ok(()),
        }
    }
}

impl DenyRules {
    /// The rule that denies reading this path, as the tool that reads files would be denied it.
    pub fn denies_reading(&self, path: &str) -> Option<String> {
        self.denies_path("read_file", path)
    }

    /// The rule that denies listing this folder.
    pub fn denies_listing(&self, path: &str) -> Option<String> {
        self.denies_path("list_dir", path)
    }

    /// The rule that denies changing this path.
    pub fn denies_writing(&self, path: &str) -> Option<String> {
        self.denies_path("write_file", path)
    }

    fn denies_path(&self, tool: &str, path: &str) -> Option<String> {
        let covers = |filter: &Filter| matches!(filter, Filter::Path(pattern) if pattern.covers(path, &self.roots));
        self.rules.iter().find(|rule| rule.is_about(tool) && covers(&rule.filter)).map(|rule| rule.text().to_owned())
    }
}

impl FileBoundary for Guarded {
    fn open_file(&self, path: &str) -> Result<OpenFile, BoundaryError> {
        let open = self.inner.open_file(path)?;
        self.readable(path, &open.path)?;
        Ok(open)
    }

    fn open_dir(&self, path: &str) -> Result<OpenDir, BoundaryError> {
        let open = self.inner.open_dir(path)?;
        self.readable(path, &open.path)?;
        Ok(open)
    }

    fn metadata(&self, path: &str) -> Result<Metadata, BoundaryError> {
        let metadata = self.inner.metadata(path)?;
        self.readable(path, &metadata.path)?;
        Ok(metadata)
    }

    fn list_dir_until(&self, path: &str, limit: usize, stop: &dyn Fn() -> bool) -> Result<Listing, BoundaryError> {
        let listing = self.inner.list_dir_until(path, limit, stop)?;
        self.allowed(path, &listing.path, DenyRules::denies_listing)?;
        Ok(listing)
    }

    fn tree(&self, path: &str) -> Result<Tree, BoundaryError> {
        let tree = self.inner.tree(path)?;
        self.allowed(path, tree.path(), DenyRules::denies_listing)?;
        self.readable(path, tree.path())?;
        let (rules, base) = (Arc::clone(&self.rules), self.base.clone());
        Ok(tree.leaving_out(Arc::new(move |path, kind| {
            let (rules, path) = (rules.current(), base.join(path));
            let path = path.to_string_lossy();
            rules.denies_reading(&path).is_some()
                || kind == EntryKind::Directory && rules.denies_listing(&path).is_some()
        })))
    }

    fn change_gated(
        &self,
        changes: &[Change<'_>],
        gate: Option<&dyn ChangeGate>,
    ) -> Result<Vec<Written>, BoundaryError> {
        for change in changes {
            match change {
                Change::Write { path, .. } | Change::Remove { path } => self.writable(path)?,
            }
        }
        self.inner.change_gated(changes, gate)
    }

    fn create_dirs(&self, path: &str) -> Result<PathBuf, BoundaryError> {
        self.writable(path)?;
        self.inner.create_dirs(path)
    }

    fn narrowed(&self, path: &str) -> Result<Narrowed, BoundaryError> {
        let Narrowed { files, path: found } = self.inner.narrowed(path)?;
        self.readable(path, &found)?;
        Ok(Narrowed { files: self.over(files, &found), path: found })
    }

    fn administering(&self) -> Arc<dyn FileBoundary> {
        self.over(self.inner.administering(), Path::new(""))
    }

    fn remove_tree(&self, path: &str) -> Result<(), BoundaryError> {
        self.writable(path)?;
        self.inner.remove_tree(path)
    }
}

//! What walking has in common on all systems: paths below a top, filters, and names that are none.

use super::{BoundaryError, EntryKind};
use std::{
    path::{Path, PathBuf},
    sync::Arc,
};

/// Asked of each path that a [`super::Tree`] finds, resolved, and of its kind: whether it is left out.
pub type TreeFilter = Arc<dyn Fn(&Path, EntryKind) -> bool + Send + Sync>;

/// Leaves out what either leaves out.
pub(super) fn either(one: Option<TreeFilter>, other: TreeFilter) -> TreeFilter {
    match one {
        Some(one) => Arc::new(move |path, kind| one(path, kind) || other(path, kind)),
        None => other,
    }
}

/// The path of what lies `below` a top; names of the workspace itself have none before them.
pub(super) fn below_top(top: &Path, below: &Path) -> PathBuf {
    if top == Path::new(".") { below.to_path_buf() } else { top.join(below) }
}

pub(super) fn invalid(path: &str, reason: &str) -> BoundaryError {
    BoundaryError::Invalid { path: path.to_owned(), reason: reason.to_owned() }
}

//! The boundary of the reference runtime, in the ways in which paths and writes of others go wrong.

use super::Seam;
use super::files::io;
use slot_runtime::boundary::{
    BoundaryError, Change, ChangeGate, EntryKind, FileBoundary, Listing, Metadata, Narrowed, OpenDir, OpenFile,
    Permissions, Tree, WriteMode, Written,
};
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;

pub(super) fn decorates(seam: Seam) -> bool {
    matches!(
        seam,
        Seam::BoundaryJoin
            | Seam::BoundaryPrefix
            | Seam::BoundaryExpand
            | Seam::BoundaryLexical
            | Seam::BoundaryUnprotected
            | Seam::BoundaryExact
            | Seam::BoundaryInPlace
            | Seam::BoundaryTrustless
            | Seam::PatchReplaces
            | Seam::PatchTidies
            | Seam::PatchPlain
            | Seam::PatchAnew
            | Seam::RevertPlain
    )
}

/// A boundary that goes wrong in the way of its seam.
pub(super) struct Paths {
    seam: Seam,
    inner: Arc<dyn FileBoundary>,
    root: PathBuf,
}

impl Paths {
    pub(super) fn new(seam: Seam, inner: Arc<dyn FileBoundary>, root: &Path) -> Self {
        Paths { seam, inner, root: root.to_owned() }
    }

    /// Where this seam takes a path to lie, without asking the boundary; `None` where it asks.
    fn astray(&self, path: &str) -> Option<PathBuf> {
        let joined = self.root.join(path);
        match self.seam {
            Seam::BoundaryJoin => Some(joined),
            Seam::BoundaryPrefix => {
                let text = tidied(&joined).to_string_lossy().into_owned();
                text.starts_with(&*self.root.to_string_lossy()).then(|| text.into())
            }
            Seam::BoundaryExpand => {
                let expanded = expanded(path, &self.root.with_file_name("home"));
                (expanded != path).then(|| self.root.join(expanded))
            }
            Seam::BoundaryLexical => path.contains("..").then(|| tidied(&joined)),
            _ => None,
        }
    }

    /// Whether this seam has no part in what is protected here.
    fn unprotects(&self, path: &str) -> bool {
        match self.seam {
            Seam::BoundaryUnprotected => true,
            Seam::BoundaryExact => !path.split('/').any(|name| name == ".git" || name == ".slot"),
            _ => false,
        }
    }

    fn refuse(&self, path: &str) -> Result<(), BoundaryError> {
        let outside = path.starts_with('/') && !Path::new(path).starts_with(&self.root);
        if self.seam == Seam::BoundaryTrustless && outside {
            return Err(BoundaryError::Escape { path: path.to_owned(), via: None });
        }
        Ok(())
    }

    fn change(&self, change: Change<'_>) -> Result<Written, BoundaryError> {
        if let Change::Write { path, bytes, .. } = change
            && let Some(at) = self.astray(path)
        {
            return put(&at, path, bytes);
        }
        Ok(self.inner.change_all(&[change])?.remove(0))
    }
}

/// A path without what its text says is superfluous.
fn tidied(path: &Path) -> PathBuf {
    path.components().fold(PathBuf::new(), |mut tidy, part| {
        if part == Component::ParentDir {
            tidy.pop();
        } else {
            tidy.push(part);
        }
        tidy
    })
}

/// A path as a shell and the systems of others would read it.
fn expanded(path: &str, home: &Path) -> String {
    let home = home.to_string_lossy();
    let path = path.replace("${HOME}", &home).replace("%2e", ".").replace('\\', "/").replace("::$DATA", "");
    let path = match path.strip_prefix("~/") {
        Some(rest) => format!("{home}/{rest}"),
        None => path,
    };
    path.trim_end_matches(['.', ' ']).to_owned()
}

/// Makes a file, and the folders above it, wherever the path leads.
fn put(at: &Path, path: &str, bytes: &[u8]) -> Result<Written, BoundaryError> {
    let made = at.parent().map_or(Ok(()), std::fs::create_dir_all).and_then(|()| std::fs::write(at, bytes));
    made.map_err(|error| io(path, error))?;
    Ok(Written { path: at.to_owned(), created: true })
}

fn tidy(bytes: &[u8]) -> Vec<u8> {
    let text = String::from_utf8_lossy(bytes).replace("\r\n", "\n");
    format!("{}\n", text.trim_end_matches('\n')).into_bytes()
}

impl FileBoundary for Paths {
    fn open_file(&self, path: &str) -> Result<OpenFile, BoundaryError> {
        self.refuse(path)?;
        let Some(at) = self.astray(path) else { return self.inner.open_file(path) };
        let file = std::fs::File::open(&at).map_err(|error| io(path, error))?;
        let len = file.metadata().map_err(|error| io(path, error))?.len();
        Ok(OpenFile { file, path: at, len })
    }

    fn open_dir(&self, path: &str) -> Result<OpenDir, BoundaryError> {
        self.inner.open_dir(path)
    }

    fn metadata(&self, path: &str) -> Result<Metadata, BoundaryError> {
        self.refuse(path)?;
        if self.seam == Seam::PatchReplaces {
            return Err(BoundaryError::NotFound { path: path.to_owned(), missing: path.to_owned() });
        }
        let Some(at) = self.astray(path) else { return self.inner.metadata(path) };
        let missing = |_| BoundaryError::NotFound { path: path.to_owned(), missing: path.to_owned() };
        let found = std::fs::metadata(&at).map_err(missing)?;
        let kind = if found.is_file() { EntryKind::File } else { EntryKind::Directory };
        Ok(Metadata { path: at, kind, len: found.len(), modified: found.modified().ok(), links: 1 })
    }

    fn list_dir_until(&self, path: &str, limit: usize, stop: &dyn Fn() -> bool) -> Result<Listing, BoundaryError> {
        self.refuse(path)?;
        self.inner.list_dir_until(path, limit, stop)
    }

    fn tree(&self, path: &str) -> Result<Tree, BoundaryError> {
        self.inner.tree(path)
    }

    fn change_gated(
        &self,
        changes: &[Change<'_>],
        gate: Option<&dyn ChangeGate>,
    ) -> Result<Vec<Written>, BoundaryError> {
        if let [Change::Write { path, bytes, .. }] = changes {
            let in_place = (self.seam == Seam::BoundaryInPlace).then(|| self.root.join(path));
            if let Some(at) = self.astray(path).or(in_place) {
                return Ok(vec![put(&at, path, bytes)?]);
            }
        }
        match self.seam {
            Seam::BoundaryJoin => changes.iter().map(|change| self.change(*change)).collect(),
            Seam::PatchReplaces | Seam::PatchTidies | Seam::PatchPlain | Seam::PatchAnew | Seam::RevertPlain => {
                let tidied: Vec<Vec<u8>> = changes
                    .iter()
                    .map(|change| match *change {
                        Change::Write { bytes, .. } if self.seam == Seam::PatchTidies => tidy(bytes),
                        Change::Write { bytes, .. } => bytes.to_vec(),
                        Change::Remove { .. } => Vec::new(),
                    })
                    .collect();
                let changed = changes.iter().zip(&tidied).map(|(change, bytes)| match *change {
                    Change::Write { path, mode, like, permissions, .. } => Change::Write {
                        path,
                        bytes,
                        mode: if self.seam == Seam::PatchReplaces { WriteMode::Overwrite } else { mode },
                        like: like.filter(|_| self.seam != Seam::PatchAnew),
                        permissions: match (self.seam, permissions) {
                            (Seam::PatchPlain, _) | (Seam::RevertPlain, Permissions::Exactly(_)) => Permissions::Kept,
                            _ => permissions,
                        },
                    },
                    remove => remove,
                });
                self.inner.change_gated(&changed.collect::<Vec<_>>(), gate)
            }
            _ => match (self.inner.change_gated(changes, gate), changes) {
                (Err(BoundaryError::Protected { .. }), [Change::Write { path, bytes, .. }])
                    if self.unprotects(path) =>
                {
                    Ok(vec![put(&self.root.join(path), path, bytes)?])
                }
                (written, _) => written,
            },
        }
    }

    fn create_dirs(&self, path: &str) -> Result<PathBuf, BoundaryError> {
        self.inner.create_dirs(path)
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

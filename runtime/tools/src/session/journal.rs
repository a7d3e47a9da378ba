//! What the file tools changed in the last turn, so that it can be taken back.
//!
//! A [`Journal`] is a boundary like the one below it, and hands everything through; of each write it keeps what was there
//! before and what is there after, permissions included. Only the last user turn in which something was written is kept,
//! and of it no more than a fixed number of bytes; each working tree that the session enters has a turn of its own, which
//! ends with the stay there. It owns no decision: whether a turn is taken back is the tool's and the user's.
//!
//! Not owned here: what commands change, and folders that a write made on its way.

use slot_runtime::{
    boundary::{
        BoundaryError, Change, ChangeGate, FileBoundary, Listing, Metadata, Narrowed, OpenDir, OpenFile, Pending,
        Permissions, Tree, WriteMode, Written,
    },
    mode::UserTurns,
    place::Place,
};
use std::{
    collections::BTreeMap,
    io::{self, Read},
    os::unix::fs::PermissionsExt,
    path::{Path, PathBuf},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

/// The most bytes that are kept of one turn, before and after together.
const MAX_BYTES: usize = 64 << 20;

/// The bits of the permissions.
const BITS: u32 = 0o7777;

/// A boundary that keeps what it changed.
pub struct Journal {
    inner: Arc<dyn FileBoundary>,
    turns: UserTurns,
    place: Place,
    kept: Mutex<Stays>,
    most: usize,
}

/// What is kept of the workspace and of the working tree where the session is, by the number of the stay.
type Stays = BTreeMap<u64, Kept>;

#[derive(Default)]
struct Kept {
    turn: u64,
    /// By resolved path.
    files: BTreeMap<PathBuf, File>,
    bytes: usize,
}

/// One file that was changed: what it was before the first change of the turn and after the last; `None` where there was
/// or is no such file.
#[derive(Clone, Debug, PartialEq, Eq)]
enum File {
    Known {
        before: Option<Content>,
        after: Option<Content>,
    },
    /// There was no room for it, or it could not be read.
    Unknown,
}

/// What a file holds, and the bits of its permissions.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Content {
    bytes: Vec<u8>,
    bits: u32,
}

impl Content {
    /// Of a file from where it stands, of which `most` bytes are read and one more.
    fn of(file: &std::fs::File, most: usize) -> io::Result<Content> {
        let bits = file.metadata()?.permissions().mode() & BITS;
        let mut bytes = Vec::new();
        file.take(u64::try_from(most).unwrap_or(u64::MAX).saturating_add(1)).read_to_end(&mut bytes)?;
        Ok(Content { bytes, bits })
    }
}

/// Why a turn was not taken back.
#[derive(Debug, thiserror::Error)]
pub enum RevertError {
    /// No tool has written anything.
    #[error("no file tool has changed anything yet; there is nothing to take back")]
    Nothing,
    /// A file is not as the turn left it.
    #[error(
        "{0} has changed since the turn wrote it, so nothing was taken back: that change would be lost. Look at it, and \
         change the files one by one"
    )]
    Changed(String),
    /// A file is too large for the journal.
    #[error(
        "what {0} held before was not kept, because there was too much of it or it could not be read; nothing was taken back"
    )]
    Unknown(String),
    /// The boundary refused, or could not.
    #[error(transparent)]
    Boundary(#[from] BoundaryError),
}

/// A file that was taken back.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reverted {
    /// Which one.
    pub path: PathBuf,
    /// How.
    pub how: How,
}

/// How a file was taken back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum How {
    /// It is again what it was.
    Restored,
    /// It is there again.
    BroughtBack,
    /// It is gone again.
    Removed,
}

impl Journal {
    /// A journal over `inner`, for the user turns that `turns` counts, of a session that is at `place`.
    pub fn new(inner: Arc<dyn FileBoundary>, turns: UserTurns, place: Place) -> Self {
        Journal { inner, turns, place, kept: Mutex::default(), most: MAX_BYTES }
    }

    /// What is kept of all stays, and which is the one of now. That of a stay that is over is dropped.
    fn kept(&self) -> (MutexGuard<'_, Stays>, u64) {
        // An entry is whole or not there, whatever happened in another thread.
        let mut stays = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        let now = self.place.stay();
        stays.retain(|stay, _| *stay == 0 || *stay == now);
        (stays, now)
    }

    /// Takes back everything that the last turn with changes has changed, or nothing.
    pub fn revert(&self) -> Result<Vec<Reverted>, RevertError> {
        let (mut stays, stay) = self.kept();
        let kept = stays.entry(stay).or_default();
        let mut changes = Vec::new();
        let mut reverted = Vec::new();
        for (path, file) in &kept.files {
            let text = path.to_str().ok_or_else(|| RevertError::Unknown(path.display().to_string()))?;
            let File::Known { before, after } = file else { return Err(RevertError::Unknown(text.to_owned())) };
            if !file.is_left_as(self.content(text)?.as_ref()) {
                return Err(RevertError::Changed(text.to_owned()));
            }
            let (how, change) = match (before, after) {
                (None, None) => continue,
                (Some(before), Some(_)) => {
                    let bits =
                        if file.has_other_bits() { Permissions::Exactly(before.bits) } else { Permissions::Kept };
                    (How::Restored, as_before(text, before, WriteMode::Overwrite, bits))
                }
                (Some(before), None) => {
                    (How::BroughtBack, as_before(text, before, WriteMode::Create, Permissions::Exactly(before.bits)))
                }
                (None, Some(_)) => (How::Removed, Change::Remove { path: text }),
            };
            changes.push(change);
            reverted.push(Reverted { path: path.clone(), how });
        }
        if reverted.is_empty() {
            return Err(RevertError::Nothing);
        }
        self.inner.change_gated(&changes, Some(&AsLeft { files: &kept.files, most: self.most }))?;
        drop(changes);
        *kept = Kept { turn: kept.turn, ..Kept::default() };
        Ok(reverted)
    }

    /// What a file is; `None` where there is none.
    fn content(&self, path: &str) -> Result<Option<Content>, BoundaryError> {
        match self.inner.open_file(path) {
            Err(BoundaryError::NotFound { .. }) => Ok(None),
            opened => Content::of(&opened?.file, self.most).map(Some).map_err(|error| unread(path, error)),
        }
    }

    /// The permissions of a file; `None` where they cannot be told.
    fn bits(&self, path: &Path) -> Option<u32> {
        let open = self.inner.open_file(path.to_str()?).ok()?;
        Some(open.file.metadata().ok()?.permissions().mode() & BITS)
    }

    /// Keeps one change. What could not be read is `None`.
    fn keep(&self, path: &Path, before: Option<Option<Content>>, after: Option<Option<Content>>) {
        let (mut stays, stay) = self.kept();
        let kept = stays.entry(stay).or_default();
        let turn = self.turns.current();
        if kept.turn != turn {
            *kept = Kept { turn, ..Kept::default() };
        }
        // The first change of the turn knows what was before it.
        let (first, freed) = match kept.files.remove(path) {
            Some(File::Known { before, after }) => (Some(before), after.map_or(0, |after| after.bytes.len())),
            Some(File::Unknown) => (None, 0),
            None => {
                kept.bytes += before.iter().flatten().map(|before| before.bytes.len()).sum::<usize>();
                (before, 0)
            }
        };
        kept.bytes =
            kept.bytes.saturating_sub(freed) + after.iter().flatten().map(|after| after.bytes.len()).sum::<usize>();
        let file = match (first, after) {
            (Some(before), Some(after)) if kept.bytes <= self.most => File::Known { before, after },
            _ => File::Unknown,
        };
        kept.files.insert(path.to_owned(), file);
    }
}

impl File {
    /// Whether the turn changed the bits of its permissions.
    fn has_other_bits(&self) -> bool {
        match self {
            File::Known { before: Some(before), after: Some(after) } => before.bits != after.bits,
            File::Known { .. } | File::Unknown => false,
        }
    }

    /// Whether this is what the turn left. Bits that it did not change are others' to change.
    fn is_left_as(&self, now: Option<&Content>) -> bool {
        let File::Known { after, .. } = self else { return false };
        match (after, now) {
            (Some(after), Some(now)) => after.bytes == now.bytes && (!self.has_other_bits() || after.bits == now.bits),
            (after, now) => after.is_none() && now.is_none(),
        }
    }
}

/// Admits the change of a file that is as the turn left it, asked when it is about to be changed.
struct AsLeft<'a> {
    files: &'a BTreeMap<PathBuf, File>,
    most: usize,
}

impl ChangeGate for AsLeft<'_> {
    fn judge(&self, change: &Pending<'_>) -> Result<(), BoundaryError> {
        let now = change.old.map(|old| Content::of(old, self.most)).transpose();
        let now = now.map_err(|error| unread(change.path, error))?;
        match self.files.get(change.resolved) {
            Some(file) if file.is_left_as(now.as_ref()) => Ok(()),
            _ => Err(BoundaryError::Refused { reason: RevertError::Changed(change.path.to_owned()).to_string() }),
        }
    }
}

fn as_before<'a>(path: &'a str, before: &'a Content, mode: WriteMode, permissions: Permissions) -> Change<'a> {
    Change::Write { path, bytes: &before.bytes, mode, like: None, permissions }
}

fn unread(path: &str, source: io::Error) -> BoundaryError {
    BoundaryError::Io { path: path.to_owned(), doing: "read", source }
}

impl FileBoundary for Journal {
    fn open_file(&self, path: &str) -> Result<OpenFile, BoundaryError> {
        self.inner.open_file(path)
    }

    fn open_dir(&self, path: &str) -> Result<OpenDir, BoundaryError> {
        self.inner.open_dir(path)
    }

    fn metadata(&self, path: &str) -> Result<Metadata, BoundaryError> {
        self.inner.metadata(path)
    }

    fn list_dir_until(&self, path: &str, limit: usize, stop: &dyn Fn() -> bool) -> Result<Listing, BoundaryError> {
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
        let before: Vec<Option<Option<Content>>> =
            changes.iter().map(|change| self.content(path_of(change)).ok()).collect();
        let written = self.inner.change_gated(changes, gate)?;
        for ((change, before), written) in changes.iter().zip(before).zip(&written) {
            let after = match change {
                Change::Write { bytes, .. } => {
                    self.bits(&written.path).map(|bits| Some(Content { bytes: bytes.to_vec(), bits }))
                }
                Change::Remove { .. } => Some(None),
            };
            self.keep(&written.path, before, after);
        }
        Ok(written)
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

fn path_of<'a>(change: &Change<'a>) -> &'a str {
    match change {
        Change::Write { path, .. } | Change::Remove { path } => path,
    }
}

#[cfg(test)]
mod tests;

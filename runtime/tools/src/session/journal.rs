//! What the file tools changed in the last turn, so that it can be taken back.
//!
//! A [`Journal`] is a boundary like the one below it, and hands everything through; of each write it keeps what was there
//! before and what is there after. Only the last user turn in which something was written is kept, and of it no more
//! than a fixed number of bytes; each working tree that the session enters has a turn of its own, which ends with the
//! stay there. It owns no decision: whether a turn is taken back is the tool's and the user's.
//!
//! Not owned here: what commands change, and folders that a write made on its way.

use slot_runtime::{
    boundary::{
        BoundaryError, Change, ChangeGate, FileBoundary, Listing, Metadata, Narrowed, OpenDir, OpenFile, Tree,
        WriteMode, Written,
    },
    mode::UserTurns,
    place::Place,
};
use std::{
    collections::BTreeMap,
    io::Read,
    path::{Path, PathBuf},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

/// The most bytes that are kept of one turn, before and after together.
const MAX_BYTES: usize = 64 << 20;

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

/// One file that was changed: what it held before the first change of the turn and after the last; `None` where there was
/// or is no such file.
#[derive(Clone, Debug, PartialEq, Eq)]
enum File {
    Known {
        before: Option<Vec<u8>>,
        after: Option<Vec<u8>>,
    },
    /// There was no room for it, or it could not be read.
    Unknown,
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
    #[error("what {0} held before was not kept, because there was too much of it; nothing was taken back")]
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
    /// It holds again what it held.
    Restored,
    /// It is there again, with the permissions of a new file.
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
            if self.content(text)? != *after {
                return Err(RevertError::Changed(text.to_owned()));
            }
            let how = match (before, after) {
                (None, None) => continue,
                (Some(bytes), after) => {
                    let mode = if after.is_some() { WriteMode::Overwrite } else { WriteMode::Create };
                    changes.push(Change::Write { path: text, bytes, mode, like: None, executable: None });
                    if after.is_some() { How::Restored } else { How::BroughtBack }
                }
                (None, Some(_)) => {
                    changes.push(Change::Remove { path: text });
                    How::Removed
                }
            };
            reverted.push(Reverted { path: path.clone(), how });
        }
        if reverted.is_empty() {
            return Err(RevertError::Nothing);
        }
        self.inner.change_all(&changes)?;
        drop(changes);
        *kept = Kept { turn: kept.turn, ..Kept::default() };
        Ok(reverted)
    }

    /// What a file holds; `None` where there is none.
    fn content(&self, path: &str) -> Result<Option<Vec<u8>>, BoundaryError> {
        let opened = match self.inner.open_file(path) {
            Err(BoundaryError::NotFound { .. }) => return Ok(None),
            opened => opened?,
        };
        let most = u64::try_from(self.most).unwrap_or(u64::MAX);
        let mut bytes = Vec::new();
        opened.file.take(most.saturating_add(1)).read_to_end(&mut bytes).map_err(|source| BoundaryError::Io {
            path: path.to_owned(),
            doing: "read",
            source,
        })?;
        Ok(Some(bytes))
    }

    /// Keeps one change. `before` is `None` where it could not be read.
    fn keep(&self, path: &Path, before: Option<Option<Vec<u8>>>, after: Option<&[u8]>) {
        let (mut stays, stay) = self.kept();
        let kept = stays.entry(stay).or_default();
        let turn = self.turns.current();
        if kept.turn != turn {
            *kept = Kept { turn, ..Kept::default() };
        }
        // The first change of the turn knows what was before it.
        let (first, freed) = match kept.files.remove(path) {
            Some(File::Known { before, after }) => (Some(before), after.map_or(0, |bytes| bytes.len())),
            Some(File::Unknown) => (None, 0),
            None => {
                kept.bytes += before.iter().flatten().map(Vec::len).sum::<usize>();
                (before, 0)
            }
        };
        kept.bytes = kept.bytes.saturating_sub(freed) + after.map_or(0, <[u8]>::len);
        let file = match first {
            Some(before) if kept.bytes <= self.most => File::Known { before, after: after.map(<[u8]>::to_vec) },
            _ => File::Unknown,
        };
        kept.files.insert(path.to_owned(), file);
    }
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

    fn list_dir(&self, path: &str, limit: usize) -> Result<Listing, BoundaryError> {
        self.inner.list_dir(path, limit)
    }

    fn tree(&self, path: &str) -> Result<Tree, BoundaryError> {
        self.inner.tree(path)
    }

    fn change_gated(
        &self,
        changes: &[Change<'_>],
        gate: Option<&dyn ChangeGate>,
    ) -> Result<Vec<Written>, BoundaryError> {
        let before: Vec<Option<Option<Vec<u8>>>> =
            changes.iter().map(|change| self.content(path_of(change)).ok()).collect();
        let written = self.inner.change_gated(changes, gate)?;
        for ((change, before), written) in changes.iter().zip(before).zip(&written) {
            let after = match change {
                Change::Write { bytes, .. } => Some(*bytes),
                Change::Remove { .. } => None,
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
mod tests {
    use super::*;
    use crate::testing::World;
    use slot_runtime::place::{Away, Placed};
    use std::fs;

    fn journal(world: &World) -> (Journal, UserTurns) {
        let turns = UserTurns::default();
        (Journal::new(world.boundary(), turns.clone(), Place::default()), turns)
    }

    fn write(journal: &Journal, path: &str, content: &str) {
        journal.write_atomic(path, content.as_bytes(), WriteMode::Overwrite).expect("it is written");
    }

    #[track_caller]
    fn check(journal: &Journal, expect: Result<&[(&str, How)], &str>) {
        match (journal.revert(), expect) {
            (Ok(reverted), Ok(expect)) => {
                let reverted: Vec<_> = reverted.iter().map(|one| (one.path.to_str().expect("text"), one.how)).collect();
                assert_eq!(reverted, expect);
            }
            (Err(error), Err(expect)) => assert!(error.to_string().starts_with(expect), "{error}"),
            (got, expect) => panic!("{got:?} is not {expect:?}"),
        }
    }

    #[track_caller]
    fn holds(world: &World, path: &str, expect: Option<&str>) {
        assert_eq!(fs::read_to_string(world.path(path)).ok().as_deref(), expect, "{path}");
    }

    #[test]
    fn a_turn_is_taken_back_to_before_its_first_change() {
        let world = World::new().with("a", "one").with("gone", "x");
        let (journal, _) = journal(&world);
        write(&journal, "a", "two");
        write(&journal, "./a", "three");
        write(&journal, "d/new", "n");
        journal.change_all(&[Change::Remove { path: "gone" }]).expect("it is removed");
        check(&journal, Ok(&[("a", How::Restored), ("d/new", How::Removed), ("gone", How::BroughtBack)]));
        holds(&world, "a", Some("one"));
        holds(&world, "d/new", None);
        holds(&world, "gone", Some("x"));
        check(&journal, Err("no file tool has changed anything yet"));
    }

    #[test]
    fn only_the_last_turn_with_changes_is_taken_back() {
        let world = World::new().with("a", "one").with("b", "one");
        let (journal, turns) = journal(&world);
        write(&journal, "a", "two");
        turns.begin();
        write(&journal, "b", "two");
        turns.begin();
        check(&journal, Ok(&[("b", How::Restored)]));
        holds(&world, "a", Some("two"));
        check(&journal, Err("no file tool has changed anything yet"));
    }

    #[test]
    fn what_changed_since_keeps_the_whole_turn() {
        let world = World::new().with("a", "one").with("b", "one");
        let (journal, _) = journal(&world);
        write(&journal, "a", "two");
        write(&journal, "b", "two");
        let world = world.with("b", "by hand");
        check(&journal, Err("b has changed since the turn wrote it"));
        holds(&world, "a", Some("two"));
        holds(&world, "b", Some("by hand"));
        fs::remove_file(world.path("b")).expect("a file");
        check(&journal, Err("b has changed since the turn wrote it"));
        // As the turn left it: it can be taken back again.
        let world = world.with("b", "two");
        check(&journal, Ok(&[("a", How::Restored), ("b", How::Restored)]));
        holds(&world, "b", Some("one"));
    }

    #[test]
    fn a_file_that_came_and_went_is_nothing() {
        let world = World::new();
        let (journal, _) = journal(&world);
        write(&journal, "a", "x");
        journal.change_all(&[Change::Remove { path: "a" }]).expect("it is removed");
        check(&journal, Err("no file tool has changed anything yet"));
    }

    #[test]
    fn what_was_not_kept_is_told_and_nothing_is_taken_back() {
        let world = World::new().with("a", "one").with("big", "0123456789");
        let (mut journal, _) = journal(&world);
        journal.most = 12;
        write(&journal, "a", "two");
        write(&journal, "big", "9876543210");
        check(&journal, Err("what big held before was not kept"));
        holds(&world, "a", Some("two"));
    }

    #[test]
    fn a_failed_write_is_no_change() {
        let world = World::new().with("a", "one");
        let (journal, _) = journal(&world);
        assert!(journal.write_atomic("../x", b"x", WriteMode::Overwrite).is_err());
        assert!(journal.write_atomic("a", b"x", WriteMode::Create).is_err());
        check(&journal, Err("no file tool has changed anything yet"));
    }

    #[test]
    fn each_place_has_a_turn_of_its_own() {
        let world = World::new().with("tree/a", "one").with("a", "one");
        let place = Place::default();
        let files = Arc::new(Placed::new(world.boundary(), place.clone()));
        let journal = Journal::new(files, UserTurns::default(), place.clone());
        write(&journal, "a", "two");
        let enter = || {
            let Narrowed { files, path } = FileBoundary::narrowed(world.boundary().as_ref(), "tree").expect("a folder");
            place.enter(Away { name: "t".to_owned(), base: path, files });
        };
        enter();
        check(&journal, Err("no file tool has changed anything yet"));
        write(&journal, "a", "three");
        check(&journal, Ok(&[("a", How::Restored)]));
        write(&journal, "a", "four");
        place.leave();
        enter();
        check(&journal, Err("no file tool has changed anything yet"));
        place.leave();
        holds(&world, "tree/a", Some("four"));
        check(&journal, Ok(&[("a", How::Restored)]));
        holds(&world, "a", Some("one"));
    }
}

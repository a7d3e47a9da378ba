//! Several changes on Linux, all of them or none.
//!
//! They are made one after the other, each as if it stood alone, and what each replaced keeps another name in its folder
//! until the last one is made. When one fails, those before it are taken back in reverse order.

use super::{
    Retry, Workspace, kind_of,
    walk::Found,
    write::{Job, Undo},
};
use crate::boundary::{BoundaryError, Change, ChangeGate, EntryKind, OpenFile, Permissions, Written};

impl Workspace {
    /// Makes changes, all of them or none. See [`crate::boundary::FileBoundary::change_all`].
    pub fn change_all(&self, changes: &[Change<'_>]) -> Result<Vec<Written>, BoundaryError> {
        self.change_gated(changes, None)
    }

    /// Makes changes that a gate admits. See [`crate::boundary::FileBoundary::change_gated`].
    pub fn change_gated(
        &self,
        changes: &[Change<'_>],
        gate: Option<&dyn ChangeGate>,
    ) -> Result<Vec<Written>, BoundaryError> {
        // What stands alone is never taken back.
        let keep_old = changes.len() > 1;
        // A name that something was moved from may be taken by a change before.
        let moved_from: Vec<Option<OpenFile>> =
            changes.iter().map(|change| self.moved_from(change)).collect::<Result<_, _>>()?;
        let mut undos: Vec<(&str, Undo)> = Vec::with_capacity(changes.len());
        let mut written = Vec::with_capacity(changes.len());
        for (change, moved_from) in changes.iter().zip(&moved_from) {
            let moved_from = moved_from.as_ref().map(|open| &open.file);
            let made = match *change {
                Change::Write { path, bytes, mode, permissions, .. } => {
                    let job = Job { workspace: self, path, bytes, moved_from, permissions, gate };
                    self.write_undoable(&job, mode, keep_old)
                }
                Change::Remove { path } => {
                    let job =
                        Job { workspace: self, path, bytes: &[], moved_from, permissions: Permissions::Kept, gate };
                    self.remove_undoable(&job)
                }
            };
            let (Change::Write { path, .. } | Change::Remove { path }) = *change;
            match made {
                Ok((done, undo)) => {
                    written.push(done);
                    undos.push((path, undo));
                }
                Err(error) => return Err(take_back(error, undos)),
            }
        }
        undos.into_iter().for_each(|(_, undo)| undo.settle());
        Ok(written)
    }

    fn remove_undoable(&self, job: &Job<'_>) -> Result<(Written, Undo), BoundaryError> {
        let path = job.path;
        self.attempt(path, |place| {
            self.require_writable(path, &place)?;
            match &place.found {
                Found::Directory => Err(Retry::not_a_file(path, EntryKind::Directory)),
                Found::Other(stat) if kind_of(stat) == EntryKind::File => {
                    let undo = job.remove(&place)?;
                    Ok((Written { path: self.shown(&place), created: false }, undo))
                }
                Found::Other(stat) => Err(Retry::not_a_file(path, kind_of(stat))),
                Found::Missing(missing) => Err(missing.error(path, &place).into()),
            }
        })
    }

    /// What a change says that its file was moved from.
    fn moved_from(&self, change: &Change<'_>) -> Result<Option<OpenFile>, BoundaryError> {
        match *change {
            Change::Write { like, .. } => like.map(|like| self.open_file(like)).transpose(),
            Change::Remove { .. } => Ok(None),
        }
    }
}

/// Takes changes back, the last one first; the error, with what could not be taken back.
fn take_back(error: BoundaryError, undos: Vec<(&str, Undo)>) -> BoundaryError {
    let mut left = Vec::new();
    for (path, undo) in undos.into_iter().rev() {
        if let Err(old) = undo.take_back() {
            left.push(match old {
                Some(old) => format!("{path} (its old content is beside it, as {})", old.to_string_lossy()),
                None => format!("{path} (it is new)"),
            });
        }
    }
    if left.is_empty() { error } else { BoundaryError::Torn { error: Box::new(error), left } }
}

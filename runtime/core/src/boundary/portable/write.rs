//! Writing where there is no `openat2`: a temporary file in the folder of the target, renamed over it.

use super::{Place, Workspace, kind_of, shown_path};
use crate::boundary::{
    BoundaryError, Change, ChangeGate, OpenFile, Pending, WriteMode, WriteStep, Written, path::names_of,
};
use cap_std::fs::{MetadataExt, OpenOptions, PermissionsExt};
use std::{
    ffi::OsString,
    fs::File,
    hash::{BuildHasher, Hasher, RandomState},
    io::{self, Write},
    path::{Path, PathBuf},
};

/// The permissions a replaced file keeps. The set-user and set-group bits are dropped, as the system does on a write.
const KEPT_MODE: u32 = 0o1777;

/// A file as it was before a change.
struct Old {
    bytes: Vec<u8>,
    mode: u32,
}

/// What a file is to hold.
struct Draft<'a, P> {
    bytes: &'a [u8],
    /// Its permissions, of those it would get by itself.
    permissions: P,
    /// What the file was moved from.
    moved_from: Option<&'a File>,
    /// Who has the last word on it.
    gate: Option<&'a dyn ChangeGate>,
}

impl Workspace {
    /// Replaces or creates a file in one step. See [`crate::boundary::FileBoundary::write_atomic`].
    pub fn write_atomic(&self, path: &str, bytes: &[u8], mode: WriteMode) -> Result<Written, BoundaryError> {
        self.write(path, mode, &Draft { bytes, permissions: |given| given, moved_from: None, gate: None })
    }

    /// The same, with the draft's permissions, and if its gate admits it.
    fn write<P: Fn(u32) -> u32>(
        &self,
        path: &str,
        mode: WriteMode,
        draft: &Draft<'_, P>,
    ) -> Result<Written, BoundaryError> {
        let place = self.place(path)?;
        self.require_writable(&place)?;
        let old = match place.root.handle.metadata(&place.relative) {
            Ok(found) if !found.is_file() => {
                return Err(BoundaryError::NotAFile { path: path.to_owned(), kind: kind_of(found.file_type()) });
            }
            Ok(_) if mode == WriteMode::Create => return Err(BoundaryError::Exists { path: path.to_owned() }),
            Ok(found) => Some(found),
            Err(e) if e.kind() == io::ErrorKind::NotFound => None,
            Err(e) => return Err(place.error("write", e)),
        };
        // What exists is replaced under its resolved name, so that a link keeps being one.
        let target = if old.is_some() { place.canonical()? } else { place.to_create()? };
        let folder = target.parent().unwrap_or(Path::new(""));
        if !folder.as_os_str().is_empty() {
            self.before(path, WriteStep::MakeFolder)?;
            place.root.handle.create_dir_all(folder).map_err(|e| place.error("create the folders of", e))?;
        }
        let name = format!(".slot-{:016x}.tmp", RandomState::new().build_hasher().finish());
        let temporary = folder.join(name);
        let done = self.fill_and_rename(&place, &temporary, &target, old.as_ref(), draft);
        if done.is_err() {
            // Nothing is left to be done about a file that cannot be removed; the error that led here is reported.
            let _ = place.root.handle.remove_file(&temporary);
        }
        done?;
        let shown = if place.is_workspace { target } else { place.root.path.join(target) };
        Ok(Written { path: shown, created: old.is_none() })
    }

    /// Makes changes, all of them or none. See [`crate::boundary::FileBoundary::change_all`].
    ///
    /// What a change replaces is held in memory until the last one is made.
    pub fn change_all(&self, changes: &[Change<'_>]) -> Result<Vec<Written>, BoundaryError> {
        self.change_gated(changes, None)
    }

    /// Makes changes that a gate admits. See [`crate::boundary::FileBoundary::change_gated`].
    pub fn change_gated(
        &self,
        changes: &[Change<'_>],
        gate: Option<&dyn ChangeGate>,
    ) -> Result<Vec<Written>, BoundaryError> {
        // A name that something was moved from may be taken by a change before.
        let moved_from = |change: &Change<'_>| match *change {
            Change::Write { like, .. } => like.map(|like| self.open_file(like)).transpose(),
            Change::Remove { .. } => Ok(None),
        };
        let moved_from: Vec<Option<OpenFile>> = changes.iter().map(moved_from).collect::<Result<_, _>>()?;
        let (mut undos, mut written) = (Vec::new(), Vec::new());
        for (change, moved_from) in changes.iter().zip(&moved_from) {
            let (Change::Write { path, .. } | Change::Remove { path }) = *change;
            match self.change(*change, moved_from.as_ref(), gate) {
                Ok((done, old)) => {
                    written.push(done);
                    undos.push((path, old));
                }
                Err(error) => {
                    let back = |(path, old): (&str, Option<Old>)| {
                        let taken = match old {
                            Some(old) => {
                                let permissions = |_| old.mode;
                                let draft = Draft { bytes: &old.bytes, permissions, moved_from: None, gate: None };
                                self.write(path, WriteMode::Overwrite, &draft).map(drop)
                            }
                            None => self.remove(path, None),
                        };
                        taken.is_err().then(|| path.to_owned())
                    };
                    let left: Vec<String> = undos.into_iter().rev().filter_map(back).collect();
                    return Err(if left.is_empty() {
                        error
                    } else {
                        BoundaryError::Torn { error: Box::new(error), left }
                    });
                }
            }
        }
        Ok(written)
    }

    /// One change, with what was there before.
    fn change(
        &self,
        change: Change<'_>,
        moved_from: Option<&OpenFile>,
        gate: Option<&dyn ChangeGate>,
    ) -> Result<(Written, Option<Old>), BoundaryError> {
        let old = |path: &str| -> Result<Old, BoundaryError> {
            let (mut bytes, mut open) = (Vec::new(), self.open_file(path)?);
            io::Read::read_to_end(&mut open.file, &mut bytes).map_err(|e| BoundaryError::from_io(path, "read", e))?;
            Ok(Old { bytes, mode: mode_of(path, &open.file)? })
        };
        match change {
            Change::Write { path, bytes, mode, permissions, .. } => {
                let like = moved_from.map(|open| mode_of(path, &open.file)).transpose()?;
                let before = match old(path) {
                    Ok(old) => Some(old),
                    Err(BoundaryError::NotFound { .. }) => None,
                    Err(error) => return Err(error),
                };
                let like = like.filter(|_| before.is_none());
                let permissions = |given| permissions.of(like.unwrap_or(given));
                let moved_from = moved_from.map(|open| &open.file);
                Ok((self.write(path, mode, &Draft { bytes, permissions, moved_from, gate })?, before))
            }
            Change::Remove { path } => {
                let before = old(path)?;
                let place = self.place(path)?.resolved()?;
                self.remove(path, gate)?;
                Ok((Written { path: place, created: false }, Some(before)))
            }
        }
    }

    fn remove(&self, path: &str, gate: Option<&dyn ChangeGate>) -> Result<(), BoundaryError> {
        let place = self.place(path)?;
        self.require_writable(&place)?;
        place.require_file("remove")?;
        self.judge(&place, &place.canonical()?, true, (None, None), gate)?;
        self.before(path, WriteStep::Remove)?;
        place.root.handle.remove_file(place.canonical()?).map_err(|e| place.error("remove", e))
    }

    /// Creates a folder and what is missing above it. See [`crate::boundary::FileBoundary::create_dirs`].
    pub fn create_dirs(&self, path: &str) -> Result<PathBuf, BoundaryError> {
        let place = self.place(path)?;
        self.require_writable(&place)?;
        if place.means_nothing() {
            // What exists is fine.
            place.root.handle.open_dir(&place.relative).map_err(|e| place.error("create", e))?;
        }
        place.root.handle.create_dir_all(&place.relative).map_err(|e| place.error("create", e))?;
        Ok(shown_path(&place.resolved()?))
    }

    fn fill_and_rename<P: Fn(u32) -> u32>(
        &self,
        place: &Place<'_>,
        temporary: &Path,
        target: &Path,
        old: Option<&cap_std::fs::Metadata>,
        draft: &Draft<'_, P>,
    ) -> Result<(), BoundaryError> {
        let failed = |e| place.error("write", e);
        let folder = &place.root.handle;
        self.before(place.text, WriteStep::MakeTemporary)?;
        let mut options = OpenOptions::new();
        options.write(true).create_new(true);
        let mut file = folder.open_with(temporary, &options).map_err(failed)?;
        self.before(place.text, WriteStep::WriteContent)?;
        file.write_all(draft.bytes).map_err(failed)?;
        self.before(place.text, WriteStep::KeepOwnerAndMode)?;
        let new = file.metadata().map_err(failed)?;
        if old.is_some_and(|old| (new.uid(), new.gid()) != (old.uid(), old.gid())) {
            return Err(BoundaryError::Owner { path: place.text.to_owned() });
        }
        let mode = (draft.permissions)(old.map_or(new.permissions().mode(), |old| old.permissions().mode()));
        file.set_permissions(cap_std::fs::Permissions::from_mode(mode & KEPT_MODE)).map_err(failed)?;
        self.before(place.text, WriteStep::Sync)?;
        file.sync_all().map_err(failed)?;
        self.judge(place, target, old.is_some(), (draft.moved_from, Some(draft.bytes)), draft.gate)?;
        self.before(place.text, WriteStep::Rename)?;
        folder.rename(temporary, folder, target).map_err(failed)
    }

    /// Refuses what may only be read: judged by the deepest folder that exists, links resolved, and the names below; and by
    /// the names as they are written.
    pub(super) fn require_writable(&self, place: &Place<'_>) -> Result<(), BoundaryError> {
        let (mut names, written) = (names_of(&place.relative), names_of(&place.relative));
        for existing in place.relative.ancestors() {
            let here = if existing.as_os_str().is_empty() { Path::new(".") } else { existing };
            if let Ok(resolved) = place.root.handle.canonicalize(here) {
                names = names_of(&resolved);
                names.extend(names_of(place.relative.strip_prefix(existing).unwrap_or(Path::new(""))));
                break;
            }
        }
        let forbid = |names: &[OsString]| self.protected.forbid(&place.root.path, place.is_workspace, names.iter());
        if forbid(&names) || forbid(&written) {
            return Err(BoundaryError::Protected { path: place.text.to_owned() });
        }
        Ok(())
    }

    /// Puts a change to the gate, right before it is made.
    fn judge(
        &self,
        place: &Place<'_>,
        target: &Path,
        exists: bool,
        (moved_from, new): (Option<&File>, Option<&[u8]>),
        gate: Option<&dyn ChangeGate>,
    ) -> Result<(), BoundaryError> {
        let Some(gate) = gate else { return Ok(()) };
        let old = if exists { Some(self.open_file(place.text)?.file) } else { None };
        let resolved = if place.is_workspace { target.to_owned() } else { place.root.path.join(target) };
        gate.judge(&Pending { path: place.text, resolved: &resolved, old: old.as_ref(), moved_from, new })
    }

    fn before(&self, path: &str, step: WriteStep) -> Result<(), BoundaryError> {
        match &self.gate {
            Some(gate) => gate(step).map_err(|e| BoundaryError::from_io(path, "write", e)),
            None => Ok(()),
        }
    }
}

fn mode_of(path: &str, file: &File) -> Result<u32, BoundaryError> {
    let found = file.metadata().map_err(|e| BoundaryError::from_io(path, "look at", e))?;
    Ok(std::os::unix::fs::PermissionsExt::mode(&found.permissions()))
}

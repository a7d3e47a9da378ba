//! Changes under a gate on Linux: the file that is judged is the file that goes.

use super::{
    Retry, failed, kind_of, raced, require_regular,
    walk::{Missing, Place},
    write::{Job, Temporary, publish},
};
use crate::boundary::{BoundaryError, EntryKind, Pending, WriteStep};
use rustix::{
    fs::{self, AtFlags, Mode, OFlags, RenameFlags, Stat},
    io::Errno,
};
use std::{
    ffi::{OsStr, OsString},
    fs::File,
    os::fd::OwnedFd,
};

impl Job<'_> {
    /// Puts the change of the file at `name` to the gate. What the file was when it was judged; nothing without a gate.
    pub(super) fn judge(
        &self,
        place: &Place,
        folder: &OwnedFd,
        name: &OsStr,
        new: Option<&[u8]>,
    ) -> Result<Option<Stat>, Retry> {
        let Some(gate) = self.gate else { return Ok(None) };
        let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOFOLLOW | OFlags::NOCTTY | OFlags::CLOEXEC;
        let handle = fs::openat(folder, name, flags, Mode::empty()).map_err(|e| raced(self.path, "read", e))?;
        let stat = fs::fstat(&handle).map_err(|e| failed(self.path, "look at", e))?;
        require_regular(self.path, &stat)?;
        let (old, resolved) = (File::from(handle), self.workspace.shown(place));
        gate.judge(&Pending {
            path: self.path,
            resolved: &resolved,
            old: Some(&old),
            moved_from: self.moved_from,
            new,
        })?;
        Ok(Some(stat))
    }

    /// Puts a new file to the gate.
    pub(super) fn judge_new(&self, place: &Place, missing: &Missing) -> Result<(), Retry> {
        let Some(gate) = self.gate else { return Ok(()) };
        let mut resolved = self.workspace.shown(place);
        resolved.extend(&missing.names);
        let (new, moved_from) = (Some(self.bytes), self.moved_from);
        gate.judge(&Pending { path: self.path, resolved: &resolved, old: None, moved_from, new })?;
        Ok(())
    }

    /// Lets the temporary file and the one at `name` exchange their names, if that one is still the one that was judged.
    /// `false` where the file system cannot do that.
    pub(super) fn exchange(
        &self,
        folder: &OwnedFd,
        temporary: &mut Temporary<'_>,
        name: &OsStr,
        judged: &Stat,
    ) -> Result<bool, Retry> {
        self.workspace.before(self.path, WriteStep::Rename)?;
        let swap = |temporary: &OsStr| fs::renameat_with(folder, temporary, folder, name, RenameFlags::EXCHANGE);
        match swap(&temporary.name) {
            Ok(()) => {}
            Err(Errno::INVAL | Errno::NOSYS | Errno::OPNOTSUPP) => return Ok(false),
            Err(errno) => return Err(raced(self.path, "write", errno)),
        }
        if self.is_at(folder, &temporary.name, judged) {
            return Ok(true);
        }
        // Something else took its place, and gets its name back.
        let ours = fs::fstat(&temporary.file).map_err(|e| failed(self.path, "look at", e))?;
        if swap(&temporary.name).is_ok() && self.is_at(folder, &temporary.name, &ours) {
            return Err(Retry::Again);
        }
        // Another one took it since. Whatever has the temporary name is somebody's, and stays.
        let name = temporary.give_up();
        Err(self.left_beside(&name))
    }

    /// Requires that what lost its name is the file that was judged; anything else gets it back.
    pub(super) fn require_removed(
        &self,
        folder: &OwnedFd,
        second: &OsString,
        name: &OsStr,
        judged: &Stat,
    ) -> Result<(), Retry> {
        if self.is_at(folder, second, judged) {
            return Ok(());
        }
        match publish(folder, second, name) {
            Ok(()) => Err(Retry::Again),
            Err(_) => Err(self.left_beside(second)),
        }
    }

    /// Whether `name` stands for this file, with the content it had as far as its size and its time tell.
    fn is_at(&self, folder: &OwnedFd, name: &OsStr, file: &Stat) -> bool {
        // Not the time of the last change of its names: a rename is one.
        let same = |now: Stat| {
            (now.st_dev, now.st_ino, now.st_size, now.st_mtime, now.st_mtime_nsec)
                == (file.st_dev, file.st_ino, file.st_size, file.st_mtime, file.st_mtime_nsec)
                && kind_of(&now) == EntryKind::File
        };
        fs::statat(folder, name, AtFlags::SYMLINK_NOFOLLOW).is_ok_and(same)
    }

    fn left_beside(&self, name: &OsStr) -> Retry {
        let error = Box::new(BoundaryError::Unstable { path: self.path.to_owned() });
        let beside =
            format!("{} (what another process put there is beside it, as {})", self.path, name.to_string_lossy());
        BoundaryError::Torn { error, left: vec![beside] }.into()
    }
}

//! Writing on Linux: a temporary file in the folder of the target, renamed over it.
//!
//! Everything happens relative to one handle on that folder, so that the file that is renamed is the file that was
//! written, and the name it gets is a name in that folder, whatever became of the path meanwhile. A rename replaces a
//! link that took the name in the last moment; it does not follow it.

use super::{
    Retry, Root, Workspace, failed, kind_of, raced,
    walk::{Found, Missing, Place},
};
use crate::boundary::{BoundaryError, ChangeGate, EntryKind, Permissions, WriteMode, WriteStep, Written, shown_path};
use rustix::{
    fs::{self, AtFlags, Gid, Mode, OFlags, RenameFlags, Stat, Uid},
    io::Errno,
};
use std::{
    ffi::{OsStr, OsString},
    fs::File,
    hash::{BuildHasher, Hasher, RandomState},
    io::{self, Write},
    os::fd::{AsFd, BorrowedFd, OwnedFd},
    path::PathBuf,
};

/// How often a random name for the temporary file may be taken already.
const NAME_ATTEMPTS: usize = 16;
/// The permissions of a new file before the process's own mask.
const NEW_FILE: Mode = Mode::from_raw_mode(0o666);
/// The permissions of a new folder before the process's own mask.
const NEW_FOLDER: Mode = Mode::from_raw_mode(0o777);
/// The permissions a replaced file keeps. The set-user and set-group bits are dropped, as the system does on a write.
const KEPT_MODE: u32 = 0o1777;

impl Workspace {
    /// Replaces or creates a file in one step. See [`crate::boundary::FileBoundary::write_atomic`].
    pub fn write_atomic(&self, path: &str, bytes: &[u8], mode: WriteMode) -> Result<Written, BoundaryError> {
        let job = Job { workspace: self, path, bytes, moved_from: None, permissions: Permissions::Kept, gate: None };
        let (written, undo) = self.write_undoable(&job, mode, false)?;
        undo.settle();
        Ok(written)
    }

    /// The same, with what takes it back; what it replaced keeps another name only if it may have to be brought back.
    pub(super) fn write_undoable(
        &self,
        job: &Job<'_>,
        mode: WriteMode,
        keep_old: bool,
    ) -> Result<(Written, Undo), BoundaryError> {
        let path = job.path;
        self.attempt(path, |place| {
            self.require_writable(path, &place)?;
            match &place.found {
                Found::Directory => Err(Retry::not_a_file(path, EntryKind::Directory)),
                Found::Other(stat) => match kind_of(stat) {
                    EntryKind::File if mode == WriteMode::Create => {
                        Err(BoundaryError::Exists { path: path.to_owned() }.into())
                    }
                    EntryKind::File => {
                        let undo = job.replace(&place, keep_old)?;
                        Ok((Written { path: self.shown(&place), created: false }, undo))
                    }
                    other => Err(Retry::not_a_file(path, other)),
                },
                Found::Missing(missing) => {
                    let undo = job.create(&place, missing)?;
                    let mut created = self.shown(&place);
                    created.extend(&missing.names);
                    Ok((Written { path: created, created: true }, undo))
                }
            }
        })
    }

    /// Creates a folder and what is missing above it. See [`crate::boundary::FileBoundary::create_dirs`].
    pub fn create_dirs(&self, path: &str) -> Result<PathBuf, BoundaryError> {
        self.attempt(path, |place| {
            self.require_writable(path, &place)?;
            let mut resolved = self.shown(&place);
            if let Found::Missing(missing) = &place.found {
                if missing.means_nothing(&place, missing.names.len()) {
                    return Err(missing.error(path, &place).into());
                }
                let (_, folders) = NewFolders::make(self, path, &place, &missing.names)?;
                folders.keep();
                resolved.extend(&missing.names);
            } else {
                self.require_directory(path, &place)?;
            }
            Ok(shown_path(&resolved))
        })
    }

    /// Refuses what may only be read. What is still missing counts with the rest of the path.
    pub(super) fn require_writable(&self, path: &str, place: &Place) -> Result<(), Retry> {
        let missing = match &place.found {
            Found::Missing(missing) => missing.names.as_slice(),
            Found::Directory | Found::Other(_) => &[],
        };
        let root = &self.roots[place.root].path;
        if self.protected.forbid(root, place.root == 0, place.names.iter().chain(missing)) {
            return Err(BoundaryError::Protected { path: path.to_owned() }.into());
        }
        Ok(())
    }

    pub(super) fn before(&self, path: &str, step: WriteStep) -> Result<(), Retry> {
        match &self.gate {
            Some(gate) => gate(step).map_err(|e| BoundaryError::from_io(path, "write", e).into()),
            None => Ok(()),
        }
    }
}

/// One write.
pub(super) struct Job<'a> {
    pub(super) workspace: &'a Workspace,
    pub(super) path: &'a str,
    pub(super) bytes: &'a [u8],
    /// What the file was moved from, and what it is like if it is created; where absent, like what the process makes.
    pub(super) moved_from: Option<&'a File>,
    /// What becomes of its permissions.
    pub(super) permissions: Permissions,
    /// Who has the last word on it.
    pub(super) gate: Option<&'a dyn ChangeGate>,
}

impl Job<'_> {
    fn root(&self, place: &Place) -> &Root {
        &self.workspace.roots[place.root]
    }

    /// Puts the content in the place of a file; that one keeps another name if it may have to be brought back.
    pub(super) fn replace(&self, place: &Place, keep_old: bool) -> Result<Undo, Retry> {
        let Some((name, parents)) = place.names.split_last() else {
            return Err(Retry::not_a_file(self.path, EntryKind::Directory));
        };
        let folder = self
            .root(place)
            .open_beneath(parents, OFlags::PATH | OFlags::DIRECTORY)
            .map_err(|e| raced(self.path, "write", e))?;
        let old = self.writable(&folder, name)?;
        let mut temporary = self.fill(&folder, Mode::RUSR | Mode::WUSR)?;
        self.workspace.before(self.path, WriteStep::KeepOwnerAndMode)?;
        self.keep_owner_and_mode(&temporary.file, &old)?;
        self.sync(&temporary.file)?;
        let judged = self.judge(place, &folder, name, Some(self.bytes))?;
        if let Some(judged) = &judged
            && self.exchange(&folder, &mut temporary, name, judged)?
        {
            // The old file has the temporary name now, and goes with it unless it is kept.
            let old = keep_old.then(|| temporary.keep());
            return Ok(Undo { folder, name: name.clone(), old, folders: None, done: false });
        }
        let old = if keep_old { Some(self.second_name(&folder, name)?) } else { None };
        self.workspace.before(self.path, WriteStep::Rename)?;
        fs::renameat(&folder, &temporary.name, &folder, name.as_os_str()).map_err(|e| match e {
            Errno::ISDIR | Errno::NOTEMPTY | Errno::EXIST => Retry::Again,
            other => raced(self.path, "write", other),
        })?;
        temporary.keep();
        let old = old.map(|old| old.into_name());
        Ok(Undo { folder, name: name.clone(), old, folders: None, done: false })
    }

    /// A second name for a file, which goes again unless it is kept.
    fn second_name<'f>(&self, folder: &'f OwnedFd, name: &OsStr) -> Result<SecondName<'f>, Retry> {
        self.workspace.before(self.path, WriteStep::KeepOld)?;
        let second = unused_name();
        fs::linkat(folder, name, folder, &second, AtFlags::empty()).map_err(|e| raced(self.path, "keep", e))?;
        Ok(SecondName { folder, name: second, kept: false })
    }

    /// Takes the name of a file away; under another it can be brought back.
    pub(super) fn remove(&self, place: &Place) -> Result<Undo, Retry> {
        let Some((name, parents)) = place.names.split_last() else {
            return Err(Retry::not_a_file(self.path, EntryKind::Directory));
        };
        let folder = self
            .root(place)
            .open_beneath(parents, OFlags::PATH | OFlags::DIRECTORY)
            .map_err(|e| raced(self.path, "remove", e))?;
        self.writable(&folder, name)?;
        let judged = self.judge(place, &folder, name, None)?;
        self.workspace.before(self.path, WriteStep::Remove)?;
        let second = unused_name();
        fs::renameat(&folder, name.as_os_str(), &folder, &second).map_err(|e| raced(self.path, "remove", e))?;
        if let Some(judged) = &judged {
            self.require_removed(&folder, &second, name, judged)?;
        }
        Ok(Undo { folder, name: name.clone(), old: Some(second), folders: None, done: false })
    }

    pub(super) fn create(&self, place: &Place, missing: &Missing) -> Result<Undo, Retry> {
        let split = missing.names.split_last();
        let Some((name, parents)) = split.filter(|(_, parents)| !missing.means_nothing(place, parents.len())) else {
            return Err(missing.error(self.path, place).into());
        };
        if missing.folder {
            return Err(BoundaryError::ends_like_a_folder(self.path).into());
        }
        let (folder, folders) = NewFolders::make(self.workspace, self.path, place, parents)?;
        let temporary = self.fill(&folder, NEW_FILE)?;
        if self.moved_from.is_some() || self.permissions != Permissions::Kept {
            self.workspace.before(self.path, WriteStep::KeepOwnerAndMode)?;
            let like = self.moved_from.unwrap_or(&temporary.file);
            let like = fs::fstat(like).map_err(|e| failed(self.path, "look at", e))?;
            self.set_mode(&temporary.file, like.st_mode)?;
        }
        self.sync(&temporary.file)?;
        self.judge_new(place, missing)?;
        self.workspace.before(self.path, WriteStep::Rename)?;
        publish(&folder, &temporary.name, name).map_err(|e| match e {
            Errno::EXIST => Retry::Again,
            other => raced(self.path, "write", other),
        })?;
        temporary.keep();
        Ok(Undo { folder, name: name.clone(), old: None, folders: Some(folders), done: false })
    }

    /// Asks the system whether the file at `name` may be written, and what it is. A rename needs no such permission,
    /// but a file that is protected against writing is not replaced behind its owner's back.
    fn writable(&self, folder: &OwnedFd, name: &OsStr) -> Result<Stat, Retry> {
        let flags = OFlags::WRONLY | OFlags::NONBLOCK | OFlags::NOFOLLOW | OFlags::NOCTTY | OFlags::CLOEXEC;
        match fs::openat(folder, name, flags, Mode::empty()) {
            // A program that is running may be replaced; only its present content may not be changed.
            Ok(_) | Err(Errno::TXTBSY) => {}
            Err(Errno::ISDIR) => return Err(Retry::Again),
            Err(errno) => return Err(raced(self.path, "write", errno)),
        }
        let stat = fs::statat(folder, name, AtFlags::SYMLINK_NOFOLLOW).map_err(|e| raced(self.path, "write", e))?;
        if kind_of(&stat) == EntryKind::File { Ok(stat) } else { Err(Retry::Again) }
    }

    /// Makes the temporary file and writes the content to it.
    fn fill<'f>(&self, folder: &'f OwnedFd, mode: Mode) -> Result<Temporary<'f>, Retry> {
        self.workspace.before(self.path, WriteStep::MakeTemporary)?;
        let mut temporary = Temporary::make(folder.as_fd(), mode).map_err(|e| failed(self.path, "write", e))?;
        self.workspace.before(self.path, WriteStep::WriteContent)?;
        temporary.file.write_all(self.bytes).map_err(|e| self.failed(e))?;
        Ok(temporary)
    }

    fn keep_owner_and_mode(&self, file: &File, old: &Stat) -> Result<(), Retry> {
        let new = fs::fstat(file).map_err(|e| failed(self.path, "write", e))?;
        if (new.st_uid, new.st_gid) != (old.st_uid, old.st_gid) {
            let (user, group) = (Uid::from_raw(old.st_uid), Gid::from_raw(old.st_gid));
            fs::fchown(file, Some(user), Some(group))
                .map_err(|_| BoundaryError::Owner { path: self.path.to_owned() })?;
        }
        // After the owner: a change of owner clears bits of the mode.
        self.set_mode(file, old.st_mode)
    }

    fn set_mode(&self, file: &File, mode: u32) -> Result<(), Retry> {
        let mode = Mode::from_raw_mode(self.permissions.of(mode) & KEPT_MODE);
        fs::fchmod(file, mode).map_err(|e| failed(self.path, "write", e))
    }

    fn sync(&self, file: &File) -> Result<(), Retry> {
        self.workspace.before(self.path, WriteStep::Sync)?;
        file.sync_all().map_err(|e| self.failed(e))
    }

    fn failed(&self, error: io::Error) -> Retry {
        BoundaryError::from_io(self.path, "write", error).into()
    }
}

/// Gives a file a name that nothing has yet.
pub(super) fn publish(folder: &OwnedFd, temporary: &OsStr, name: &OsStr) -> Result<(), Errno> {
    match fs::renameat_with(folder, temporary, folder, name, RenameFlags::NOREPLACE) {
        // File systems that cannot rename this way can link, which never replaces either.
        Err(Errno::INVAL | Errno::NOSYS) => {
            fs::linkat(folder, temporary, folder, name, AtFlags::empty())?;
            // The content has its name. A second name left behind is no reason to say that it has not.
            let _ = fs::unlinkat(folder, temporary, AtFlags::empty());
            Ok(())
        }
        other => other,
    }
}

/// A name that nothing has. Freshly keyed each time by the system's randomness; shown to nobody but where it must be told
/// what is left of a change.
fn unused_name() -> OsString {
    let random = RandomState::new().build_hasher().finish();
    OsString::from(format!(".slot-{random:016x}.tmp"))
}

/// What takes a change back, while others that belong to it may still fail.
pub(super) struct Undo {
    folder: OwnedFd,
    name: OsString,
    /// The other name of what was there.
    old: Option<OsString>,
    folders: Option<NewFolders>,
    done: bool,
}

impl Undo {
    /// The change stays.
    pub(super) fn settle(mut self) {
        self.done = true;
        if let Some(old) = &self.old {
            // The change is made. An old name left behind is no reason to say that it is not.
            let _ = fs::unlinkat(&self.folder, old, AtFlags::empty());
        }
        if let Some(folders) = self.folders.take() {
            folders.keep();
        }
    }

    /// What was there is there again; or the name under which it is, if that is possible no more.
    pub(super) fn take_back(mut self) -> Result<(), Option<OsString>> {
        self.done = true;
        let taken = match &self.old {
            Some(old) => fs::renameat(&self.folder, old, &self.folder, &self.name),
            None => fs::unlinkat(&self.folder, &self.name, AtFlags::empty()),
        };
        taken.map_err(|_| self.old.take())
    }
}

impl Drop for Undo {
    fn drop(&mut self) {
        debug_assert!(self.done, "a change is settled or taken back");
    }
}

/// A second name that goes again unless it is kept.
struct SecondName<'f> {
    folder: &'f OwnedFd,
    name: OsString,
    kept: bool,
}

impl SecondName<'_> {
    fn into_name(mut self) -> OsString {
        self.kept = true;
        std::mem::take(&mut self.name)
    }
}

impl Drop for SecondName<'_> {
    fn drop(&mut self) {
        if !self.kept {
            let _ = fs::unlinkat(self.folder, &self.name, AtFlags::empty());
        }
    }
}

/// A file that is removed unless it is kept.
pub(super) struct Temporary<'f> {
    folder: BorrowedFd<'f>,
    pub(super) name: OsString,
    pub(super) file: File,
    kept: bool,
}

impl<'f> Temporary<'f> {
    fn make(folder: BorrowedFd<'f>, mode: Mode) -> Result<Self, Errno> {
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let mut last = Errno::EXIST;
        for _ in 0..NAME_ATTEMPTS {
            let name = unused_name();
            match fs::openat(folder, &name, flags, mode) {
                Ok(handle) => return Ok(Temporary { folder, name, file: File::from(handle), kept: false }),
                Err(Errno::EXIST) => last = Errno::EXIST,
                Err(other) => return Err(other),
            }
        }
        Err(last)
    }

    /// Leaves what has its name, whatever that is by now.
    pub(super) fn give_up(&mut self) -> OsString {
        self.kept = true;
        std::mem::take(&mut self.name)
    }

    fn keep(mut self) -> OsString {
        self.give_up()
    }
}

impl Drop for Temporary<'_> {
    fn drop(&mut self) {
        if !self.kept {
            // Nothing is left to be done about a file that cannot be removed; the error that led here is reported.
            let _ = fs::unlinkat(self.folder, &self.name, AtFlags::empty());
        }
    }
}

/// Folders made on the way to a new file, removed again unless they are kept.
struct NewFolders {
    /// Each folder that holds the next name, and that name.
    made: Vec<(OwnedFd, OsString)>,
}

impl NewFolders {
    /// Makes `names`, one in the other, in the folder of `place`, and opens the last one.
    fn make(
        workspace: &Workspace,
        path: &str,
        place: &Place,
        names: &[OsString],
    ) -> Result<(OwnedFd, NewFolders), Retry> {
        let flags = OFlags::PATH | OFlags::DIRECTORY;
        let mut here =
            workspace.roots[place.root].open_beneath(&place.names, flags).map_err(|e| raced(path, "write", e))?;
        let mut folders = NewFolders { made: Vec::new() };
        for name in names {
            workspace.before(path, WriteStep::MakeFolder)?;
            fs::mkdirat(&here, name, NEW_FOLDER).map_err(|e| match e {
                // Somebody else made it, as a folder or as anything else: look again.
                Errno::EXIST => Retry::Again,
                other => raced(path, "create the folders of", other),
            })?;
            let next = fs::openat(&here, name, flags | OFlags::NOFOLLOW | OFlags::CLOEXEC, Mode::empty());
            folders.made.push((here, name.clone()));
            here = next.map_err(|e| raced(path, "create the folders of", e))?;
        }
        Ok((here, folders))
    }

    fn keep(mut self) {
        self.made.clear();
    }
}

impl Drop for NewFolders {
    fn drop(&mut self) {
        for (folder, name) in self.made.iter().rev() {
            // One that is no longer empty holds somebody's file and stays.
            let _ = fs::unlinkat(folder, name, AtFlags::REMOVEDIR);
        }
    }
}

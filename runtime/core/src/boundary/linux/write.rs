//! Writing on Linux: a temporary file in the folder of the target, renamed over it.
//!
//! Everything happens relative to one handle on that folder, so that the file that is renamed is the file that was
//! written, and the name it gets is a name in that folder, whatever became of the path meanwhile. A rename replaces a
//! link that took the name in the last moment; it does not follow it.

use super::{
    Retry, Root, Workspace, failed, kind_of, raced,
    walk::{Found, Missing, Place},
};
use crate::boundary::{BoundaryError, EntryKind, WriteMode, WriteStep, Written, protected::is_protected, shown_path};
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
        self.attempt(path, |place| {
            require_writable(path, &place)?;
            let job = Job { workspace: self, path, bytes };
            match &place.found {
                Found::Directory => Err(Retry::not_a_file(path, EntryKind::Directory)),
                Found::Other(stat) => match kind_of(stat) {
                    EntryKind::File if mode == WriteMode::Create => {
                        Err(BoundaryError::Exists { path: path.to_owned() }.into())
                    }
                    EntryKind::File => {
                        job.replace(&place)?;
                        Ok(Written { path: self.shown(&place), created: false })
                    }
                    other => Err(Retry::not_a_file(path, other)),
                },
                Found::Missing(missing) => {
                    job.create(&place, missing)?;
                    let mut created = self.shown(&place);
                    created.extend(&missing.names);
                    Ok(Written { path: created, created: true })
                }
            }
        })
    }

    /// Creates a folder and what is missing above it. See [`crate::boundary::FileBoundary::create_dirs`].
    pub fn create_dirs(&self, path: &str) -> Result<PathBuf, BoundaryError> {
        self.attempt(path, |place| {
            require_writable(path, &place)?;
            let mut resolved = self.shown(&place);
            if let Found::Missing(missing) = &place.found {
                if missing.climbs {
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

    fn before(&self, path: &str, step: WriteStep) -> Result<(), Retry> {
        match &self.gate {
            Some(gate) => gate(step).map_err(|e| BoundaryError::from_io(path, "write", e).into()),
            None => Ok(()),
        }
    }
}

/// Refuses what may only be read. What is still missing counts with the rest of the path.
fn require_writable(path: &str, place: &Place) -> Result<(), Retry> {
    let missing = match &place.found {
        Found::Missing(missing) => missing.names.as_slice(),
        Found::Directory | Found::Other(_) => &[],
    };
    if is_protected(place.names.iter().chain(missing)) {
        return Err(BoundaryError::Protected { path: path.to_owned() }.into());
    }
    Ok(())
}

/// One write.
struct Job<'a> {
    workspace: &'a Workspace,
    path: &'a str,
    bytes: &'a [u8],
}

impl Job<'_> {
    fn root(&self, place: &Place) -> &Root {
        &self.workspace.roots[place.root]
    }

    fn replace(&self, place: &Place) -> Result<(), Retry> {
        let Some((name, parents)) = place.names.split_last() else {
            return Err(Retry::not_a_file(self.path, EntryKind::Directory));
        };
        let folder = self
            .root(place)
            .open_beneath(parents, OFlags::PATH | OFlags::DIRECTORY)
            .map_err(|e| raced(self.path, "write", e))?;
        let old = self.writable(&folder, name)?;
        let temporary = self.fill(&folder, Mode::RUSR | Mode::WUSR)?;
        self.workspace.before(self.path, WriteStep::KeepOwnerAndMode)?;
        self.keep_owner_and_mode(&temporary.file, &old)?;
        self.sync(&temporary.file)?;
        self.workspace.before(self.path, WriteStep::Rename)?;
        fs::renameat(&folder, &temporary.name, &folder, name.as_os_str()).map_err(|e| match e {
            Errno::ISDIR | Errno::NOTEMPTY | Errno::EXIST => Retry::Again,
            other => raced(self.path, "write", other),
        })?;
        temporary.keep();
        Ok(())
    }

    fn create(&self, place: &Place, missing: &Missing) -> Result<(), Retry> {
        let Some((name, parents)) = missing.names.split_last().filter(|_| !missing.climbs) else {
            return Err(missing.error(self.path, place).into());
        };
        if missing.folder {
            let reason = "ends like the path of a folder; a file needs a name after the last slash.".to_owned();
            return Err(BoundaryError::Invalid { path: self.path.to_owned(), reason }.into());
        }
        let (folder, folders) = NewFolders::make(self.workspace, self.path, place, parents)?;
        let temporary = self.fill(&folder, NEW_FILE)?;
        self.sync(&temporary.file)?;
        self.workspace.before(self.path, WriteStep::Rename)?;
        publish(&folder, &temporary.name, name).map_err(|e| match e {
            Errno::EXIST => Retry::Again,
            other => raced(self.path, "write", other),
        })?;
        temporary.keep();
        folders.keep();
        Ok(())
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
        let mode = Mode::from_raw_mode(old.st_mode & KEPT_MODE);
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
fn publish(folder: &OwnedFd, temporary: &OsStr, name: &OsStr) -> Result<(), Errno> {
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

/// A file that is removed unless it is kept.
struct Temporary<'f> {
    folder: BorrowedFd<'f>,
    name: OsString,
    file: File,
    kept: bool,
}

impl<'f> Temporary<'f> {
    fn make(folder: BorrowedFd<'f>, mode: Mode) -> Result<Self, Errno> {
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let mut last = Errno::EXIST;
        for _ in 0..NAME_ATTEMPTS {
            // Freshly keyed each time by the system's randomness; the name is never shown to anyone.
            let random = RandomState::new().build_hasher().finish();
            let name = OsString::from(format!(".slot-{random:016x}.tmp"));
            match fs::openat(folder, &name, flags, mode) {
                Ok(handle) => return Ok(Temporary { folder, name, file: File::from(handle), kept: false }),
                Err(Errno::EXIST) => last = Errno::EXIST,
                Err(other) => return Err(other),
            }
        }
        Err(last)
    }

    fn keep(mut self) {
        self.kept = true;
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

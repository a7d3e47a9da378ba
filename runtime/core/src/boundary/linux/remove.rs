//! A folder emptied by handles: nothing in it is followed, and however deep it is, little is open at once and no call waits
//! for another, since a stack has an end.

use rustix::{
    fs::{self, AtFlags, Dir, FileType, Mode, OFlags, RenameFlags},
    io::Errno,
};
use std::{
    ffi::{CStr, CString},
    os::fd::OwnedFd,
};

/// How many folders are open at once. What lies deeper is put into the uppermost first.
const MOST_OPEN: usize = 64;

/// A folder that is being emptied.
struct Level {
    handle: OwnedFd,
    /// Its name in the one above.
    name: CString,
    /// The folders that are left in it.
    folders: Vec<CString>,
}

/// Removes the folder `name` of `above` with all that is in it.
pub(super) fn remove(above: &OwnedFd, name: &CStr) -> Result<(), Errno> {
    let mut levels = vec![Level::of(above, name.to_owned())?];
    let mut lifted = 0_u64;
    while let Some(level) = levels.last_mut() {
        let Some(name) = level.folders.pop() else {
            let Some(Level { name, .. }) = levels.pop() else { break };
            let outer = levels.last().map_or(above, |level| &level.handle);
            fs::unlinkat(outer, &name, AtFlags::REMOVEDIR)?;
            continue;
        };
        if levels.len() < MOST_OPEN {
            let level = &levels[levels.len() - 1];
            levels.push(Level::of(&level.handle, name)?);
        } else {
            let new = lift(&levels[levels.len() - 1].handle, &name, &levels[0].handle, &mut lifted)?;
            levels[0].folders.push(new);
        }
    }
    Ok(())
}

/// Puts a folder into another one, under a name that nothing has there.
fn lift(from: &OwnedFd, name: &CStr, to: &OwnedFd, lifted: &mut u64) -> Result<CString, Errno> {
    loop {
        *lifted += 1;
        let new = CString::new(format!("removed-{lifted}")).map_err(|_| Errno::INVAL)?;
        match fs::renameat_with(from, name, to, &new, RenameFlags::NOREPLACE) {
            Err(Errno::EXIST) => {}
            moved => return moved.map(|()| new),
        }
    }
}

impl Level {
    /// Opens a folder and removes what is no folder in it.
    fn of(above: &OwnedFd, name: CString) -> Result<Level, Errno> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let handle = fs::openat(above, &name, flags, Mode::empty())?;
        let (mut folders, mut others) = (Vec::new(), Vec::new());
        for entry in Dir::read_from(&handle)? {
            let entry = entry?;
            let kind = match entry.file_type() {
                FileType::Unknown => kind(&handle, entry.file_name())?,
                known => known,
            };
            match entry.file_name().to_bytes() {
                b"." | b".." => {}
                _ if kind == FileType::Directory => folders.push(entry.file_name().to_owned()),
                _ => others.push(entry.file_name().to_owned()),
            }
        }
        for other in others {
            fs::unlinkat(&handle, &other, AtFlags::empty())?;
        }
        Ok(Level { handle, name, folders })
    }
}

fn kind(folder: &OwnedFd, name: &CStr) -> Result<FileType, Errno> {
    fs::statat(folder, name, AtFlags::SYMLINK_NOFOLLOW).map(|stat| FileType::from_raw_mode(stat.st_mode))
}

//! The file boundary: the only way from a path a model wrote to a file.
//!
//! A [`Workspace`] is a handle on open directories: the workspace itself, and the roots its user trusts besides. Every
//! operation takes the text of a path as the model wrote it, resolves it under one of those handles, and gives back
//! something open; nobody outside ever holds a checked path that could mean another file a moment later.
//!
//! The rules, which hold for every operation:
//!
//! - A path is relative to the workspace, or absolute; an absolute one loses the prefix of the root it lies under and
//!   is refused when it lies under none. `~`, `$VAR`, `%2e` and `\` are ordinary characters;
//!   but no folder is made at the top that is called like the first two.
//! - `..` goes to the folder that holds the folder reached so far, as the kernel does it. It is never taken from the
//!   text, so `absent/../x` is not found; above a root it is an escape.
//! - A symbolic link that ends inside a root works, whether its target is written relative or absolute, and also when
//!   it is written through; every other link is an escape, a dangling one included. Links of `/proc` that are not
//!   text, such as `/proc/self/root`, are never followed as what they are.
//! - Only regular files are opened. A pipe, socket or device is refused without opening it, so nothing blocks.
//! - On Linux, the file is opened by `openat2` relative to the root's handle with `RESOLVE_BENEATH`,
//!   `RESOLVE_NO_SYMLINKS` and `RESOLVE_NO_MAGICLINKS`; where that call is missing, by a walk that opens one component
//!   at a time and never follows a link. Elsewhere the `cap-std` crate resolves.
//! - A write is a new file in the same folder, renamed over the old one: complete or not there at all. Nothing is
//!   written at or below `.git` and the runtime's own configuration, in whatever spelling, nor where its host keeps what
//!   it believes ([`Workspace::with_protected`]), whoever trusts the folder around it.
//!
//! Not owned here: hard links. A hard link is a second name for the same file, and no resolution can tell which name
//! came first. Reading through one works; a write replaces the name inside the workspace and leaves the other one with
//! its old content. Nor is what somebody does who may rename folders by other means: a folder that is called `.git` only
//! after a file was written into it was written into as what it was. What a person is asked before a write is not owned
//! here either.

mod error;
mod gate;
mod path;
mod protected;
mod tree;
mod trust;

#[cfg(target_os = "linux")]
mod linux;
// Built for tests on Linux too, where it is held against the other one.
#[cfg(any(not(target_os = "linux"), test))]
mod portable;

#[cfg(test)]
#[cfg(target_os = "linux")]
mod tests;

pub use error::BoundaryError;
pub use gate::{ChangeGate, Pending};
#[cfg(target_os = "linux")]
pub use linux::{Branch, Tree, Workspace};
#[cfg(not(target_os = "linux"))]
pub use portable::{Branch, Tree, Workspace};
pub use tree::TreeFilter;
pub use trust::{TrustFileError, TrustedRoots};

use std::{
    ffi::OsString,
    fs::File,
    io,
    path::{Path, PathBuf},
    sync::Arc,
    time::SystemTime,
};

/// What tools hold of the boundary: its operations, and nothing of how they are kept safe.
///
/// Every `path` is the text that a model wrote. Every path in an answer is fully resolved: relative to the workspace,
/// or absolute when it lies under another trusted root. All operations block and none of them waits for another
/// process, so they are short on a healthy disk.
pub trait FileBoundary: Send + Sync {
    /// Opens a regular file for reading, without blocking on anything that is not one.
    fn open_file(&self, path: &str) -> Result<OpenFile, BoundaryError>;

    /// Opens a folder, to start a process in.
    fn open_dir(&self, path: &str) -> Result<OpenDir, BoundaryError>;

    /// What is known of a file, folder or whatever else the path names; links are followed.
    fn metadata(&self, path: &str) -> Result<Metadata, BoundaryError>;

    /// The first `limit` entries of a folder by the bytes of their names, and the exact number of all. Memory is
    /// bounded by `limit`, however large the folder.
    fn list_dir(&self, path: &str, limit: usize) -> Result<Listing, BoundaryError> {
        self.list_dir_until(path, limit, &|| false)
    }

    /// The same, until `stop` says that nobody waits for it any more, which is asked before each name. It is an error then
    /// that was interrupted.
    fn list_dir_until(&self, path: &str, limit: usize, stop: &dyn Fn() -> bool) -> Result<Listing, BoundaryError>;

    /// The folder `path` names with all that lies below it, to be walked.
    fn tree(&self, path: &str) -> Result<Tree, BoundaryError>;

    /// Replaces or creates a regular file in one step, and with it the folders that are missing on the way. After an
    /// error the file is as it was, and no folder or temporary file is left behind.
    fn write_atomic(&self, path: &str, bytes: &[u8], mode: WriteMode) -> Result<Written, BoundaryError> {
        let written =
            self.change_all(&[Change::Write { path, bytes, mode, like: None, permissions: Permissions::Kept }])?;
        written.into_iter().next().ok_or_else(|| BoundaryError::Unstable { path: path.to_owned() })
    }

    /// Makes changes in order, all of them or none: after an error every file is as it was, and nothing is left behind.
    /// What is to be taken back and cannot be is told by [`BoundaryError::Torn`].
    fn change_all(&self, changes: &[Change<'_>]) -> Result<Vec<Written>, BoundaryError> {
        self.change_gated(changes, None)
    }

    /// Makes changes as [`FileBoundary::change_all`] does, each only if the gate admits it right before it is made.
    fn change_gated(
        &self,
        changes: &[Change<'_>],
        gate: Option<&dyn ChangeGate>,
    ) -> Result<Vec<Written>, BoundaryError>;

    /// Creates a folder and every missing one above it; fine if it exists already. Returns its resolved path.
    fn create_dirs(&self, path: &str) -> Result<PathBuf, BoundaryError>;

    /// The same boundary with a folder of the workspace in place of the workspace: paths are relative to it, and nothing
    /// around it can be reached any more, by whatever path or link. What is protected stays so. The trusted roots stay too,
    /// but for those that hold the workspace or lie in it.
    fn narrowed(&self, path: &str) -> Result<Narrowed, BoundaryError>;

    /// The same boundary, which may also write at and below `.git`. It is for tools whose business the repository is, and
    /// which make up the paths themselves: no text of a model belongs into a path of it.
    fn administering(&self) -> Arc<dyn FileBoundary>;

    /// Removes a folder of the workspace and all that is in it; links in it are removed, and never followed. The folder is
    /// given by its own relative path: one that a link leads to is refused. Whether it may be removed is asked of it alone:
    /// what is protected further down goes with it. It is no single step: after an error, part of it may be gone.
    fn remove_tree(&self, path: &str) -> Result<(), BoundaryError>;
}

/// A regular file, open for reading.
#[derive(Debug)]
pub struct OpenFile {
    /// The open file, at its start.
    pub file: File,
    /// Where it was found.
    pub path: PathBuf,
    /// Its size in bytes when it was opened.
    pub len: u64,
}

/// A folder, open.
#[derive(Debug)]
pub struct OpenDir {
    /// Where it was found.
    pub path: PathBuf,
    /// The same place as an absolute path, to be shown; by the time it is read it may mean another folder.
    pub absolute: PathBuf,
    #[cfg(target_os = "linux")]
    pub(crate) handle: std::os::fd::OwnedFd,
}

impl OpenDir {
    /// A path to give to a child process as its working folder. It names the open handle, not the text it was found
    /// under, as long as `self` lives in this process; where the system has no such path it is the absolute one.
    pub fn spawn_path(&self) -> PathBuf {
        #[cfg(target_os = "linux")]
        {
            use std::os::fd::AsRawFd;
            let by_handle = PathBuf::from(format!("/proc/self/fd/{}", self.handle.as_raw_fd()));
            if by_handle.exists() {
                return by_handle;
            }
        }
        self.absolute.clone()
    }
}

/// A boundary whose workspace is a folder of another one's.
#[derive(Clone)]
pub struct Narrowed {
    /// The boundary.
    pub files: Arc<dyn FileBoundary>,
    /// Where the folder was found, from the workspace of the other one.
    pub path: PathBuf,
}

/// What kind of thing a name stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum EntryKind {
    /// A regular file.
    File,
    /// A folder.
    Directory,
    /// A symbolic link; only in listings, since everything else follows links.
    Symlink,
    /// A named pipe.
    Fifo,
    /// A socket.
    Socket,
    /// A device.
    Device,
    /// Something this system does not name.
    Unknown,
}

impl EntryKind {
    /// The kind with its article, as in "it is a named pipe".
    pub fn described(self) -> &'static str {
        match self {
            EntryKind::File => "a file",
            EntryKind::Directory => "a folder",
            EntryKind::Symlink => "a symbolic link",
            EntryKind::Fifo => "a named pipe",
            EntryKind::Socket => "a socket",
            EntryKind::Device => "a device",
            EntryKind::Unknown => "neither a file nor a folder",
        }
    }
}

/// One name in a folder.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DirEntry {
    /// The name; any bytes but `/` and NUL.
    pub name: OsString,
    /// What it stands for; a link is a link here, wherever it leads.
    pub kind: EntryKind,
    /// The text of a link.
    pub link_target: Option<PathBuf>,
}

/// The names in a folder.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Listing {
    /// Where the folder was found.
    pub path: PathBuf,
    /// The first names, ordered by their bytes.
    pub entries: Vec<DirEntry>,
    /// How many names there are in all.
    pub total: usize,
}

/// What is known of a file or folder.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Metadata {
    /// Where it was found.
    pub path: PathBuf,
    /// What it is.
    pub kind: EntryKind,
    /// Size in bytes.
    pub len: u64,
    /// When its content last changed, as the file system says.
    pub modified: Option<SystemTime>,
    /// How many names it has.
    pub links: u64,
}

/// What a write may do to what is there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WriteMode {
    /// Only create: an existing file is an error.
    Create,
    /// Create or replace. A replaced file keeps its permissions and its owner.
    Overwrite,
}

/// One of several changes that are made together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Change<'a> {
    /// A regular file is replaced or created.
    Write {
        /// Which one.
        path: &'a str,
        /// What it holds.
        bytes: &'a [u8],
        /// What may be there.
        mode: WriteMode,
        /// The file that it was moved from, as it is before any of the changes: a new one gets its permissions, in place
        /// of those that the process gives, and a gate is shown it.
        like: Option<&'a str>,
        /// What becomes of its permissions.
        permissions: Permissions,
    },
    /// A regular file is removed; a link is followed to what it names, and stays.
    Remove {
        /// Which one.
        path: &'a str,
    },
}

/// What becomes of the permissions of a file that is written. The bits that let a program run as its
/// owner or its group are never set.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Permissions {
    /// They are those of the file that is replaced; those of a new one are what its change says.
    Kept,
    /// Besides, whoever may read it may run it, or nobody may.
    Executable(bool),
    /// They are these bits.
    Exactly(u32),
}

impl Permissions {
    /// The bits, where they would be `bits` without this.
    fn of(self, bits: u32) -> u32 {
        match self {
            Permissions::Kept => bits,
            Permissions::Executable(true) => bits | ((bits & 0o444) >> 2),
            Permissions::Executable(false) => bits & !0o111,
            Permissions::Exactly(bits) => bits,
        }
    }
}

/// What a write did.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Written {
    /// Where the content is now.
    pub path: PathBuf,
    /// Whether the file is new.
    pub created: bool,
}

/// The steps of a write, in order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WriteStep {
    /// A missing folder is about to be made.
    MakeFolder,
    /// The temporary file is about to be made.
    MakeTemporary,
    /// The content is about to be written to it.
    WriteContent,
    /// It is about to get the owner and the permissions of the file it replaces.
    KeepOwnerAndMode,
    /// It is about to be forced to the disk.
    Sync,
    /// What it replaces is about to get a second name, so that it can be brought back.
    KeepOld,
    /// It is about to get its name.
    Rename,
    /// A file is about to lose its name.
    Remove,
}

/// Asked before each step of a write; an error is treated as if the step had failed with it. This is how a test lets a
/// disk be full at an exact place.
pub type StepGate = Arc<dyn Fn(WriteStep) -> io::Result<()> + Send + Sync>;

/// The operations of a workspace are those of the boundary.
macro_rules! file_boundary {
    ($workspace:ty, $tree:expr) => {
        impl FileBoundary for $workspace {
            fn open_file(&self, path: &str) -> Result<OpenFile, BoundaryError> {
                <$workspace>::open_file(self, path)
            }

            fn open_dir(&self, path: &str) -> Result<OpenDir, BoundaryError> {
                <$workspace>::open_dir(self, path)
            }

            fn metadata(&self, path: &str) -> Result<Metadata, BoundaryError> {
                <$workspace>::metadata(self, path)
            }

            fn list_dir_until(
                &self,
                path: &str,
                limit: usize,
                stop: &dyn Fn() -> bool,
            ) -> Result<Listing, BoundaryError> {
                <$workspace>::list_dir_until(self, path, limit, stop)
            }

            fn tree(&self, path: &str) -> Result<Tree, BoundaryError> {
                $tree(self, path)
            }

            fn write_atomic(&self, path: &str, bytes: &[u8], mode: WriteMode) -> Result<Written, BoundaryError> {
                <$workspace>::write_atomic(self, path, bytes, mode)
            }

            fn change_all(&self, changes: &[Change<'_>]) -> Result<Vec<Written>, BoundaryError> {
                <$workspace>::change_all(self, changes)
            }

            fn change_gated(
                &self,
                changes: &[Change<'_>],
                gate: Option<&dyn ChangeGate>,
            ) -> Result<Vec<Written>, BoundaryError> {
                <$workspace>::change_gated(self, changes, gate)
            }

            fn create_dirs(&self, path: &str) -> Result<PathBuf, BoundaryError> {
                <$workspace>::create_dirs(self, path)
            }

            fn narrowed(&self, path: &str) -> Result<Narrowed, BoundaryError> {
                let (files, path) = <$workspace>::narrowed(self, path)?;
                Ok(Narrowed { files: Arc::new(files), path })
            }

            fn administering(&self) -> Arc<dyn FileBoundary> {
                Arc::new(<$workspace>::administering(self))
            }

            fn remove_tree(&self, path: &str) -> Result<(), BoundaryError> {
                <$workspace>::remove_tree(self, path)
            }
        }
    };
}

file_boundary!(Workspace, Workspace::tree);
// Its trees are of a type of their own; they are tested as what they are.
#[cfg(all(target_os = "linux", test))]
file_boundary!(portable::Workspace, |_, path: &str| Err(tree::invalid(path, "is walked by its own type here.")));

/// Whether nothing may be written at or below a path, as far as its own names tell; a link may lead to such a place all the
/// same.
pub fn is_protected(path: &Path) -> bool {
    protected::is_protected(path.components().map(|part| part.as_os_str().to_owned()).collect::<Vec<_>>().iter())
}

/// A resolved path as it is shown: the root of the workspace is `.`.
fn shown_path(path: &Path) -> PathBuf {
    if path.as_os_str().is_empty() { PathBuf::from(".") } else { path.to_path_buf() }
}

//! [`Workspace`] on Linux: handles on the roots, and the operations that only look.
//!
//! An operation walks first ([`walk`]), which finds out what the path means without opening anything, and then opens
//! what it found by its resolved names in one call in which the kernel follows no link ([`Root::open_beneath`]). When
//! somebody changed the path between the two, that call fails, and the operation starts again.

mod judged;
mod narrow;
mod remove;
mod together;
mod tree;
mod walk;
mod write;

use super::{
    BoundaryError, DirEntry, EntryKind, Listing, Metadata, OpenDir, OpenFile, StepGate, path::names_of,
    protected::Places, shown_path,
};
use rustix::{
    fs::{self, AtFlags, CWD, Dir, FileType, Mode, OFlags, ResolveFlags, Stat},
    io::Errno,
};
use std::{
    collections::BinaryHeap,
    ffi::{OsStr, OsString},
    fmt,
    fs::File,
    io,
    os::{
        fd::{AsFd, BorrowedFd, OwnedFd},
        unix::ffi::{OsStrExt, OsStringExt},
    },
    path::{Path, PathBuf},
    sync::Arc,
    time::{Duration, SystemTime},
};
pub use tree::{Branch, Tree};
use walk::{Found, Place};

/// How often an operation starts again because the path changed under it. A thread that does nothing but swap two
/// names wins a single round less than half of the time.
const ATTEMPTS: usize = 64;

/// How a final path is opened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kernel {
    /// By one `openat2`, in which the kernel refuses links and escapes.
    Openat2,
    /// By one `openat` for each name, none of which follows a link.
    Components,
}

/// A handle on the folders whose files may be used. Cheap to clone.
#[derive(Clone)]
pub struct Workspace {
    roots: Arc<Vec<Root>>,
    protected: Places,
    gate: Option<StepGate>,
    #[cfg(test)]
    rival: Option<Rival>,
}

/// In tests, somebody who changes the path at the worst moment: told `true` after each walk, `false` before it.
#[cfg(test)]
type Rival = Arc<dyn Fn(bool) + Send + Sync>;

/// One folder under which files may be used.
struct Root {
    handle: OwnedFd,
    /// Its absolute path with every link resolved.
    path: PathBuf,
    /// The absolute paths, as names, by which it is known: the resolved one, and the one it was opened by.
    spellings: Vec<Vec<OsString>>,
    kernel: Kernel,
}

impl fmt::Debug for Workspace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.roots.iter().map(|root| &root.path)).finish()
    }
}

impl Workspace {
    /// A handle on the folder at `root`, which the user chose; links in `root` itself are followed.
    pub fn open(root: &Path) -> Result<Workspace, BoundaryError> {
        Ok(Workspace {
            roots: Arc::new(vec![Root::open(root)?]),
            protected: Places::default(),
            gate: None,
            #[cfg(test)]
            rival: None,
        })
    }

    /// The same handle with one more root, which the user trusts: absolute paths and links may lead into it too.
    pub fn with_trusted_root(&self, root: &Path) -> Result<Workspace, BoundaryError> {
        let mut roots = Vec::with_capacity(self.roots.len() + 1);
        for known in self.roots.iter() {
            roots.push(known.duplicate()?);
        }
        roots.push(Root::open(root)?);
        Ok(Workspace { roots: Arc::new(roots), ..self.clone() })
    }

    /// The same handle, under which nothing is written at or below `place`, a file or folder that need not exist yet: the
    /// state of the host, which no root may open to the model.
    pub fn with_protected(&self, place: &Path) -> Result<Workspace, BoundaryError> {
        let failed = |e| BoundaryError::from_io(&place.to_string_lossy(), "protect", e);
        Ok(Workspace { protected: self.protected.with(place).map_err(failed)?, ..self.clone() })
    }

    /// The same handle, with `gate` asked before each step of a write.
    #[must_use]
    pub fn with_step_gate(&self, gate: StepGate) -> Workspace {
        Workspace { gate: Some(gate), ..self.clone() }
    }

    /// The absolute path of the workspace folder, links resolved.
    pub fn root(&self) -> &Path {
        &self.workspace().path
    }

    fn workspace(&self) -> &Root {
        &self.roots[0]
    }

    /// The same roots, opened as if the kernel had no `openat2`.
    #[cfg(any(test, feature = "fuzzing"))]
    #[expect(clippy::expect_used, reason = "a handle that cannot be duplicated fails the test")]
    pub(crate) fn without_openat2(mut self) -> Workspace {
        let roots = self.roots.iter().map(|root| {
            let mut root = root.duplicate().expect("a handle can be duplicated");
            root.kernel = Kernel::Components;
            root
        });
        self.roots = Arc::new(roots.collect());
        self
    }

    #[cfg(test)]
    pub(super) fn with_rival(&self, rival: Rival) -> Workspace {
        Workspace { rival: Some(rival), ..self.clone() }
    }

    #[cfg(test)]
    fn let_rival_act(&self, walked: bool) {
        if let Some(rival) = &self.rival {
            rival(walked);
        }
    }

    /// Opens a regular file for reading. See [`super::FileBoundary::open_file`].
    pub fn open_file(&self, path: &str) -> Result<OpenFile, BoundaryError> {
        self.attempt(path, |place| {
            let stat = match &place.found {
                Found::Other(stat) => stat,
                Found::Directory => return Err(Retry::not_a_file(path, EntryKind::Directory)),
                Found::Missing(missing) => return Err(missing.error(path, &place).into()),
            };
            require_regular(path, stat)?;
            let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOCTTY;
            let handle = self.open_place(path, &place, flags, "open")?;
            // What is open is judged again: only this answer cannot be out of date.
            let stat = fs::fstat(&handle).map_err(|e| failed(path, "open", e))?;
            require_regular(path, &stat)?;
            Ok(OpenFile { file: File::from(handle), path: self.shown(&place), len: length(&stat) })
        })
    }

    /// Opens a folder. See [`super::FileBoundary::open_dir`].
    pub fn open_dir(&self, path: &str) -> Result<OpenDir, BoundaryError> {
        self.attempt(path, |place| {
            self.require_directory(path, &place)?;
            let handle = self.open_place(path, &place, OFlags::PATH | OFlags::DIRECTORY, "open")?;
            Ok(OpenDir { path: shown_path(&self.shown(&place)), absolute: self.absolute(&place), handle })
        })
    }

    /// What is known of a file or folder. See [`super::FileBoundary::metadata`].
    pub fn metadata(&self, path: &str) -> Result<Metadata, BoundaryError> {
        self.attempt(path, |place| {
            if let Found::Missing(missing) = &place.found {
                return Err(missing.error(path, &place).into());
            }
            let handle = self.open_place(path, &place, OFlags::PATH, "look at")?;
            let stat = fs::fstat(&handle).map_err(|e| failed(path, "look at", e))?;
            if kind_of(&stat) == EntryKind::Symlink {
                return Err(Retry::Again);
            }
            Ok(Metadata {
                path: shown_path(&self.shown(&place)),
                kind: kind_of(&stat),
                len: length(&stat),
                modified: modified(&stat),
                #[allow(clippy::useless_conversion, reason = "the width differs between processors")]
                links: u64::from(stat.st_nlink),
            })
        })
    }

    /// Lists a folder. See [`super::FileBoundary::list_dir`].
    pub fn list_dir(&self, path: &str, limit: usize) -> Result<Listing, BoundaryError> {
        self.list_dir_until(path, limit, &|| false)
    }

    /// Lists a folder until nobody waits for it. See [`crate::boundary::FileBoundary::list_dir_until`].
    pub fn list_dir_until(&self, path: &str, limit: usize, stop: &dyn Fn() -> bool) -> Result<Listing, BoundaryError> {
        self.attempt(path, |place| {
            self.require_directory(path, &place)?;
            let handle = self.open_place(path, &place, OFlags::RDONLY | OFlags::DIRECTORY, "list")?;
            let (names, total) = first_names(&handle, limit, stop).map_err(|e| failed(path, "list", e))?;
            let mut entries = Vec::with_capacity(names.len());
            for (name, kind) in names {
                if stop() {
                    return Err(failed(path, "list", Errno::INTR));
                }
                // A name that vanished since keeps the kind it was read with.
                let kind = match kind {
                    FileType::Unknown => fs::statat(&handle, &name, AtFlags::SYMLINK_NOFOLLOW)
                        .map_or(EntryKind::Unknown, |stat| kind_of(&stat)),
                    known => kind_from(known),
                };
                let link_target = (kind == EntryKind::Symlink)
                    .then(|| fs::readlinkat(&handle, &name, Vec::new()).ok())
                    .flatten()
                    .map(|target| PathBuf::from(OsString::from_vec(target.into_bytes())));
                entries.push(DirEntry { name, kind, link_target });
            }
            Ok(Listing { path: shown_path(&self.shown(&place)), entries, total })
        })
    }

    /// Walks, then does `act` with what was found; starts again as long as somebody changes the path meanwhile.
    fn attempt<T>(&self, path: &str, mut act: impl FnMut(Place) -> Result<T, Retry>) -> Result<T, BoundaryError> {
        for _ in 0..ATTEMPTS {
            #[cfg(test)]
            self.let_rival_act(false);
            let place = walk::walk(&self.roots, path);
            #[cfg(test)]
            self.let_rival_act(true);
            match place.and_then(&mut act) {
                Err(Retry::Again) => {}
                Err(Retry::Never(error)) => return Err(error),
                Ok(done) => return Ok(done),
            }
        }
        Err(BoundaryError::Unstable { path: path.to_owned() })
    }

    fn open_place(&self, path: &str, place: &Place, flags: OFlags, doing: &'static str) -> Result<OwnedFd, Retry> {
        self.roots[place.root].open_beneath(&place.names, flags).map_err(|e| raced(path, doing, e))
    }

    fn require_directory(&self, path: &str, place: &Place) -> Result<(), Retry> {
        match &place.found {
            Found::Directory => Ok(()),
            Found::Missing(missing) => Err(missing.error(path, place).into()),
            Found::Other(stat) => {
                Err(BoundaryError::NotADirectory { path: path.to_owned(), at: path.to_owned(), kind: kind_of(stat) }
                    .into())
            }
        }
    }

    /// The resolved path of a place as answers give it.
    fn shown(&self, place: &Place) -> PathBuf {
        let relative: PathBuf = place.names.iter().collect();
        if place.root == 0 { relative } else { self.roots[place.root].path.join(relative) }
    }

    fn absolute(&self, place: &Place) -> PathBuf {
        let mut path = self.roots[place.root].path.clone();
        path.extend(&place.names);
        path
    }
}

impl Root {
    fn open(root: &Path) -> Result<Root, BoundaryError> {
        let text = root.to_string_lossy();
        let path = std::fs::canonicalize(root).map_err(|e| BoundaryError::from_io(&text, "open the root", e))?;
        let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let handle = fs::openat(CWD, &path, flags, Mode::empty())
            .map_err(|e| BoundaryError::from_io(&text, "open the root", e.into()))?;
        let mut spellings = vec![names_of(&path)];
        let given = std::path::absolute(root).unwrap_or_else(|_| path.clone());
        let climbs = given.components().any(|part| part == std::path::Component::ParentDir);
        if !climbs && names_of(&given) != spellings[0] {
            spellings.push(names_of(&given));
        }
        let kernel = probe(handle.as_fd());
        Ok(Root { handle, path, spellings, kernel })
    }

    fn duplicate(&self) -> Result<Root, BoundaryError> {
        let handle = self
            .handle
            .try_clone()
            .map_err(|e| BoundaryError::from_io(&self.path.to_string_lossy(), "open the root", e))?;
        Ok(Root { handle, path: self.path.clone(), spellings: self.spellings.clone(), kernel: self.kernel })
    }

    /// Opens what the resolved `names` lead to, following no link on the way or at the end, and never leaving the root.
    fn open_beneath(&self, names: &[OsString], flags: OFlags) -> Result<OwnedFd, Errno> {
        let flags = flags | OFlags::CLOEXEC | OFlags::NOFOLLOW;
        let Some((last, parents)) = names.split_last() else {
            return fs::openat(&self.handle, c".", flags, Mode::empty());
        };
        if self.kernel == Kernel::Openat2 {
            let path: PathBuf = names.iter().collect();
            let resolve = ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS | ResolveFlags::NO_MAGICLINKS;
            return fs::openat2(&self.handle, path.as_path(), flags, Mode::empty(), resolve);
        }
        let step = OFlags::PATH | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let mut folder: Option<OwnedFd> = None;
        for name in parents {
            let next = fs::openat(folder_or(&folder, &self.handle), name.as_os_str(), step, Mode::empty())?;
            folder = Some(next);
        }
        fs::openat(folder_or(&folder, &self.handle), last.as_os_str(), flags, Mode::empty())
    }
}

fn folder_or<'a>(folder: &'a Option<OwnedFd>, root: &'a OwnedFd) -> BorrowedFd<'a> {
    folder.as_ref().unwrap_or(root).as_fd()
}

/// Whether `openat2` can be used: it is missing before Linux 5.6, and some sandboxes forbid it.
fn probe(handle: BorrowedFd<'_>) -> Kernel {
    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
    match fs::openat2(handle, c".", flags, Mode::empty(), ResolveFlags::BENEATH) {
        Ok(_) => Kernel::Openat2,
        Err(_) => Kernel::Components,
    }
}

/// Why an attempt did not succeed.
#[derive(Debug)]
enum Retry {
    /// The path changed meanwhile.
    Again,
    /// It would not succeed the next time either.
    Never(BoundaryError),
}

impl From<BoundaryError> for Retry {
    fn from(error: BoundaryError) -> Self {
        Retry::Never(error)
    }
}

impl Retry {
    fn not_a_file(path: &str, kind: EntryKind) -> Retry {
        Retry::Never(BoundaryError::NotAFile { path: path.to_owned(), kind })
    }
}

/// An error of an open that a walk has just found possible: these mean that the path changed in between.
fn raced(path: &str, doing: &'static str, errno: Errno) -> Retry {
    match errno {
        Errno::LOOP | Errno::NOENT | Errno::NOTDIR | Errno::AGAIN | Errno::XDEV | Errno::NXIO | Errno::STALE => {
            Retry::Again
        }
        other => failed(path, doing, other),
    }
}

fn failed(path: &str, doing: &'static str, errno: Errno) -> Retry {
    Retry::Never(BoundaryError::from_io(path, doing, io::Error::from(errno)))
}

fn require_regular(path: &str, stat: &Stat) -> Result<(), Retry> {
    match kind_of(stat) {
        EntryKind::File => Ok(()),
        EntryKind::Symlink => Err(Retry::Again),
        other => Err(Retry::not_a_file(path, other)),
    }
}

fn kind_of(stat: &Stat) -> EntryKind {
    kind_from(FileType::from_raw_mode(stat.st_mode))
}

fn kind_from(kind: FileType) -> EntryKind {
    match kind {
        FileType::RegularFile => EntryKind::File,
        FileType::Directory => EntryKind::Directory,
        FileType::Symlink => EntryKind::Symlink,
        FileType::Fifo => EntryKind::Fifo,
        FileType::Socket => EntryKind::Socket,
        FileType::CharacterDevice | FileType::BlockDevice => EntryKind::Device,
        FileType::Unknown => EntryKind::Unknown,
    }
}

fn length(stat: &Stat) -> u64 {
    u64::try_from(stat.st_size).unwrap_or(0)
}

fn modified(stat: &Stat) -> Option<SystemTime> {
    let nanos = u32::try_from(stat.st_mtime_nsec).ok()?;
    match u64::try_from(stat.st_mtime) {
        Ok(seconds) => SystemTime::UNIX_EPOCH.checked_add(Duration::new(seconds, nanos)),
        Err(_) => SystemTime::UNIX_EPOCH
            .checked_sub(Duration::from_secs(stat.st_mtime.unsigned_abs()))?
            .checked_add(Duration::from_nanos(u64::from(nanos))),
    }
}

/// The first `limit` names of a folder by their bytes, and how many there are, in memory for `limit` names.
fn first_names(
    folder: &OwnedFd,
    limit: usize,
    stop: &dyn Fn() -> bool,
) -> Result<(Vec<(OsString, FileType)>, usize), Errno> {
    let mut kept: BinaryHeap<Name> = BinaryHeap::new();
    let mut total = 0;
    for entry in Dir::read_from(folder)? {
        if stop() {
            return Err(Errno::INTR);
        }
        let entry = entry?;
        let name = entry.file_name().to_bytes();
        if name == b"." || name == b".." {
            continue;
        }
        total += 1;
        let full = kept.len() == limit;
        if full && kept.peek().is_none_or(|largest| largest.0.as_bytes() <= name) {
            continue;
        }
        if full {
            kept.pop();
        }
        kept.push(Name(OsStr::from_bytes(name).to_owned(), entry.file_type()));
    }
    Ok((kept.into_sorted_vec().into_iter().map(|name| (name.0, name.1)).collect(), total))
}

/// A name with its kind, ordered by the name's bytes alone.
struct Name(OsString, FileType);

impl PartialEq for Name {
    fn eq(&self, other: &Self) -> bool {
        self.0 == other.0
    }
}

impl Eq for Name {}

impl PartialOrd for Name {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Name {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        self.0.as_bytes().cmp(other.0.as_bytes())
    }
}

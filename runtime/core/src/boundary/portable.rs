//! [`Workspace`] where there is no `openat2`: the `cap-std` crate resolves each path under the root's handle and
//! refuses what leads out.
//!
//! Four things are less than on Linux: a link whose target is written as an absolute path is refused even when it leads
//! inside, a write through a link that dangles is refused, folders made for a write that then failed stay, and a link that
//! is put in the place of a folder between the look and the use is followed as long as it stays inside.

mod tree;

use super::{
    BoundaryError, Change, ChangeGate, DirEntry, EntryKind, Listing, Metadata, OpenDir, OpenFile, Pending, StepGate,
    WriteMode, WriteStep, Written,
    path::{Part, is_shell_word, names_of, parse, strip_root},
    protected::Places,
    shown_path,
};
use cap_std::{
    ambient_authority,
    fs::{Dir, FileTypeExt, MetadataExt, OpenOptions, OpenOptionsExt, PermissionsExt},
};
use std::{
    collections::BTreeMap,
    ffi::OsString,
    fmt,
    fs::File,
    hash::{BuildHasher, Hasher, RandomState},
    io::{self, Write},
    path::{Component, Path, PathBuf},
    sync::Arc,
};

#[cfg(not(target_os = "linux"))]
pub use tree::{Branch, Tree};

/// The permissions a replaced file keeps. The set-user and set-group bits are dropped, as the system does on a write.
const KEPT_MODE: u32 = 0o1777;

/// A handle on the folders whose files may be used. Cheap to clone.
#[derive(Clone)]
pub struct Workspace {
    roots: Arc<Vec<Root>>,
    protected: Places,
    gate: Option<StepGate>,
}

struct Root {
    handle: Dir,
    path: PathBuf,
    spellings: Vec<Vec<OsString>>,
}

impl fmt::Debug for Workspace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.roots.iter().map(|root| &root.path)).finish()
    }
}

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

/// A path under one of the roots, not yet resolved.
struct Place<'a> {
    root: &'a Root,
    is_workspace: bool,
    relative: PathBuf,
    /// Whether the text asks for a folder.
    is_folder: bool,
    text: &'a str,
}

impl Workspace {
    /// A handle on the folder at `root`, which the user chose; links in `root` itself are followed.
    pub fn open(root: &Path) -> Result<Workspace, BoundaryError> {
        Ok(Workspace { roots: Arc::new(vec![Root::open(root)?]), protected: Places::default(), gate: None })
    }

    /// The same handle with one more root, which the user trusts: absolute paths may lead into it too.
    pub fn with_trusted_root(&self, root: &Path) -> Result<Workspace, BoundaryError> {
        let mut roots = Vec::with_capacity(self.roots.len() + 1);
        for known in self.roots.iter() {
            roots.push(known.duplicate()?);
        }
        roots.push(Root::open(root)?);
        Ok(Workspace { roots: Arc::new(roots), ..self.clone() })
    }

    /// The same handle, under which nothing is written at or below `place`. See the one of Linux.
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
        &self.roots[0].path
    }

    /// Opens a regular file for reading. See [`super::FileBoundary::open_file`].
    pub fn open_file(&self, path: &str) -> Result<OpenFile, BoundaryError> {
        let place = self.place(path)?;
        place.require_file("open")?;
        let mut options = OpenOptions::new();
        options.read(true).custom_flags(rustix::fs::OFlags::NONBLOCK.bits().cast_signed());
        let file = place.root.handle.open_with(&place.relative, &options).map_err(|e| place.error("open", e))?;
        let found = file.metadata().map_err(|e| place.error("open", e))?;
        if !found.is_file() {
            return Err(BoundaryError::NotAFile { path: path.to_owned(), kind: kind_of(found.file_type()) });
        }
        Ok(OpenFile { file: file.into_std(), path: place.resolved()?, len: found.len() })
    }

    /// Opens a folder. See [`super::FileBoundary::open_dir`].
    pub fn open_dir(&self, path: &str) -> Result<OpenDir, BoundaryError> {
        let place = self.place(path)?;
        let _folder = place.root.handle.open_dir(&place.relative).map_err(|e| place.error("open", e))?;
        let resolved = place.resolved()?;
        Ok(OpenDir {
            path: shown_path(&resolved),
            absolute: place.root.path.join(&resolved),
            #[cfg(target_os = "linux")]
            handle: _folder.into_std_file().into(),
        })
    }

    /// What is known of a file or folder. See [`super::FileBoundary::metadata`].
    pub fn metadata(&self, path: &str) -> Result<Metadata, BoundaryError> {
        let place = self.place(path)?;
        let found = place.root.handle.metadata(&place.relative).map_err(|e| place.error("look at", e))?;
        Ok(Metadata {
            path: shown_path(&place.resolved()?),
            kind: kind_of(found.file_type()),
            len: found.len(),
            modified: found.modified().ok().map(cap_std::time::SystemTime::into_std),
            links: found.nlink(),
        })
    }

    /// Lists a folder. See [`super::FileBoundary::list_dir`].
    pub fn list_dir(&self, path: &str, limit: usize) -> Result<Listing, BoundaryError> {
        self.list_dir_until(path, limit, &|| false)
    }

    /// Lists a folder until nobody waits for it. See [`super::FileBoundary::list_dir_until`].
    pub fn list_dir_until(&self, path: &str, limit: usize, stop: &dyn Fn() -> bool) -> Result<Listing, BoundaryError> {
        let place = self.place(path)?;
        let folder = place.root.handle.open_dir(&place.relative).map_err(|e| place.error("list", e))?;
        let (mut names, mut total) = (BTreeMap::new(), 0);
        for entry in folder.entries().map_err(|e| place.error("list", e))? {
            if stop() {
                return Err(place.error("list", io::ErrorKind::Interrupted.into()));
            }
            let entry = entry.map_err(|e| place.error("list", e))?;
            total += 1;
            names.insert(entry.file_name(), entry.file_type().map_or(EntryKind::Unknown, kind_of));
            if names.len() > limit {
                names.pop_last();
            }
        }
        let entries = names.into_iter().map(|(name, kind)| {
            let link_target = if kind == EntryKind::Symlink { folder.read_link_contents(&name).ok() } else { None };
            DirEntry { name, kind, link_target }
        });
        Ok(Listing { path: shown_path(&place.resolved()?), entries: entries.collect(), total })
    }

    /// Replaces or creates a file in one step. See [`super::FileBoundary::write_atomic`].
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

    /// Makes changes, all of them or none. See [`super::FileBoundary::change_all`].
    ///
    /// What a change replaces is held in memory until the last one is made.
    pub fn change_all(&self, changes: &[Change<'_>]) -> Result<Vec<Written>, BoundaryError> {
        self.change_gated(changes, None)
    }

    /// Makes changes that a gate admits. See [`super::FileBoundary::change_gated`].
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

    /// Creates a folder and what is missing above it. See [`super::FileBoundary::create_dirs`].
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
    fn require_writable(&self, place: &Place<'_>) -> Result<(), BoundaryError> {
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

    fn place<'a>(&'a self, text: &'a str) -> Result<Place<'a>, BoundaryError> {
        let parsed =
            parse(text.as_bytes()).map_err(|reason| BoundaryError::Invalid { path: text.to_owned(), reason })?;
        let (index, rest) = if parsed.absolute {
            let spellings = self
                .roots
                .iter()
                .enumerate()
                .flat_map(|(index, root)| root.spellings.iter().map(move |spelling| (index, spelling)));
            let (_, index, rest) = spellings
                .filter_map(|(index, spelling)| Some((spelling.len(), index, strip_root(&parsed.parts, spelling)?)))
                .max_by_key(|(length, index, _)| (*length, usize::MAX - *index))
                .ok_or_else(|| BoundaryError::Escape { path: text.to_owned(), via: None })?;
            (index, rest)
        } else {
            (0, parsed.parts.as_slice())
        };
        let mut relative = PathBuf::new();
        for part in rest {
            relative.push(match part {
                Part::Here => ".".as_ref(),
                Part::Up => "..".as_ref(),
                Part::Name(name) => name.as_os_str(),
            });
        }
        let relative = shown_path(&relative);
        let is_folder = rest.last() == Some(&Part::Here);
        Ok(Place { root: &self.roots[index], is_workspace: index == 0, relative, is_folder, text })
    }
}

impl Root {
    fn open(root: &Path) -> Result<Root, BoundaryError> {
        let text = root.to_string_lossy();
        let failed = |e| BoundaryError::from_io(&text, "open the root", e);
        let path = std::fs::canonicalize(root).map_err(failed)?;
        let handle = Dir::open_ambient_dir(&path, ambient_authority()).map_err(failed)?;
        let mut spellings = vec![names_of(&path)];
        let given = std::path::absolute(root).unwrap_or_else(|_| path.clone());
        let climbs = given.components().any(|part| part == std::path::Component::ParentDir);
        if !climbs && names_of(&given) != spellings[0] {
            spellings.push(names_of(&given));
        }
        Ok(Root { handle, path, spellings })
    }

    fn duplicate(&self) -> Result<Root, BoundaryError> {
        let failed = |e| BoundaryError::from_io(&self.path.to_string_lossy(), "open the root", e);
        let handle = self.handle.try_clone().map_err(failed)?;
        Ok(Root { handle, path: self.path.clone(), spellings: self.spellings.clone() })
    }
}

impl Place<'_> {
    fn require_file(&self, doing: &'static str) -> Result<(), BoundaryError> {
        let found = self.root.handle.metadata(&self.relative).map_err(|e| self.error(doing, e))?;
        if found.is_file() {
            return Ok(());
        }
        Err(BoundaryError::NotAFile { path: self.text.to_owned(), kind: kind_of(found.file_type()) })
    }

    /// The path with its links resolved, under its root.
    fn canonical(&self) -> Result<PathBuf, BoundaryError> {
        self.root.handle.canonicalize(&self.relative).map_err(|e| self.error("resolve", e))
    }

    /// The path of a file that is not there yet, as far as it exists without links: a link that dangles is not written
    /// through, and nothing goes up again behind what is missing.
    fn to_create(&self) -> Result<PathBuf, BoundaryError> {
        if self.root.handle.symlink_metadata(&self.relative).is_ok() {
            return Err(self.not_found());
        }
        if self.is_folder {
            return Err(BoundaryError::ends_like_a_folder(self.text));
        }
        let Some(name) = self.relative.file_name() else { return Err(self.not_found()) };
        let parent = self.relative.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
        match self.root.handle.canonicalize(parent) {
            Ok(folder) => Ok(if folder == Path::new(".") { PathBuf::from(name) } else { folder.join(name) }),
            Err(e) if e.kind() == io::ErrorKind::NotFound && !self.means_nothing() => Ok(self.relative.clone()),
            Err(e) => Err(self.error("write", e)),
        }
    }

    /// Whether no folder is made on the way: the path goes up somewhere, or begins with a name that nobody means.
    fn means_nothing(&self) -> bool {
        let mut parts = self.relative.components();
        parts.any(|part| part == Component::ParentDir) || self.relative.iter().next().is_some_and(is_shell_word)
    }

    /// The path with its links resolved, as answers give it.
    fn resolved(&self) -> Result<PathBuf, BoundaryError> {
        let relative = self.canonical()?;
        Ok(if self.is_workspace { relative } else { self.root.path.join(relative) })
    }

    fn not_found(&self) -> BoundaryError {
        let missing = self.relative.to_string_lossy().into_owned();
        BoundaryError::NotFound { path: self.text.to_owned(), missing }
    }

    /// An error of `cap-std`, which reports an escape as a refused permission without a number of the system.
    fn error(&self, doing: &'static str, error: io::Error) -> BoundaryError {
        let path = self.text.to_owned();
        match error.kind() {
            io::ErrorKind::NotFound => self.not_found(),
            io::ErrorKind::NotADirectory => {
                BoundaryError::NotADirectory { path, at: self.text.to_owned(), kind: EntryKind::File }
            }
            io::ErrorKind::PermissionDenied if error.raw_os_error().is_none() => {
                BoundaryError::Escape { path, via: None }
            }
            _ => BoundaryError::from_io(self.text, doing, error),
        }
    }
}

fn mode_of(path: &str, file: &File) -> Result<u32, BoundaryError> {
    let found = file.metadata().map_err(|e| BoundaryError::from_io(path, "look at", e))?;
    Ok(std::os::unix::fs::PermissionsExt::mode(&found.permissions()))
}

fn kind_of(kind: cap_std::fs::FileType) -> EntryKind {
    if kind.is_file() {
        EntryKind::File
    } else if kind.is_dir() {
        EntryKind::Directory
    } else if kind.is_symlink() {
        EntryKind::Symlink
    } else if kind.is_fifo() {
        EntryKind::Fifo
    } else if kind.is_socket() {
        EntryKind::Socket
    } else if kind.is_block_device() || kind.is_char_device() {
        EntryKind::Device
    } else {
        EntryKind::Unknown
    }
}

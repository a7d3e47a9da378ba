//! [`Workspace`] where there is no `openat2`: the `cap-std` crate resolves each path under the root's handle and
//! refuses what leads out.
//!
//! Four things are less than on Linux: a link whose target is written as an absolute path is refused even when it leads
//! inside, a write through a link that dangles is refused, folders made for a write that then failed stay, and a link that
//! is put in the place of a folder between the look and the use is followed as long as it stays inside.

mod tree;
mod write;

use super::{
    BoundaryError, DirEntry, EntryKind, Listing, Metadata, OpenDir, OpenFile, StepGate,
    path::{Part, is_shell_word, names_of, parse, strip_root},
    protected::Places,
    shown_path,
};
use cap_std::{
    ambient_authority,
    fs::{Dir, FileTypeExt, MetadataExt, OpenOptions, OpenOptionsExt},
};
use std::{
    collections::BTreeMap,
    ffi::OsString,
    fmt, io,
    path::{Component, Path, PathBuf},
    sync::Arc,
};

#[cfg(not(target_os = "linux"))]
pub use tree::{Branch, Tree};

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

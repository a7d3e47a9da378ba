//! [`Workspace`] where there is no `openat2`: the `cap-std` crate resolves each path under the root's handle and
//! refuses what leads out.
//!
//! Five things are less than on Linux: a link whose target is written as an absolute path is refused even when it leads
//! inside, a write through a link that dangles is refused, folders made for a write that then failed stay, a folder with too
//! many in one another is not removed, and a link that is put in the place of a folder between the look and the use is
//! followed as long as it stays inside.

mod place;
mod tree;
mod write;

use super::{
    BoundaryError, DirEntry, EntryKind, Listing, Metadata, OpenDir, OpenFile, StepGate,
    path::{MAX_COMPONENTS, NOT_PLAIN, Part, is_plainly, names_of, parse, strip_root},
    protected::Places,
    shown_path,
};
use cap_std::fs::{MetadataExt, OpenOptions, OpenOptionsExt};
use place::{Place, Root, kind_of};
use std::{
    collections::BTreeMap,
    ffi::OsString,
    fmt, io,
    path::{Path, PathBuf},
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

impl fmt::Debug for Workspace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.roots.iter().map(|root| &root.path)).finish()
    }
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

    /// The workspace that a folder of this one is. See [`super::FileBoundary::narrowed`].
    pub fn narrowed(&self, path: &str) -> Result<(Workspace, PathBuf), BoundaryError> {
        let place = self.place(path)?;
        if !place.is_workspace {
            return Err(BoundaryError::Escape { path: path.to_owned(), via: None });
        }
        self.require_writable(&place)?;
        let handle = place.root.handle.open_dir(&place.relative).map_err(|e| place.error("open", e))?;
        let names = place.resolved()?;
        let inner: Vec<OsString> = names_of(&names);
        let spellings = place.root.spellings.iter().map(|outer| [outer.as_slice(), &inner].concat()).collect();
        let mut roots = vec![Root { handle, path: place.root.path.join(&names), spellings }];
        // One that overlaps with the workspace would lead from the folder to what is around it.
        let outer = place.root;
        let apart = |root: &&Root| !root.path.starts_with(&outer.path) && !outer.path.starts_with(&root.path);
        for trusted in self.roots[1..].iter().filter(apart) {
            roots.push(trusted.duplicate()?);
        }
        Ok((Workspace { roots: Arc::new(roots), ..self.clone() }, shown_path(&names)))
    }

    /// The same handle, which may write to `.git`. See [`super::FileBoundary::administering`].
    #[must_use]
    pub fn administering(&self) -> Workspace {
        Workspace { protected: self.protected.administering(), ..self.clone() }
    }

    /// Removes a folder with what is in it. See [`super::FileBoundary::remove_tree`].
    pub fn remove_tree(&self, path: &str) -> Result<(), BoundaryError> {
        let place = self.place(path)?;
        self.require_writable(&place)?;
        let target = place.canonical()?;
        if names_of(&target).is_empty() {
            let reason = "is a root of the files itself, which is never removed.".to_owned();
            return Err(BoundaryError::Invalid { path: path.to_owned(), reason });
        }
        if !place.is_workspace || !is_plainly(path, &names_of(&target)) {
            return Err(BoundaryError::Invalid { path: path.to_owned(), reason: NOT_PLAIN.to_owned() });
        }
        // What removes it calls itself for each folder on the way down.
        let folder = place.root.handle.open_dir(&target).map_err(|e| place.error("remove", e))?;
        if is_deeper(&folder, MAX_COMPONENTS).map_err(|e| place.error("remove", e))? {
            let reason = format!("has more than {MAX_COMPONENTS} folders in one another; ask the user to remove it.");
            return Err(BoundaryError::Invalid { path: path.to_owned(), reason });
        }
        place.root.handle.remove_dir_all(&target).map_err(|e| place.error("remove", e))
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

/// Whether more than `most` folders lie in one another in this one.
fn is_deeper(folder: &cap_std::fs::Dir, most: usize) -> io::Result<bool> {
    let Some(most) = most.checked_sub(1) else { return Ok(true) };
    for entry in folder.entries()? {
        let entry = entry?;
        if entry.file_type()?.is_dir() && is_deeper(&entry.open_dir()?, most)? {
            return Ok(true);
        }
    }
    Ok(false)
}

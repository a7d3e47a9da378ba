//! From a path's text to the place it means, one name at a time.
//!
//! Each name is opened with `O_PATH | O_NOFOLLOW` relative to the folder reached so far, which opens nothing that could
//! block or act. A link is read through that very handle and its target put in front of what is left to walk. The walk
//! itself never leaves a root, because it never asks the kernel for `..` and never lets it follow a link.
//!
//! Nothing is opened for use here, and the answer may be out of date when it is given; whoever opens by it must open
//! without following links.

use super::{Retry, Root, failed, folder_or, kind_of, raced};
use crate::boundary::{
    BoundaryError,
    path::{MAX_COMPONENTS, Part, PathText, is_shell_word, parse, strip_root},
};
use rustix::{
    fs::{self, FileType, Mode, OFlags, Stat},
    io::Errno,
};
use std::{collections::VecDeque, ffi::OsString, os::fd::OwnedFd, path::PathBuf};

/// How many links a path may run through; the kernel's own limit.
const MAX_HOPS: usize = 40;

/// What a path means.
#[derive(Debug)]
pub(super) struct Place {
    /// Which root it lies under.
    pub root: usize,
    /// The names that lead there from the root, none of them a link when they were looked at; for what is missing,
    /// the names of the deepest folder that exists.
    pub names: Vec<OsString>,
    /// What is there.
    pub found: Found,
}

/// What is at a place.
#[derive(Debug)]
pub(super) enum Found {
    /// A folder.
    Directory,
    /// Something that is neither a folder nor a link.
    Other(Stat),
    /// Nothing.
    Missing(Missing),
}

/// What is not there.
#[derive(Debug)]
pub(super) struct Missing {
    /// The missing names in order; at least one.
    pub names: Vec<OsString>,
    /// The text goes up again after a missing name, which means nothing.
    pub climbs: bool,
    /// The text asks for a folder, with a slash or a dot at its end.
    pub folder: bool,
}

impl Missing {
    /// Whether nothing is made there: the text goes up again behind a missing name, or the first of so many missing
    /// folders has a name that nobody means as one.
    pub(super) fn means_nothing(&self, place: &Place, folders: usize) -> bool {
        let first = self.names.first().filter(|_| folders > 0 && place.names.is_empty());
        self.climbs || first.is_some_and(|name| is_shell_word(name))
    }

    /// The error that says so.
    pub(super) fn error(&self, path: &str, place: &Place) -> BoundaryError {
        let mut first: PathBuf = place.names.iter().collect();
        first.extend(self.names.first());
        BoundaryError::NotFound { path: path.to_owned(), missing: first.to_string_lossy().into_owned() }
    }
}

/// A part still to be walked.
struct Step {
    part: Part,
    from_link: bool,
}

struct Walk<'a> {
    roots: &'a [Root],
    path: &'a str,
    root: usize,
    names: Vec<OsString>,
    /// The folder that `names` lead to; `None` is the root itself.
    folder: Option<OwnedFd>,
    pending: VecDeque<Step>,
    hops: usize,
    /// The link followed last, to be named when it led out.
    via: Option<String>,
}

/// Finds out what `path` means.
pub(super) fn walk(roots: &[Root], path: &str) -> Result<Place, Retry> {
    let text = parse(path.as_bytes()).map_err(|reason| BoundaryError::Invalid { path: path.to_owned(), reason })?;
    let mut walk =
        Walk { roots, path, root: 0, names: Vec::new(), folder: None, pending: VecDeque::new(), hops: 0, via: None };
    walk.put_in_front(text, false)?;
    walk.run()
}

impl Walk<'_> {
    fn run(mut self) -> Result<Place, Retry> {
        while let Some(step) = self.pending.pop_front() {
            let found = match step.part {
                Part::Here => None,
                Part::Up => {
                    self.up(step.from_link)?;
                    None
                }
                Part::Name(name) => self.enter(name)?,
            };
            if let Some(found) = found {
                return Ok(Place { root: self.root, names: self.names, found });
            }
        }
        Ok(Place { root: self.root, names: self.names, found: Found::Directory })
    }

    /// Goes to `name` in the folder reached so far; answers once it is something else than a folder or a link.
    fn enter(&mut self, name: OsString) -> Result<Option<Found>, Retry> {
        let flags = OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let folder = folder_or(&self.folder, &self.roots[self.root].handle);
        let handle = match fs::openat(folder, name.as_os_str(), flags, Mode::empty()) {
            Ok(handle) => handle,
            Err(Errno::NOENT) => return Ok(Some(Found::Missing(self.missing(name)))),
            Err(errno) => return Err(raced(self.path, "look up", errno)),
        };
        let stat = fs::fstat(&handle).map_err(|e| failed(self.path, "look up", e))?;
        match FileType::from_raw_mode(stat.st_mode) {
            FileType::Symlink => {
                self.follow(&name, &handle)?;
                Ok(None)
            }
            FileType::Directory => {
                self.names.push(name);
                self.folder = Some(handle);
                if self.names.len() > MAX_COMPONENTS {
                    return Err(
                        self.invalid(format!("lies more than {MAX_COMPONENTS} folders deep; use a shallower path."))
                    );
                }
                Ok(None)
            }
            _ => {
                self.names.push(name);
                if self.pending.is_empty() {
                    return Ok(Some(Found::Other(stat)));
                }
                let at: PathBuf = self.names.iter().collect();
                let at = at.to_string_lossy().into_owned();
                let path = self.path.to_owned();
                Err(BoundaryError::NotADirectory { path, at, kind: kind_of(&stat) }.into())
            }
        }
    }

    /// The text of the link behind `handle` takes the place of its name.
    fn follow(&mut self, name: &OsString, handle: &OwnedFd) -> Result<(), Retry> {
        self.hops += 1;
        if self.hops > MAX_HOPS {
            return Err(BoundaryError::Loop { path: self.path.to_owned(), hops: MAX_HOPS }.into());
        }
        let mut link: PathBuf = self.names.iter().collect();
        link.push(name);
        self.via = Some(link.to_string_lossy().into_owned());
        // An empty path reads the link that is open, not one that may have taken its name since.
        let target = fs::readlinkat(handle, c"", Vec::new()).map_err(|e| raced(self.path, "read the link at", e))?;
        let text = parse(target.to_bytes()).map_err(|reason| {
            self.invalid(format!("runs through the link {}, whose target {reason}", link.display()))
        })?;
        self.put_in_front(text, true)
    }

    /// Walks `text` before everything else; an absolute one starts again at the root it lies under.
    fn put_in_front(&mut self, text: PathText, from_link: bool) -> Result<(), Retry> {
        let parts = if text.absolute { self.enter_root(&text.parts, from_link)? } else { text.parts };
        for part in parts.into_iter().rev() {
            self.pending.push_front(Step { part, from_link });
        }
        Ok(())
    }

    /// Starts again at the root that holds the absolute path made of `parts`, and gives what is left of them. When
    /// roots lie in one another, the innermost is taken.
    fn enter_root(&mut self, parts: &[Part], from_link: bool) -> Result<Vec<Part>, Retry> {
        let spellings = self
            .roots
            .iter()
            .enumerate()
            .flat_map(|(index, root)| root.spellings.iter().map(move |spelling| (index, spelling)));
        let innermost = spellings
            .filter_map(|(index, spelling)| Some((spelling.len(), index, strip_root(parts, spelling)?)))
            .max_by_key(|(length, index, _)| (*length, usize::MAX - *index));
        let Some((_, index, rest)) = innermost else { return Err(self.escape(from_link)) };
        self.root = index;
        self.names.clear();
        self.folder = None;
        Ok(rest.to_vec())
    }

    /// Goes to the folder above. The folder is opened anew by its names, since a handle has no way up that stays
    /// inside.
    fn up(&mut self, from_link: bool) -> Result<(), Retry> {
        if self.names.pop().is_none() {
            return if from_link { self.leave_root() } else { Err(self.escape(false)) };
        }
        let flags = OFlags::PATH | OFlags::DIRECTORY;
        self.folder = if self.names.is_empty() {
            None
        } else {
            let root = &self.roots[self.root];
            Some(root.open_beneath(&self.names, flags).map_err(|e| raced(self.path, "look up", e))?)
        };
        Ok(())
    }

    /// The target of a link goes above the root. Since the path of the root has no links in it, what follows can be
    /// read as an absolute path, and if that lies under a root, the link leads into it. Only the link's own target
    /// counts, and nothing is resolved outside: a name out there cannot be taken back by `..`.
    fn leave_root(&mut self) -> Result<(), Retry> {
        let mut outside: Vec<Part> =
            self.roots[self.root].spellings[0].iter().map(|name| Part::Name(name.clone())).collect();
        outside.pop();
        let mut named = false;
        while let Some(Step { part, from_link: true }) = self.pending.pop_front() {
            match part {
                Part::Here => {}
                Part::Up if named => break,
                Part::Up => {
                    outside.pop();
                }
                Part::Name(_) => {
                    outside.push(part);
                    named = true;
                    if self.roots.iter().any(|root| strip_root(&outside, &root.spellings[0]).is_some()) {
                        self.enter_root(&outside, true)?;
                        return Ok(());
                    }
                }
            }
        }
        Err(self.escape(true))
    }

    fn missing(&mut self, first: OsString) -> Missing {
        let folder = self.pending.back().is_some_and(|step| step.part == Part::Here);
        let climbs = self.pending.iter().any(|step| step.part == Part::Up);
        let mut names = vec![first];
        for step in self.pending.drain(..) {
            if let Part::Name(name) = step.part {
                names.push(name);
            }
        }
        Missing { names, climbs, folder }
    }

    fn escape(&self, through_link: bool) -> Retry {
        let via = self.via.clone().filter(|_| through_link);
        BoundaryError::Escape { path: self.path.to_owned(), via }.into()
    }

    fn invalid(&self, reason: String) -> Retry {
        BoundaryError::Invalid { path: self.path.to_owned(), reason }.into()
    }
}

//! Paths: what a rule says of them, in the way of ignore files, and the one spelling in which a path is compared.
//!
//! A pattern that matches a folder matches everything in it, and what it says of a file it says of the copies in the working
//! trees of sessions ([`WORKING_TREES`]). Letters are compared without regard to case, since some file
//! systems do. Links are not followed here: [`super::Guarded`] compares again what they lead to.

use super::glob;
use crate::place::WORKING_TREES;
use std::path::{Component, Path, PathBuf};

/// The folders that patterns and paths are relative to.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Roots {
    /// The workspace, absolute.
    pub workspace: Option<PathBuf>,
    /// The user's home folder, absolute; needed for patterns that begin with `~/`.
    pub home: Option<PathBuf>,
}

/// What a rule says of a path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PathPattern {
    /// The parts of it, `**` for any number of folders.
    parts: Vec<String>,
    place: Place,
    text: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Place {
    /// From the workspace.
    Workspace,
    /// From the root of the file system.
    Absolute,
    /// From either: one slash means the workspace to some and the file system to others.
    Either,
}

/// The most parts of a pattern or a path that are compared.
const MOST_PARTS: usize = 256;

impl PathPattern {
    /// Reads the parameter of a rule.
    pub fn parse(text: &str, roots: &Roots) -> Result<Self, String> {
        if text.starts_with('!') {
            return Err("a pattern that begins with `!` takes something out of a rule, and no rule can".to_owned());
        }
        if let Some(c) = text.chars().find(|c| "[]{}\\\"'`".contains(*c)) {
            return Err(format!("it holds {c:?}; a path is written with `*`, `**` and `?` as its only wild cards"));
        }
        let home;
        let (place, rest) = if let Some(rest) = text.strip_prefix("//") {
            (Place::Absolute, rest)
        } else if let Some(rest) = text.strip_prefix("~/") {
            let folder = roots.home.as_deref().and_then(Path::to_str);
            let Some(folder) = folder else {
                return Err("it begins with `~`, and the home folder is not known; write the path from `//`".to_owned());
            };
            home = format!("{}/{rest}", folder.trim_matches('/'));
            (Place::Absolute, home.as_str())
        } else if text.starts_with('~') {
            return Err("`~` stands for the home folder in `~/…` only".to_owned());
        } else if let Some(rest) = text.strip_prefix('/') {
            (Place::Either, rest)
        } else {
            (Place::Workspace, text)
        };
        let mut parts: Vec<String> =
            rest.split('/').filter(|part| !matches!(*part, "" | ".")).map(str::to_lowercase).collect();
        if parts.iter().any(|part| part == "..") {
            return Err("it holds the part `..`; write where it leads".to_owned());
        }
        if parts.len() > MOST_PARTS {
            return Err(format!("it has more than {MOST_PARTS} parts"));
        }
        // A name on its own is meant wherever it lies, as in ignore files.
        if place == Place::Workspace && !text.trim_end_matches('/').contains('/') {
            parts.insert(0, "**".to_owned());
        }
        // What matches a folder matches all that is in it, so that these say nothing.
        while parts.len() > 1 && parts.last().is_some_and(|part| part == "**") {
            parts.pop();
        }
        if parts.is_empty() {
            parts.push("**".to_owned());
        }
        Ok(PathPattern { parts, place, text: text.to_owned() })
    }

    /// The pattern as it was written.
    pub fn shown(&self) -> &str {
        &self.text
    }

    /// Whether the path is covered; `path` is text that a model wrote, or where a file was found.
    pub fn covers(&self, path: &str, roots: &Roots) -> bool {
        let Some(at) = Spot::of(path, roots) else {
            // Too long to compare, or above every root: only the boundary's answer remains, and it refuses both.
            return path.len() > LONGEST;
        };
        // A tree that was committed with another one in it holds copies of copies.
        std::iter::successors(Some(at), |copy| copy.original(roots)).any(|at| self.covers_spot(&at))
    }

    fn covers_spot(&self, at: &Spot) -> bool {
        let inside = || at.inside.as_ref().is_some_and(|parts| self.matches(parts));
        let absolute = || at.absolute.as_ref().is_some_and(|parts| self.matches(parts));
        match self.place {
            // A name that is meant wherever it lies is meant outside of the workspace as well.
            Place::Workspace => inside() || self.parts[0] == "**" && absolute(),
            Place::Absolute => absolute(),
            Place::Either => inside() || absolute(),
        }
    }

    /// Whether the pattern matches these parts or the beginning of them.
    fn matches(&self, parts: &[String]) -> bool {
        let goal = self.parts.len();
        let mut here = vec![false; goal + 1];
        here[0] = true;
        self.skip_stars(&mut here);
        for part in parts {
            if here[goal] {
                return true;
            }
            let mut next = vec![false; goal + 1];
            for met in (0..goal).filter(|met| here[*met]) {
                if self.parts[met] == "**" {
                    next[met] = true;
                } else {
                    next[met + 1] |= wild(&self.parts[met], part);
                }
            }
            here = next;
            self.skip_stars(&mut here);
        }
        here[goal]
    }

    fn skip_stars(&self, here: &mut [bool]) {
        for met in 0..self.parts.len() {
            if here[met] && self.parts[met] == "**" {
                here[met + 1] = true;
            }
        }
    }
}

/// The longest path that is compared, in bytes. No system takes a longer one.
const LONGEST: usize = 16 << 10;

/// Compares one part; `?` is any one character.
fn wild(pattern: &str, part: &str) -> bool {
    if !pattern.contains('?') {
        return glob(pattern, part);
    }
    // Without a star the lengths agree, and each place can be looked at by itself.
    if !pattern.contains('*') {
        return pattern.chars().count() == part.chars().count()
            && pattern.chars().zip(part.chars()).all(|(p, c)| p == '?' || p == c);
    }
    // Both in one part: any text stands for the question mark. It denies more than it says, and never less.
    glob(&pattern.replace('?', "*"), part)
}

/// A path in its one spelling.
struct Spot {
    /// Its parts from the workspace, where it lies in it.
    inside: Option<Vec<String>>,
    /// Its parts from the root of the file system, where that is known.
    absolute: Option<Vec<String>>,
}

impl Spot {
    fn of(path: &str, roots: &Roots) -> Option<Spot> {
        if path.len() > LONGEST {
            return None;
        }
        let workspace = roots.workspace.as_deref();
        let path = Path::new(path);
        if path.is_absolute() {
            let absolute = parts(path)?;
            let root = workspace.and_then(parts);
            let inside = root.and_then(|root| absolute.strip_prefix(root.as_slice()).map(<[String]>::to_vec));
            return Some(Spot { inside, absolute: Some(absolute) });
        }
        match (parts(path), workspace) {
            (Some(inside), root) => {
                let absolute = root.and_then(parts).map(|root| [root, inside.clone()].concat());
                Some(Spot { inside: Some(inside), absolute })
            }
            // It leads out and may lead in again.
            (None, Some(root)) => Spot::of(root.join(path).to_str()?, roots),
            (None, None) => None,
        }
    }
}

impl Spot {
    /// The place in the workspace of which this one is a copy, where it lies in a working tree of a session: what a rule
    /// says of a file it says of every copy.
    fn original(&self, roots: &Roots) -> Option<Spot> {
        let inside = match self.inside.as_deref()? {
            [first, _, rest @ ..] if first == WORKING_TREES => rest.to_vec(),
            _ => return None,
        };
        let root = roots.workspace.as_deref().and_then(parts);
        let absolute = root.map(|root| [root, inside.clone()].concat());
        Some(Spot { inside: Some(inside), absolute })
    }
}

/// The parts of a path without `.` and `..`; `None` where it leads above its beginning.
fn parts(path: &Path) -> Option<Vec<String>> {
    let mut parts = Vec::new();
    for component in path.components() {
        match component {
            Component::Normal(part) => parts.push(part.to_string_lossy().to_lowercase()),
            Component::ParentDir => drop(parts.pop()?),
            Component::RootDir | Component::CurDir | Component::Prefix(_) => {}
        }
    }
    Some(parts)
}

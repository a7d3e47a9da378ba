//! Paths inside a root that tools may read and never write: what is written there is run or believed later, outside of
//! every gate.
//!
//! - `.git`, at any depth: hooks, filters and the configuration that names them are programs that the next `git` runs.
//! - `.slot`: the runtime's own configuration.
//! - The places that the host names, by their absolute paths: where its own state lies ([`Places`]).
//!
//! The names are compared as the most careless file system would compare them, on every system: a workspace is copied,
//! mounted and checked out elsewhere. Judged is the resolved path, so no link leads around it, and no hard link, since a
//! write replaces a name and never the file behind it.

use super::path::names_of;
use std::{
    ffi::{OsStr, OsString},
    io,
    path::{Component, Path, PathBuf},
    sync::Arc,
};

/// Names that protect everything at and below them.
const NAMES: [&str; 2] = [".git", ".slot"];
/// The one of them that tools of version control may write to.
const ADMINISTERED: &str = ".git";
/// The short names that some Windows file systems give to them.
const SHORT_NAMES: [&str; 2] = ["git~1", "slot~1"];

/// What is protected: by its name, and by where it lies.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Places {
    /// The places of the host.
    named: Arc<Vec<Vec<String>>>,
    /// Whether the repository's own folder may be written to, under its own name and no other spelling of it.
    administers: bool,
}

impl Places {
    /// These and one more: a file or a folder, which need not exist.
    pub(super) fn with(&self, path: &Path) -> io::Result<Places> {
        let mut places = self.named.to_vec();
        places.push(names_of(&resolved(path)?).iter().map(|name| folded(name)).collect());
        Ok(Places { named: Arc::new(places), ..self.clone() })
    }

    /// The same without the protection of `.git`.
    pub(super) fn administering(&self) -> Places {
        Places { administers: true, ..self.clone() }
    }

    /// Whether nothing may be written at the resolved path made of `names` under the root at `root`. What the name of a
    /// root protects is for the workspace itself the choice of whoever opened it.
    pub(super) fn forbid<'a>(
        &self,
        root: &Path,
        is_workspace: bool,
        names: impl Iterator<Item = &'a OsString> + Clone,
    ) -> bool {
        let root = names_of(root);
        let judged = names.clone().filter(|name| !self.administers || name.as_os_str() != ADMINISTERED);
        if is_protected(judged) || (!is_workspace && is_protected(&root)) {
            return true;
        }
        let path: Vec<String> = root.iter().map(|name| folded(name)).chain(names.map(|name| folded(name))).collect();
        self.named.iter().any(|place| path.starts_with(place))
    }
}

/// An absolute path without links, as far as it exists.
fn resolved(path: &Path) -> io::Result<PathBuf> {
    let path = std::path::absolute(path)?;
    for existing in path.ancestors() {
        let Ok(mut resolved) = existing.canonicalize() else { continue };
        let rest = path.strip_prefix(existing).unwrap_or(Path::new(""));
        if rest.components().all(|part| matches!(part, Component::Normal(_))) {
            resolved.push(rest);
            return Ok(resolved);
        }
        break;
    }
    Err(io::ErrorKind::InvalidFilename.into())
}

/// Whether nothing may be written at the resolved path made of `names`.
pub(super) fn is_protected<'a>(names: impl IntoIterator<Item = &'a OsString>) -> bool {
    names.into_iter().any(|name| is_protected_name(name))
}

fn is_protected_name(name: &OsStr) -> bool {
    let folded = folded(name);
    NAMES.contains(&folded.as_str()) || SHORT_NAMES.contains(&folded.as_str())
}

/// A name as the most careless file system compares it.
fn folded(name: &OsStr) -> String {
    let kept = name.to_string_lossy();
    let kept = kept.chars().filter(|c| !is_ignored(*c));
    // Through the capitals, where letters meet that have no capital of their own, such as the long s.
    let folded: String = kept.flat_map(char::to_uppercase).flat_map(char::to_lowercase).collect();
    // A stream of the folder, as in `.git::$INDEX_ALLOCATION`, is the folder.
    folded.split(':').next().unwrap_or_default().trim_end_matches(['.', ' ']).to_owned()
}

/// Characters that file systems of Apple leave out when they compare names.
fn is_ignored(c: char) -> bool {
    matches!(c, '\u{200c}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{206a}'..='\u{206f}' | '\u{feff}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(path: &str, expect: bool) {
        let names: Vec<OsString> = path.split('/').map(OsString::from).collect();
        assert_eq!(is_protected(&names), expect, "{path}");
    }

    #[test]
    fn what_git_would_run_is_protected_at_any_depth() {
        for path in [".git", ".git/hooks/pre-commit", ".git/config", "vendor/lib/.git/config", ".slot/config.toml"] {
            check(path, true);
        }
    }

    #[test]
    fn other_spellings_of_a_protected_name_are_protected() {
        for path in [
            ".GIT/config",
            ".Git./x",
            ".git ",
            ".git . ./x",
            "GIT~1/config",
            ".g\u{200c}it/x",
            ".git::$DATA",
            ".Slot/a",
            ".\u{17f}lot/a",
            "SLOT~1",
        ] {
            check(path, true);
        }
    }

    #[test]
    fn names_that_only_begin_alike_are_not() {
        for path in
            [".gitignore", ".gitattributes", ".github/workflows/ci.yml", "git/x", "a.git", ".git2", "slot/x", ".gi t"]
        {
            check(path, false);
        }
    }

    #[track_caller]
    fn check_place(place: &str, root: &str, is_workspace: bool, path: &str, expect: bool) {
        let places = Places::default().with(Path::new(place)).expect("an absolute path");
        let names: Vec<OsString> = path.split('/').filter(|name| !name.is_empty()).map(OsString::from).collect();
        assert_eq!(places.forbid(Path::new(root), is_workspace, names.iter()), expect, "{path} in {root}");
    }

    #[test]
    fn a_place_is_protected_with_what_lies_below_it() {
        check_place("/absent/state", "/absent", true, "state", true);
        check_place("/absent/state", "/absent", true, "State./deep/x", true);
        check_place("/absent/state", "/", false, "absent/state/x", true);
        check_place("/absent/state", "/absent/state", false, "x", true);
        check_place("/absent/state", "/absent", true, "state-of-things", false);
        check_place("/absent/state", "/absent", true, "other/state", false);
        assert!(Places::default().with(Path::new("/absent/../x")).is_err());
    }

    #[test]
    fn who_administers_the_repository_writes_there_and_nowhere_else() {
        let places = Places::default().with(Path::new("/absent/.git/kept")).expect("a path").administering();
        let forbids = |path: &str| {
            let names: Vec<OsString> = path.split('/').map(OsString::from).collect();
            places.forbid(Path::new("/absent"), true, names.iter())
        };
        assert!(!forbids(".git/HEAD") && !forbids("a/.git"));
        for path in [".GIT/HEAD", "git~1", ".slot/a", "a/.git/.slot", ".git/kept/x"] {
            assert!(forbids(path), "{path}");
        }
    }

    #[test]
    fn the_name_of_a_root_protects_it_unless_it_is_the_workspace() {
        check_place("/absent", "/h/.slot/memory", false, "x", true);
        check_place("/absent", "/h/.slot/memory", true, "x", false);
        check_place("/absent", "/h/.git", false, "", true);
    }
}

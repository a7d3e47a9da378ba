//! What a search leaves out: folders of build output and of other people's code, and what ignore files name.
//!
//! It is asked twice, in two ways. The walk does not enter a folder by its bare name ([`is_excluded_folder`]); and no file is
//! shown or counted whose path has such a folder in it ([`Exclusions::cover_all_in`]), however it was reached. What a call
//! names as the place to look is looked at, whatever it is called: only what lies below is judged.

use globset::{Glob, GlobSet, GlobSetBuilder};
use ignore::{
    Match,
    gitignore::{Gitignore, GitignoreBuilder},
};
use slot_runtime::boundary::{FileBoundary, OpenFile};
use std::{ffi::OsStr, io::Read, os::unix::ffi::OsStrExt, path::Path, sync::Arc};

/// The folder that is never searched unless it is named: nothing in it is written by hand.
const REPOSITORY: &str = ".git";
/// Folders of what was built or fetched.
const FOLDERS: [&str; 7] = ["node_modules", "target", "dist", "build", "__pycache__", ".venv", "venv"];
/// Files of what was built.
const FILES: [&str; 2] = ["*.min.js", "*.min.css"];
/// Names of ignore files; what a later one says outranks an earlier one.
const IGNORE_FILES: [&str; 2] = [".gitignore", ".ignore"];
/// The largest ignore file that is followed, in bytes.
const IGNORE_BYTES: u64 = 32 * 1024;
/// How many folders on the way to a file may have ignore files that are followed.
const IGNORE_DEPTH: usize = 16;

/// Whether a folder is left out by its bare name.
pub fn is_excluded_folder(name: &OsStr, ignored: bool) -> bool {
    name == REPOSITORY || !ignored && FOLDERS.iter().any(|folder| name == *folder)
}

/// The list once more, over the paths of folders, and over the names of files.
pub struct Exclusions {
    folders: GlobSet,
    files: GlobSet,
}

impl Exclusions {
    /// What is left out; with `ignored` only the inside of repositories.
    pub fn new(ignored: bool) -> Exclusions {
        let (folders, files) = if ignored { (&[][..], &[][..]) } else { (&FOLDERS[..], &FILES[..]) };
        let within = |folder: &&str| format!("**/{folder}/**");
        Exclusions {
            folders: set(folders.iter().chain([&REPOSITORY]).map(within)),
            files: set(files.iter().map(|file| (*file).to_owned())),
        }
    }

    /// Whether all is left out that lies in a folder, which is reached from where the search began by these names.
    pub fn cover_all_in(&self, below: &Path) -> bool {
        self.folders.is_match(below.join("any"))
    }

    /// Whether a file is left out for its name.
    pub fn cover_name(&self, name: &OsStr) -> bool {
        self.files.is_match(name)
    }
}

fn set(globs: impl Iterator<Item = String>) -> GlobSet {
    let mut set = GlobSetBuilder::new();
    globs.filter_map(|glob| Glob::new(&glob).ok()).for_each(|glob| {
        set.add(glob);
    });
    set.build().unwrap_or_default()
}

/// The ignore files of a folder and of those above it.
pub struct IgnoreFiles {
    above: Option<Arc<IgnoreFiles>>,
    /// Those of this folder, the one that outranks the others last.
    rules: Vec<Gitignore>,
    /// How many bytes of a path lead to this folder, its slash included.
    base: usize,
    depth: usize,
}

impl IgnoreFiles {
    /// Whether they name the path, which is one from the workspace.
    pub fn covers(&self, path: &Path, is_folder: bool) -> bool {
        let mut files = Some(self);
        while let Some(here) = files {
            let below = path.as_os_str().as_bytes().get(here.base..).unwrap_or_default();
            for rules in here.rules.iter().rev() {
                match rules.matched(Path::new(OsStr::from_bytes(below)), is_folder) {
                    Match::None => {}
                    Match::Ignore(_) => return true,
                    Match::Whitelist(_) => return false,
                }
            }
            files = here.above.as_deref();
        }
        false
    }
}

/// The ignore files in force in a folder: those above it, and its own. `path` is the folder's, from the workspace; `open`
/// opens a file in it. Says too whether one was there that is not followed.
pub fn enter(
    above: Option<&Arc<IgnoreFiles>>,
    path: &Path,
    open: impl Fn(&OsStr) -> Option<OpenFile>,
) -> (Option<Arc<IgnoreFiles>>, bool) {
    let (mut rules, mut refused) = (Vec::new(), false);
    let depth = above.map_or(0, |above| above.depth) + 1;
    for name in IGNORE_FILES {
        let Some(file) = open(OsStr::new(name)) else { continue };
        match read(file).filter(|_| depth <= IGNORE_DEPTH) {
            Some(found) if found.is_empty() => {}
            Some(found) => rules.push(found),
            None => refused = true,
        }
    }
    if rules.is_empty() {
        return (above.cloned(), refused);
    }
    let base = match path.as_os_str().len() {
        0 => 0,
        length => length + 1,
    };
    (Some(Arc::new(IgnoreFiles { above: above.cloned(), rules, base, depth })), refused)
}

/// The ignore files of the folders above the one where a search begins, up to the workspace. A trusted root elsewhere has
/// none above it.
pub fn above(boundary: &dyn FileBoundary, top: &Path) -> Option<Arc<IgnoreFiles>> {
    if top.is_absolute() || top == Path::new(".") {
        return None;
    }
    let mut files = None;
    let mut folders: Vec<&Path> = top.ancestors().skip(1).collect();
    folders.reverse();
    for folder in folders {
        let open = |name: &OsStr| folder.join(name).to_str().and_then(|path| boundary.open_file(path).ok());
        files = enter(files.as_ref(), folder, open).0;
    }
    files
}

/// What an ignore file says. A line that cannot be read is passed over, as git does.
fn read(file: OpenFile) -> Option<Gitignore> {
    let mut text = Vec::new();
    file.file.take(IGNORE_BYTES + 1).read_to_end(&mut text).ok()?;
    if text.len() as u64 > IGNORE_BYTES {
        return None;
    }
    let mut builder = GitignoreBuilder::new("");
    for line in String::from_utf8_lossy(&text).trim_start_matches('\u{feff}').lines() {
        let _ = builder.add_line(None, line);
    }
    builder.build().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(path: &str, ignored: bool, expect: bool) {
        let (exclusions, path) = (Exclusions::new(ignored), Path::new(path));
        let folder = exclusions.cover_all_in(path.parent().expect("a name"));
        let name = exclusions.cover_name(path.file_name().expect("a name"));
        assert_eq!(folder || name, expect, "{}", path.display());
    }

    #[test]
    fn what_lies_in_an_excluded_folder_is_covered_at_any_depth() {
        for path in
            ["node_modules/a", "a/target/b/c", "x/__pycache__/y", ".venv/z", "dist/a", "a/b/build/c", "a/x.min.js"]
        {
            check(path, false, true);
            check(path, true, false);
        }
        for ignored in [false, true] {
            check(".git/config", ignored, true);
            check("a/.git/HEAD", ignored, true);
        }
    }

    #[test]
    fn names_that_only_begin_alike_are_not() {
        for path in
            ["targets/a", "my_target/a", "build.rs", "build", "dist", "a/.gitignore", ".github/x", "min.js", ".git"]
        {
            check(path, false, false);
        }
    }

    #[test]
    fn both_ways_agree_on_every_folder() {
        for ignored in [false, true] {
            for folder in FOLDERS.iter().chain([&REPOSITORY, &"src", &"Target"]) {
                let expect = is_excluded_folder(OsStr::new(folder), ignored);
                assert_eq!(Exclusions::new(ignored).cover_all_in(Path::new(folder)), expect, "{folder}");
            }
        }
    }
}

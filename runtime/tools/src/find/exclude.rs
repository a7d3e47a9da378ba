//! What a search leaves out: folders of build output and of other people's code, and what ignore files name.
//!
//! It is asked twice, in two ways. The walk does not enter a folder by its bare name ([`is_excluded_folder`]); and no path
//! is shown or counted that has such a folder in it ([`Exclusions::covers`]), however it was reached. What a call names as
//! the place to look is looked at, whatever it is called: only what lies below is judged.

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

/// The list once more, over whole paths.
pub struct Exclusions {
    set: GlobSet,
}

impl Exclusions {
    /// What is left out; with `ignored` only the inside of repositories.
    pub fn new(ignored: bool) -> Exclusions {
        let within = |folder: &str| format!("**/{folder}/**");
        let mut globs = vec![within(REPOSITORY)];
        if !ignored {
            globs.extend(FOLDERS.iter().map(|folder| within(folder)));
            globs.extend(FILES.iter().map(|file| format!("**/{file}")));
        }
        let mut set = GlobSetBuilder::new();
        globs.iter().filter_map(|glob| Glob::new(glob).ok()).for_each(|glob| {
            set.add(glob);
        });
        Exclusions { set: set.build().unwrap_or_default() }
    }

    /// Whether the path of a file, from where the search began, is left out.
    pub fn covers(&self, below: &Path) -> bool {
        self.set.is_match(below)
    }
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
        assert_eq!(Exclusions::new(ignored).covers(Path::new(path)), expect, "{path}");
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
                let within = Path::new(folder).join("x");
                let expect = is_excluded_folder(OsStr::new(folder), ignored);
                assert_eq!(Exclusions::new(ignored).covers(&within), expect, "{folder}");
            }
        }
    }
}

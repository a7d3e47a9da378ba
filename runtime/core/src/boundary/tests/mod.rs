//! The boundary against real folders: each attack, and the harmless path that looks like it.
//!
//! Every check runs with `openat2` and with the walk that stands in for it; and with the boundary of other systems, which
//! must give the same answer or refuse. What that one must be able to do is in [`portable`].

mod judged;
mod narrow;
mod portable;
mod race;
mod read;
mod together;
mod tree;
mod write;

use super::*;
use std::{
    fs,
    os::unix::fs::symlink,
    path::{Path, PathBuf},
};

/// What nobody may read, write or replace.
const CANARY: &str = "canary: outside";

/// A workspace with a neighbour, `outside`, that must not change.
struct World {
    base: tempfile::TempDir,
}

impl World {
    fn new() -> World {
        let world = World { base: tempfile::tempdir().expect("a folder") };
        fs::create_dir_all(world.inside("sub/deep")).expect("folders");
        fs::create_dir_all(world.outside("dir")).expect("folders");
        fs::write(world.inside("a.txt"), "a").expect("a file");
        fs::write(world.inside("sub/b.txt"), "b").expect("a file");
        fs::write(world.outside("secret"), CANARY).expect("a file");
        fs::write(world.outside("dir/secret"), CANARY).expect("a file");
        world
    }

    fn inside(&self, path: &str) -> PathBuf {
        self.base.path().join("ws").join(path)
    }

    fn outside(&self, path: &str) -> PathBuf {
        self.base.path().join("outside").join(path)
    }

    /// A link in the workspace. `{in}` and `{out}` in the target are the absolute paths of the two folders.
    fn link(self, name: &str, target: &str) -> World {
        symlink(self.expand(target), self.inside(name)).expect("a link");
        self
    }

    fn with_folder(self, name: &str) -> World {
        fs::create_dir(self.inside(name)).expect("a folder");
        self
    }

    fn expand(&self, text: &str) -> String {
        let inside = self.inside("").canonicalize().expect("the folder exists");
        let outside = self.outside("").canonicalize().expect("the folder exists");
        text.replace("{in}", &inside.to_string_lossy()).replace("{out}", &outside.to_string_lossy())
    }

    fn workspace(&self) -> Workspace {
        Workspace::open(&self.inside("")).expect("the folder exists")
    }

    /// The workspace by both ways of opening.
    fn both(&self) -> [Workspace; 2] {
        [self.workspace(), self.workspace().without_openat2()]
    }

    /// The workspace as other systems open it.
    fn elsewhere(&self) -> super::portable::Workspace {
        super::portable::Workspace::open(&self.inside("")).expect("the folder exists")
    }

    /// Everything outside is as it was made.
    #[track_caller]
    fn assert_untouched(&self) {
        let mut names = tree(&self.outside(""));
        names.sort();
        assert_eq!(names, ["dir", "dir/secret", "secret"], "something was made or removed outside");
        for file in ["secret", "dir/secret"] {
            assert_eq!(fs::read_to_string(self.outside(file)).expect("it exists"), CANARY, "{file}");
        }
    }
}

/// The names below a folder, links not followed.
fn tree(root: &Path) -> Vec<String> {
    let mut names = Vec::new();
    let mut folders = vec![PathBuf::new()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(root.join(&folder)).expect("a folder") {
            let entry = entry.expect("an entry");
            let path = folder.join(entry.file_name());
            names.push(path.to_string_lossy().into_owned());
            if entry.file_type().expect("a kind").is_dir() {
                folders.push(path);
            }
        }
    }
    names
}

/// A file that is replaced or made.
fn write<'a>(path: &'a str, bytes: &'a str) -> Change<'a> {
    Change::Write {
        path,
        bytes: bytes.as_bytes(),
        mode: WriteMode::Overwrite,
        like: None,
        permissions: Permissions::Kept,
    }
}

/// The variant of an error, to be compared.
fn variant(error: &BoundaryError) -> &'static str {
    match error {
        BoundaryError::Escape { .. } => "escape",
        BoundaryError::NotFound { .. } => "not found",
        BoundaryError::NotAFile { .. } => "not a file",
        BoundaryError::NotADirectory { .. } => "not a folder",
        BoundaryError::Protected { .. } => "protected",
        BoundaryError::DeniedByRule { .. } => "denied by rule",
        BoundaryError::Refused { .. } => "refused",
        BoundaryError::Exists { .. } => "exists",
        BoundaryError::Loop { .. } => "loop",
        BoundaryError::Invalid { .. } => "invalid",
        BoundaryError::Unstable { .. } => "unstable",
        BoundaryError::Denied { .. } => "denied",
        BoundaryError::Owner { .. } => "owner",
        BoundaryError::Torn { .. } => "torn",
        BoundaryError::Io { .. } => "io",
    }
}

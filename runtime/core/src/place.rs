//! Where a session works: in its workspace, or in a working tree of the repository there that it has entered.
//!
//! A [`Place`] is the handle that the tools which move, the files behind every other tool, and whoever keeps something by
//! place share. A working tree lies in a folder of the workspace ([`WORKING_TREES`]), so that moving there only ever takes
//! away: every file that can be reached then could be reached before, under the same rules. [`Placed`] is the boundary
//! that moves. What is kept of files is kept by [`Place::qualified`] paths, so that two trees are never taken for each other;
//! and what was approved in one of them holds in no other.
//!
//! Not owned here: how a working tree is made and removed, and who is asked about it.

use crate::boundary::{
    BoundaryError, Change, ChangeGate, FileBoundary, Listing, Metadata, Narrowed, OpenDir, OpenFile, Tree, Written,
};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// The folder of the workspace in which working trees lie, each under its name.
pub const WORKING_TREES: &str = ".worktrees";

/// Where a session works. Clones are the same place.
#[derive(Clone, Default)]
pub struct Place(Arc<Mutex<Now>>);

#[derive(Default)]
struct Now {
    away: Option<Away>,
    moves: u64,
}

/// A working tree that a session has entered.
#[derive(Clone)]
pub struct Away {
    /// Its name.
    pub name: String,
    /// Its folder, from the workspace.
    pub base: PathBuf,
    /// The files in it, as if it were the workspace.
    pub files: Arc<dyn FileBoundary>,
}

impl Place {
    fn now(&self) -> MutexGuard<'_, Now> {
        // It is replaced as a whole, whatever happened in another thread.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The working tree that the session is in; `None` in its workspace.
    pub fn away(&self) -> Option<Away> {
        self.now().away.clone()
    }

    /// Moves into a working tree, out of whatever place.
    pub fn enter(&self, away: Away) {
        let mut now = self.now();
        now.moves += 1;
        now.away = Some(away);
    }

    /// Moves back into the workspace.
    pub fn leave(&self) {
        let mut now = self.now();
        now.moves += 1;
        now.away = None;
    }

    /// Which stay this is: 0 in the workspace, and a number of its own for each time that a working tree was entered.
    pub fn stay(&self) -> u64 {
        let now = self.now();
        if now.away.is_some() { now.moves } else { 0 }
    }

    /// A resolved path of this place as the workspace names it.
    pub fn qualified(&self, path: &Path) -> PathBuf {
        match &self.now().away {
            Some(away) => away.base.join(path),
            None => path.to_owned(),
        }
    }

    /// The folder of a call, as the workspace names it: what is approved for a folder holds in that one alone.
    pub fn folder_of_call(&self, folder: &str) -> String {
        match &self.now().away {
            Some(away) if matches!(folder, "" | ".") => away.base.to_string_lossy().into_owned(),
            Some(away) => away.base.join(folder).to_string_lossy().into_owned(),
            None => folder.to_owned(),
        }
    }

    /// A path as the workspace names it, as it is named here; `None` where it lies in another place.
    pub fn named_here<'a>(&self, path: &'a Path) -> Option<&'a Path> {
        match &self.now().away {
            Some(away) if path.is_relative() => path.strip_prefix(&away.base).ok(),
            _ => Some(path),
        }
    }
}

/// The files of the place where a session is.
pub struct Placed {
    workspace: Arc<dyn FileBoundary>,
    place: Place,
}

impl Placed {
    /// The files of the workspace, until the place is another.
    pub fn new(workspace: Arc<dyn FileBoundary>, place: Place) -> Self {
        Placed { workspace, place }
    }

    fn here(&self) -> Arc<dyn FileBoundary> {
        self.place.away().map_or_else(|| Arc::clone(&self.workspace), |away| away.files)
    }
}

impl FileBoundary for Placed {
    fn open_file(&self, path: &str) -> Result<OpenFile, BoundaryError> {
        self.here().open_file(path)
    }

    fn open_dir(&self, path: &str) -> Result<OpenDir, BoundaryError> {
        self.here().open_dir(path)
    }

    fn metadata(&self, path: &str) -> Result<Metadata, BoundaryError> {
        self.here().metadata(path)
    }

    fn list_dir_until(&self, path: &str, limit: usize, stop: &dyn Fn() -> bool) -> Result<Listing, BoundaryError> {
        self.here().list_dir_until(path, limit, stop)
    }

    fn tree(&self, path: &str) -> Result<Tree, BoundaryError> {
        self.here().tree(path)
    }

    fn change_gated(
        &self,
        changes: &[Change<'_>],
        gate: Option<&dyn ChangeGate>,
    ) -> Result<Vec<Written>, BoundaryError> {
        self.here().change_gated(changes, gate)
    }

    fn create_dirs(&self, path: &str) -> Result<PathBuf, BoundaryError> {
        self.here().create_dirs(path)
    }

    fn narrowed(&self, path: &str) -> Result<Narrowed, BoundaryError> {
        self.here().narrowed(path)
    }

    fn administering(&self) -> Arc<dyn FileBoundary> {
        self.here().administering()
    }

    fn remove_tree(&self, path: &str) -> Result<(), BoundaryError> {
        self.here().remove_tree(path)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::boundary::{Workspace, WriteMode};
    use crate::deny::{DenyRules, Guarded, LiveRules, Roots};
    use crate::freshness::Freshness;
    use std::fs;

    /// A workspace with a working tree, `t`, in which there is a copy of `a` and of `secrets/key`.
    struct World {
        folder: tempfile::TempDir,
        place: Place,
        workspace: Arc<dyn FileBoundary>,
    }

    impl World {
        fn under(rule: &str) -> World {
            let folder = tempfile::tempdir().expect("a folder");
            for path in ["", ".worktrees/t/"] {
                fs::create_dir_all(folder.path().join(path).join("secrets")).expect("folders");
                fs::write(folder.path().join(path).join("a"), "a").expect("a file");
                fs::write(folder.path().join(path).join("secrets/key"), "k").expect("a file");
                std::os::unix::fs::symlink("secrets", folder.path().join(path).join("door")).expect("a link");
            }
            let root = folder.path().canonicalize().expect("a folder");
            let rule = rule.replace("{root}", root.to_str().expect("text"));
            let rules = DenyRules::parse([rule], Roots { workspace: Some(root), home: None }).expect("a rule");
            let files = Arc::new(Workspace::open(folder.path()).expect("it exists"));
            let workspace = Arc::new(Guarded::new(files, Arc::new(LiveRules::new(rules))));
            World { folder, place: Place::default(), workspace }
        }

        fn enter(&self) {
            let Narrowed { files, path } = self.workspace.narrowed(".worktrees/t").expect("a folder");
            self.place.enter(Away { name: "t".to_owned(), base: path, files });
        }

        fn here(&self) -> Placed {
            Placed::new(Arc::clone(&self.workspace), self.place.clone())
        }
    }

    #[test]
    fn a_rule_about_a_path_holds_for_its_copies() {
        for rule in ["Read(secrets/**)", "Read(/secrets/key)", "Read(/{root}/secrets/**)", "Read(secrets/)"] {
            let world = World::under(rule);
            for path in [".worktrees/t/secrets/key", ".worktrees/t/door/key", "secrets/key"] {
                assert!(world.here().open_file(path).is_err(), "{rule}: {path}");
            }
            world.enter();
            for path in ["secrets/key", "door/key", "./door/../secrets/key"] {
                assert!(world.here().open_file(path).is_err(), "{rule}: {path} in the tree");
            }
            assert!(world.here().open_file("a").is_ok(), "{rule}");
        }
    }

    #[test]
    fn a_copy_of_a_copy_is_one_too() {
        for rule in ["Read(secrets/**)", "Read(/{root}/secrets/**)", "Read(/secrets/key)"] {
            let world = World::under(rule);
            let inner = world.folder.path().join(".worktrees/t/.worktrees/u/secrets");
            fs::create_dir_all(&inner).expect("folders");
            fs::write(inner.join("key"), "k").expect("a file");
            assert!(world.here().open_file(".worktrees/t/.worktrees/u/secrets/key").is_err(), "{rule}");
            world.enter();
            assert!(world.here().open_file(".worktrees/u/secrets/key").is_err(), "{rule} in the tree");
        }
    }

    #[test]
    fn a_rule_about_a_tree_holds_in_it_and_nowhere_else() {
        let world = World::under("Edit(.worktrees/t/a)");
        assert!(world.here().write_atomic("a", b"b", WriteMode::Overwrite).is_ok());
        world.enter();
        assert!(world.here().write_atomic("a", b"b", WriteMode::Overwrite).is_err());
        assert!(world.here().write_atomic("new", b"b", WriteMode::Create).is_ok());
        assert!(world.folder.path().join(".worktrees/t/new").exists());
    }

    #[test]
    fn what_was_seen_in_one_place_was_not_seen_in_another() {
        let world = World::under("Read(none)");
        let known = Freshness::default();
        let judge = || {
            let open = world.here().open_file("a").expect("a file");
            known.judge(&world.place.qualified(&open.path), &open.file).map_err(|stale| stale.to_string())
        };
        known.wrote(&world.place.qualified(Path::new("a")), b"a");
        assert_eq!(judge(), Ok(()));
        world.enter();
        assert_eq!(judge(), Err("never read".to_owned()));
        known.wrote(&world.place.qualified(Path::new("a")), b"a");
        assert_eq!(judge(), Ok(()));
        for path in ["a", ".worktrees/t/a"] {
            fs::write(world.folder.path().join(path), "changed").expect("a file");
        }
        let drifted = |world: &World| known.drifted(world.workspace.as_ref(), &world.place);
        assert_eq!(drifted(&world), [Path::new("a")], "that of the tree, as it is called there");
        world.place.leave();
        assert_eq!(drifted(&world), [Path::new("a")], "that of the workspace, once somebody is there");
        assert_eq!(drifted(&world), [] as [PathBuf; 0]);
    }

    #[test]
    fn each_stay_is_another() {
        let world = World::under("Read(none)");
        let place = world.place.clone();
        assert_eq!(place.stay(), 0);
        world.enter();
        let first = place.stay();
        assert_eq!(place.folder_of_call("."), ".worktrees/t");
        assert_eq!(place.folder_of_call(""), ".worktrees/t");
        assert_eq!(place.folder_of_call("sub"), ".worktrees/t/sub");
        place.leave();
        assert_eq!((place.stay(), place.folder_of_call(".")), (0, ".".to_owned()));
        world.enter();
        assert!(first != 0 && place.stay() != first && place.stay() != 0);
    }
}

//! A folder of the workspace in its place, the repository's own folder, and whole folders removed.

use super::*;
use crate::boundary::portable;
use rustix::fs::{Mode, OFlags};

/// Both boundaries of this system and the one of others, each with `path` in place of the workspace.
fn narrowed(world: &World, path: &str) -> Vec<Result<Narrowed, BoundaryError>> {
    let [one, two] = world.both();
    [&one as &dyn FileBoundary, &two, &world.elsewhere()].into_iter().map(|files| files.narrowed(path)).collect()
}

#[track_caller]
fn check_refused(world: &World, path: &str, expect: &str) {
    for narrowed in narrowed(world, path) {
        assert_eq!(narrowed.err().as_ref().map(variant), Some(expect), "{path}");
    }
}

#[test]
fn paths_start_there_and_lead_nowhere_else() {
    let world = World::new().link("sub/up", "..").link("sub/out", "{out}").link("sub/in", "deep");
    let (a, b) = (world.inside("a.txt"), world.inside("sub/b.txt"));
    let (a, b) = (a.canonicalize().expect("a file"), b.canonicalize().expect("a file"));
    for narrowed in narrowed(&world, "./sub/") {
        let Narrowed { files, path } = narrowed.expect("a folder");
        assert_eq!(path, Path::new("sub"));
        assert_eq!(files.open_file("b.txt").expect("a file").path, Path::new("b.txt"));
        assert!(files.open_file(b.to_str().expect("text")).is_ok() && files.list_dir("in", 9).is_ok());
        for path in ["..", "../a.txt", "up/a.txt", "deep/../../a.txt", "out/secret", a.to_str().expect("text")] {
            let refused = files.metadata(path).expect_err(path);
            assert_eq!(variant(&refused), "escape", "{path}");
            assert!(files.write_atomic(path, b"x", WriteMode::Overwrite).is_err(), "{path}");
            assert!(files.tree(path).is_err() && files.narrowed(path).is_err() && files.remove_tree(path).is_err());
        }
    }
    assert_eq!(fs::read_to_string(world.inside("a.txt")).expect("it exists"), "a");
    world.assert_untouched();
}

#[test]
fn it_is_the_folder_that_it_was_when_its_name_is_another() {
    let world = World::new();
    let files = FileBoundary::narrowed(&world.workspace(), "sub").expect("a folder").files;
    fs::rename(world.inside("sub"), world.inside("moved")).expect("a folder");
    symlink(world.outside("dir"), world.inside("sub")).expect("a link");
    files.write_atomic("new", b"n", WriteMode::Create).expect("it is open");
    assert!(world.inside("moved/new").exists() && files.open_file("secret").is_err());
    world.assert_untouched();
}

#[test]
fn only_a_folder_of_the_workspace_is_taken() {
    let world = World::new().link("out", "{out}").with_folder(".git").with_folder(".slot").link("git", ".git");
    check_refused(&world, "absent", "not found");
    check_refused(&world, "a.txt", "not a folder");
    check_refused(&world, "out", "escape");
    check_refused(&world, "..", "escape");
    for path in [".git", ".slot", "git"] {
        check_refused(&world, path, "protected");
    }
    let trusting = world.workspace().with_trusted_root(&world.outside("")).expect("a folder");
    let outside = world.outside("dir").canonicalize().expect("a folder");
    let outside = outside.to_str().expect("text");
    assert_eq!(variant(&trusting.narrowed(outside).expect_err("no folder of the workspace")), "escape");
    let (inner, _) = trusting.narrowed("sub").expect("a folder");
    assert!(inner.open_dir(outside).is_ok(), "what is trusted stays so");
}

#[test]
fn what_the_host_keeps_is_kept_there_too() {
    let world = World::new();
    let workspace = world.workspace().with_protected(&world.inside("sub/deep")).expect("a path");
    let (inner, _) = workspace.narrowed("sub").expect("a folder");
    let refused = inner.write_atomic("deep/x", b"x", WriteMode::Create).expect_err("it is kept");
    assert_eq!(variant(&refused), "protected");
    assert!(workspace.narrowed("sub/deep").is_err() && inner.administering().remove_tree("deep").is_err());
}

#[test]
fn who_administers_writes_to_the_repository_and_stays_in_the_workspace() {
    let world = World::new().with_folder(".git").with_folder(".slot").link(".git/out", "{out}");
    let (one, other) = (world.workspace().administering(), world.elsewhere().administering());
    for (files, name) in [(&one as &dyn FileBoundary, "one"), (&other, "two")] {
        files.write_atomic(&format!(".git/worktrees/{name}"), b"x", WriteMode::Create).expect("it may");
        for path in [".git/out/new", ".slot/x", ".GIT/x", ".git/../../outside/x", "sub/.slot/x"] {
            assert!(files.write_atomic(path, b"x", WriteMode::Overwrite).is_err(), "{path}");
        }
        files.remove_tree(".git/worktrees").expect("it may");
    }
    assert!(world.workspace().write_atomic(".git/x", b"x", WriteMode::Create).is_err());
    world.assert_untouched();
}

#[test]
fn a_removed_folder_is_gone_and_nothing_that_its_links_name() {
    for portable in [false, true] {
        let world = World::new().link("sub/out", "{out}").link("sub/deep/a", "../../a.txt").link("door", "{out}");
        let (one, other): (Workspace, portable::Workspace) = (world.workspace(), world.elsewhere());
        let files = if portable { &other as &dyn FileBoundary } else { &one };
        for path in ["door", "..", ".", "", "a.txt", "absent", ".git"] {
            assert!(files.remove_tree(path).is_err(), "{path}");
        }
        files.remove_tree("sub").expect("a folder");
        assert!(!world.inside("sub").exists() && world.inside("a.txt").exists());
        world.assert_untouched();
    }
}

#[test]
fn a_trusted_root_opens_nothing_of_the_workspace_around() {
    let world = World::new().link("sub/up", "{in}").with_folder("lib");
    let (above, lib) = (world.outside("").parent().expect("a folder").to_owned(), world.inside("lib"));
    for (trusted, portable) in [(&above, false), (&lib, false), (&above, true), (&lib, true)] {
        let files = if portable {
            let workspace = world.elsewhere().with_trusted_root(trusted).expect("a folder");
            FileBoundary::narrowed(&workspace, "sub").expect("a folder").files
        } else {
            let workspace = world.workspace().with_trusted_root(trusted).expect("a folder");
            FileBoundary::narrowed(&workspace, "sub").expect("a folder").files
        };
        for path in ["a.txt", "lib", ""] {
            let path = world.inside(path).canonicalize().expect("it exists");
            let refused = files.metadata(path.to_str().expect("text"));
            assert!(matches!(refused, Err(BoundaryError::Escape { .. })), "{trusted:?} {path:?}: {refused:?}");
        }
        assert!(files.metadata("up").is_err());
        let deep = world.inside("sub/deep").canonicalize().expect("a folder");
        assert!(files.metadata(deep.to_str().expect("text")).is_ok());
    }
}

/// More folders in one another than are open at once, some of them under the names to which others are put.
#[test]
fn however_deep_a_folder_is_it_is_removed_or_refused() {
    for portable in [false, true] {
        let world = World::new().with_folder("tree");
        let mut deep = rustix::fs::open(world.inside("tree"), OFlags::PATH, Mode::empty()).expect("a folder");
        for _ in 0..300 {
            rustix::fs::mkdirat(&deep, "removed-1", Mode::RWXU).expect("a folder");
            rustix::fs::symlinkat(world.outside("dir"), &deep, "link").expect("a link");
            deep = rustix::fs::openat(&deep, "removed-1", OFlags::PATH, Mode::empty()).expect("a folder");
        }
        let (one, other): (Workspace, portable::Workspace) = (world.workspace(), world.elsewhere());
        let removed = if portable { other.remove_tree("tree") } else { one.remove_tree("tree") };
        assert_eq!(removed.is_ok(), !portable, "{removed:?}");
        assert_eq!(world.inside("tree").exists(), portable);
        world.assert_untouched();
        if portable {
            world.workspace().remove_tree("tree").expect("the other one removes it");
        }
    }
}

#[test]
fn a_folder_is_removed_under_its_own_name_alone() {
    for portable in [false, true] {
        let world = World::new().link("door", "sub").link("up", ".");
        let (one, other): (Workspace, portable::Workspace) = (world.workspace(), world.elsewhere());
        let files = if portable { &other as &dyn FileBoundary } else { &one };
        for path in ["door", "up/sub", "door/deep"] {
            assert!(files.remove_tree(path).is_err(), "{path}");
        }
        let trusted = world.outside("dir").canonicalize().expect("a folder");
        let trusting = world.workspace().with_trusted_root(&world.outside("")).expect("a folder");
        assert!(trusting.remove_tree(trusted.to_str().expect("text")).is_err(), "a folder of the workspace alone");
        let alike = World::new().link("dir", trusted.to_str().expect("text"));
        let alike = alike.workspace().with_trusted_root(&world.outside("")).expect("a folder");
        assert!(alike.remove_tree("dir").is_err(), "a link to a folder that has the same name elsewhere");
        assert!(world.inside("sub/deep").exists());
        files.remove_tree("./sub/deep/").expect("a folder");
        assert!(!world.inside("sub/deep").exists() && world.inside("sub").exists());
    }
}

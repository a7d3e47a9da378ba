//! Walking: what is found lies in the workspace, whatever links and swaps there are, and nothing blocks.

use super::*;
use rustix::fs::{CWD, Mode, RenameFlags, mkfifoat, renameat_with};
use std::{
    ffi::OsStr,
    io::Read,
    ops::ControlFlow,
    sync::atomic::{AtomicBool, Ordering},
    thread,
};

/// Everything that a walk finds, as `path kind`, with the text of each file.
fn walk(tree: &Tree) -> Vec<String> {
    let (mut found, mut open) = (Vec::new(), vec![PathBuf::new()]);
    while let Some(below) = open.pop() {
        let Ok(branch) = tree.open(&below) else { continue };
        let names = branch.names(|name, kind| {
            let mut line = format!("{} {kind:?}", below.join(name).display());
            if kind == EntryKind::Directory {
                open.push(below.join(name));
            }
            if let Ok(mut file) = branch.open_file(name) {
                let mut text = String::new();
                file.file.read_to_string(&mut text).expect("text");
                line = format!("{line} {text}");
            }
            found.push(line);
            ControlFlow::Continue(())
        });
        names.expect("a folder");
    }
    found.sort();
    found
}

#[track_caller]
fn check(world: &World, top: &str, expect: &[&str]) {
    for workspace in world.both() {
        assert_eq!(walk(&workspace.tree(top).expect("a folder")), expect);
    }
}

#[test]
fn a_walk_finds_what_lies_below_and_follows_no_link() {
    let world = World::new().link("out", "{out}").link("sub/back", "..").link("file", "a.txt");
    mkfifoat(CWD, world.inside("pipe"), Mode::RUSR | Mode::WUSR).expect("a pipe");
    check(
        &world,
        ".",
        &[
            "a.txt File a",
            "file Symlink",
            "out Symlink",
            "pipe Fifo",
            "sub Directory",
            "sub/b.txt File b",
            "sub/back Symlink",
            "sub/deep Directory",
        ],
    );
    check(&world, "sub", &["b.txt File b", "back Symlink", "deep Directory"]);
}

#[test]
fn a_top_is_resolved_like_any_path() {
    let world = World::new().link("out", "{out}/dir").link("in", "sub");
    for workspace in world.both() {
        assert_eq!(workspace.tree("in").expect("a link inside").path(), Path::new("sub"));
        assert_eq!(workspace.tree(".").expect("itself").path(), Path::new("."));
        for (path, expect) in [("out", "escape"), ("..", "escape"), ("a.txt", "not a folder"), ("x", "not found")] {
            assert_eq!(variant(&workspace.tree(path).map(drop).expect_err(path)), expect, "{path}");
        }
    }
}

#[test]
fn only_names_lead_down() {
    let world = World::new().link("out", "{out}/dir");
    for workspace in world.both() {
        let tree = workspace.tree("sub").expect("a folder");
        for below in ["..", "../..", "/", "deep/../../../outside"] {
            assert_eq!(variant(&tree.open(Path::new(below)).map(drop).expect_err(below)), "invalid", "{below}");
        }
        let tree = workspace.tree(".").expect("a folder");
        assert_eq!(variant(&tree.open(Path::new("out")).map(drop).expect_err("a link")), "unstable");
        let top = tree.open(Path::new("")).expect("a folder");
        for name in ["..", ".", "", "sub/b.txt", "../outside/secret", "/etc/passwd"] {
            assert_eq!(variant(&top.open_file(OsStr::new(name)).map(drop).expect_err(name)), "invalid", "{name}");
        }
        assert_eq!(variant(&top.open_file(OsStr::new("out")).map(drop).expect_err("a link")), "unstable");
        assert_eq!(variant(&top.open_file(OsStr::new("sub")).map(drop).expect_err("a folder")), "not a file");
    }
}

#[test]
fn what_is_left_out_is_neither_named_nor_opened() {
    let world = World::new();
    let filter: TreeFilter = Arc::new(|path, _| path == Path::new("sub") || path == Path::new("a.txt"));
    let tree = world.workspace().tree(".").expect("a folder").leaving_out(filter);
    assert_eq!(walk(&tree), [""; 0]);
    assert_eq!(variant(&tree.open(Path::new("sub")).map(drop).expect_err("left out")), "not found");
    let top = tree.open(Path::new("")).expect("a folder");
    assert_eq!(variant(&top.open_file(OsStr::new("a.txt")).map(drop).expect_err("left out")), "not found");
    for _ in 0..2 {
        assert_eq!(top.names(|_, _| ControlFlow::Continue(())).expect("a folder"), 2);
    }
}

/// Folders and files are swapped for links to the outside all the while; what is read is never from there.
#[test]
fn a_walk_among_swaps_never_leads_outside() {
    let world = World::new().link("bait", "{out}/dir").link("lure", "{out}/secret");
    fs::write(world.inside("sub/secret"), "inside").expect("a file");
    for workspace in world.both() {
        let stop = AtomicBool::new(false);
        thread::scope(|scope| {
            scope.spawn(|| {
                while !stop.load(Ordering::Relaxed) {
                    for (name, bait) in [("sub", "bait"), ("a.txt", "lure")] {
                        renameat_with(CWD, world.inside(name), CWD, world.inside(bait), RenameFlags::EXCHANGE)
                            .expect("both exist");
                    }
                }
            });
            let found = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
                let tree = workspace.tree(".").expect("a folder");
                (0..300).flat_map(|_| walk(&tree)).collect::<std::collections::BTreeSet<String>>()
            }));
            stop.store(true, Ordering::Relaxed);
            let found = found.expect("no walk failed");
            assert!(found.iter().any(|line| line.ends_with("inside")), "{found:?}");
            assert!(!found.iter().any(|line| line.contains(CANARY)), "{found:?}");
        });
    }
    let _ = fs::remove_file(world.inside("lure"));
    world.assert_untouched();
}

/// A folder that becomes a link between being found and being opened.
#[test]
fn a_folder_swapped_after_it_was_found_is_not_entered() {
    let world = World::new().link("bait", "{out}/dir");
    for workspace in world.both() {
        let tree = workspace.tree(".").expect("a folder");
        let swap = || {
            renameat_with(CWD, world.inside("sub"), CWD, world.inside("bait"), RenameFlags::EXCHANGE)
                .expect("both exist");
        };
        swap();
        assert_eq!(variant(&tree.open(Path::new("sub")).map(drop).expect_err("a link now")), "unstable");
        assert_eq!(variant(&tree.open(Path::new("sub/deep")).map(drop).expect_err("a link now")), "unstable");
        swap();
        assert!(tree.open(Path::new("sub/deep")).is_ok());
    }
    world.assert_untouched();
}

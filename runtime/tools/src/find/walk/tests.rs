//! Walks over real folders: what is seen, what is left out, and that threads change nothing.

use super::*;
use crate::{
    find::{Start, start},
    testing::World,
};
use rustix::fs::{CWD, Mode, mkfifoat};
use std::os::unix::fs::symlink;

struct Names(Vec<String>);

impl Visit for Names {
    fn file(&mut self, file: &Candidate<'_>) {
        assert!(file.open().is_ok());
        self.0.push(file.shown.to_string_lossy().into_owned());
    }
}

fn walk(world: &World, top: &str, ignored: bool, threads: usize) -> (Vec<String>, PassedOver) {
    let boundary = world.boundary();
    let Ok(Start::Folder(tree, above)) = start(&*boundary, top, ignored) else { panic!("no folder") };
    let stop = CancellationToken::new();
    let walk = Walk { tree: &tree, above, ignored, stop: &stop };
    let (visitors, passed) = walk.run_on(threads, || Names(Vec::new())).expect("a walk");
    let mut names: Vec<String> = visitors.into_iter().flat_map(|names| names.0).collect();
    names.sort();
    (names, passed)
}

#[track_caller]
fn check(world: &World, top: &str, ignored: bool, expect: &[&str]) -> PassedOver {
    let (names, passed) = walk(world, top, ignored, 1);
    assert_eq!(names, expect);
    assert_eq!(walk(world, top, ignored, 3), (names, passed.clone()), "threads change nothing");
    passed
}

fn world() -> World {
    World::new()
        .with("a", "")
        .with(".hidden", "")
        .with("src/b", "")
        .with("src/node_modules/c", "")
        .with("target/debug/d", "")
        .with(".git/config", "")
        .with("x.min.js", "")
}

#[test]
fn what_others_made_is_left_out() {
    let passed = check(&world(), ".", false, &[".hidden", "a", "src/b"]);
    assert_eq!((passed.folders, passed.files), (3, 1));
    let all = &[".hidden", "a", "src/b", "src/node_modules/c", "target/debug/d", "x.min.js"];
    assert_eq!(check(&world(), ".", true, all).folders, 1);
}

#[test]
fn a_folder_that_is_named_is_walked_whatever_it_is_called() {
    check(&world(), "target", false, &["target/debug/d"]);
    check(&world(), "src/node_modules", false, &["src/node_modules/c"]);
    check(&world(), ".git", false, &[".git/config"]);
}

#[test]
fn ignore_files_hold_below_their_folder_and_the_nearest_decides() {
    let world = World::new()
        .with(".gitignore", "*.log\n/only-top\nsub/gone/\n")
        .with("a.log", "")
        .with("only-top", "")
        .with("sub/only-top", "")
        .with("sub/b.log", "")
        .with("sub/keep/.gitignore", "!c.log\n")
        .with("sub/keep/c.log", "")
        .with("sub/gone/d", "")
        .with("sub/.ignore", "e\n")
        .with("sub/e", "");
    let expect = &[".gitignore", "sub/.ignore", "sub/keep/.gitignore", "sub/keep/c.log", "sub/only-top"];
    assert_eq!(check(&world, ".", false, expect).files, 4);
    // Those above the place where the search begins hold as well.
    check(&world, "sub", false, &expect[1..]);
    check(&world, "sub/gone", false, &["sub/gone/d"]);
    assert_eq!(check(&world, "sub/keep", true, &["sub/keep/.gitignore", "sub/keep/c.log"]).files, 0);
}

#[test]
fn an_ignore_file_that_is_too_large_is_told() {
    let world = World::new().with(".gitignore", "a\n".repeat(20_000)).with("a", "");
    let passed = check(&world, ".", false, &[".gitignore", "a"]);
    assert_eq!(passed.ignore_files.count, 1);
}

#[test]
fn only_so_many_ignore_files_in_one_another_are_followed() {
    let folder = |depth: usize| "d/".repeat(depth);
    let world = (0..20).fold(World::new(), |world, depth| {
        world
            .with(&format!("{}.ignore", folder(depth)), format!("x{depth}\n"))
            .with(&format!("{}x{depth}", folder(depth)), "")
    });
    assert_eq!(walk(&world, ".", false, 2).1.ignore_files.count, 4);
}

#[test]
fn links_and_pipes_are_told_and_not_followed() {
    let world = World::new().with("d/a", "");
    symlink("d", world.path("link")).expect("a link");
    symlink("..", world.path("d/up")).expect("a link");
    symlink("/etc", world.path("out")).expect("a link");
    mkfifoat(CWD, world.path("pipe"), Mode::RUSR | Mode::WUSR).expect("a pipe");
    let passed = check(&world, ".", false, &["d/a"]);
    assert_eq!((passed.links.count, passed.special.count), (3, 1));
    assert_eq!(passed.special.first.first().map(PathBuf::as_path), Some(Path::new("pipe")));
}

#[test]
fn many_files_of_one_folder_are_all_seen() {
    let world = (0..300).fold(World::new(), |world, n| world.with(&format!("d/{n:03}"), ""));
    let expect: Vec<String> = (0..300).map(|n| format!("d/{n:03}")).collect();
    check(&world, ".", false, &expect.iter().map(String::as_str).collect::<Vec<_>>());
}

#[test]
fn a_walk_nobody_wants_ends() {
    let world = world();
    let boundary = world.boundary();
    let Ok(Start::Folder(tree, above)) = start(&*boundary, ".", false) else { panic!("no folder") };
    let stop = CancellationToken::new();
    stop.cancel();
    let walk = Walk { tree: &tree, above, ignored: false, stop: &stop };
    assert!(matches!(walk.run_on(2, || Names(Vec::new())), Err(WalkError::Stopped)));
}

#[test]
#[should_panic(expected = "inside")]
fn a_panic_of_one_thread_ends_all() {
    struct Panics;
    impl Visit for Panics {
        fn file(&mut self, _: &Candidate<'_>) {
            panic!("inside");
        }
    }
    let world = world();
    let boundary = world.boundary();
    let Ok(Start::Folder(tree, above)) = start(&*boundary, ".", false) else { panic!("no folder") };
    let stop = CancellationToken::new();
    let walk = Walk { tree: &tree, above, ignored: false, stop: &stop };
    let _ = walk.run_on(3, || Panics);
}

//! Several changes: all of them or none, whichever step fails.

use super::*;
use std::{
    io,
    os::unix::fs::{MetadataExt, PermissionsExt},
    sync::{Arc, Mutex},
};

fn create<'a>(path: &'a str, bytes: &'a str, like: Option<&'a str>) -> Change<'a> {
    Change::Write { path, bytes: bytes.as_bytes(), mode: WriteMode::Create, like, permissions: Permissions::Kept }
}

/// One of each: a file is replaced, one removed, one moved to a new folder, and one replaced twice.
const CHANGES: [fn() -> Change<'static>; 7] = [
    || write("a.txt", "new a"),
    || Change::Remove { path: "gone.txt" },
    || create("x/y/moved.txt", "b", Some("sub/b.txt")),
    || Change::Remove { path: "sub/b.txt" },
    || write("a.txt", "newer a"),
    || create("new.txt", "n", None),
    || Change::Write {
        path: "run",
        bytes: b"r",
        mode: WriteMode::Create,
        like: None,
        permissions: Permissions::Executable(true),
    },
];

fn world() -> World {
    let world = World::new();
    fs::write(world.inside("gone.txt"), "gone").expect("a file");
    fs::set_permissions(world.inside("sub/b.txt"), fs::Permissions::from_mode(0o751)).expect("its owner may");
    world
}

/// Every name in the workspace with its content, its permissions and how many names it has.
fn state(world: &World) -> Vec<(String, Option<String>, u32, u64)> {
    let mut names = tree(&world.inside(""));
    names.sort();
    let row = |name: String| {
        let path = world.inside(&name);
        let metadata = fs::symlink_metadata(&path).expect("it exists");
        let links = if metadata.is_dir() { 0 } else { metadata.nlink() };
        (name, fs::read_to_string(&path).ok(), metadata.mode(), links)
    };
    names.into_iter().map(row).collect()
}

/// Makes all changes, with an error at the step numbered `fail_at`; how many steps there were.
fn change_failing_at(world: &World, fail_at: usize) -> (Result<Vec<Written>, BoundaryError>, usize) {
    let steps = Arc::new(Mutex::new(0));
    let seen = Arc::clone(&steps);
    let workspace = world.workspace().with_step_gate(Arc::new(move |_| {
        let mut seen = seen.lock().expect("no panic holds it");
        *seen += 1;
        if *seen > fail_at { Err(io::ErrorKind::StorageFull.into()) } else { Ok(()) }
    }));
    let changes: Vec<Change<'_>> = CHANGES.iter().map(|change| change()).collect();
    let result = workspace.change_all(&changes);
    let steps = *steps.lock().expect("no panic holds it");
    (result, steps)
}

#[test]
fn all_changes_are_made() {
    let world = world();
    let (result, _) = change_failing_at(&world, usize::MAX);
    let made: Vec<(String, bool)> = result
        .expect("nothing fails")
        .into_iter()
        .map(|written| (written.path.to_string_lossy().into_owned(), written.created))
        .collect();
    let expect = [
        ("a.txt", false),
        ("gone.txt", false),
        ("x/y/moved.txt", true),
        ("sub/b.txt", false),
        ("a.txt", false),
        ("new.txt", true),
        ("run", true),
    ];
    assert_eq!(made, expect.map(|(path, created)| (path.to_owned(), created)));
    let names: Vec<String> = state(&world).into_iter().map(|row| row.0).collect();
    assert_eq!(
        names,
        ["a.txt", "new.txt", "run", "sub", "sub/deep", "x", "x/y", "x/y/moved.txt"],
        "and nothing is left behind"
    );
    assert_eq!(fs::read_to_string(world.inside("a.txt")).expect("it exists"), "newer a");
    assert_eq!(fs::metadata(world.inside("x/y/moved.txt")).expect("it exists").mode() & 0o777, 0o751);
}

#[test]
fn a_failure_at_any_step_takes_all_changes_back() {
    let (_, steps) = change_failing_at(&world(), usize::MAX);
    assert!(steps > 20, "{steps}");
    for fail_at in 0..steps {
        let world = world();
        let before = state(&world);
        let error = change_failing_at(&world, fail_at).0.expect_err("a step failed");
        assert_eq!(variant(&error), "io", "{error}");
        assert_eq!(state(&world), before, "failing at {fail_at}");
    }
}

#[test]
fn a_refusal_takes_back_what_was_done_before_it() {
    let world = world().link("out", "{out}/secret").link("dangling", "{out}/new");
    let before = state(&world).len();
    for (change, kind) in [
        (Change::Remove { path: "missing.txt" }, "not found"),
        (Change::Remove { path: "sub" }, "not a file"),
        (Change::Remove { path: "out" }, "escape"),
        (Change::Remove { path: ".git/config" }, "protected"),
        (write("dangling", "x"), "escape"),
        (create("a.txt", "x", None), "exists"),
        (create("new", "x", Some("missing")), "not found"),
    ] {
        let error = world.workspace().change_all(&[write("a.txt", "new"), create("n/m", "m", None), change]);
        assert_eq!(variant(&error.expect_err("a refusal")), kind, "{change:?}");
        assert_eq!(fs::read_to_string(world.inside("a.txt")).expect("it exists"), "a");
        assert_eq!(state(&world).len(), before, "{change:?}");
    }
    world.assert_untouched();
}

#[test]
fn what_cannot_be_taken_back_is_told() {
    let world = world();
    let folder = world.inside("sub");
    let seen = Arc::new(Mutex::new(0));
    let workspace = world.workspace().with_step_gate(Arc::new(move |step| {
        let mut seen = seen.lock().expect("no panic holds it");
        *seen += usize::from(step == WriteStep::Remove);
        if *seen == 2 {
            // Somebody takes the folder away, with the second name in it, before the second removal fails.
            fs::remove_dir_all(&folder).expect("a folder");
            return Err(io::ErrorKind::StorageFull.into());
        }
        Ok(())
    }));
    let changes = [Change::Remove { path: "sub/b.txt" }, Change::Remove { path: "gone.txt" }];
    let error = workspace.change_all(&changes).expect_err("it failed");
    assert_eq!(variant(&error), "torn");
    let text = error.to_string();
    assert!(text.contains("free some space, then try again. But 1 of the changes"), "{text}");
    assert!(text.contains("sub/b.txt (its old content is beside it, as .slot-"), "{text}");
    assert_eq!(fs::read_to_string(world.inside("gone.txt")).expect("it exists"), "gone");
}

#[test]
fn a_link_that_is_removed_through_stays() {
    let world = world().link("l", "gone.txt");
    world.workspace().change_all(&[Change::Remove { path: "l" }]).expect("it is inside");
    assert!(!world.inside("gone.txt").exists());
    assert!(world.inside("l").is_symlink());
}

#[test]
fn a_change_says_whether_a_file_can_be_run() {
    let change = |path, mode, permissions| Change::Write { path, bytes: b"x", mode, like: None, permissions };
    let world = world();
    let mode = |name: &str| fs::metadata(world.inside(name)).expect("it exists").mode() & 0o777;
    fs::set_permissions(world.inside("a.txt"), fs::Permissions::from_mode(0o640)).expect("its owner may");
    let both = [
        change("a.txt", WriteMode::Overwrite, Permissions::Executable(true)),
        change("new", WriteMode::Create, Permissions::Executable(true)),
        change("sub/b.txt", WriteMode::Overwrite, Permissions::Executable(false)),
        Change::Write {
            path: "like",
            bytes: b"x",
            mode: WriteMode::Create,
            like: Some("gone.txt"),
            permissions: Permissions::Executable(true),
        },
    ];
    world.workspace().change_all(&both).expect("they are inside");
    assert_eq!(mode("a.txt"), 0o750, "whoever may read it");
    assert_eq!(mode("new") & 0o100, 0o100);
    assert_eq!(mode("sub/b.txt"), 0o640);
    assert_eq!(mode("like"), mode("gone.txt") | ((mode("gone.txt") & 0o444) >> 2));
}

//! The boundary of other systems: what it must be able to do, and what it must refuse by name.

use super::*;
use rustix::fs::{CWD, Mode, mkfifoat};
use std::{
    ffi::OsStr,
    io::Read,
    ops::ControlFlow,
    os::unix::fs::{MetadataExt, PermissionsExt},
    sync::Mutex,
};

fn world() -> World {
    let world = World::new().link("in", "sub/b.txt").link("folder", "sub").link("out", "{out}/secret");
    fs::create_dir_all(world.inside(".git/hooks")).expect("folders");
    mkfifoat(CWD, world.inside("pipe"), Mode::RUSR | Mode::WUSR).expect("a pipe");
    world.link("git", ".git").link("gone", "absent").link("up", "../outside/secret")
}

/// What reading says: the resolved path, or the kind of refusal.
#[track_caller]
fn check_read(path: &str, expect: Result<&str, &str>) {
    let world = world();
    let open = world.elsewhere().open_file(&world.expand(path));
    match (&open, expect) {
        (Ok(open), Ok(at)) => assert_eq!(open.path, Path::new(at), "{path}"),
        (Err(error), Err(kind)) => assert_eq!(variant(error), kind, "{path}: {error}"),
        _ => panic!("{path}: {open:?}"),
    }
}

#[track_caller]
fn check_write(path: &str, expect: Result<&str, &str>) {
    let world = world();
    let written = world.elsewhere().write_atomic(&world.expand(path), b"new", WriteMode::Overwrite);
    match (&written, expect) {
        (Ok(_), Ok(at)) => assert_eq!(fs::read_to_string(world.inside(at)).expect("it exists"), "new", "{path}"),
        (Err(error), Err(kind)) => assert_eq!(variant(error), kind, "{path}: {error}"),
        _ => panic!("{path}: {written:?}"),
    }
    world.assert_untouched();
}

#[test]
fn what_lies_inside_is_read() {
    check_read("a.txt", Ok("a.txt"));
    check_read("{in}/sub/../a.txt", Ok("a.txt"));
    check_read("in", Ok("sub/b.txt"));
    check_read("folder/b.txt", Ok("sub/b.txt"));
}

#[test]
fn what_does_not_is_refused() {
    check_read("out", Err("escape"));
    check_read("up", Err("escape"));
    check_read("../outside/secret", Err("escape"));
    check_read("{out}/secret", Err("escape"));
    check_read("/proc/self/root/etc/passwd", Err("escape"));
    check_read("pipe", Err("not a file"));
    check_read("sub", Err("not a file"));
    check_read("absent", Err("not found"));
    check_read("a\0b", Err("invalid"));
}

#[test]
fn files_are_written_where_they_belong() {
    check_write("a.txt", Ok("a.txt"));
    check_write("in", Ok("sub/b.txt"));
    check_write("folder/new", Ok("sub/new"));
    check_write("sub/../x/y", Err("not found"));
    check_write("x/y/z", Ok("x/y/z"));
    check_write("new/../safe", Err("not found"));
    check_write("gone", Err("not found"));
    check_write("new/", Err("invalid"));
    check_write("out", Err("escape"));
    check_write("up", Err("escape"));
    check_write("pipe", Err("not a file"));
    for path in [".git/config", ".GIT/config", "git/hooks/x", "git/new/x", "sub/../.git/x", ".slot/x"] {
        check_write(path, Err("protected"));
    }
}

#[test]
fn a_trusted_root_and_a_protected_place_are_known() {
    let world = world();
    let workspace = world.elsewhere().with_trusted_root(&world.outside("")).expect("a folder");
    let mut text = String::new();
    let secret = world.expand("{out}/secret");
    workspace.open_file(&secret).expect("trusted").file.read_to_string(&mut text).expect("text");
    assert_eq!(text, CANARY);
    let workspace = workspace.with_protected(&world.outside("secret")).expect("a place");
    let error = workspace.write_atomic(&secret, b"new", WriteMode::Overwrite).expect_err("protected");
    assert_eq!(variant(&error), "protected");
    assert_eq!(workspace.root(), world.inside("").canonicalize().expect("it exists"));
    assert!(format!("{workspace:?}").contains("outside"));
}

#[test]
fn folders_are_listed_made_and_looked_at() {
    let world = world();
    let workspace = world.elsewhere();
    let listing = workspace.list_dir("sub", 1).expect("a folder");
    assert_eq!((listing.total, listing.entries.len()), (2, 1));
    assert_eq!(listing.entries[0].name, "b.txt");
    assert_eq!(workspace.metadata("in").expect("it is inside").kind, EntryKind::File);
    assert_eq!(workspace.metadata("pipe").expect("it is inside").kind, EntryKind::Fifo);
    assert_eq!(workspace.open_dir("folder").expect("a folder").path, Path::new("sub"));
    assert_eq!(workspace.create_dirs("x/y").expect("inside"), Path::new("x/y"));
    assert_eq!(variant(&workspace.create_dirs("n/../m").expect_err("it means nothing")), "not found");
    assert!(!world.inside("n").exists());
    assert_eq!(variant(&workspace.create_dirs("git/x").expect_err("protected")), "protected");
}

fn sorted(mut names: Vec<String>) -> Vec<String> {
    names.sort();
    names
}

#[test]
fn changes_are_made_together_or_not_at_all() {
    let write = |path, mode, like, permissions| Change::Write { path, bytes: b"new", mode, like, permissions };
    let changes = [
        write("a.txt", WriteMode::Overwrite, None, Permissions::Executable(true)),
        write("x", WriteMode::Create, Some("sub/b.txt"), Permissions::Kept),
        Change::Remove { path: "sub/b.txt" },
    ];
    let failing_at = |world: &World, fail_at: usize| {
        let seen = Arc::new(Mutex::new(0));
        let count = Arc::clone(&seen);
        let gate = move |_| {
            let mut count = count.lock().expect("no panic holds it");
            *count += 1;
            if *count == fail_at { Err(io::ErrorKind::StorageFull.into()) } else { Ok(()) }
        };
        let made = world.elsewhere().with_step_gate(Arc::new(gate)).change_all(&changes);
        let steps = *seen.lock().expect("no panic holds it");
        (made, steps)
    };
    let sound = world();
    fs::set_permissions(sound.inside("sub/b.txt"), fs::Permissions::from_mode(0o751)).expect("its owner may");
    let (made, steps) = failing_at(&sound, usize::MAX);
    assert_eq!(made.expect("they are inside").len(), 3);
    let mode = |name: &str| fs::metadata(sound.inside(name)).expect("it exists").mode() & 0o777;
    assert_eq!((mode("x"), mode("a.txt") & 0o100), (0o751, 0o100));
    assert!(!sound.inside("sub/b.txt").exists());
    assert!(steps > 10, "{steps}");
    for fail_at in 1..=steps {
        let world = world();
        let modes = || ["a.txt", "sub/b.txt"].map(|name| fs::metadata(world.inside(name)).expect("it exists").mode());
        let before = (tree(&world.inside("")), modes());
        let error = failing_at(&world, fail_at).0.expect_err("a step failed");
        assert_eq!(variant(&error), "io", "{error}");
        // A file that was brought back may be listed at another place.
        assert_eq!(sorted(tree(&world.inside(""))), sorted(before.0), "failing at {fail_at}");
        assert_eq!(modes(), before.1, "failing at {fail_at}");
        assert_eq!(fs::read_to_string(world.inside("a.txt")).expect("it exists"), "a", "failing at {fail_at}");
        assert_eq!(fs::read_to_string(world.inside("sub/b.txt")).expect("it exists"), "b", "failing at {fail_at}");
    }
}

/// What a walk from `top` finds, as `path kind`, with the text of each file that opens.
fn walked(workspace: &crate::boundary::portable::Workspace, top: &str) -> Vec<String> {
    let tree = workspace.tree(top).expect("a folder").leaving_out(Arc::new(|path, _| path.ends_with(".git")));
    let (mut found, mut open) = (Vec::new(), vec![PathBuf::new()]);
    while let Some(below) = open.pop() {
        let branch = tree.open(&below).expect("a folder");
        let listed = branch.names(|name, kind| {
            let mut text = String::new();
            if let Ok(mut file) = branch.open_file(name) {
                file.file.read_to_string(&mut text).expect("text");
            }
            found.push(format!("{} {kind:?} {text}", branch.path().join(name).display()));
            open.extend((kind == EntryKind::Directory).then(|| below.join(name)));
            ControlFlow::Continue(())
        });
        listed.expect("a folder");
    }
    found.sort();
    found
}

#[test]
fn a_walk_follows_no_link_and_opens_only_files() {
    let world = world();
    assert_eq!(
        walked(&world.elsewhere(), "."),
        [
            "./a.txt File a",
            "./folder Symlink ",
            "./git Symlink ",
            "./gone Symlink ",
            "./in Symlink ",
            "./out Symlink ",
            "./pipe Fifo ",
            "./sub Directory ",
            "./up Symlink ",
            "sub/b.txt File b",
            "sub/deep Directory ",
        ]
    );
    assert_eq!(walked(&world.elsewhere(), "sub"), ["sub/b.txt File b", "sub/deep Directory "]);
}

#[test]
fn only_names_lead_down_a_tree() {
    let world = world();
    let tree = world.elsewhere().tree("sub").expect("a folder");
    assert_eq!(tree.path(), Path::new("sub"));
    for below in ["..", "/", "deep/../../../outside"] {
        assert_eq!(variant(&tree.open(Path::new(below)).map(drop).expect_err(below)), "invalid", "{below}");
    }
    let top = tree.open(Path::new("")).expect("a folder");
    for name in ["..", "", "../outside/secret", "/etc/passwd"] {
        assert_eq!(variant(&top.open_file(OsStr::new(name)).map(drop).expect_err(name)), "invalid", "{name}");
    }
}

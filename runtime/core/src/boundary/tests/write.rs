//! Writing: whole or not at all, and never outside.

use super::*;
use rustix::fs::{CWD, Mode, mkfifoat};
use std::{
    os::unix::fs::{MetadataExt, PermissionsExt},
    sync::Mutex,
};

/// Writes `new` in a fresh world for each way of opening; `expect` is where it lands, or the kind of refusal.
#[track_caller]
fn check(world: impl Fn() -> World, path: &str, expect: Result<&str, &str>) {
    for fallback in [false, true] {
        let world = world();
        let before = tree(&world.inside(""));
        let workspace = if fallback { world.workspace().without_openat2() } else { world.workspace() };
        let written = workspace.write_atomic(&world.expand(path), b"new", WriteMode::Overwrite);
        match (&written, expect) {
            (Ok(written), Ok(at)) => {
                assert_eq!(written.path, Path::new(at), "{path}");
                assert_eq!(fs::read_to_string(world.inside(at)).expect("it was written"), "new", "{path}");
                assert_eq!(written.created, !before.iter().any(|name| name == at), "{path}");
                assert!(!fs::symlink_metadata(world.inside(at)).expect("it exists").is_symlink(), "{path}");
            }
            (Err(error), Err(kind)) => {
                assert_eq!(variant(error), kind, "{path}: {error}");
                assert_eq!(tree(&world.inside("")), before, "{path}: something was left behind");
            }
            _ => panic!("{path}: {written:?}, expected {expect:?}"),
        }
        assert!(!tree(&world.inside("")).iter().any(|name| name.ends_with(".tmp")), "{path}: a temporary file is left");
        world.assert_untouched();
    }
    let world = world();
    let before = tree(&world.inside(""));
    match (world.elsewhere().write_atomic(&world.expand(path), b"new", WriteMode::Overwrite), expect) {
        (Ok(written), Ok(at)) => assert_eq!(written.path, Path::new(at), "{path}, elsewhere"),
        (Err(_), _) => assert_eq!(tree(&world.inside("")), before, "{path}: something was left behind elsewhere"),
        (Ok(written), Err(kind)) => panic!("{path}: {written:?} elsewhere, expected {kind}"),
    }
    world.assert_untouched();
}

#[test]
fn a_new_file_and_an_old_one_are_written() {
    check(World::new, "new.txt", Ok("new.txt"));
    check(World::new, "a.txt", Ok("a.txt"));
    check(World::new, "{in}/sub/b.txt", Ok("sub/b.txt"));
    check(World::new, "~", Ok("~"));
    check(World::new, "..foo", Ok("..foo"));
}

#[test]
fn missing_folders_are_made() {
    check(World::new, "x/y/z.txt", Ok("x/y/z.txt"));
    check(World::new, "sub/x/./y.txt", Ok("sub/x/y.txt"));
}

#[test]
fn a_write_through_an_inside_link_changes_its_target() {
    check(|| World::new().link("l", "sub/b.txt"), "l", Ok("sub/b.txt"));
    check(|| World::new().link("l", "{in}/sub/b.txt"), "l", Ok("sub/b.txt"));
    check(|| World::new().link("l", "sub"), "l/new.txt", Ok("sub/new.txt"));
    let world = World::new().link("l", "sub/b.txt");
    world.workspace().write_atomic("l", b"new", WriteMode::Overwrite).expect("a write");
    assert!(fs::symlink_metadata(world.inside("l")).expect("a link").is_symlink());
}

#[test]
fn a_dangling_link_inside_creates_its_target() {
    check(|| World::new().link("l", "sub/new.txt"), "l", Ok("sub/new.txt"));
    check(|| World::new().link("l", "x/y.txt"), "l", Ok("x/y.txt"));
    check(|| World::new().link("l", "{in}/x"), "l/y.txt", Ok("x/y.txt"));
}

#[test]
fn nothing_is_written_outside() {
    check(World::new, "../outside/new", Err("escape"));
    check(World::new, "{out}/new", Err("escape"));
    check(World::new, "{out}/secret", Err("escape"));
    check(|| World::new().link("l", "{out}/secret"), "l", Err("escape"));
    check(|| World::new().link("l", "{out}/new"), "l", Err("escape"));
    check(|| World::new().link("l", "../outside/new"), "l", Err("escape"));
    check(|| World::new().link("l", "{out}"), "l/new", Err("escape"));
    check(|| World::new().link("l", "{out}"), "l/x/y/new", Err("escape"));
    check(|| World::new().link("l", "/"), "l/tmp/evil/new.txt", Err("escape"));
    check(
        || World::new().link("one", "sub/two").link("sub/two", "../three").link("three", "{out}/new"),
        "one",
        Err("escape"),
    );
}

#[test]
fn a_path_that_means_nothing_creates_nothing() {
    check(World::new, "new/../safe.txt", Err("not found"));
    check(World::new, "x/y/../../../outside/new", Err("not found"));
    check(World::new, "~/x", Err("not found"));
    check(World::new, "$HOME/x", Err("not found"));
    check(World::new, "sub/~/x", Ok("sub/~/x"));
    check(|| World::new().with_folder("~"), "~/x", Ok("~/x"));
    check(World::new, "new/", Err("invalid"));
    check(World::new, "x/.", Err("invalid"));
    check(World::new, "sub", Err("not a file"));
    check(World::new, ".", Err("not a file"));
    check(World::new, "a.txt/x", Err("not a folder"));
    check(World::new, "a.txt/x/y", Err("not a folder"));
    check(World::new, "a\0b", Err("invalid"));
    check(|| World::new().link("l", "l"), "l", Err("loop"));
    check(
        || {
            let world = World::new();
            mkfifoat(CWD, world.inside("pipe"), Mode::RUSR | Mode::WUSR).expect("a pipe");
            world
        },
        "pipe",
        Err("not a file"),
    );
}

#[test]
fn what_decides_what_runs_later_is_never_written() {
    let repository = || {
        let world = World::new();
        fs::create_dir_all(world.inside(".git/hooks")).expect("folders");
        fs::create_dir_all(world.inside("sub/.git")).expect("folders");
        fs::write(world.inside(".git/config"), "").expect("a file");
        world.link("hook", ".git/hooks/pre-commit").link("git", "{in}/.git")
    };
    for path in [
        ".git/config",
        ".git/hooks/pre-commit",
        ".GIT/config",
        ".git./hooks/x",
        "sub/.git/config",
        "{in}/.git/config",
        "sub/../.git/config",
        "hook",
        "git/hooks/x",
        "git/new/x",
        ".slot/config.toml",
        "new/.git/config",
    ] {
        check(repository, path, Err("protected"));
    }
    check(repository, ".gitignore", Ok(".gitignore"));
    check(repository, ".github/workflows/ci.yml", Ok(".github/workflows/ci.yml"));
    let world = repository();
    assert_eq!(variant(&world.workspace().create_dirs("git/x/y").expect_err("protected")), "protected");
    // Reading is free.
    assert!(world.workspace().open_file("git/config").is_ok());
}

#[test]
fn the_state_of_the_host_is_never_written() {
    let world = World::new().link("state", "{out}/dir").link("file", "{out}/secret").link("copy", "state");
    let trusting = world.workspace().with_trusted_root(&world.outside("")).expect("a folder");
    let workspace = trusting.with_protected(&world.outside("dir")).expect("a place");
    let workspace = workspace.with_protected(&world.outside("absent/state")).expect("a place that is not there yet");
    for path in [
        "state/new",
        "state/secret",
        "copy/new",
        "{out}/dir/secret",
        "{out}/DIR./new",
        "{out}/./dir/../dir/new",
        "{out}/absent/state",
        "{out}/absent/state/deep/new",
    ] {
        let path = world.expand(path);
        let error = workspace.write_atomic(&path, b"new", WriteMode::Overwrite).expect_err("protected");
        assert_eq!(variant(&error), "protected", "{path}");
        let error = workspace.change_all(&[Change::Remove { path: &path }]).expect_err("protected");
        assert_eq!(variant(&error), "protected", "{path}");
        let error = workspace.create_dirs(&path).expect_err("protected");
        assert_eq!(variant(&error), "protected", "{path}");
    }
    world.assert_untouched();
    // It is read like everything under a root, and what lies beside it is written.
    assert!(workspace.open_file("state/secret").is_ok());
    assert!(workspace.write_atomic(&world.expand("{out}/dir-of-others"), b"new", WriteMode::Create).is_ok());
    // A root within a protected folder opens nothing of it.
    fs::create_dir_all(world.outside(".slot/spill")).expect("folders");
    let inner = world.workspace().with_trusted_root(&world.outside(".slot/spill")).expect("a folder");
    let error = inner.write_atomic(&world.expand("{out}/.slot/spill/x"), b"new", WriteMode::Create);
    assert_eq!(variant(&error.expect_err("protected")), "protected");
}

#[test]
fn a_hard_link_to_what_is_protected_changes_nothing_there() {
    let world = World::new();
    fs::create_dir_all(world.inside(".git")).expect("a folder");
    fs::write(world.inside(".git/config"), "old").expect("a file");
    fs::hard_link(world.inside(".git/config"), world.inside("n.txt")).expect("a hard link");
    let workspace = world.workspace();
    workspace.write_atomic("n.txt", b"new", WriteMode::Overwrite).expect("a name of its own");
    fs::remove_file(world.inside("n.txt")).expect("it was written");
    fs::hard_link(world.inside(".git/config"), world.inside("n.txt")).expect("a hard link");
    let change = Change::Write {
        path: "n.txt",
        bytes: b"new",
        mode: WriteMode::Overwrite,
        like: None,
        permissions: Permissions::Executable(true),
    };
    workspace.change_all(&[change]).expect("a name of its own");
    assert_eq!(fs::read_to_string(world.inside(".git/config")).expect("it exists"), "old");
    assert_eq!(fs::metadata(world.inside(".git/config")).expect("it exists").mode() & 0o111, 0);
}

/// Between the look and the use, the folder becomes `.git`: what is opened by name is no longer there, and the next look
/// sees what it has become.
#[test]
fn a_parent_renamed_between_look_and_use_is_looked_at_again() {
    let world = World::new();
    fs::create_dir_all(world.inside("x/hooks")).expect("folders");
    let (from, to) = (world.inside("x"), world.inside(".git"));
    let rival = move |walked: bool| {
        if walked && !from.is_symlink() {
            fs::rename(&from, &to).expect("it exists");
            symlink(".git", &from).expect("a link");
        }
    };
    let workspace = world.workspace().with_rival(Arc::new(rival));
    let error = workspace.write_atomic("x/hooks/pre-commit", b"new", WriteMode::Create).expect_err("protected");
    assert_eq!(variant(&error), "protected");
    assert!(!world.inside(".git/hooks/pre-commit").exists());
}

#[test]
fn creating_never_replaces() {
    let world = World::new().link("l", "a.txt").link("d", "sub/new");
    for workspace in world.both() {
        for path in ["a.txt", "l"] {
            let error = workspace.write_atomic(path, b"new", WriteMode::Create).expect_err("it exists");
            assert_eq!(variant(&error), "exists");
        }
        assert_eq!(fs::read_to_string(world.inside("a.txt")).expect("it exists"), "a");
        let written = workspace.write_atomic("d", b"new", WriteMode::Create).expect("a new file");
        assert_eq!((written.path.as_path(), written.created), (Path::new("sub/new"), true));
        fs::remove_file(world.inside("sub/new")).expect("it was made");
    }
}

#[test]
fn the_mode_and_the_owner_are_kept() {
    let world = World::new();
    let path = world.inside("a.txt");
    fs::set_permissions(&path, fs::Permissions::from_mode(0o4751)).expect("its owner may");
    // Only the superuser can give a file away; for others the owner is kept trivially.
    let given_away = std::os::unix::fs::chown(&path, Some(12345), Some(23456)).is_ok();
    world.workspace().write_atomic("a.txt", b"#!/bin/sh\n", WriteMode::Overwrite).expect("a write");
    let after = fs::metadata(&path).expect("it exists");
    assert_eq!(after.mode() & 0o7777, 0o751, "the mode, without the set-user bit");
    if given_away {
        assert_eq!((after.uid(), after.gid()), (12345, 23456));
    }
}

#[test]
fn a_new_file_gets_the_mode_that_the_process_gives() {
    let world = World::new();
    fs::write(world.inside("plain"), "").expect("a file");
    world.workspace().write_atomic("new", b"", WriteMode::Create).expect("a write");
    let mode = |name: &str| fs::metadata(world.inside(name)).expect("it exists").mode();
    assert_eq!(mode("new"), mode("plain"));
}

#[test]
fn a_hard_link_is_broken_and_the_other_name_keeps_its_content() {
    let world = World::new();
    fs::hard_link(world.outside("secret"), world.inside("n.txt")).expect("a hard link");
    world.workspace().write_atomic("n.txt", b"new", WriteMode::Overwrite).expect("a write");
    assert_eq!(fs::read_to_string(world.inside("n.txt")).expect("it exists"), "new");
    world.assert_untouched();
}

/// The steps of one write, with an error at the step numbered `fail_at`.
fn write_failing_at(world: &World, path: &str, fail_at: usize) -> (Result<Written, BoundaryError>, Vec<WriteStep>) {
    let steps = Arc::new(Mutex::new(Vec::new()));
    let seen = Arc::clone(&steps);
    let workspace = world.workspace().with_step_gate(Arc::new(move |step| {
        let mut seen = seen.lock().expect("no panic holds it");
        seen.push(step);
        if seen.len() > fail_at { Err(io::ErrorKind::StorageFull.into()) } else { Ok(()) }
    }));
    let result = workspace.write_atomic(path, b"new", WriteMode::Overwrite);
    let steps = steps.lock().expect("no panic holds it").clone();
    (result, steps)
}

#[track_caller]
fn check_steps(path: &str, expect: &[WriteStep]) {
    for fail_at in 0..expect.len() {
        let world = World::new();
        let before = tree(&world.inside(""));
        let (result, steps) = write_failing_at(&world, path, fail_at);
        let error = result.expect_err("a step failed");
        assert_eq!(variant(&error), "io");
        assert!(error.to_string().contains("free some space"), "{error}");
        assert_eq!(steps, expect[..=fail_at], "{path}");
        assert_eq!(tree(&world.inside("")), before, "{path}, failing at {fail_at}: something was left behind");
        assert_eq!(fs::read_to_string(world.inside("a.txt")).expect("it exists"), "a");
    }
    let (result, steps) = write_failing_at(&World::new(), path, expect.len());
    assert!(result.is_ok());
    assert_eq!(steps, expect);
}

#[test]
fn a_failure_at_any_step_leaves_everything_as_it_was() {
    use WriteStep::{KeepOwnerAndMode, MakeFolder, MakeTemporary, Rename, Sync, WriteContent};
    check_steps("a.txt", &[MakeTemporary, WriteContent, KeepOwnerAndMode, Sync, Rename]);
    check_steps("x/y/new", &[MakeFolder, MakeFolder, MakeTemporary, WriteContent, Sync, Rename]);
}

#[test]
fn folders_are_made_and_made_again_without_harm() {
    let world = World::new().link("l", "sub").link("out", "{out}");
    for workspace in world.both() {
        for (path, at) in [("x/y/z", "x/y/z"), ("x/y", "x/y"), ("l/new/", "sub/new"), (".", "."), ("sub", "sub")] {
            assert_eq!(workspace.create_dirs(path).expect(path), Path::new(at));
            assert!(world.inside(at).is_dir(), "{path}");
        }
        for (path, kind) in [
            ("out/x", "escape"),
            ("a.txt", "not a folder"),
            ("a.txt/x", "not a folder"),
            ("n/../m", "not found"),
            ("~", "not found"),
        ] {
            assert_eq!(variant(&workspace.create_dirs(path).expect_err(path)), kind, "{path}");
        }
    }
    world.assert_untouched();
}

#[test]
fn large_content_arrives_whole() {
    let world = World::new();
    let bytes: Vec<u8> = (0..3_000_000_u32).map(|n| (n % 251) as u8).collect();
    world.workspace().write_atomic("big", &bytes, WriteMode::Overwrite).expect("a write");
    assert!(fs::read(world.inside("big")).expect("it exists") == bytes);
}
